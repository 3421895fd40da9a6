/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/compat_application.c - an application that uses only papi_sde_* calls, for the specs of pmlua query and pmlua
 * attach; not a spec by itself.
 *
 * compat_application SECONDS [blocks|asked [N]]: iterates until SOLVER::stop is written (exit status 3) or the time is
 * over (0). With "blocks", the callback SOLVER::blocks does not return while the program runs; with "asked",
 * SOLVER::asked counts its calls; the Nth call ends the program and does not return.
 */
#include "compat.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int running = 1;
static long long iterations, stop;
static double tolerance = 1e-3, residual = 1;

static long long half(void *param) {
  double d = *(double *)param / 2;
  long long bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static long long blocks(void *param) {
  while (running) usleep(10000);
  return *(long long *)param;
}

/* Changes with every reading, however little the program itself gets to run meanwhile. */
static long long asked(void *most) {
  static long long times;
  if (++times != *(long long *)most) return times;
  *(volatile long long *)&stop = 1;
  for (;;) pause();
}

static double now_s(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv) {
  double end = now_s() + (argc > 1 ? atof(argv[1]) : 10);
  void *series, *steps, *set;
  papi_handle_t lib = papi_sde_init("SOLVER");
  papi_sde_register_counter(lib, "iterations", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &iterations);
  papi_sde_register_counter(lib, "tolerance", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_double, &tolerance);
  papi_sde_register_counter(lib, "stop", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &stop);
  papi_sde_register_counter_cb(lib, "half", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, half, &tolerance);
  papi_sde_create_recorder(lib, "residual", sizeof residual, papi_sde_compare_double, &series);
  papi_sde_create_counter(lib, "steps", PAPI_SDE_DELTA, &steps);
  papi_sde_create_counting_set(lib, "matrices", &set);
  papi_sde_describe_counter(lib, "residual", "norm of the residual, one value an iteration");
  papi_sde_describe_counter(lib, "tolerance", "where it stops");
  papi_sde_add_counter_to_group(lib, "iterations", "work", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(lib, "steps", "work", PAPI_SDE_SUM);
  papi_sde_counting_set_insert(set, sizeof residual, sizeof residual, &residual, 1);
  if (argc > 2 && strcmp(argv[2], "blocks") == 0)
    papi_sde_register_counter_cb(lib, "blocks", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, blocks, &stop);
  static long long most;
  most = argc > 3 ? atoll(argv[3]) : 0;
  if (argc > 2 && strcmp(argv[2], "asked") == 0)
    papi_sde_register_counter_cb(lib, "asked", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, asked, &most);
  for (int i = 0; i < 20; i++, residual /= 4) papi_sde_record(series, sizeof residual, &residual);
  while (now_s() < end && !*(volatile long long *)&stop) {
    iterations++;
    papi_sde_inc_counter(steps, 2);
    usleep(1000);
  }
  running = 0;
  return stop != 0 ? 3 : 0;
}
