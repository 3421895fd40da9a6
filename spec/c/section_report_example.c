/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/section_report_example.c - a program with sections for reports; not a spec by itself.
 *
 *     PMLUA_REPORT=report PMLUA_REPORT_TIMELINE=on ./section_report_example 20
 *     pmlua report report --detail --plot sections.svg --timeline timeline.svg
 *
 * Two threads relax the halves of a plate whose upper edge is hot, alternating their steps. Under mpirun each process
 * has a separate plate.
 */
#include "adapter/section/pml_section.h"
#include "base/pml_error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 128
#define COLUMNS 512
#define THREADS 2

static double plate[THREADS][ROWS + 2][COLUMNS], halo[THREADS][COLUMNS]; /* halo: the row at the other's border */
static pthread_barrier_t step_done;
static struct pml_section *solve, *sweep, *exchange, *residual;
static int steps = 20;

static int define(void) {
  static const char *const events[] = {"task-clock"};
  const struct pml_section_options calculation = {.exclusive = true, .events = events, .nevents = 1},
                                   communication = {.type = PML_SECTION_COMMUNICATION, .exclusive = true},
                                   recorded = {.exclusive = true, .record = PML_SECTION_RECORD_ALL};
  int err = pml_section_define("solve", NULL, &solve);
  if (err == 0) err = pml_section_define("sweep", &calculation, &sweep);
  if (err == 0) err = pml_section_define("exchange", &communication, &exchange);
  if (err == 0) err = pml_section_define("residual", &recorded, &residual);
  return err;
}

static void relax(double (*u)[COLUMNS]) {
  pml_section_start(sweep);
  for (int i = 1; i <= ROWS; i++)
    for (int j = 1; j < COLUMNS - 1; j++) u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
  pml_section_stop_work(sweep, 4.0 * ROWS * (COLUMNS - 2), 1);
}

static void swap_borders(int me) {
  pml_section_start(exchange);
  memcpy(halo[1 - me], plate[me][me == 0 ? ROWS : 1], sizeof halo[0]);
  pthread_barrier_wait(&step_done);
  memcpy(plate[me][me == 0 ? ROWS + 1 : 0], halo[me], sizeof halo[0]);
  pml_section_stop_work(exchange, 2 * sizeof halo[0], 1);
}

static double change(double (*u)[COLUMNS]) {
  double sum = 0;
  pml_section_start(residual);
  for (int i = 1; i <= ROWS; i++)
    for (int j = 1; j < COLUMNS - 1; j++) {
      double r = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j];
      sum += r * r;
    }
  pml_section_stop_work(residual, 7.0 * ROWS * (COLUMNS - 2), 1);
  return sum;
}

static void *run(void *arg) {
  int me = *(int *)arg;
  double left = 0;
  pml_section_start(solve);
  for (int step = 0; step < steps; step++) {
    relax(plate[me]);
    swap_borders(me);
    if (step % 4 == 3) left = change(plate[me]);
    pthread_barrier_wait(&step_done);
  }
  pml_section_stop(solve);
  return left < 0 ? arg : NULL;
}

int main(int argc, char **argv) {
  pthread_t thread[THREADS];
  int me[THREADS] = {0, 1};
  if (argc > 1) steps = atoi(argv[1]);
  int err = define();
  if (err < 0) {
    fprintf(stderr, "sections: %s\n", pml_error_detail(err));
    return 1;
  }
  for (int j = 0; j < COLUMNS; j++) plate[0][0][j] = 1;
  pthread_barrier_init(&step_done, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, run, &me[i]) != 0) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&step_done);
  return 0;
}
