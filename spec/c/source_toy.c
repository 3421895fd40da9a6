/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/source_toy.c - a source that is added in one file: its names parse, are listed, and are found when misspelt;
 * event sets, sections and Lua read it.
 */
#include "check.h"
#include "pmlua.h"
#include "source/pml_sources.h"

#include <lauxlib.h>

static uint64_t toys[2];
static const char *const names[] = {"ball", "kite"};
static int open_backends;

static int parse_toy(struct pml_event *ev, const char *rest);

static int walk_toys(const struct pml__walk *w) {
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < 2; i++) {
    char name[16];
    snprintf(name, sizeof name, "toy::%s", names[i]);
    struct pml_event_info row = {.name = name, .description = "a toy", .source = "toy", .pmu = "box"};
    row.available = true;
    row.reason = "";
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

struct toy_backend {
  struct pml__backend backend;
  const uint64_t *toy[PML_EVENTSET_MAX];
};

static int read_toys(struct pml__backend *backend, uint64_t *words, bool times) {
  (void)times;
  for (uint32_t k = 0; k < backend->n; k++) words[k] = *((struct toy_backend *)backend)->toy[k];
  return 0;
}

static int open_toys(struct pml__backend *backend, const struct pml_event *ev,
                     const struct pml_eventset_options *options) {
  (void)options;
  for (uint32_t k = 0; k < backend->n; k++) {
    const char *rest = pml__source_rest(backend->source, ev[backend->event[k]].name);
    ((struct toy_backend *)backend)->toy[k] = &toys[strcmp(rest, names[1]) == 0];
    backend->word[k] = k;
  }
  backend->words = backend->n;
  backend->snapshot = read_toys;
  open_backends++;
  return 0;
}

static void close_toys(struct pml__backend *backend) {
  if (backend->snapshot != NULL) open_backends--;
}

static const struct pml__source toy = {.name = "toy",
                                       .prefix = "toy::",
                                       .parse = parse_toy,
                                       .walk = walk_toys,
                                       .backend_bytes = sizeof(struct toy_backend),
                                       .open = open_toys,
                                       .close = close_toys};

static int parse_anything(struct pml_event *ev, const char *rest) {
  (void)ev, (void)rest;
  return 0;
}

static int take_nothing(struct pml__backend *backend, uint64_t *words, bool times) {
  (void)backend, (void)words, (void)times;
  return 0;
}

static int open_times(struct pml__backend *backend, const struct pml_event *ev,
                      const struct pml_eventset_options *options) {
  (void)ev, (void)options;
  backend->snapshot = take_nothing;
  return 0;
}

static const struct pml__source now = {.name = "now",
                                       .prefix = "now::",
                                       .parse = parse_anything,
                                       .walk = walk_toys,
                                       .backend_bytes = sizeof(struct pml__backend),
                                       .open = open_times};

static int parse_toy(struct pml_event *ev, const char *rest) {
  char near[256];
  for (size_t i = 0; i < 2; i++) {
    if (strcmp(rest, names[i]) != 0) continue;
    pml__copy(ev->unit, sizeof ev->unit, "toys");
    return 0;
  }
  return pml_fail(PML_ENOEVENT, "no toy \"%s\"%s", rest, pml__source_nearest(&toy, ev->name, near, sizeof near));
}

static int count_row(const struct pml_event_info *info, void *n) {
  if (strcmp(info->source, "toy") == 0) ++*(int *)n;
  return 0;
}

static void alone(void) {
  struct pml_eventset *s = NULL;
  struct pml_eventset_event info;
  uint64_t v[2] = {0}, sum[2] = {1000, 1000};
  int rc = pml_eventset_open(&s, (const char *const[]){"toy::kite", "toy::ball"}, 2, NULL);
  if (!CHECK(rc == 0, "a set opens its events%s%s", rc < 0 ? ": " : "", rc < 0 ? pml_error_detail(rc) : "")) return;
  CHECK(pml_eventset_event(s, 1, &info) == 0 && strcmp(info.name, "toy::ball") == 0 && strcmp(info.unit, "toys") == 0 &&
            info.nparts == 0 && !pml_eventset_typed(s),
        "and says what they are");
  toys[0] += 5, toys[1] += 7;
  CHECK(pml_eventset_read(s, v) == 0 && v[0] == 7 && v[1] == 5, "their values are counted from its start");
  CHECK(pml_eventset_accum(s, sum) == 0 && sum[0] == 1007 && sum[1] == 1005, "added");
  toys[1] += 1;
  CHECK(pml_eventset_stop(s, v) == 0 && v[0] == 1 && v[1] == 0, "stopped");
  toys[1] += 1;
  CHECK(pml_eventset_read(s, v) == 0 && v[0] == 1, "and stand still");
  pml_eventset_close(s);
  CHECK(open_backends == 0, "its backend is closed with the set");
}

static void beside_others(void) {
  static const char *const mixed[] = {"clock::ns", "toy::ball", "page-faults:u", "sde:::TOYS::NONE", "toy::kite"};
  struct pml_eventset *s = NULL;
  struct pml_reading r[5];
  uint64_t v[5] = {0};
  int rc = pml_eventset_open(&s, mixed, 5, NULL);
  if (!CHECK(rc == 0, "and beside others%s%s", rc < 0 ? ": " : "", rc < 0 ? pml_error_detail(rc) : "")) return;
  toys[0] += 5, toys[1] += 7;
  CHECK(pml_eventset_read(s, v) == 0 && v[0] > 0 && v[1] == 5 && v[2] < 1000 && v[3] == (uint64_t)-1 && v[4] == 7,
        "each value stands where its name does");
  CHECK(pml_eventset_readings(s, r) == 0 && r[4].raw == 7 && r[4].enabled_ns == r[0].raw, "with the time that passed");
  pml_eventset_close(s);
  CHECK(pml_eventset_open(&s, (const char *const[]){"toy::ball", "page-faults:u", "sde:::TOYS::NONE"}, 3,
                          &(struct pml_eventset_options){.target = {.pid = 1}}) < 0 &&
            s == NULL && open_backends == 0,
        "a failed open leaves nothing open");
}

static void beside_time(void) {
  static const char *const mixed[] = {"now::a", "sde:::TOYS::NONE", "now::b"};
  struct pml_eventset *s = NULL;
  uint64_t v[3] = {0};
  int rc = pml__source_add(&now) < 0 ? -1 : pml_eventset_open(&s, mixed, 3, NULL);
  CHECK(rc == 0 && pml_eventset_read(s, v) == 0 && v[0] > 0 && v[1] == (uint64_t)-1 && v[2] == v[0],
        "the time of a read is any source's to take");
  pml_eventset_close(s);
  rc = pml_eventset_open(&s, mixed, 1, NULL);
  CHECK(rc == 0 && pml_eventset_stop(s, v) == 0 && v[0] > 0, "alone, too");
  pml_eventset_close(s);
}

static void in_sections(void) {
  struct pml_section *play;
  static const char *const events[] = {"toy::ball", "clock::ns"};
  const struct pml_section_options options = {.events = events, .nevents = 2};
  struct pml_section_value value[2];
  struct pml_section_row row;
  int rc = pml_section_define("play", &options, &play);
  if (!CHECK(rc == 0, "a section takes its events%s%s", rc < 0 ? ": " : "", rc < 0 ? pml_error_detail(rc) : "")) return;
  for (int i = 0; i < 3; i++) {
    pml_section_start(play);
    toys[0] += 2;
    pml_section_stop(play);
    toys[0] += 100;
  }
  CHECK(pml_section_read(play, &row, value) == 0 && row.count == 3 && value[0].i == 6,
        "and sums what they counted in it");
}

static int throw_balls(lua_State *L) {
  toys[0] += (uint64_t)luaL_checkinteger(L, 1);
  return 0;
}

static void in_lua(void) {
  static const char script[] = "local pml = require 'pmlua'\n"
                               "local set <close> = assert(pml.eventset { 'toy::ball', 'clock::ns' })\n"
                               "set:start()\n"
                               "throw(23)\n"
                               "return set:read(), set:event(1).unit, select(2, pml.eventset { 'toy::bal' })";
  struct pmlua *p;
  char *results = NULL;
  if (!CHECK(pmlua_open(&p, NULL) == 0, "a Lua state opens: %s", pml_error_detail(0))) return;
  lua_register(pmlua_state(p), "throw", throw_balls);
  int rc = pmlua_run_string(p, "toys", script, NULL, &results);
  CHECK(rc == 0 && strncmp(results, "23\ttoys\t", 8) == 0 && strstr(results, "toy::ball") != NULL,
        "Lua reads it and gets the right name: %s", rc == 0 ? results : pml_error_detail(rc));
  free(results);
  pmlua_close(p);
}

int main(void) {
  struct pml_event ev;
  struct pml__source within = toy, nameless = toy, clock = toy, shareless = toy;
  within.prefix = "toy::b", nameless.name = NULL, clock.prefix = "clock::", shareless.backend_bytes = 8;
  int n = 0;
  CHECK(pml_event_parse(&ev, "toy::ball") == PML_ENOEVENT, "before there is such a source its names are nothing");
  CHECK(pml__source_add(&toy) == 0, "a source is added");
  CHECK(pml__source_add(&within) == -EEXIST && pml__source_add(&toy) == -EEXIST, "not twice, nor one within another");
  CHECK(pml__source_add(&clock) == -EEXIST, "nor in the place of a built-in source");
  nameless.prefix = shareless.prefix = "x::";
  CHECK(pml__source_add(&nameless) == -EINVAL && pml__source_add(&shareless) == -EINVAL,
        "nor without a name, or room for a backend");
  CHECK(pml_event_parse(&ev, "toy::kite") == 0 && strcmp(ev.unit, "toys") == 0 && ev.nparts == 0, "its names parse");
  CHECK(strcmp(pml_event_source("toy::kite"), "toy") == 0 && strcmp(pml_event_source("cycles"), "perf") == 0,
        "and distinguished from others'");
  CHECK(pml_event_parse(&ev, "toy::bal") == PML_ENOEVENT && strstr(pml_error_detail(PML_ENOEVENT), "toy::ball") != NULL,
        "a misspelt one finds it");
  CHECK(pml_event_parse(&ev, "tyo::ball") == PML_ENOEVENT && strstr(pml_error_detail(PML_ENOEVENT), "toy::") != NULL,
        "and so does a misspelt source");
  CHECK(pml_event_list("toy", false, count_row, &n) == 0 && n == 2, "they are in the list");
  CHECK_EACH(alone, beside_others, beside_time, in_sections, in_lua);
  return check_done();
}
