/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_environment.c - PMlib's variables, and what its choosers count. */
#include "compat/pmlib/pmlib.h"
#include "source/pml_eventset.h"

#include "base/pml_error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The one place where a chooser's events come from. perf's generic names count on every PMU the kernel drives; where
 * none says what the chooser asks for, the list is empty and PMLUA_CHOOSER_EVENTS names those of the CPU at hand.
 */
const struct pmlib_chooser pmlib_choosers[] = {
    {"USER", "the operations and bytes that the program states", ""},
    {"FLOPS", "floating-point operations", ""},
    {"BANDWIDTH", "cache lines from memory", "cache-references cache-misses"},
    {"VECTOR", "floating-point operations by vector and by scalar instructions", ""},
    {"CACHE", "loads and misses of the first and the last level",
     "L1-dcache-loads L1-dcache-load-misses cache-references cache-misses"},
    {"CYCLE", "cycles and instructions", "cycles instructions"},
    {"LOADSTORE", "loads and stores", "L1-dcache-loads L1-dcache-stores"},
};
const size_t pmlib_nchoosers = sizeof pmlib_choosers / sizeof *pmlib_choosers;

struct pmlib pmlib = {.chooser = &pmlib_choosers[0], .nprocs = 1};

void pmlib_warn(const char *fmt, ...) {
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  fprintf(stderr, "pmlib: %s\n", line);
}

/* The index of the variable's value among @words, 0 (the default) if it is unset, empty, or none of them. */
static size_t choose(const char *variable, const char *const *words, size_t n, const char *list) {
  const char *v = secure_getenv(variable);
  if (v == NULL || *v == '\0') return 0;
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(v, words[i]) == 0) return i;
  if (pmlib.rank == 0) pmlib_warn("%s=%.200s is unknown: using %s; set one of %s", variable, v, words[0], list);
  return 0;
}

static char *event_text; /* what the names of events point into */

/* "a  b c" to pointers to its words; how many there are, of which at most @most are kept. */
static size_t split(const char *text, const char **word, size_t most) {
  static const char blanks[] = " \t\n";
  size_t n = 0;
  event_text = strdup(text);
  if (event_text == NULL) return 0;
  char *next = NULL;
  for (char *w = strtok_r(event_text, blanks, &next); w != NULL; w = strtok_r(NULL, blanks, &next)) {
    if (n < most) word[n] = w;
    n++;
  }
  return n;
}

#define WHY(...) (void)snprintf(pmlib.why_no_events, sizeof pmlib.why_no_events, __VA_ARGS__)

static void choose_events(void) {
  const char *own = secure_getenv("PMLUA_CHOOSER_EVENTS");
  if (pmlib.chooser == &pmlib_choosers[0]) return;
  size_t n = split(own != NULL ? own : pmlib.chooser->events, pmlib.event, PMLIB_EVENTS_MAX);
  if (n == 0)
    WHY("no event name means this on every CPU; name this CPU's in PMLUA_CHOOSER_EVENTS (see pmlua events)");
  else if (n > PMLIB_EVENTS_MAX)
    WHY("%zu events named; at most %u are possible", n, PMLIB_EVENTS_MAX);
  if (pmlib.why_no_events[0] != '\0') return;
  struct pml_eventset *set;
  int err = pml_eventset_open(&set, pmlib.event, n, NULL);
  if (err < 0) {
    WHY("%s", pml_error_detail(err));
    return;
  }
  static char permitted[PMLIB_EVENTS_MAX][PML_EVENT_NAME_MAX];
  for (size_t i = 0; i < n; i++)
    if (pml_event_permitted(pmlib.event[i], permitted[i]) == 0) pmlib.event[i] = permitted[i];
  pml_eventset_close(set);
  pmlib.nevents = n;
}

void pmlib_environment(void) {
  static const char *const levels[] = {"BASIC", "DETAIL", "FULL"};
  static const char *const tracing[] = {"off", "no", "none", "on", "yes", "full"};
  static const enum pmlib_tracing traced[] = {PMLIB_TRACE_OFF, PMLIB_TRACE_OFF, PMLIB_TRACE_OFF,
                                              PMLIB_TRACE_ON,  PMLIB_TRACE_ON,  PMLIB_TRACE_FULL};
  const char *names[sizeof pmlib_choosers / sizeof *pmlib_choosers];
  for (size_t i = 0; i < pmlib_nchoosers; i++) names[i] = pmlib_choosers[i].name;
  pmlib.chooser = &pmlib_choosers[choose("HWPC_CHOOSER", names, pmlib_nchoosers,
                                         "FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE, USER")];
  pmlib.level = (enum pmlib_level)choose("PMLIB_REPORT", levels, 3, "BASIC, DETAIL, FULL");
  pmlib.report_asked = secure_getenv("PMLIB_REPORT") != NULL;
  pmlib.tracing = traced[choose("OTF_TRACING", tracing, 6, "off, on, full")];
  choose_events();
}
