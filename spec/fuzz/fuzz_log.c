/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_log.c - read a log with arbitrary bytes: the result is a report, call paths and balanced events, or
 * one line with an error.
 *
 * An input is pieces of bytes with their places in a log that has two sections, one of them with events, the sums and
 * values of a thread, and a timeline; recorded calls: a path of three, values of arguments, and events with messages;
 * two counters, one of them sampled, and two recorders, one of them a section's; a metric of a plugin with a series;
 * a window; a construct of OpenMP, and a team with a task and a lock; two forked children;
 * a history in a chunk of seconds and one of minutes.
 *
 * Runs: 1500
 */
#include "fuzz_lua.h"

#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "read/archive/pml_archive.h"
#include "read/job/pml_mpi_reduction.h"
#include "read/log/pml_history_read.h"
#include "read/log/pml_plugin_load_log.h"
#include "read/recording/pml_recording_read_private.h"
#include "read/section/pml_section_totals.h"
#include "record/pml_history.h"
#include "record/quantile/pml_sketch.h"
#include "source/plugin/pml_plugin_log.h"
#include "substrate/profile/pml_profile_tree.h"

/* Offsets at which pieces begin: the head, its entries, and the extents. */
enum place {
  HEAD,
  ENTRIES,
  MIDDLE,
  DEFINITIONS,
  SUMS,
  VALUES,
  EVENTS,
  RECORDING,
  PATHS,
  ARGUMENTS,
  TRACK,
  CELLS,
  ELEMENTS,
  SERIES,
  OPENMP,
  TEAM,
  CHILDREN,
  HISTORY,
  PLACES
};
static const uint64_t place_of[PLACES] = {0,      PML__LOG_ENTRIES_AT,
                                          96,     65536,
                                          69632,  77824,
                                          94208,  98304,
                                          102400, 107584,
                                          110592, 114688,
                                          118784, 122880,
                                          126976, 131072,
                                          135168, 139264};
#define BYTES 143360u
#define NARGUMENTS 2u

static int file = -1;
static char path[64], dir[] = "/tmp/pmlua-fuzz-log-XXXXXX";

static void put(uint64_t at, const void *from, size_t n) {
  PROMISE(pwrite(file, from, n, (off_t)at) == (ssize_t)n, "the file takes it");
}

static void put_entry(unsigned i, uint32_t kind, enum place place, uint64_t bytes, uint64_t committed) {
  struct pml__log_entry e = {.kind = kind, .owner = 1, .at = place_of[place], .bytes = bytes, .committed = committed};
  if (kind == PML__LOG_ELEMENTS) e.key = 3;
  if (kind == PML__LOG_SERIES) e.key = 5;
  if (kind == PML__LOG_ELEMENTS) e.address = 1000;
  if (place == TRACK) e.turn = 1;
  if (place == TEAM) e.from = place_of[TRACK];
  put(PML__LOG_ENTRIES_AT + i * sizeof e, &e, sizeof e);
}

static size_t add_definition(char *to, uint32_t what, const void *fixed, size_t n, const char *text, size_t length) {
  struct pml__log_definition d = {what, (uint32_t)(sizeof d + n + length + 7) & ~7u};
  memcpy(to, &d, sizeof d);
  if (n > 0) memcpy(to + sizeof d, fixed, n);
  if (length > 0) memcpy(to + sizeof d + n, text, length);
  return d.bytes;
}

static size_t add_sketch(char *to) {
  struct pml_sketch *sketch;
  struct pml__pack p = {0};
  PROMISE(pml_sketch_open(&sketch, 0.01, 64) == 0, "a sketch");
  for (int i = 1; i <= 5; i++) pml_sketch_add(sketch, i);
  pml__sketch_pack(&p, sketch);
  const struct pml__log_sketch d = {1, (uint32_t)p.n};
  size_t n = add_definition(to, PML__LOG_SKETCH, &d, sizeof d, (const char *)p.at, p.n);
  pml_sketch_close(sketch);
  free(p.at);
  return n;
}

static void put_definitions(void) {
  static const char labels[] = "s\0clock::ns\0clock::real", note[] = "counted\0none";
  const struct pml__log_section plain = {.index = 0}, counted = {.index = 1, .type = 1, .nevents = 2, .real = 2};
  const struct pml__log_region region = {.region = 1};
  const struct pml__log_counter created = {1, 3, 0, 1}, sampled = {2, 1, 2, 16};
  const struct pml__log_recorder series = {3, 0, 2, 8}, durations = {4, 1, 2, 8};
  const struct pml__log_measured measured = {.number = 5};
  const struct pml__log_communicator world = {1, PML__LOG_COMM_WORLD, 0, 2, 0, 0, 0}, two = {3, 0, 0, 2, 1, 0, 7},
                                     inter = {4, PML__LOG_COMM_INTER, 0, 1, 1, 0, 8};
  const struct pml__log_window window = {2, 3, 1, 0};
  const struct pml__log_history_name history = {6, 1, 0, 0};
  const struct pml__log_clock_offset offset[2] = {{1, -5, 1}, {9, 5, 1}};
  char all[2048] = "";
  size_t n = add_definition(all, PML__LOG_SECTION, &plain, sizeof plain, "plain", 6);
  n += add_definition(all + n, PML__LOG_SECTION, &counted, sizeof counted, labels, sizeof labels);
  n += add_definition(all + n, PML__LOG_NOTE, NULL, 0, note, sizeof note);
  n += add_sketch(all + n);
  n += add_definition(all + n, PML__LOG_REGION, &region, sizeof region, "r\0l", 4);
  n += add_definition(all + n, PML__LOG_COUNTER, &created, sizeof created, "L::c", 5);
  n += add_definition(all + n, PML__LOG_COUNTER, &sampled, sizeof sampled, "L::s", 5);
  n += add_definition(all + n, PML__LOG_RECORDER, &series, sizeof series, "L::r", 5);
  n += add_definition(all + n, PML__LOG_RECORDER, &durations, sizeof durations, "plain", 6);
  n += add_definition(all + n, PML__LOG_MEASURED, &measured, sizeof measured, "p\0m\0u\0d", 8);
  n += add_definition(all + n, PML__LOG_COMMUNICATOR, &world, sizeof world, "\0\0", 3);
  n += add_definition(all + n, PML__LOG_COMMUNICATOR, &two, sizeof two, "two\0000 1\0", 9);
  n += add_definition(all + n, PML__LOG_COMMUNICATOR, &inter, sizeof inter, "\0000\0001", 5);
  n += add_definition(all + n, PML__LOG_WINDOW, &window, sizeof window, "w", 2);
  n += add_definition(all + n, PML__LOG_HISTORY_NAME, &history, sizeof history, "L::h", 5);
  for (int i = 0; i < 2; i++)
    n += add_definition(all + n, PML__LOG_CLOCK_OFFSET, &offset[i], sizeof offset[i], NULL, 0);
  put(place_of[DEFINITIONS], all, n);
  put_entry(0, PML__LOG_DEFINITIONS, DEFINITIONS, 4096, n);
}

/* A function called from outside, three times, and what its calls were given behind that. */
static void put_blocks(void) {
  struct pml__log_block b = {.used = PML__LOG_USED, .whose = 1};
  struct pml__profile_node node[PML__PROFILE_CHUNK] = {{0}};
  struct {
    struct pml__log_values values;
    char figures[PML__LOG_STRIPES * 128], names[64]; /* a stripe of two values */
  } v = {.values = {.region = 1, .n = NARGUMENTS, .real = 2}, .names = "n\0x"};
  for (uint32_t i = 1; i < 4; i++)
    node[i] = (struct pml__profile_node){.index = i, .region = 1, .count = 1, .entered = 1};
  PROMISE(place_of[PATHS] + sizeof b + sizeof node == place_of[ARGUMENTS] &&
              pml__recording_stripe_bytes(NARGUMENTS) == sizeof v.figures / PML__LOG_STRIPES,
          "blocks are where they are here");
  b.bytes = sizeof node;
  put(place_of[PATHS], &b, sizeof b);
  put(place_of[PATHS] + sizeof b, node, sizeof node);
  b.bytes = sizeof v;
  b.part = PML__LOG_VALUES_PART;
  put(place_of[ARGUMENTS], &b, sizeof b);
  put(place_of[ARGUMENTS] + sizeof b, &v, sizeof v);
}

static void put_calls(void) {
  const struct pml__log_recording r = {.traced = 1};
#define COMMUNICATED(what, n) PML__LOG_WORD(PML__LOG_COMMUNICATION, PML__LOG_COMMUNICATED(what, n, 0))
#define OF_CALL(what, n, code) PML__LOG_WORD(PML__LOG_CALL_COMMUNICATION, PML__LOG_COMMUNICATED(what, n, code))
  const uint64_t on = UINT64_C(3) << 32;
  const struct pml__log_event event[] = {{1, PML__LOG_WORD(PML__LOG_ENTER, 1)},
                                         {1, COMMUNICATED(PML__LOG_ISEND, 4)},
                                         {on | 1, 5},
                                         {8, 1},
                                         {1, COMMUNICATED(PML__LOG_ISEND_COMPLETE, 1)},
                                         {1, 0},
                                         {1, COMMUNICATED(PML__LOG_RECEIVE, 3)},
                                         {on, 5},
                                         {8, 0},
                                         {1, COMMUNICATED(PML__LOG_COLLECTIVE_BEGIN, 1)},
                                         {0, 0},
                                         {2, COMMUNICATED(PML__LOG_COLLECTIVE_END, 4)},
                                         {on | 1, 8},
                                         {8, 0},
                                         {2, COMMUNICATED(PML__LOG_RMA, 3)},
                                         {on | 1, 8},
                                         {2, 0},
                                         {2, PML__LOG_WORD(PML__LOG_LEAVE, 1)},
                                         {3, PML__LOG_WORD(PML__LOG_ENTER, 1)},
                                         {8, OF_CALL(PML__LOG_ISEND, 2, 3)},
                                         {UINT64_C(5) << 32 | 1, 3},
                                         {on | 1, OF_CALL(PML__LOG_COLLECTIVE_END, 2, PML__LOG_BCAST)},
                                         {8, 8},
                                         {8, OF_CALL(PML__LOG_IRECV_COMPLETE, 2, 3)},
                                         {UINT64_C(5) << 32, 1},
                                         {3, OF_CALL(PML__LOG_ISEND_COMPLETE, 0, 3)},
                                         {4, PML__LOG_WORD(PML__LOG_LEAVE, 1)},
                                         {5, UINT64_C(4) << PML__LOG_WHOLE_SHIFT | PML__LOG_WORD(PML__LOG_ENTER, 1)}};
  put(place_of[RECORDING], &r, sizeof r);
  put_blocks();
  put(place_of[TRACK] + sizeof(struct pml__log_buffer), event, sizeof event);
  put_entry(4, PML__LOG_RECORDING, RECORDING, sizeof r, 0);
  put_entry(5, PML__LOG_BLOCKS, PATHS, 8192, 0);
  put_entry(6, PML__LOG_EVENTS, TRACK, 4096, 0);
}

static void put_openmp(void) {
  const struct pml__log_openmp is = {
      .region = 1, .construct = 1, .runtime = 1, .threads = 2, .calls = 3, .ticks = 9, .waited = 4, .count = 10};
#define TOLD(what, n) PML__LOG_WORD(PML__LOG_OPENMP_EVENT, PML__LOG_COMMUNICATED(what, n, 0))
  const uint64_t task = UINT64_C(1) << 32 | 1;
  const struct pml__log_event event[] = {{1, TOLD(PML__LOG_OPENMP_FORK, 1)},
                                         {2, 0},
                                         {1, TOLD(PML__LOG_OPENMP_TEAM_BEGIN, 2)},
                                         {6, 2},
                                         {2, PML__LOG_WORD(PML__LOG_ENTER, 1)},
                                         {2, TOLD(PML__LOG_OPENMP_TASK_CREATED, 1)},
                                         {task, 0},
                                         {3, TOLD(PML__LOG_OPENMP_TASK_SWITCH, 1)},
                                         {task, 0},
                                         {3, TOLD(PML__LOG_OPENMP_LOCK_ACQUIRED, 2)},
                                         {4096, 1},
                                         {4, TOLD(PML__LOG_OPENMP_LOCK_RELEASED, 1)},
                                         {4096, 0},
                                         {5, TOLD(PML__LOG_OPENMP_TASK_COMPLETE, 1)},
                                         {task, 0},
                                         {5, PML__LOG_WORD(PML__LOG_LEAVE, 1)},
                                         {6, TOLD(PML__LOG_OPENMP_TEAM_END, 1)},
                                         {6, 0},
                                         {6, TOLD(PML__LOG_OPENMP_JOIN, 0)}};
  put(place_of[OPENMP], &is, sizeof is);
  put(place_of[TEAM] + sizeof(struct pml__log_buffer), event, sizeof event);
  put_entry(10, PML__LOG_OPENMP, OPENMP, 4096, 0);
  put_entry(11, PML__LOG_EVENTS, TEAM, 4096, 0);
}

static void put_children(void) {
  const struct pml__log_children head = {.taken = 2, .room = 63};
  const struct pml__log_child child[2] = {{.ticks = 1, .parent = 7, .pid = 8, .ended = PML__LOG_ENDED_LEFT},
                                          {.ticks = 2, .parent = 8, .pid = 9, .refused = EACCES}};
  put(place_of[CHILDREN], &head, sizeof head);
  put(place_of[CHILDREN] + sizeof head, child, sizeof child);
  put_entry(12, PML__LOG_CHILDREN, CHILDREN, 4096, 0);
}

static void put_history(void) {
  for (uint32_t rate = 0; rate < PML__HISTORY_RATES; rate++) {
    struct {
      struct pml__log_history head;
      unsigned char bits[PML__LOG_HISTORY_CHUNK - sizeof(struct pml__log_history)];
    } chunk = {.head = {.seq = 2, .number = 6, .rate = rate, .turn = rate}};
    struct pml__compressed to;
    pml__compressed_begin(&to, chunk.bits, sizeof chunk.bits);
    for (uint64_t i = 0; i < 9; i++) (void)pml__compressed_add(&to, (int64_t)i * (rate > 0 ? 60000 : 1000), i * i << i);
    chunk.head.n = to.n;
    put(place_of[HISTORY] + rate * sizeof chunk, &chunk, sizeof chunk);
  }
  put_entry(13, PML__LOG_HISTORY, HISTORY, 4096, 0);
}

static void whole_log(void) {
  struct pml__log_head h = {.magic = PML__LOG_MAGIC,
                            .version = PML__LOG_VERSION,
                            .pid = 7,
                            .rank = -1,
                            .size = -1,
                            .started_ns = pml_clock_realtime_ns(),
                            .ticks_per_second = pml__clock.ticks_per_second,
                            .epoch = 1,
                            .entries = 14,
                            .host = "h",
                            .command = "c"};
  struct pml__section_stat stat[2] = {
      {.calls = {.count = 2, .sum = 5, .min = 2, .max = 3, .square = {13, 0}}, .self = 5, .epoch = 1},
      {.calls = {.count = 1}, .depth = 1, .epoch = 1}};
  const struct {
    struct pml__log_timeline lane;
    struct pml__log_event event[2];
  } events = {{1, 100, 2, 0}, {{1, PML__LOG_WORD(PML__LOG_ENTER, 1)}, {2, PML__LOG_WORD(PML__LOG_LEAVE, 1)}}};
  const struct pml__log_cell cell[] = {
      {.value = 4, .more = 1, .number = 1, .what = PML__LOG_CELL_SHARE},
      {.value = 9, .more = 5, .number = 2, .what = PML__LOG_CELL_SAMPLE},
      {.epoch = 6, .more = 1, .number = 3, .what = PML__LOG_CELL_RECORDER},
      {.value = 1000 + 32 + 24, .epoch = 6, .owner = 1, .number = 3, .what = PML__LOG_CELL_LANE}};
  const struct {
    struct pml__log_elements head;
    double element[3];
  } elements = {{0, 0, 100, 832}, {3, 1, 2}};
  const struct {
    struct pml__log_series head;
    struct pml_plugin_pair pair[3];
  } series = {{0, 0}, {{1, 1}, {3, 2}, {2, 3}}};
  PROMISE(ftruncate(file, 0) == 0 && ftruncate(file, BYTES) == 0, "the file is empty");
  (void)snprintf(h.clock, sizeof h.clock, "%s", pml__clock_name());
  put(0, &h, sizeof h);
  put(place_of[SUMS], stat, sizeof stat);
  put(place_of[EVENTS], &events, sizeof events);
  put(place_of[CELLS], cell, sizeof cell);
  put(place_of[ELEMENTS], &elements, sizeof elements);
  put_definitions();
  put_entry(1, PML__LOG_SECTION_SUMS, SUMS, PML__SECTION_BLOCK_BYTES, 0);
  put_entry(2, PML__LOG_SECTION_VALUES, VALUES, PML__SECTION_VALUES_BYTES, 0);
  put_entry(3, PML__LOG_SECTION_EVENTS, EVENTS, 4096, 0);
  put_calls();
  put_entry(7, PML__LOG_CELLS, CELLS, 4096, 0);
  put_entry(8, PML__LOG_ELEMENTS, ELEMENTS, 4096, 0);
  put(place_of[SERIES], &series, sizeof series);
  put_entry(9, PML__LOG_SERIES, SERIES, 4096, sizeof series);
  put_openmp();
  put_children();
  put_history();
}

/* A piece: its place, how far behind it in units of 4 bytes, how many bytes, the bytes. */
static void put_pieces(struct fuzz_input *in) {
  while (in->at < in->end) {
    uint64_t at = place_of[fuzz_byte(in) % PLACES] + 4u * fuzz_byte(in);
    size_t n = fuzz_byte(in);
    if (n > (size_t)(in->end - in->at)) n = (size_t)(in->end - in->at);
    put(at, in->at, n);
    in->at += n;
  }
}

/* A report takes a hundred times as long as reading, and a trace a thousand times. */
static uint32_t hash(const uint8_t *data, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * 16777619u;
  return h;
}

/* ---- recorded calls ---- */

static int visit(const struct pml_profile_node *node, void *arg) {
  struct pml_region_info info;
  uint32_t *last = arg;
  PROMISE(node->depth <= *last + 1u || node->depth == 0, "a call path follows its caller's");
  PROMISE(pml_region_describe(node->region, &info) == 0, "and has a name");
  *last = node->depth;
  return 0;
}

static void check_trace(void) {
  char command[100];
  struct pml_archive_story story;
  int err = pml_archive_write(dir, &(struct pml_archive_log){.path = path}, 1, NULL, NULL, &story);
  free(story.wait);
  PROMISE(err == 0 || err == -ENOMEM || err == PML_EFORMAT, "a trace is written, or cannot be for a reason");
  snprintf(command, sizeof command, "rm -rf %s/traces*", dir);
  PROMISE(system(command) == 0, "and goes away");
}

static int add_sums(const struct pml_recording_function_sums *f, void *arg) {
  uint64_t *all = arg;
  struct pml_region_info info;
  PROMISE(pml_region_describe(f->region, &info) == 0, "sums are of a function with a name");
  for (uint32_t i = 0; i < f->n; i++) *all += f->sum[i];
  return 0;
}

static int check_value(const struct pml_recording_function_value *v, void *arg) {
  (void)arg;
  PROMISE(v->name[0] != '\0' && strlen(v->name) <= PML__LOG_VALUE_NAME_MAX && v->count > 0, "a value has a name");
  return 0;
}

/* Read the events without a report: each value belongs to a function with a name, and all events can be read. */
static int begin_thread(void *arg, int64_t tid, void **track) {
  (void)tid;
  *track = arg;
  return 0;
}

static int check_event(void *arg, void *track, const struct pml__recording_event *e) {
  struct pml_region_info info;
  uint64_t *all = arg;
  PROMISE(track == arg && (e->region == 0 || pml_region_describe(e->region, &info) == 0), "a region has a name");
  for (uint32_t i = 0; e->kind == PML_STREAM_OPENMP && i < e->nvalues; i++) *all += e->values[i];
  if (e->kind == PML_STREAM_OPENMP) return 0;
  PROMISE(e->kind == PML_STREAM_METRIC || e->region != 0, "and calls have one");
  if (e->kind != PML_STREAM_METRIC) return 0;
  PROMISE(e->region != 0 && e->nvalues >= 1 && e->nvalues <= PML_RECORDING_VALUES_MAX,
          "events alone have no values here");
  for (uint32_t i = 0; i < e->nvalues; i++) *all += e->values[i];
  return 0;
}

static int check_communication(void *arg, void *track, const struct pml__recording_communicated *e) {
  uint64_t *all = arg;
  PROMISE(track == arg && e->nvalues <= 255, "a communication is of a thread");
  for (uint32_t i = 0; i < e->nvalues; i++) *all += e->values[i];
  return 0;
}

static int end_thread(void *arg, void *track) {
  PROMISE(arg == track, "a thread ends that began");
  return 0;
}

static void check_events(struct pml_recording_reader *r) {
  uint64_t all = 0;
  const struct pml__recording_listener l = {
      begin_thread, check_event, check_communication, end_thread, NULL, NULL, NULL, 0, &all};
  int err = pml__recording_listen(r, &l);
  PROMISE(err == 0 || err == -ENOMEM || err == PML_EFORMAT, "events are read");
}

static int check_construct(const struct pml_recording_openmp *o, void *arg) {
  struct pml_region_info info;
  (void)arg;
  PROMISE(pml_region_describe(o->region, &info) == 0 && o->construct[0] != '\0', "a construct has names");
  PROMISE(o->waited_ns <= o->ns, "and waits no longer than it takes");
  return 0;
}

static int check_child(const struct pml_recording_child *c, void *arg) {
  unsigned *n = arg;
  PROMISE(c->pid > 0 && c->ended <= PML_RECORDING_LEFT && c->refused <= 0, "a child has a number and an end");
  PROMISE(++*n <= 63, "and room in its extent");
  return 0;
}

/* A parent stands before its children, in the same thread. */
static void check_threads(struct pml_recording_reader *r) {
  struct pml_recording_call *c;
  size_t n;
  int err = pml_recording_read_calls(r, &c, &n);
  PROMISE(err == 0 ? c != NULL || n == 0 : c == NULL, "there are calls or a reason");
  for (size_t i = 0; err == 0 && i < n; i++) {
    struct pml_region_info info;
    PROMISE(c[i].path > 0 && c[i].path <= i + 1 && c[i].parent < c[i].path, "parents come first");
    const struct pml_recording_call *parent = c[i].parent != 0 ? &c[i - (c[i].path - c[i].parent)] : NULL;
    PROMISE(parent == NULL ? c[i].node.depth == 0
                           : parent->thread == c[i].thread && parent->path == c[i].parent &&
                                 parent->node.depth + 1 == c[i].node.depth,
            "and are of the same thread");
    PROMISE(pml_region_describe(c[i].node.region, &info) == 0, "each has a name");
  }
  free(c);
}

static void check_calls(struct pml_recording_reader *r) {
  struct pml_recording_story s;
  struct pml_profile *p;
  uint32_t last = 0;
  uint64_t sum = 0;
  unsigned children = 0;
  pml_recording_read_story(r, &s);
  PROMISE(s.ended <= PML_RECORDING_FAILED, "a story is given");
  PROMISE(pml_recording_read_children(r, check_child, &children) == 0, "children are given");
  int err = pml_recording_read_profile(r, &p);
  PROMISE((err == 0) == (p != NULL), "there is a profile or a reason");
  if (p != NULL) PROMISE(pml_profile_visit(p, visit, &last) == 0, "and it can be visited");
  pml_profile_close(p);
  check_threads(r);
  PROMISE(pml_recording_read_sums(r, add_sums, &sum) == 0, "sums are read");
  err = pml_recording_read_values(r, check_value, NULL);
  PROMISE(err == 0 || err == PML_EFORMAT, "values are read, or cannot be");
  err = pml_recording_read_openmp(r, check_construct, NULL);
  PROMISE(err == 0 || err == PML_EFORMAT, "constructs are read, or cannot be");
}

/* Edges take each visit of a node once, but for that at which the flow ends. */
static void check_flow(struct pml_recording_reader *r) {
  struct pml_flow *f;
  size_t n;
  int err = pml_recording_read_flow(r, &f, NULL, NULL);
  PROMISE((err == 0) == (f != NULL) && (err == 0 || err == -ENOMEM || err == PML_EFORMAT),
          "there is a flow or a reason");
  if (f == NULL) return;
  const struct pml_flow_graph *const *g = pml_flow_graphs(f, &n);
  for (size_t i = 0; i < n; i++) {
    uint64_t visits = 0, taken = 1;
    for (uint32_t k = 0; k < g[i]->nnodes; k++) visits += g[i]->node[k].visits;
    for (uint32_t k = 0; k < g[i]->nedges; k++) taken += g[i]->edge[k].count;
    PROMISE(visits == taken && g[i]->missing == 0, "each visit follows another");
  }
  pml_flow_close(f);
}

/* For any events, the sums of times are read or refused, and each sum is positive. */
static void check_times(void) {
  struct pml_summary *s;
  const struct pml_summary_row *row;
  if (pml_summary_open(&s) < 0) return;
  int err = pml_mpi_times_summary(s, 0, path);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "times of messages are read, or cannot be");
  for (size_t i = 0; (row = pml_summary_row(s, i)) != NULL; i++)
    for (size_t k = 0; k < row->nvalues; k++) PROMISE(row->value[k].whole > 0, "a time is more than nothing");
  pml_summary_close(s);
}

static void check_recording(bool trace) {
  struct pml_recording_reader *r;
  int err = pml_recording_read_open(&r, path);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENODATA || err == -ENOMEM, "calls are read, or there are none");
  PROMISE(err == 0 || (r == NULL && *pml_error_detail(err) && !strchr(pml_error_detail(err), '\n')),
          "and the reason is one line");
  if (err < 0) return;
  check_calls(r);
  check_flow(r);
  check_events(r);
  check_times();
  if (trace) check_trace();
  pml_recording_read_close(r);
}

/* ---- series of plugins ---- */

static int check_one(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                     void *arg) {
  size_t *n = arg;
  PROMISE(clock->tick_ns > 0, "a tick has a positive length");
  PROMISE(plugin[0] != '\0' && s->metric->name[0] != '\0' && s->n > 0, "a series has a name and values");
  PROMISE((unsigned)s->metric->mode < PML_MODES && (unsigned)s->metric->value < PML_PLUGIN_VALUES, "and a kind");
  for (size_t i = 1; i < s->n; i++) PROMISE(s->pair[i].ticks >= s->pair[i - 1].ticks, "times do not go back");
  *n += s->n;
  return 0;
}

static void check_series(void) {
  size_t n = 0;
  int err = pml_plugin_load_series(path, check_one, &n);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "series are read, or there is a reason");
  PROMISE(n <= BYTES / sizeof(struct pml_plugin_pair), "there are no more values than there is room for");
}

/* ---- history ---- */

static int check_samples(const struct pml_history *h, void *arg) {
  size_t *n = arg;
  uint64_t all = 0;
  PROMISE(h->name[0] != '\0' || h->n > 0, "a history has samples");
  for (size_t i = 0; i < h->n; i++) all += h->value[i] + (uint64_t)h->ms[i];
  *n += h->n + (all == 1);
  return 0;
}

static void check_history(void) {
  size_t n = 0;
  int err = pml_history_load(path, check_samples, &n);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "a history is read, or there is a reason");
  PROMISE(n <= 5 * (size_t)BYTES, "two bits at least are a sample");
}

/* ---- sections ---- */

static int is_torn(const struct pml__section_entry *row, void *arg) {
  *(bool *)arg |= row->torn;
  return 0;
}

static void check_sections(bool report) {
  struct pml__section_reader reader;
  bool torn = false;
  int err = pml__section_reader_open(&reader, path, NULL, NULL);
  if (err == 0) err = pml__section_reader_durations(&reader, false);
  if (err == 0) err = pml__section_reader_rows(&reader, is_torn, &torn);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "a log is read, or refused");
  PROMISE(err == 0 || (*pml_error_detail(err) && !strchr(pml_error_detail(err), '\n')), "and the reason is one line");
  pml__section_reader_close(&reader);
  PLANTED(torn);
  if (err < 0 || !report) return;
  lua_State *L = fuzz_check("log");
  lua_pushstring(L, path);
  fuzz_call(L, 1, 0);
}

/* The summary of a damaged log may be refused, but causes no other failure. */
static void check_summary(void) {
  struct pml_summary *s, *other;
  unsigned char *bytes;
  size_t n;
  PROMISE(pml_summary_open(&s) == 0, "there is a summary");
  int err = pml__section_log_summary(path, s, 3);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM || err == -EINVAL, "a log is summed up, or cannot be");
  PROMISE(pml_summary_pack(s, &bytes, &n) == 0, "and packed");
  err = pml_summary_unpack(&other, bytes, n);
  PROMISE(err == 0 || (err == PML_EFORMAT && other == NULL), "and unpacked, or refused");
  if (err == 0) err = pml_summary_merge(other, s);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -EINVAL, "and merged, or it counts too much");
  free(bytes);
  pml_summary_close(other);
  pml_summary_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  if (file < 0) {
    file = memfd_create("log", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    PROMISE(file >= 0 && mkdtemp(dir) != NULL && pml_clock_init() == 0, "there is a file and a folder");
  }
  whole_log();
  put_pieces(&in);
  check_sections(hash(data, size) >> 28 == 0);
  check_series();
  check_history();
  check_summary();
  check_recording(hash(data, size) >> 24 == 0);
  return 0;
}
