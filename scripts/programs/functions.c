/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/functions.c - the hooks of -finstrument-functions: they keep calls and times of each function of a
 * program compiled with it. Linked into the program, with -rdynamic for the names.
 *
 * When the process ends, the file that FUNCTIONS_OUT names gets a line for each function: calls, inclusive and
 * exclusive nanoseconds, name, separated by tabs. Sees at most FUNCTIONS_MAX functions, and DEPTH_MAX nested calls of a
 * thread. It cannot see that longjmp() leaves functions, so times are wrong after it.
 */
#include "calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS_MAX 4096u /* a power of two */
#define DEPTH_MAX 1024u

struct function {
  void *address;
  uint64_t calls, inclusive, exclusive; /* ticks */
  unsigned running;                     /* only the outermost call of a recursion adds to inclusive */
};

struct thread {
  struct thread *next;
  unsigned depth;
  struct {
    struct function *function;
    uint64_t start, inside;
  } frame[DEPTH_MAX];
  struct function function[FUNCTIONS_MAX];
};

CALLS_API void __cyg_profile_func_enter(void *function, void *site);
CALLS_API void __cyg_profile_func_exit(void *function, void *site);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads;
static __thread struct thread *own;
static uint64_t begin_ticks;
static struct timespec begin_time;

static struct thread *begin_thread(void) {
  struct thread *t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  pthread_mutex_lock(&lock);
  t->next = threads;
  threads = t;
  pthread_mutex_unlock(&lock);
  return own = t;
}

static struct function *find(struct thread *t, void *address) {
  size_t at = ((uintptr_t)address >> 4) * 0x9E3779B97F4A7C15u >> 52;
  for (unsigned i = 0; i < FUNCTIONS_MAX; i++) {
    struct function *f = &t->function[(at + i) % FUNCTIONS_MAX];
    if (f->address == NULL) f->address = address;
    if (f->address == address) return f;
  }
  return NULL;
}

void __cyg_profile_func_enter(void *function, void *site) {
  struct thread *t = own != NULL ? own : begin_thread();
  (void)site;
  if (t == NULL || t->depth++ >= DEPTH_MAX) return;
  struct function *f = find(t, function);
  t->frame[t->depth - 1].function = f;
  t->frame[t->depth - 1].inside = 0;
  if (f != NULL) f->running++;
  t->frame[t->depth - 1].start = calls_clock();
}

void __cyg_profile_func_exit(void *function, void *site) {
  uint64_t end = calls_clock();
  struct thread *t = own;
  (void)function, (void)site;
  if (t == NULL || t->depth == 0 || --t->depth >= DEPTH_MAX) return;
  uint64_t took = end - t->frame[t->depth].start;
  struct function *f = t->frame[t->depth].function;
  if (t->depth > 0) t->frame[t->depth - 1].inside += took;
  if (f == NULL) return;
  f->calls++;
  f->exclusive += took - t->frame[t->depth].inside;
  if (--f->running == 0) f->inclusive += took;
}

__attribute__((constructor)) static void begin(void) {
  begin_ticks = calls_clock();
  clock_gettime(CLOCK_MONOTONIC, &begin_time);
}

static double ns_per_tick(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t ticks = calls_clock() - begin_ticks;
  double ns = 1e9 * (double)(now.tv_sec - begin_time.tv_sec) + (double)(now.tv_nsec - begin_time.tv_nsec);
  return ticks > 0 ? ns / (double)ticks : 1;
}

static void tell(FILE *out, const struct function *f, double scale) {
  Dl_info info;
  bool known = dladdr(f->address, &info) != 0 && info.dli_saddr == f->address && info.dli_sname != NULL;
  fprintf(out, "%llu\t%.0f\t%.0f\t", (unsigned long long)f->calls, scale * (double)f->inclusive,
          scale * (double)f->exclusive);
  if (known)
    fprintf(out, "%s\n", info.dli_sname);
  else
    fprintf(out, "%p\n", f->address);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FUNCTIONS_OUT");
  FILE *out = path != NULL ? fopen(path, "a") : NULL;
  double scale = ns_per_tick();
  if (out == NULL) return;
  pthread_mutex_lock(&lock);
  for (struct thread *t = threads; t != NULL; t = t->next)
    for (unsigned i = 0; i < FUNCTIONS_MAX; i++)
      if (t->function[i].address != NULL && t->function[i].calls > 0) tell(out, &t->function[i], scale);
  pthread_mutex_unlock(&lock);
  fclose(out);
}
