/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/lua.c - functions of Lua as recorded calls.
 *
 * Each coroutine has a list of its open calls, also of C functions, because they are callers. A function that an error
 * left has no return: the next event, whose caller is further out, ends it. A coroutine that yields leaves its
 * functions, and enters them again when it resumes, because another function may resume it.
 */
#include "preload/lua.h"

#include "adapter/intercept/pml_intercept_instrumented.h"
#include "base/pml_map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 1024u
#define BUCKETS 1024u /* a power of two */
#define CACHED 64u    /* too */
#define CHUNKS_MOST 65536u
#define LINE_BITS 16u /* in the address of a function, above the bits of addresses in memory */

/* ---- the address of a function ---- */

/* A file, or text, with 2^LINE_BITS of its lines. Never freed, because its address identifies its functions. */
struct chunk {
  struct chunk *next;
  uint32_t part;
  char text[];
};
static struct chunk *chunks[BUCKETS]; /* atomic */
static uint32_t nchunks;              /* atomic */

/* An open call; @code is NULL if it is not recorded. */
struct call {
  const struct CallInfo *at;
  const void *code;
};

struct state {
  lua_State *L;
  struct state *next; /* in the list of running, waiting or free states */
  struct call *call;  /* [n], the outermost first */
  size_t n, room;
  bool entered; /* the functions, and not left by a yield */
};

static PML_THREAD_LOCAL struct {
  struct state *running;          /* the innermost; each one was resumed by its next */
  struct state *waiting[BUCKETS]; /* that yielded inside a function */
  struct state *free;
  struct {
    const char *source;
    const struct chunk *chunk;
  } cache[CACHED];
} * self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;

/* Two threads may add the same text; then its functions have two addresses, and one name. The release publishes the
 * text to the acquire of other threads. */
static const struct chunk *find_chunk(const char *text, uint32_t part) {
  struct chunk **bucket = &chunks[(pml__hash_text(PML__HASH, text) >> 32) % BUCKETS];
  struct chunk *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
  for (struct chunk *c = first; c != NULL; c = c->next)
    if (c->part == part && strcmp(c->text, text) == 0) return c;
  if (__atomic_load_n(&nchunks, __ATOMIC_RELAXED) >= CHUNKS_MOST) return NULL;
  struct chunk *c = malloc(sizeof *c + strlen(text) + 1);
  if (c == NULL) return NULL;
  c->part = part;
  strcpy(c->text, text); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): it has this room */
  c->next = first;
  while (!__atomic_compare_exchange_n(bucket, &c->next, c, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) continue;
  __atomic_add_fetch(&nchunks, 1, __ATOMIC_RELAXED);
  return c;
}

/* Two texts may have the same address, one after the other: the texts are compared, or their beginnings if they are not
 * names of files. NULL: too many texts. */
static const void *code_of(const lua_Debug *ar) {
  bool whole = ar->source[0] == '@' || ar->source[0] == '=';
  const char *text = whole ? ar->source : ar->short_src;
  uint32_t line = (uint32_t)ar->linedefined, part = line >> LINE_BITS;
  size_t i = (uintptr_t)ar->source / 16 % CACHED;
  const struct chunk *c = self->cache[i].chunk;
  if (self->cache[i].source != ar->source || c == NULL || c->part != part || strcmp(c->text, text) != 0) {
    self->cache[i].source = ar->source;
    self->cache[i].chunk = c = find_chunk(text, part);
  }
  if (c == NULL) return NULL;
  return (const void *)((uintptr_t)c | (uintptr_t)line << (64 - LINE_BITS)); /* NOLINT(performance-no-int-to-ptr) */
}

/* ---- coroutines ---- */

static void leave(const struct state *s, size_t i) {
  if (s->call[i].code != NULL && s->entered) pml__script_leave(s->call[i].code);
}

/* End the calls inside the outermost @n. */
static void cut(struct state *s, size_t n) {
  while (s->n > n) leave(s, --s->n);
}

static struct state **bucket_of(const lua_State *L) {
  return &self->waiting[((uint64_t)(uintptr_t)L * PML__HASH_FACTOR >> 32) % BUCKETS];
}

/* The innermost coroutine yielded, ended or failed. */
static void suspend(void) {
  struct state *s = self->running, **to = s->n > 0 ? bucket_of(s->L) : &self->free;
  for (size_t i = s->n; i-- > 0;) leave(s, i);
  s->entered = false;
  self->running = s->next;
  s->next = *to;
  *to = s;
}

static struct state *take_state(lua_State *L) {
  struct state **at = bucket_of(L), *s;
  while (*at != NULL && (*at)->L != L) at = &(*at)->next;
  if (*at == NULL) at = &self->free;
  if ((s = *at) != NULL)
    *at = s->next;
  else if ((s = calloc(1, sizeof *s)) == NULL)
    return NULL;
  s->L = L;
  s->next = self->running;
  return self->running = s;
}

/* The state of @L, which runs. Those that it resumed do not. */
static struct state *run(lua_State *L) {
  struct state *s = self->running;
  while (s != NULL && s->L != L) s = s->next;
  if (s == NULL) return take_state(L);
  while (self->running != s) suspend();
  return s;
}

static void enter(const struct state *s, size_t i, lua_Debug *named) {
  char name[NAME_BYTES];
  if (s->call[i].code == NULL || pml__script_enter(s->call[i].code) || named == NULL) return;
  pml__lua_name(s->L, s->next != NULL ? s->next->L : NULL, named, name, sizeof name);
  pml__script_name(s->call[i].code, name, "Lua");
  (void)pml__script_enter(s->call[i].code);
}

static void enter_again(struct state *s) {
  for (size_t i = 0; i < s->n && !s->entered; i++) enter(s, i, NULL);
  s->entered = true;
}

/* ---- events ---- */

/* The number of calls up to the one at @at; 0: it is not among them. */
static size_t calls_to(const struct state *s, const struct CallInfo *at) {
  size_t n = s->n;
  while (n > 0 && s->call[n - 1].at != at) n--;
  return n;
}

static void begin_call(lua_State *L, lua_Debug *ar, struct state *s) {
  lua_Debug caller;
  caller.i_ci = NULL;
  if (pml__lua.lua_getstack(L, 1, &caller) == 0) caller.i_ci = NULL;
  cut(s, calls_to(s, caller.i_ci)); /* a tail call has its caller's place */
  enter_again(s);
  if (s->n == s->room) {
    size_t room = s->room > 0 ? 2 * s->room : 16;
    struct call *more = realloc(s->call, room * sizeof *more);
    if (more == NULL) return;
    s->call = more;
    s->room = room;
  }
  (void)pml__lua.lua_getinfo(L, "S", ar);
  s->call[s->n++] = (struct call){ar->i_ci, ar->what[0] != 'C' ? code_of(ar) : NULL};
  enter(s, s->n - 1, ar);
}

/* A function that began before this state was watched is not among the calls. */
static void end_call(const lua_Debug *ar, struct state *s) {
  size_t n = calls_to(s, ar->i_ci);
  if (n > 0) cut(s, n - 1);
  enter_again(s);
  if (s->n == 0) suspend();
}

void pml__lua_event(lua_State *L, lua_Debug *ar) {
  if (PML_UNLIKELY(self == NULL)) {
    self = calloc(1, sizeof *self);
    if (self == NULL) return;
    (void)pthread_setspecific(key, self);
  }
  struct state *s = PML_LIKELY(self->running != NULL && self->running->L == L) ? self->running : run(L);
  if (s == NULL) return;
  if (ar->event == LUA_RETURN)
    end_call(ar, s);
  else
    begin_call(L, ar, s);
}

/* ---- life ---- */

static void discard(struct state *s) {
  for (struct state *next; s != NULL; s = next) {
    next = s->next;
    free(s->call);
    free(s);
  }
}

static void end_thread(void *thread) {
  (void)thread;
  for (size_t i = 0; i < BUCKETS; i++) discard(self->waiting[i]);
  discard(self->running);
  discard(self->free);
  free(self);
  self = NULL;
}

__attribute__((constructor)) static void start(void) {
  (void)pthread_key_create(&key, end_thread);
}
