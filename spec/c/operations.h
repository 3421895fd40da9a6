/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/operations.h - every operation of the core that allocates memory or descriptors, for the specs that starve it.
 *
 * Each operation prepares its data, arms the shortage around the call under test, disarms it, and frees everything. It
 * returns the result of the call. A failed call must have left its handle closed, otherwise the result is HANDLE_OPEN.
 */
#ifndef SPEC_OPERATIONS_H
#define SPEC_OPERATIONS_H

#include "control/balance/pml_balance.h"
#include "cpus_folder.h"
#include "events.h"
#include "pml.h"
#include "read/log/pml_count_read.h"
#include "read/log/pml_history_read.h"
#include "read/log/pml_plugin_load_log.h"
#include "read/log/pml_samples_left.h"
#include "read/recording/pml_recording_read.h"
#include "read/section/pml_section_reader.h"
#include "record/pml_samples.h"
#include "source/compiler/pml_count_file.h"
#include "source/compiler/pml_count_layout.h"
#include "source/kernel/pml_group.h"
#include "substrate/flow/pml_flow.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* No code of the core is positive. */
#define HANDLE_OPEN 1000    /* a failure that left something open */
#define LESS_THAN_SAID 1001 /* a false success */

static void arm(void);
static void disarm(void);

static char trace_dir[64];
volatile uint32_t operations_watched;
__attribute__((noinline, used)) static void operations_probed(void) {
  __asm__ volatile("" ::: "memory");
}

struct operation {
  const char *name;
  int (*run)(void);
  const char *event, *sysfs; /* instead: a name to be parsed, on the machine that a folder describes */
  unsigned nparts;           /* that it then has, if not 0 */
  bool misspelt;             /* it is refused as unknown */
  bool slow;                 /* a second run of it in each process would take too long */
};

static int parse_event(const struct operation *o) {
  struct pml_event ev;
  if (o->sysfs != NULL && pml_event_set_sysfs(o->sysfs) < 0) return LESS_THAN_SAID;
  arm();
  int err = pml_event_parse(&ev, o->event);
  disarm();
  if (o->sysfs != NULL) (void)pml_event_set_sysfs(NULL);
  if (o->misspelt) return err == PML_ENOEVENT ? 0 : err < 0 ? err : LESS_THAN_SAID;
  return err == 0 && o->nparts != 0 && ev.nparts != o->nparts ? LESS_THAN_SAID : err;
}

static inline int operation_run(const struct operation *o) {
  return o->event != NULL ? parse_event(o) : o->run();
}

/* A list that is shorter than it should be is no success. */
static uint64_t listed, all_listed;
static int visit(const struct pml_event_info *info, void *arg) {
  (void)info, (void)arg;
  listed++;
  return 0;
}
static int list_here(void) {
  listed = 0;
  arm();
  int err = pml_event_list(NULL, false, visit, NULL);
  disarm();
  return err == 0 && listed < all_listed ? LESS_THAN_SAID : err;
}
static int has_pmu(void) {
  arm();
  int had = pml_event_has_pmu();
  disarm();
  return had < 0 ? had : 0;
}

static int open_counter(void) {
  struct pml_event ev = faults();
  struct pml_counter c;
  arm();
  int err = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  disarm();
  if (err < 0 && c.fd != -1) return HANDLE_OPEN;
  pml_counter_close(&c);
  return err;
}

static int open_group(void) {
  struct pml_event a = faults(), b = task_clock(), c = switches();
  const struct pml_event *ev[] = {&a, &b, &c};
  struct pml_group g;
  arm();
  int err = pml_group_open(&g, ev, NULL, 3, NULL, 0, NULL);
  disarm();
  if (err < 0 && (g.n != 0 || g.member || g.buffer)) return HANDLE_OPEN;
  pml_group_close(&g);
  return err;
}

static int open_names(const char *const *names, size_t n, unsigned flags) {
  struct pml_eventset_options o = {.flags = flags};
  struct pml_eventset *s = (struct pml_eventset *)1;
  arm();
  int err = pml_eventset_open(&s, names, n, &o);
  disarm();
  if (err < 0 && s) return HANDLE_OPEN;
  pml_eventset_close(s);
  return err;
}
static const char *const many[] = {"page-faults", "clock::ticks", "task-clock", "clock::ns", "minor-faults"};
static int open_set(void) {
  return open_names(many, 5, 0);
}
static int open_set_of_one(void) {
  return open_names(many, 1, 0);
}
static int open_set_ungrouped(void) {
  return open_names(many, 5, PML_EVENTSET_UNGROUPED);
}
static int open_set_multiplexed(void) {
  return open_names(many, 5, PML_EVENTSET_MULTIPLEX);
}

/* Enough for the table of slots to grow and for a second and a third chunk. */
static int intern_regions(void) {
  int err = 0;
  pml_region_t id = 0;
  char name[32];
  arm();
  for (uint32_t i = 0; i < 300 && err == 0; i++) {
    snprintf(name, sizeof name, "operation %u", i);
    err = pml_region_intern(name, "operations.h", i, &id);
  }
  disarm();
  return err < 0 && id != 0 ? HANDLE_OPEN : err;
}

static int open_samples(void) {
  struct pml_samples s;
  arm();
  int err = pml_samples_open(&s, 1000);
  for (uint64_t i = 0; err == 0 && i < 1000; i++) err = pml_samples_push(&s, i * 7919 % 1000);
  if (err == 0) err = pml_samples_sort(&s);
  disarm();
  pml_samples_close(&s);
  return err;
}

/* Every value is recorded, or dropped and counted; those that are recorded have their order. */
static int record_values(enum pml_keep keep) {
  const uint64_t pushes = 3000;
  const struct pml_recorder_options o = {.type = PML_TYPE_INT64, .keep = keep};
  struct pml_recorder *r = (struct pml_recorder *)1;
  uint64_t refused = 0;
  double least;
  arm();
  int err = pml_recorder_open(&r, &o);
  if (err < 0) {
    disarm();
    return r != NULL ? HANDLE_OPEN : err;
  }
  for (int64_t v = 1; v <= (int64_t)pushes; v++) refused += pml_recorder_push(r, &v) < 0;
  int read = pml_recorder_value(r, 0, &least);
  disarm();
  uint64_t dropped = pml_recorder_dropped(r), count = pml_recorder_count(r);
  if (dropped > 0) err = -ENOMEM;
  if (dropped == 0 && read < 0) err = read;
  if (dropped != refused || count + dropped != pushes || (err == 0 && fabs(least - 1) > 0.01)) err = LESS_THAN_SAID;
  pml_recorder_close(r);
  return err;
}
static int record_all(void) {
  return record_values(PML_KEEP_ALL);
}
static int record_sketch(void) {
  return record_values(PML_KEEP_SKETCH);
}

static int remove_trace(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s/*", trace_dir);
  return system(command);
}

/* @record: also a location and records of it, to the end. */
static int write_trace(bool record) {
  static const struct pml_otf2_metric metric[] = {{"m", "a metric", "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
                                                  {.name = "n"}};
  struct pml_otf2 *a = (struct pml_otf2 *)1;
  struct pml_otf2_location *loc = NULL;
  pml_region_t region = 0;
  uint64_t values[2] = {1, 2};
  int err = pml_region_intern("traced", NULL, 0, &region);
  if (err < 0) return HANDLE_OPEN;
  arm();
  err = pml_otf2_open(&a, trace_dir, metric, 2);
  if (err < 0 && a) return HANDLE_OPEN;
  if (err == 0 && record) err = pml_otf2_location(a, "first", &loc);
  if (err == 0 && record) {
    pml_otf2_enter(loc, pml_clock_ticks(), region);
    pml_otf2_metric(loc, pml_clock_ticks(), values);
    pml_otf2_leave(loc, pml_clock_ticks(), region);
  }
  int closed = pml_otf2_close(a);
  disarm();
  (void)remove_trace();
  return err < 0 ? err : closed;
}
static int open_trace(void) {
  return write_trace(false);
}
static int record_trace(void) {
  return write_trace(true);
}

static int call_sections(void) {
  static const char *const events[] = {"page-faults:u"};
  struct pml_section_options o = {.events = events, .nevents = 1, .record = PML_SECTION_RECORD_ALL};
  struct pml_section *s = NULL;
  int err = pml_section_define("operations", &o, &s);
  int depth = 0;
  while (err == 0 && depth < 40 && (err = pml_section_start(s)) == 0) depth++;
  for (; depth > 0; depth--) (void)pml_section_stop(s);
  if (err == 0) err = pml_section_start_label("operations by label");
  if (err == 0) err = pml_section_stop_label("operations by label");
  return err < 0 && s == NULL && pml_section_find("operations") ? HANDLE_OPEN : err;
}

static int report_sections(void) {
  struct pml_section_report r;
  int err = pml_section_report(true, &r);
  for (size_t i = 0; err == 0 && i < r.n; i++)
    if (r.row[i].misuse[PML_SECTION_UNRECORDED] > 0 || r.row[i].misuse[PML_SECTION_UNREAD] > 0) err = -ENOMEM;
  if (err == 0 && r.n != 2) err = LESS_THAN_SAID;
  pml_section_report_free(&r);
  return err;
}

static int use_sections(void) {
  pml_section_reset();
  arm();
  int err = call_sections();
  if (err == 0) err = report_sections();
  disarm();
  return err;
}

static int count_path(const struct pml_profile_node *node, void *arg) {
  (void)node;
  ++*(unsigned *)arg;
  return 0;
}

static int profile_sections(void) {
  struct pml_profile *p = (struct pml_profile *)1;
  struct pml_profile_stats stats;
  struct pml_stream_lost before, after;
  unsigned paths = 0;
  pml_section_reset();
  pml_stream_lost(&before);
  arm();
  int err = pml_profile_open(&p);
  if (err < 0 && p) return HANDLE_OPEN;
  if (err == 0) {
    err = call_sections();
    if (err == 0) err = pml_profile_visit(p, count_path, &paths);
    pml_profile_stats(p, &stats);
    pml_stream_lost(&after);
    if (err == 0 && (stats.dropped > 0 || after.refused > before.refused)) err = -ENOMEM;
    if (err == 0 && paths != 41) err = LESS_THAN_SAID;
    pml_profile_close(p);
  }
  disarm();
  return err;
}

static int flow_sections(void) {
  static const char *const metrics[] = {"page-faults:u"};
  struct pml_flow *f = (struct pml_flow *)1;
  struct pml_stream_lost before, after;
  size_t n = 0;
  pml_section_reset();
  pml_stream_lost(&before);
  arm();
  int err = pml_flow_open(&f, &(struct pml_flow_options){.metrics = metrics, .nmetrics = 1});
  if (err < 0 && f) return HANDLE_OPEN;
  if (err == 0) {
    err = call_sections();
    if (err == 0) err = pml_flow_stop(f);
    const struct pml_flow_graph *const *g = pml_flow_graphs(f, &n);
    pml_stream_lost(&after);
    if (err == 0 && (after.refused > before.refused || (n == 1 && g[0]->missing > 0))) err = -ENOMEM;
    if (err == 0 && (n != 1 || g[0]->nnodes != 42)) err = LESS_THAN_SAID;
    pml_flow_close(f);
  }
  disarm();
  return err;
}

/* The log of a program with one thread that counted nothing. */
static int write_log(char *path, size_t room) {
  static union {
    struct pml__log_head log;
    char head[PML__LOG_DIRECTORY];
  } head = {.log = {.version = PML__LOG_VERSION, .magic = PML__LOG_MAGIC, .ticks_per_second = 1e9, .entries = 1}};
  static struct pml_count_area area = {.header = {.abi = PML_COUNT_ABI, .cells = PML_COUNT_CELLS, .modules = 1}};
  const struct pml__log_entry entry = {.kind = PML__LOG_COUNTS, .at = PML__LOG_DIRECTORY, .bytes = sizeof area};
  memcpy(head.head + PML__LOG_ENTRIES_AT, &entry, sizeof entry);
  (void)snprintf(path, room, "%s/counts", trace_dir);
  FILE *f = fopen(path, "wb");
  bool written = f != NULL && fwrite(&head, sizeof head, 1, f) == 1 && fwrite(&area, sizeof area, 1, f) == 1;
  return f != NULL && fclose(f) == 0 && written ? 0 : LESS_THAN_SAID;
}

static int read_counts(void) {
  struct pml_counts *c = (struct pml_counts *)1;
  char path[sizeof trace_dir + 8];
  if (write_log(path, sizeof path) != 0) return LESS_THAN_SAID;
  arm();
  int err = pml_count_read(path, &c);
  disarm();
  (void)remove(path);
  if (err < 0) return c != NULL ? HANDLE_OPEN : err;
  bool right = c->nparts == 1 && c->nevents == 9 && c->event[0] == 0;
  pml_counts_free(c);
  return right ? 0 : LESS_THAN_SAID;
}

/* Other readers find nothing in it. */
static int read_log(const char *path, int reader) {
  struct pml_samples_left left;
  struct pml_recording_reader *r;
  struct pml__section_reader b;
  int err = 0;
  if (reader == 0) err = pml_history_load(path, NULL, NULL);
  if (reader == 1) err = pml_plugin_load_series(path, NULL, NULL);
  if (reader == 2) err = pml_samples_left(path, &left);
  if (reader == 3 && (err = pml_recording_read_open(&r, path)) == 0) pml_recording_read_close(r);
  if (reader != 4) return err;
  err = pml__section_reader_open(&b, path, NULL, NULL);
  pml__section_reader_close(&b); /* either way */
  return err;
}

static int read_nothing(void) {
  char path[sizeof trace_dir + 8];
  if (write_log(path, sizeof path) != 0) return LESS_THAN_SAID;
  int err = 0;
  arm();
  for (int i = 0; i < 5 && err != -ENOMEM && err != -EMFILE; i++) err = read_log(path, i);
  disarm();
  (void)remove(path);
  return err == -ENOMEM || err == -EMFILE ? err : 0;
}

static int describe_clock(void) {
  arm();
  int err = pml_clock_init();
  disarm();
  return err;
}

static int tune_region(void) {
  static const struct pml_tune_rule rule[] = {{.region = "op", .frequency_hz = 2e9, .governor = "powersave"}};
  const struct pml_tune_options o = {.root = cpus_folder, .cpus = PML_TUNE_ALL};
  struct pml_tune *t = (struct pml_tune *)1;
  struct pml_tune_stats stats = {0};
  pml_tune_allow();
  arm();
  int err = pml_tune_open(&t, rule, 1, &o);
  if (err < 0 && t) return HANDLE_OPEN;
  if (err == 0) {
    err = pml_section_start_label("op");
    int other = pml_section_stop_label("op");
    pml_tune_stats(t, &stats);
    if (err == 0) err = other;
    if (err == 0 && (stats.lost > 0 || stats.refused > 0 || stats.entered == 0)) err = -ENOMEM;
    if (err == 0 && stats.writes != 12) err = LESS_THAN_SAID;
    pml_tune_close(t);
  }
  disarm();
  return err;
}

static int balance_region(void) {
  static const char *const sync[] = {"op"};
  const struct pml_balance_options o = {
      .sync = sync, .nsync = 1, .tune = {.root = cpus_folder, .cpus = PML_TUNE_CURRENT, .dry_run = true}};
  struct pml_balance *b = (struct pml_balance *)1;
  struct pml_balance_stats stats = {0};
  arm();
  int err = pml_balance_open(&b, &o);
  if (err < 0 && b) return HANDLE_OPEN;
  for (int i = 0; err == 0 && i < 3; i++) {
    err = pml_section_start_label("op");
    int other = pml_section_stop_label("op");
    if (err == 0) err = other;
  }
  if (b != NULL) pml_balance_stats(b, &stats);
  if (err == 0 && (stats.lost > 0 || stats.repetitions != 2)) err = -ENOMEM;
  pml_balance_close(b);
  disarm();
  return err;
}

static char uprobe[PATH_MAX + 64];

static const struct operation operations[] = {
    {"the clock", .run = describe_clock},
    {"a generic event's name", .event = "page-faults"},
    {"a hardware event's name", .event = "cycles"},
    {"a name of libpfm4", .event = "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:u"},
    {"a name of libpfm4's perf", .event = "perf::TASK-CLOCK"},
    {"a tracepoint's name", .event = "syscalls:sys_enter_getppid"},
    {"a breakpoint's name", .event = "mem:operations_watched:w"},
    {"a static function's breakpoint", .event = "mem:operations_probed:x"},
    {"a uprobe's name", .event = uprobe},
    {"a sysfs event's name", .event = "msr/tsc/"},
    {"a sysfs event with unit and scale", .event = "power/energy-pkg/", .sysfs = "spec/data/sysfs/desktop"},
    {"a hybrid machine's event", .event = "cycles", .sysfs = "spec/data/sysfs/hybrid", .nparts = 2},
    {"a misspelt name", .event = "page-fualts", .misspelt = true},
    {"a misspelt PMU", .event = "mrs/tsc/", .misspelt = true},
    {"a misspelt parameter", .event = "msr/tcs/", .misspelt = true},
    {"the list of events", .run = list_here, .slow = true},
    {"whether there is a PMU", .run = has_pmu},
    {"a counter", .run = open_counter},
    {"a group", .run = open_group},
    {"an event set", .run = open_set},
    {"a set of one event", .run = open_set_of_one},
    {"an ungrouped set", .run = open_set_ungrouped},
    {"a multiplexed set", .run = open_set_multiplexed},
    {"300 regions", .run = intern_regions},
    {"samples and their sort", .run = open_samples},
    {"a recorder", .run = record_all},
    {"a sketch", .run = record_sketch},
    {"an empty trace", .run = open_trace},
    {"a trace", .run = record_trace},
    {"sections", .run = use_sections},
    {"a profile of sections", .run = profile_sections},
    {"the flow of sections", .run = flow_sections},
    {"tuning of a region", .run = tune_region},
    {"balancing of a region", .run = balance_region},
    {"a file of counts", .run = read_counts},
    {"readers of a log without data", .run = read_nothing},
};
#define NOPERATIONS (sizeof operations / sizeof *operations)

static inline bool operations_prepare(void) {
  char self[PATH_MAX] = "";
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  snprintf(uprobe, sizeof uprobe, "uprobe:%s:operations_probed", self);
  cpus_make(2);
  strcpy(trace_dir, "/tmp/pmlua-spec-XXXXXX");
  return n > 0 && mkdtemp(trace_dir) != NULL;
}

#endif
