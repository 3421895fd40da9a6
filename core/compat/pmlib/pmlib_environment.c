/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_environment.c - PMlib's environment variables, and the events of its choosers. */
#include "compat/pmlib/pmlib.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_eventset.h"

#include "base/pml_error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct pmlib_chooser pmlib_choosers[] = {
    {"USER", "the operations and bytes that the program states"},
    {"FLOPS", "floating-point operations"},
    {"BANDWIDTH", "cache lines from memory"},
    {"VECTOR", "floating-point operations by vector and by scalar instructions"},
    {"CACHE", "loads and misses of the first and the last level"},
    {"CYCLE", "cycles and instructions"},
    {"LOADSTORE", "loads and stores"},
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

/* The index of the variable's value in @words; 0 (the default) if it is unset, empty, or unknown. */
static size_t choose(const char *variable, const char *const *words, size_t n, const char *list) {
  const char *v = secure_getenv(variable);
  if (v == NULL || *v == '\0') return 0;
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(v, words[i]) == 0) return i;
  if (pmlib.rank == 0) pmlib_warn("%s=%.200s is unknown: using %s; set one of %s", variable, v, words[0], list);
  return 0;
}

static char *event_text; /* contains the names of events */

/* Split "a b c" into pointers to its words; returns their number, of which at most @most are stored. */
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

/* The chooser's events on @pmu, or NULL. */
static const char *events_on(const char *pmu) {
  for (const struct pmlib_chooser_events *e = pmlib_chooser_events; e->pmu != NULL; e++)
    if (strcmp(e->pmu, pmu) == 0 && strcmp(e->chooser, pmlib.chooser->name) == 0) return e->events;
  return NULL;
}

/* libpfm4's name of this CPU's core PMU; "generic", for perf's own names, if it does not recognise the CPU. */
static void name_pmu(char name[64]) {
  memcpy(name, "generic", sizeof "generic");
  int n = pml_event_pmus(NULL, 0);
  struct pml_event_pmu *pmu = n > 0 ? malloc((size_t)n * sizeof *pmu) : NULL;
  if (pmu != NULL) n = pml_event_pmus(pmu, (size_t)n);
  for (int i = 0; pmu != NULL && i < n; i++) {
    if (!pmu[i].here || strcmp(pmu[i].kind, "core") != 0) continue;
    memcpy(name, pmu[i].name, sizeof pmu[i].name);
    break;
  }
  free(pmu);
}

/* Compiler counts come first, because they are exact and need no PMU. */
static const char *events_here(void) {
  char pmu[64];
  const char *events = pml_count_active() ? events_on("compiler") : NULL;
  if (events != NULL) return events;
  if (pml_event_has_pmu() == 0) {
    WHY("this machine has no hardware PMU; compile with pmlua cc --count, or name events in PMLUA_CHOOSER_EVENTS");
    return NULL;
  }
  name_pmu(pmu);
  events = events_on(pmu);
  if (events == NULL) WHY("no event of %s means this; name others in PMLUA_CHOOSER_EVENTS (see pmlua events)", pmu);
  return events;
}

/* Whether @n events open; if all of a chooser's events need more counters than the machine has, only the first ones. */
static bool open_events(size_t n, bool all) {
  struct pml_eventset *set;
  size_t fit = n;
  int err = pml_eventset_open(&set, pmlib.event, fit, NULL);
  while ((err == PML_ETOOMANY || err == PML_EWATCHDOG) && !all && fit > 1)
    err = pml_eventset_open(&set, pmlib.event, --fit, NULL);
  if (err < 0) {
    WHY("%s", pml_error_detail(err));
    return false;
  }
  pml_eventset_close(set);
  if (fit < n && pmlib.rank == 0)
    pmlib_warn("HWPC_CHOOSER=%s: %zu of %zu events fit together; %s and those after it are not counted",
               pmlib.chooser->name, fit, n, pmlib.event[fit]);
  pmlib.nevents = fit;
  return true;
}

static void choose_events(void) {
  const char *own = secure_getenv("PMLUA_CHOOSER_EVENTS");
  if (pmlib.chooser == &pmlib_choosers[0]) return;
  const char *events = own != NULL ? own : events_here();
  if (events == NULL) return;
  size_t n = split(events, pmlib.event, PMLIB_EVENTS_MAX);
  if (n == 0)
    WHY("PMLUA_CHOOSER_EVENTS names no event");
  else if (n > PMLIB_EVENTS_MAX)
    WHY("%zu events named; at most %u are possible", n, PMLIB_EVENTS_MAX);
  if (pmlib.why_no_events[0] != '\0' || !open_events(n, own != NULL)) return;
  static char permitted[PMLIB_EVENTS_MAX][PML_EVENT_NAME_MAX];
  for (size_t i = 0; i < pmlib.nevents; i++)
    if (pml_event_permitted(pmlib.event[i], permitted[i]) == 0) pmlib.event[i] = permitted[i];
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
