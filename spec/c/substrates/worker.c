/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/substrates/worker.c - a substrate plugin with a thread that calls a library until the end; the number of calls
 * is in worker.txt of the experiment's folder. Not a spec by itself. */
#include "plugin.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_t thread;
static atomic_bool over;
static volatile double root = 27;
static unsigned calls;

static void *work(void *arg) {
  do {
    root = cbrt(root);
    calls++;
    (void)usleep(100);
  } while (!atomic_load(&over));
  return arg;
}

static int init(void) {
  return pthread_create(&thread, NULL, work, NULL);
}

static void enter(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)location, (void)time, (void)region, (void)values;
}
static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_EVENTS];
  (void)mode;
  of[SCOREP_EVENT_ENTER_REGION] = (SCOREP_Substrates_Callback)enter;
  *out = of;
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

static void finalize(void) {
  atomic_store(&over, true);
  pthread_join(thread, NULL);
  FILE *f = open_result("worker.txt");
  if (f == NULL) return;
  (void)fprintf(f, "%u", calls);
  (void)fclose(f);
}

PLUGIN(worker, .init = init, .get_event_functions = functions, .finalize = finalize)
