/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_spool.c - any bytes in a spool: a story, call paths and balanced events, or a reason why not.
 *
 * A spool is units of 64 KiB; an input is pieces of bytes with their places in a spool of a few units, in which an
 * extent of each kind has begun.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "fuzz.h"
#include "substrate/profile/pml_profile_tree.h"
#include "substrate/spool/pml_spool_read_private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNITS 8u
#define NAMES_UNIT 1u
#define MEMORY_UNIT 2u
#define EVENTS_UNIT 3u
#define VALUES 2u /* arguments of the function */

static int file = -1;
static char path[64], dir[] = "/tmp/pmlua-fuzz-spool-XXXXXX";

static void put(uint64_t at, const void *from, size_t n) {
  PROMISE(pwrite(file, from, n, (off_t)at) == (ssize_t)n, "the file takes it");
}

static void put_extent(uint32_t unit, uint32_t kind, uint32_t units) {
  struct pml__spool_extent e = {.kind = kind, .units = units, .thread = 1, .tid = 1};
  put((uint64_t)unit * PML__SPOOL_UNIT, &e, sizeof e);
}

/* A function called from outside, three times. */
static void put_paths(void) {
  struct pml__spool_block b = {.used = PML__SPOOL_USED, .whose = 1};
  struct pml__profile_node node[4] = {{0}};
  uint64_t at = MEMORY_UNIT * PML__SPOOL_UNIT + sizeof(struct pml__spool_extent);
  b.bytes = PML__PROFILE_CHUNK * sizeof *node;
  for (uint32_t i = 1; i < 4; i++) {
    node[i].index = i;
    node[i].region = 1;
    node[i].count = node[i].entered = 1;
  }
  put(at, &b, sizeof b);
  put(at + sizeof b, node, sizeof node);
}

/* What calls of the function were given, behind its call paths. */
static void put_values(void) {
  struct pml__spool_block b = {.used = PML__SPOOL_USED, .part = PML__SPOOL_VALUES_PART, .whose = 1};
  struct {
    struct pml__spool_values values;
    char figures[PML__SPOOL_STRIPES * 128], names[64]; /* a stripe of two values */
  } v = {.values = {.region = 1, .n = VALUES, .real = 2}, .names = "n\0x"};
  uint64_t at = MEMORY_UNIT * PML__SPOOL_UNIT + sizeof(struct pml__spool_extent);
  at += sizeof b + PML__PROFILE_CHUNK * sizeof(struct pml__profile_node);
  PROMISE(pml__spool_stripe_bytes(VALUES) == sizeof v.figures / PML__SPOOL_STRIPES, "stripes are as long as here");
  b.bytes = sizeof v;
  put(at, &b, sizeof b);
  put(at + sizeof b, &v, sizeof v);
}

static void empty_spool(void) {
  struct pml__spool_head h = {.magic = PML__SPOOL_MAGIC,
                              .version = PML__SPOOL_VERSION,
                              .node_bytes = sizeof(struct pml__profile_node),
                              .clock_kind = (uint32_t)pml__clock.kind,
                              .ticks_per_second = pml__clock.ticks_per_second,
                              .realtime_ns = pml_clock_realtime_ns(),
                              .traced = 1,
                              .told = 1};
  struct {
    uint32_t region, bytes; /* as in struct pml__spool_name */
    char text[8];
  } name = {1, 16, "l\0f"};
  PROMISE(ftruncate(file, 0) == 0 && ftruncate(file, UNITS * PML__SPOOL_UNIT) == 0, "the file is empty");
  put(0, &h, sizeof h);
  put_extent(NAMES_UNIT, PML__SPOOL_NAMES, 1);
  put_extent(MEMORY_UNIT, PML__SPOOL_MEMORY, 1);
  put_extent(EVENTS_UNIT, PML__SPOOL_EVENTS, PML__SPOOL_EVENT_UNITS);
  put(NAMES_UNIT * PML__SPOOL_UNIT + sizeof(struct pml__spool_extent), &name, sizeof name);
  put_paths();
  put_values();
}

/* A piece: its unit, its place in it counted in 8 bytes, how many bytes, the bytes. */
static void put_pieces(struct fuzz_input *in) {
  while (in->at < in->end) {
    uint64_t unit = fuzz_byte(in) % UNITS, place = fuzz_byte(in);
    size_t n = fuzz_byte(in);
    if (n > (size_t)(in->end - in->at)) n = (size_t)(in->end - in->at);
    put(unit * PML__SPOOL_UNIT + 8 * place, in->at, n);
    in->at += n;
  }
}

static int visit(const struct pml_profile_node *node, void *arg) {
  struct pml_region_info info;
  uint32_t *last = arg;
  PROMISE(node->depth <= *last + 1u || node->depth == 0, "a call path follows its caller's");
  PROMISE(pml_region_describe(node->region, &info) == 0, "and has a name");
  *last = node->depth;
  return 0;
}

static void check_trace(struct pml_spool_reader *r) {
  char command[100];
  uint64_t open;
  snprintf(command, sizeof command, "%s/traces", dir);
  int err = pml_spool_read_trace(r, dir, "fuzz (1)", NULL, NULL, NULL, &open);
  PROMISE(err == 0 || err == -ENOMEM || err == PML_EFORMAT, "a trace is written, or cannot be for a reason");
  snprintf(command, sizeof command, "rm -rf %s/traces*", dir);
  PROMISE(system(command) == 0, "and goes away");
}

static int add_sums(const struct pml_spool_function_sums *f, void *arg) {
  uint64_t *all = arg;
  struct pml_region_info info;
  PROMISE(pml_region_describe(f->region, &info) == 0, "sums are of a function with a name");
  for (uint32_t i = 0; i < f->n; i++) *all += f->sum[i];
  return 0;
}

static int check_value(const struct pml_spool_function_value *v, void *arg) {
  (void)arg;
  PROMISE(v->name[0] != '\0' && strlen(v->name) <= PML__SPOOL_VALUE_NAME_MAX && v->count > 0, "a value has a name");
  return 0;
}

/* Events by themselves: values are those of a function with a name, and all can be read. */
static int begin_thread(void *arg, int64_t tid, void **track) {
  (void)tid;
  *track = arg;
  return 0;
}

static int check_event(void *arg, void *track, const struct pml__spool_told *e) {
  struct pml_region_info info;
  uint64_t *all = arg;
  PROMISE(track == arg && (e->region == 0 || pml_region_describe(e->region, &info) == 0), "a region has a name");
  PROMISE(e->kind == PML_STREAM_METRIC || e->region != 0, "and calls have one");
  if (e->kind != PML_STREAM_METRIC) return 0;
  PROMISE(e->region != 0 && e->nvalues >= 1 && e->nvalues <= PML_SPOOL_VALUES_MAX, "events alone have no values here");
  for (uint32_t i = 0; i < e->nvalues; i++) *all += e->values[i];
  return 0;
}

static int end_thread(void *arg, void *track) {
  PROMISE(arg == track, "a thread ends that began");
  return 0;
}

static void check_events(struct pml_spool_reader *r) {
  uint64_t all = 0;
  const struct pml__spool_listener l = {begin_thread, check_event, end_thread, NULL, NULL, NULL, 0, &all};
  int err = pml__spool_listen(r, &l);
  PROMISE(err == 0 || err == -ENOMEM || err == PML_EFORMAT, "events are read");
}

static void check_all(struct pml_spool_reader *r) {
  struct pml_spool_story s;
  struct pml_profile *p;
  uint32_t last = 0;
  uint64_t sum = 0;
  pml_spool_read_story(r, &s);
  PROMISE(strlen(s.text) < PML__SPOOL_TEXT_BYTES && s.ended <= PML_SPOOL_FAILED, "a story is told");
  int err = pml_spool_read_profile(r, &p);
  PROMISE((err == 0) == (p != NULL), "there is a profile or a reason");
  if (p != NULL) PROMISE(pml_profile_visit(p, visit, &last) == 0, "and it can be visited");
  PLANTED(last == 1);
  pml_profile_close(p);
  PROMISE(pml_spool_read_sums(r, add_sums, &sum) == 0, "sums are read");
  err = pml_spool_read_values(r, check_value, NULL);
  PROMISE(err == 0 || err == PML_EFORMAT, "values are read, or cannot be");
}

/* Edges take each visit of a node once, but for that at which the flow ends. */
static void check_flow(struct pml_spool_reader *r) {
  struct pml_flow *f;
  size_t n;
  int err = pml_spool_read_flow(r, &f, NULL, NULL);
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

static bool one_in_256(const uint8_t *data, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * 16777619u;
  return h >> 24 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml_spool_reader *r;
  if (file < 0) {
    file = memfd_create("spool", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    PROMISE(file >= 0 && mkdtemp(dir) != NULL && pml_clock_init() == 0, "there is a file and a folder");
  }
  bool trace = one_in_256(data, size); /* takes a thousand times as long */
  empty_spool();
  put_pieces(&in);
  int err = pml_spool_read_open(&r, path);
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM, "a spool is read, or is none");
  PROMISE(err == 0 || (r == NULL && *pml_error_detail(err) && !strchr(pml_error_detail(err), '\n')),
          "and the reason is one line");
  if (err == 0) check_all(r);
  if (err == 0) check_flow(r);
  if (err == 0) check_events(r);
  if (err == 0 && trace) check_trace(r);
  pml_spool_read_close(r);
  return 0;
}
