/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/pmlib/threads.cpp - not a spec by itself: sections inside a parallel region, of an object per thread. */
#include <PerfMonitor.h>

using namespace pm_lib;
PerfMonitor PM;
PerfReport PR;
#pragma omp threadprivate(PM)

int main() {
  omp_set_num_threads(3);
#pragma omp parallel
  {
    PM.initialize(5);
    int me = omp_get_thread_num();
    for (int i = 0; i <= me; i++) {
      PM.start("each");
      PM.stop("each", 100.0 * (me + 1), 1);
    }
  }
  PM.start("all");
#pragma omp parallel
  {
#pragma omp barrier
  } PM.stop("all", 4.0);
  PR.report(stdout);
  return 0;
}
