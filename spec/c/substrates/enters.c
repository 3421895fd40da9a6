/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/substrates/enters.c - a substrate plugin that has a function for enters alone, while events are recorded; how
 * many there were is in enters.txt of the experiment's folder. Not a spec by itself.
 */
#include "plugin.h"

static unsigned seen;

static void enter(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values) {
  (void)location, (void)time, (void)region, (void)values;
  seen++;
}
static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_MODES][SCOREP_SUBSTRATES_NUM_EVENTS];
  if (mode == SCOREP_SUBSTRATES_RECORDING_ENABLED)
    of[mode][SCOREP_EVENT_ENTER_REGION] = (SCOREP_Substrates_Callback)enter;
  *out = of[mode];
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

static void finalize(void) {
  FILE *f = open_result("enters.txt");
  if (f == NULL) return;
  (void)fprintf(f, "%u", seen);
  (void)fclose(f);
}

PLUGIN(enters, .init = begin_nothing, .get_event_functions = functions, .finalize = finalize)
