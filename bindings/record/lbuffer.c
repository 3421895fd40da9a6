/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lbuffer.c - pml.buffer: event buffers in C that a script drains in batches. */
#include "module.h"

#include "adapter/wrap/pml_wrap.h"
#include "record/pml_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4096

/* One event with values, of a batch. */
struct values {
  uint32_t event; /* in the batch, from 1 */
  const struct pml_stream_metrics *metrics;
  uint64_t value[PML_STREAM_METRICS_MAX];
};

#define VALUES_MAX 256 /* events with values per batch: a further one ends it */

struct batch {
  struct pml_buffer_event event[BATCH];
  struct values values[VALUES_MAX];
  uint32_t n, nvalues;
};

struct handle {
  struct lutil_handle h;
  struct pml_buffer *buffer;
  struct batch *batch;
};

static void buffer_close(void *handle) {
  struct handle *h = handle;
  pml_buffer_close(h->buffer);
  free(h->batch);
  h->buffer = NULL;
  h->batch = NULL;
}

static const struct lutil_class buffer_class = {"buffer", sizeof(struct handle), buffer_close};

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &buffer_class);
}

/* The size of one thread's ring; other threads' rings are made when they raise events. */
static size_t ring_bytes(const struct pml_buffer_options *o) {
  return 2 * sizeof(uint64_t) * (o->records != 0 ? o->records : PML_BUFFER_RECORDS);
}

static int l_open(lua_State *L) {
  static const struct option known[] = {
      OPTION_RANGE(struct pml_buffer_options, "records", records, 0, PML_BUFFER_RECORDS_MAX),
      OPTION_RANGE(struct pml_buffer_options, "threads", threads, 0, UINT16_MAX), OPTION_END};
  struct pml_buffer_options o = {0};
  option_read(L, 1, known, &o);
  struct handle *h = lutil_new(L, &buffer_class, 0, 0);
  int err = lutil_charge(L, &h->h, sizeof *h->batch + ring_bytes(&o));
  if (err == 0 && (h->batch = calloc(1, sizeof *h->batch)) == NULL)
    err = pml_fail(-ENOMEM, "no memory for a batch of events");
  if (err == 0) err = pml_buffer_open(&h->buffer, &o);
  if (err < 0) {
    free(h->batch);
    h->batch = NULL;
  }
  return lutil_opened(L, &h->h, err, "buffer.open");
}

/* --- taking --- */

static int take(const struct pml_buffer_event *e, void *arg) {
  struct batch *b = arg;
  b->event[b->n++] = *e;
  if (e->metrics != NULL) {
    struct values *v = &b->values[b->nvalues++];
    *v = (struct values){.event = b->n, .metrics = e->metrics};
    memcpy(v->value, e->values, e->metrics->n * sizeof v->value[0]);
  }
  return b->n == BATCH || b->nvalues == VALUES_MAX;
}

static void push_value(lua_State *L, const struct values *v, uint32_t i) {
  const char *text = pml_wrap_is_text(v->metrics, i) ? pml_wrap_text(v->value[i]) : NULL;
  if (text != NULL)
    lua_pushstring(L, text);
  else
    lutil_pushbits(L, v->value[i], pml_stream_metrics_real(v->metrics, i));
}

static void push_values(lua_State *L, const struct values *v) {
  lua_createtable(L, 0, (int)v->metrics->n);
  for (uint32_t i = 0; i < v->metrics->n; i++) {
    push_value(L, v, i);
    lua_setfield(L, -2, v->metrics->name[i]);
  }
}

enum { TIME = 2, REGION, KIND, THREAD, VALUES };

/* 1 an enter, -1 a leave, 0 a metric: their sum is the depth. */
static lua_Integer kind_of(enum pml_stream_kind kind) {
  return kind == PML_STREAM_ENTER ? 1 : kind == PML_STREAM_LEAVE ? -1 : 0;
}

static void push_event(lua_State *L, const struct pml_buffer_event *e, lua_Integer i) {
  lua_pushinteger(L, (lua_Integer)pml_clock_at_ns(e->ticks));
  lua_rawseti(L, TIME, i);
  lua_pushinteger(L, e->region);
  lua_rawseti(L, REGION, i);
  lua_pushinteger(L, kind_of(e->kind));
  lua_rawseti(L, KIND, i);
  lua_pushinteger(L, (lua_Integer)e->thread);
  lua_rawseti(L, THREAD, i);
}

/*
 * take(time, region, kind, thread, values) -> n: up to 4096 events into the arrays given, [1] to [n]; the entries of
 * values belong to events that have some. Earlier entries are overwritten, in values removed.
 */
static int l_take(lua_State *L) {
  struct handle *h = check(L);
  for (int i = TIME; i <= VALUES; i++) luaL_checktype(L, i, LUA_TTABLE);
  lua_settop(L, VALUES);
  for (uint32_t i = 0; i < h->batch->nvalues; i++) {
    lua_pushnil(L);
    lua_rawseti(L, VALUES, h->batch->values[i].event);
    h = check(L);
  }
  h->batch->n = h->batch->nvalues = 0;
  (void)pml_buffer_drain(h->buffer, take, h->batch);
  lua_Integer n = h->batch->n;
  /* The tables grow, which may run a finalizer that closes the buffer. */
  for (lua_Integer i = 1; i <= n; i++) {
    struct pml_buffer_event copy = check(L)->batch->event[i - 1];
    push_event(L, &copy, i);
  }
  for (uint32_t i = 0; i < (h = check(L))->batch->nvalues; i++) {
    struct values copy = h->batch->values[i];
    push_values(L, &copy);
    lua_rawseti(L, VALUES, copy.event);
  }
  return lutil_pushint(L, (uint64_t)n);
}

static int l_leave_out(lua_State *L) {
  struct handle *h = check(L);
  lua_Integer region = lutil_int(L, 2, 1, UINT32_MAX);
  luaL_checktype(L, 3, LUA_TBOOLEAN);
  pml_buffer_leave_out(h->buffer, (pml_region_t)region, lua_toboolean(L, 3));
  return 0;
}

static int l_stats(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_buffer_stats, threads, events, dropped, unmatched, refused);
  struct pml_buffer_stats s;
  pml_buffer_stats(check(L)->buffer, &s);
  return field_push(L, fields, &s);
}

int luaopen_pmlua_buffer(lua_State *L) {
  static const luaL_Reg methods[] = {{"take", l_take}, {"leave_out", l_leave_out}, {"stats", l_stats}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &buffer_class, methods, NULL);
  return lutil_module(L, functions);
}
