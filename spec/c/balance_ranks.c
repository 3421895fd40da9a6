/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/balance_ranks.c - ranks of an MPI job that are balanced, each by itself; not a spec by itself.
 *
 *     mpirun -n 2 balance_ranks ROOT STEPS      the root has the form of /sys/devices/system/cpu
 *
 * Rank r is on cpu r, and sleeps 4 ms - 3 ms r / (n - 1) for computing. Each prints a line: its rank, how many
 * repetitions were measured, the mean share of computing in percent, and the frequencies in MHz: of its file in the
 * last step, and after all. Open MPI is found at run time.
 */
#include "adapter/section/pml_section.h"
#include "base/pml_error.h"
#include "control/balance/pml_balance.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct mpi {
  int (*init)(int *, char ***);
  int (*finalize)(void);
  int (*barrier)(void *);
  int (*rank)(void *, int *);
  int (*size)(void *, int *);
  void *world;
};

static void find(void *library, const char *name, void *at) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(77);
  }
  memcpy(at, &symbol, sizeof symbol);
}

static struct mpi load(void) {
  struct mpi m;
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(77);
  }
  find(library, "MPI_Init", &m.init);
  find(library, "MPI_Finalize", &m.finalize);
  find(library, "MPI_Barrier", &m.barrier);
  find(library, "MPI_Comm_rank", &m.rank);
  find(library, "MPI_Comm_size", &m.size);
  find(library, "ompi_mpi_comm_world", &m.world);
  return m;
}

static long mhz(const char *root, int cpu) {
  char path[512];
  long khz = 0;
  snprintf(path, sizeof path, "%s/cpu%d/cpufreq/scaling_max_freq", root, cpu);
  FILE *f = fopen(path, "r");
  if (f == NULL || fscanf(f, "%ld", &khz) != 1) khz = 0;
  if (f != NULL) fclose(f);
  return khz / 1000;
}

int main(int argc, char **argv) {
  struct mpi m = load();
  int rank = 0, size = 1;
  cpu_set_t one;
  struct pml_balance *b;
  struct pml_balance_stats s;
  if (argc != 3 || m.init(&argc, &argv) != 0 || m.rank(m.world, &rank) != 0 || m.size(m.world, &size) != 0) return 1;
  CPU_ZERO(&one);
  CPU_SET((unsigned)rank, &one);
  if (sched_setaffinity(0, sizeof one, &one) < 0) return 77;
  pml_tune_allow();
  const char *sync = "MPI_Barrier";
  const struct pml_balance_options o = {.sync = &sync, .nsync = 1, .tune = {.root = argv[1]}};
  int err = pml_balance_open(&b, &o);
  if (err < 0) {
    fprintf(stderr, "%s\n", pml_error_detail(err));
    return 1;
  }
  long ns = 4000000 - 3000000L * rank / (size > 1 ? size - 1 : 1);
  for (int i = 0; i < atoi(argv[2]); i++) {
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    (void)pml_section_start_label("MPI_Barrier");
    m.barrier(m.world);
    (void)pml_section_stop_label("MPI_Barrier");
  }
  long during = mhz(argv[1], rank);
  pml_balance_stats(b, &s);
  const char *line;
  for (size_t i = 0; (line = pml_balance_line(b, i)) != NULL; i++) fprintf(stderr, "rank %d: %s\n", rank, line);
  pml_balance_close(b);
  printf("rank %d repetitions %lu computing %.0f MHz %ld then %ld\n", rank, (unsigned long)s.repetitions,
         100 * s.compute_s / s.total_s, during, mhz(argv[1], rank));
  fflush(stdout);
  return m.finalize();
}
