/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/plugins/watchpoint.c - accesses to variables and calls of functions as metrics, by hardware breakpoints.
 *
 *   mem:SYMBOL:rw   how often each thread accessed a variable (rw, w) or called a function (x) since it joined
 *   SYMBOL          what each thread wrote to a variable; the type comes from the debug information
 *
 * SYMBOL is in the form of pml_variable_find(); the first of the program and its loaded objects that defines it counts.
 * The CPU has four breakpoints. Each thread has a separate series of its accesses, which reads collect; an access
 * costs an exception and a signal (program/pml_watchpoint.h). Errors in tokens are reported on standard error.
 */
#include "program/pml_watchpoint_plan.h"

#include "base/pml_error.h"

#include <scorep/SCOREP_MetricPlugins.h>

#include <errno.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNTERS 4096
#define OBJECTS 256
#define VALUES (UINT64_C(1) << 20) /* accesses that are kept, of all threads */
#define METRICS (2 * PML_WATCHPOINTS_MAX)
#define WHY_BYTES 900
#define PREFIX "mem:"

/* A token's metric; the count and the content of a variable share a point, since their signals would be one. */
struct metric {
  char *token;
  unsigned point;
  bool content;
};

/* A metric of one thread. */
struct counter {
  unsigned point;
  bool content;
  pid_t tid;
  uint64_t since_ticks; /* when it joined */
  uint64_t accesses;
  bool placed; /* @lane is its lane */
  unsigned lane;
  uint64_t before; /* the lane's accesses before the thread joined */
  struct pml_watchpoint_cursor cursor;
};

static uint64_t (*now)(void);
static struct pml_watchpoint_plan plan;
static struct metric metric[METRICS];
static unsigned nmetrics;
static struct pml_watchpoints *set;
static struct counter counter[COUNTERS];
static int32_t ncounters;

static void complain(const char *what, const char *why) {
  char line[1024];
  int n = snprintf(line, sizeof line, "pmlua: plugin watchpoint: %.200s: %s\n", what, why);
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0) return;
}

static int32_t initialize(void) {
  int err = pml_watchpoint_available();
  if (err < 0) complain("watchpoints are not available", pml_error_detail(err));
  return now == NULL || err < 0 ? -1 : 0;
}

static void finalize(void) {
  pml_watchpoints_close(set);
  set = NULL;
  while (nmetrics > 0) free(metric[--nmetrics].token);
  plan.points = 0;
  ncounters = 0;
}

static void set_clock_function(uint64_t (*clock_time)(void)) {
  now = clock_time;
}

/* ---- what the tokens say ---- */

struct objects {
  char *path[OBJECTS];
  size_t n;
};

static int note_object(struct dl_phdr_info *info, size_t size, void *arg) {
  struct objects *o = arg;
  (void)size;
  if (o->n < OBJECTS && info->dlpi_name != NULL && info->dlpi_name[0] == '/') o->path[o->n++] = strdup(info->dlpi_name);
  return 0;
}

/* The program first: why it is not there counts, unless an object has it and it cannot be watched. */
static int find_point(struct pml_watchpoint_plan *one, const char *name, uint32_t access, bool content, char *why) {
  struct objects o = {.n = 0};
  int err = pml_watchpoint_plan_add(one, "/proc/self/exe", name, access, content);
  if (err == 0) return 0;
  (void)snprintf(why, WHY_BYTES, "%s", pml_error_detail(err));
  if (err == PML_ENOSYMBOL) (void)dl_iterate_phdr(note_object, &o);
  for (size_t i = 0; i < o.n; i++) {
    if (err == PML_ENOSYMBOL && o.path[i] != NULL) {
      err = pml_watchpoint_plan_add(one, o.path[i], name, access, content);
      if (err < 0 && err != PML_ENOSYMBOL) (void)snprintf(why, WHY_BYTES, "%s", pml_error_detail(err));
    }
    free(o.path[i]);
  }
  return err;
}

/* The point of @one, the plan's own if there is one at its place already; < 0: it cannot be. */
static int keep_point(const struct pml_watchpoint_plan *one, char *why) {
  unsigned i = 0;
  while (i < plan.points &&
         (plan.point[i].address != one->point->address || plan.object[i].inode != one->object->inode ||
          plan.object[i].device != one->object->device))
    i++;
  if (i == PML_WATCHPOINTS_MAX) (void)snprintf(why, WHY_BYTES, "the CPU has %d breakpoints", PML_WATCHPOINTS_MAX);
  if (i == PML_WATCHPOINTS_MAX) return -1;
  if (i < plan.points && plan.point[i].access != one->point->access) {
    (void)snprintf(why, WHY_BYTES, "%s already watches it; the signals of both could not be distinguished",
                   plan.point[i].name);
    return -1;
  }
  if (i == plan.points || one->point->content != PML_CONTENT_NONE) {
    plan.point[i] = one->point[0];
    plan.object[i] = one->object[0];
  }
  if (i == plan.points) plan.points++;
  return (int)i;
}

static bool add_metric(const char *token, const char *name, uint32_t access, bool content) {
  struct pml_watchpoint_plan one = {.points = 0};
  char why[WHY_BYTES] = "too many";
  int err = nmetrics < METRICS ? find_point(&one, name, access, content, why) : -1;
  int point = err == 0 ? keep_point(&one, why) : -1;
  if (point < 0) complain(token, why);
  if (point < 0) return false;
  metric[nmetrics++] = (struct metric){strdup(token), (unsigned)point, content};
  return true;
}

/* The letters behind the last colon; 0: not such letters. */
static uint32_t access_of(const char *letters) {
  uint32_t all = 0;
  for (; *letters != '\0'; letters++)
    all |= *letters == 'r'   ? HW_BREAKPOINT_R
           : *letters == 'w' ? HW_BREAKPOINT_W
           : *letters == 'x' ? HW_BREAKPOINT_X
                             : 0x100;
  return (all & 0x100) == 0 ? all : 0;
}

static bool take(const char *token) {
  char name[256];
  if (strncmp(token, PREFIX, strlen(PREFIX)) != 0) return add_metric(token, token, HW_BREAKPOINT_W, true);
  (void)snprintf(name, sizeof name, "%s", token + strlen(PREFIX));
  char *letters = strrchr(name, ':');
  uint32_t access = letters != NULL ? access_of(letters + 1) : 0;
  if (access == 0) complain(token, "write mem:SYMBOL:rw, with rw, w, or x for functions");
  if (access == 0) return false;
  *letters = '\0';
  return add_metric(token, name, access, false);
}

static bool is_real(const struct pml_watchpoint *p) {
  return p->content == PML_CONTENT_FLOAT || p->content == PML_CONTENT_LONG_DOUBLE;
}

static SCOREP_MetricValueType value_type(const struct pml_watchpoint *p) {
  if (is_real(p)) return SCOREP_METRIC_VALUE_DOUBLE;
  return p->content == PML_CONTENT_SIGNED ? SCOREP_METRIC_VALUE_INT64 : SCOREP_METRIC_VALUE_UINT64;
}

static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *m = calloc(2, sizeof *m);
  if (m == NULL || !take(token)) return m;
  bool content = metric[nmetrics - 1].content;
  m->name = strdup(token);
  m->description = content ? "what the thread wrote" : "accesses of the thread";
  m->mode = content ? SCOREP_METRIC_MODE_ABSOLUTE_NEXT : SCOREP_METRIC_MODE_ACCUMULATED_START;
  m->value_type = content ? value_type(&plan.point[metric[nmetrics - 1].point]) : SCOREP_METRIC_VALUE_UINT64;
  m->base = SCOREP_METRIC_BASE_DECIMAL;
  m->unit = content ? "" : "#";
  return m;
}

static int32_t add_counter(char *name) {
  unsigned i = 0;
  while (i < nmetrics && (metric[i].token == NULL || strcmp(metric[i].token, name) != 0)) i++;
  if (i == nmetrics || ncounters == COUNTERS) return -1;
  counter[ncounters] = (struct counter){.point = metric[i].point, .content = metric[i].content};
  counter[ncounters].tid = (pid_t)syscall(SYS_gettid);
  counter[ncounters].since_ticks = now();
  return ncounters++;
}

/* ---- watching ---- */

/* The points at their addresses, in the order of the plan; false: an object is not loaded. */
static bool place(struct pml_watchpoint *point) {
  struct pml_watchpoint placed[PML_WATCHPOINTS_MAX]; /* in the order of the objects */
  size_t n = pml_watchpoint_plan_place(&plan, placed);
  for (unsigned i = 0; i < plan.points; i++) {
    size_t k = 0;
    while (k < n && (strcmp(placed[k].name, plan.point[i].name) != 0 || placed[k].access != plan.point[i].access)) k++;
    if (k == n) return false;
    point[i] = placed[k];
  }
  return true;
}

static void begin(void) {
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX];
  const struct pml_watchpoint_options o = {.values = VALUES};
  size_t n = plan.points;
  if (set != NULL || n == 0) return;
  int err = place(point) ? pml_watchpoints_open(&set, point, n, &o) : -ENOENT;
  if (err == 0) err = pml_watchpoints_start(set);
  if (err < 0) complain("no watchpoint was set", err == -ENOENT ? "an object is not loaded" : pml_error_detail(err));
}

static void synchronize(bool is_responsible, SCOREP_MetricSynchronizationMode mode) {
  if (!is_responsible) return;
  if (mode != SCOREP_METRIC_SYNCHRONIZATION_MODE_END)
    begin();
  else if (set != NULL)
    (void)pml_watchpoints_stop(set);
}

/* A thread has a lane of each point once it has made an access. */
static bool find_lane(const struct pml_watchpoint_store *s, struct counter *c) {
  struct pml_watchpoint_lane lane;
  for (unsigned i = 0; !c->placed && pml_watchpoint_lane(s, i, &lane) == 0; i++) {
    c->placed = lane.tid == c->tid && lane.point == c->point;
    c->lane = i;
  }
  return c->placed;
}

static uint64_t value_of(const struct pml_watchpoint *p, struct counter *c, uint64_t bits) {
  uint64_t v;
  c->accesses++;
  if (!c->content) return c->accesses;
  struct pml_value value = pml_watchpoint_decode(p, bits);
  if (is_real(p))
    memcpy(&v, &value.d, sizeof v);
  else
    v = p->content == PML_CONTENT_SIGNED ? (uint64_t)value.i : bits;
  return v;
}

/* Collect new values, except those from before the thread joined. */
static size_t take_values(const struct pml_watchpoint_store *s, struct counter *c, SCOREP_MetricTimeValuePair *to,
                          size_t room) {
  struct pml_watchpoint_value v[256];
  size_t n = 0, got;
  while (n + 256 <= room && (got = pml_watchpoint_collect(s, c->lane, &c->cursor, v, 256)) > 0)
    for (size_t i = 0; i < got; i++) {
      if (v[i].ticks < c->since_ticks)
        c->before++;
      else
        to[n++] = (SCOREP_MetricTimeValuePair){v[i].ticks, value_of(&plan.point[c->point], c, v[i].bits)};
    }
  return n;
}

static uint64_t get_all_values(int32_t id, SCOREP_MetricTimeValuePair **list) {
  struct counter *c = &counter[id];
  struct pml_watchpoint_lane lane;
  const struct pml_watchpoint_store *s = set != NULL ? pml_watchpoints_store(set) : NULL;
  *list = NULL;
  if (s == NULL || !find_lane(s, c) || pml_watchpoint_lane(s, c->lane, &lane) < 0) return 0;
  size_t room = (size_t)(lane.accesses - c->before - c->accesses) + 2 * 256;
  *list = malloc(room * sizeof **list);
  if (*list == NULL) return 0;
  size_t n = take_values(s, c, *list, room - 1);
  /* Dropped accesses have no time, but count. */
  if (lane.dropped > 0 && !c->content && lane.accesses - c->before > c->accesses) {
    c->accesses = lane.accesses - c->before;
    (*list)[n++] = (SCOREP_MetricTimeValuePair){now(), c->accesses};
  }
  return n;
}

SCOREP_METRIC_PLUGIN_ENTRY(watchpoint) {
  return (SCOREP_Metric_Plugin_Info){.plugin_version = SCOREP_METRIC_PLUGIN_VERSION,
                                     .run_per = SCOREP_METRIC_PER_THREAD,
                                     .sync = SCOREP_METRIC_ASYNC_EVENT,
                                     .initialize = initialize,
                                     .finalize = finalize,
                                     .get_event_info = get_event_info,
                                     .add_counter = add_counter,
                                     .set_clock_function = set_clock_function,
                                     .get_all_values = get_all_values,
                                     .synchronize = synchronize};
}
