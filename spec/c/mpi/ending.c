/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/ending.c - more threads than a process keeps sums of by themselves, which end during MPI_Finalize. */
#include <mpi.h>
#include <pml.h>
#include <pthread.h>

#define THREADS 1200

static pthread_barrier_t used, end;
static struct pml_section *section;

static void *use(void *arg) {
  pml_section_start(section);
  pml_section_stop(section);
  pthread_barrier_wait(&used);
  pthread_barrier_wait(&end);
  return arg;
}

int main(int argc, char **argv) {
  pthread_attr_t small;
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  PML_SECTION("used", once);
  section = once;
  pthread_barrier_init(&used, NULL, THREADS + 1);
  pthread_barrier_init(&end, NULL, THREADS + 1);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  for (int i = 0; i < THREADS; i++) {
    pthread_t t;
    if (pthread_create(&t, &small, use, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 77);
  }
  pthread_barrier_wait(&used);
  pthread_barrier_wait(&end);
  MPI_Finalize();
  return 0;
}
