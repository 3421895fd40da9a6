/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/pmlib/calls.c - not a spec by itself: every C call; the report goes to the file named as the argument. */
#include <pmlib_api_C.h>

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink;
static void spin(void) {
  for (int i = 0; i < 20000; i++) sink = sink + 1.0 / (1 + i);
}

int main(int argc, char **argv) {
  const char *file = argc > 1 ? argv[1] : "";
  int n = 0, mid = -1, inside = -1, value = 42;
  double began = now();
  C_pm_initialize(2);
  C_pm_setproperties("moved", 0, 1);
  C_pm_setproperties("around", 1, 0);
  C_pm_start("around");
  for (int i = 0; i < 4; i++) {
    C_pm_start("done");
    spin();
    C_pm_stop_usermode("done", 2.5, 1000);
    C_pm_start("moved");
    C_pm_stop_usermode("moved", 800, 1);
    C_pm_start("gone");
    C_pm_stop("gone");
  }
  C_pm_stop("around");
  C_pm_reset("gone");
  C_pm_gather();
  C_pm_sections(&n);
  C_pm_serial_parallel(1, &mid, &inside);
  C_pm_mergethreads(1);
  C_pm_getpowerknob(0, &value);
  C_pm_setpowerknob(0, 1);
  printf("sections %d mid %d inside %d knob %d\n", n, mid, inside, value);
  C_pm_stop_Root();
  printf("stopped after %.9f\n", now() - began);
  usleep(100000);
  C_pm_report(file);
  C_pm_print(file, "that-host", "of C", 1);
  C_pm_printdetail(file, 0, 0);
  C_pm_printthreads(file, 0, 0);
  C_pm_printlegend(file);
  C_pm_printprogress(file, "under way", 0);
  C_pm_resetall();
  C_pm_start("done");
  C_pm_stop_usermode("done", 1, 1);
  C_pm_select_report(file);
  C_pm_posttrace();
  return 0;
}
