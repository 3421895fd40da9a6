/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_choice.c - patterns that select libraries, functions and callers. */
#include "adapter/intercept/pml_intercept_choice.h"

#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_error.h"
#include "program/pml_source_line.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEM_BYTES 256u

/* Patterns of system libraries and sanitizers, and of pmlua. */
#define BASE                                                                                                           \
  "libc.so*:libc-[0-9]*:ld-linux*:ld-[0-9]*:ld.so*:libpthread.so*:libpthread-[0-9]*:libdl.so*:libdl-[0-9]*:librt.so*:" \
  "librt-[0-9]*:linux-vdso*:libasan.so*:libtsan.so*:libubsan.so*:liblsan.so*:libclang_rt.*:vgpreload_*"
#define OURS "libpmlua*"

/* ---- patterns ---- */

static void classify(struct pml__pattern *p) {
  size_t plain = strcspn(p->text, "*?[\\");
  p->n = plain;
  p->kind = p->text[plain] == '\0' ? '=' : strcmp(p->text + plain, "*") == 0 ? '*' : '?';
}

static unsigned key_of(const char *name, size_t n) {
  return n < 2 ? PML__PATTERN_KEYS - 1
               : ((unsigned char)name[0] * 7u + (unsigned char)name[1]) % (PML__PATTERN_KEYS - 1);
}

/* Sort patterns by key, keeping the order within a key. Returns false without memory. */
static bool sort(struct pml__patterns *p) {
  struct pml__pattern *sorted = calloc(p->n + 1, sizeof *sorted);
  size_t next[PML__PATTERN_KEYS];
  if (sorted == NULL) return false;
  for (size_t i = 0; i < p->n; i++) p->begin[key_of(p->at[i].text, p->at[i].n) + 1]++;
  for (size_t k = 0; k < PML__PATTERN_KEYS; k++) {
    next[k] = p->begin[k];
    p->begin[k + 1] += p->begin[k];
  }
  for (size_t i = 0; i < p->n; i++) sorted[next[key_of(p->at[i].text, p->at[i].n)]++] = p->at[i];
  free(p->at);
  p->at = sorted;
  return true;
}

static void release(struct pml__patterns *p) {
  free(p->asked);
  free(p->text);
  free(p->at);
  *p = (struct pml__patterns){0};
}

/* The ':' that ends a pattern; "::" is part of a C++ name. */
static char *end_of(char *pattern) {
  char *end = strchr(pattern, ':');
  while (end != NULL && end[1] == ':') end = strchr(end + 2, ':');
  return end;
}

/* Cuts the place off a pattern NAME@PLACE. */
static char *place_of(char *pattern) {
  char *at = strrchr(pattern, '@');
  if (at == NULL || at[1] == '\0') return NULL;
  *at = '\0';
  return at + 1;
}

static bool compile(struct pml__patterns *p, const char *asked, bool places) {
  size_t n = 1;
  *p = (struct pml__patterns){0};
  if (asked == NULL) return true;
  for (const char *c = asked; *c != '\0'; c++) n += *c == ':';
  p->asked = strdup(asked);
  p->text = strdup(asked);
  p->at = calloc(n, sizeof *p->at);
  if (p->asked == NULL || p->text == NULL || p->at == NULL) {
    release(p);
    return false;
  }
  for (char *at = p->text, *end; at != NULL; at = end) {
    end = end_of(at);
    if (end != NULL) *end++ = '\0';
    if (*at == '\0') continue;
    p->at[p->n].place = places ? place_of(at) : NULL;
    p->at[p->n].text = *at != '\0' ? at : "*";
    classify(&p->at[p->n++]);
  }
  if (sort(p)) return true;
  release(p);
  return false;
}

static bool matches(const struct pml__pattern *p, const char *name, size_t n) {
  switch (p->kind) {
  case '=':
    return n == p->n && memcmp(p->text, name, n) == 0;
  case '*':
    return n >= p->n && (p->n == 0 || p->text[0] == name[0]) && memcmp(p->text, name, p->n) == 0;
  default:
    return fnmatch(p->text, name, 0) == 0;
  }
}

static bool matches_of(const struct pml__patterns *p, unsigned key, const char *name, size_t n) {
  for (size_t i = p->begin[key]; i < p->begin[key + 1]; i++)
    if (matches(&p->at[i], name, n)) return true;
  return false;
}

static bool any_matches(const struct pml__patterns *p, const char *name, size_t n) {
  unsigned key = key_of(name, n), other = PML__PATTERN_KEYS - 1;
  return matches_of(p, key, name, n) || (key != other && matches_of(p, other, name, n));
}

static void mark(struct pml__pattern *p) {
  if (!__atomic_load_n(&p->matched, __ATOMIC_RELAXED)) __atomic_store_n(&p->matched, true, __ATOMIC_RELAXED);
}

/* ---- never, or not by default ---- */

static struct pml__patterns base, ours, never;

static void compile_fixed(void) {
  if (!compile(&base, BASE, false) || !compile(&ours, OURS, false) || !compile(&never, pml__intercept_never, false))
    release(&never);
}

static bool fixed_are_ready(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, compile_fixed);
  return never.n > 0;
}

/* ---- libraries ---- */

static bool names_library(const struct pml__pattern *p, const char *path) {
  const char *file = basename(path), *so = strstr(file, ".so");
  char stem[STEM_BYTES];
  if (matches(p, file, strlen(file)) || matches(p, path, strlen(path))) return true;
  if (so == NULL || (size_t)(so - file) >= sizeof stem) return false;
  snprintf(stem, sizeof stem, "%.*s", (int)(so - file), file);
  return matches(p, stem, strlen(stem));
}

static bool any_names_library(const struct pml__patterns *p, const char *path, bool special) {
  bool found = false;
  for (size_t i = 0; i < p->n; i++) {
    /* patterns such as "*" do not select libraries excluded by default; that takes a letter of the name */
    if (special && strspn(p->at[i].text, "*?") == strlen(p->at[i].text)) continue;
    if (!names_library(&p->at[i], path)) continue;
    mark(&p->at[i]);
    found = true;
  }
  return found;
}

static bool is_library_chosen(const struct pml__choice *c, const char *path, bool program) {
  const char *file = basename(path);
  bool special = program || any_matches(&base, file, strlen(file));
  if (any_matches(&ours, file, strlen(file))) return false;
  bool named = any_names_library(&c->lib, path, special);
  if (any_names_library(&c->but, path, false) || any_names_library(&c->aside, path, false)) return false;
  if (c->filter != NULL && !pml_filter_wants_file(c->filter, path)) return false;
  return named || (!special && c->lib.n == 0);
}

/* The kernel's object (vDSO) contains functions of libc, such as time(): the patterns for libc also choose it. */
bool pml__choice_library(const struct pml__choice *c, const char *path, bool program) {
  if (c->hooks) return false;
  return is_library_chosen(c, path, program) ||
         (strncmp(path, "linux-vdso.so", 13) == 0 && is_library_chosen(c, "libc.so.6", false));
}

bool pml__choice_caller(const struct pml__choice *c, const char *path) {
  const char *file = basename(path);
  size_t n = strlen(file);
  return fixed_are_ready() && !any_matches(&ours, file, n) && !any_matches(&base, file, n) &&
         (c == NULL || !any_names_library(&c->aside, path, false));
}

/* ---- functions ---- */

/* The function is in the C++ library, if that is loaded. Libraries come and go, so it is looked up each time. */
static char *demangled(const char *name) {
  char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
  if (strncmp(name, "_Z", 2) == 0) *(void **)&demangle = pml__real_dlsym(pml__loader_hooks_global, "__cxa_demangle");
  return demangle != NULL ? demangle(name, NULL, NULL, NULL) : NULL;
}

static bool filter_wants(const struct pml_filter *f, const char *name) {
  char *nice = demangled(name);
  bool wants = pml_filter_wants_name(f, nice, name);
  free(nice);
  return wants;
}

bool pml__choice_function(const struct pml__choice *c, const char *name, size_t n) {
  if (c->sym.n > 0 && !any_matches(&c->sym, name, n)) return false;
  if (any_matches(&c->but, name, n) || any_matches(&never, name, n) || pml__intercept_walks_stack(name)) return false;
  return c->filter == NULL || filter_wants(c->filter, name);
}

bool pml__choice_wrapped(const struct pml__choice *c, const char *library, const char *alias, const char *name) {
  size_t n = strlen(name);
  if (c->wrapped) return true;
  if (library == NULL) library = "";
  if (alias == NULL) alias = library;
  if (c->lib.n > 0 && !any_names_library(&c->lib, library, false) && !any_names_library(&c->lib, alias, false))
    return false;
  if (any_names_library(&c->but, library, false) || any_names_library(&c->but, alias, false)) return false;
  if (c->filter != NULL && !pml_filter_wants_file(c->filter, library)) return false;
  pml__choice_note(c, name, n);
  if ((c->sym.n > 0 && !any_matches(&c->sym, name, n)) || any_matches(&c->but, name, n)) return false;
  return c->filter == NULL || filter_wants(c->filter, name);
}

static void note(const struct pml__patterns *p, const char *name, size_t n) {
  for (size_t i = 0; i < p->n; i++)
    if (!__atomic_load_n(&p->at[i].matched, __ATOMIC_RELAXED) && matches(&p->at[i], name, n)) mark(&p->at[i]);
}

void pml__choice_note(const struct pml__choice *c, const char *name, size_t n) {
  note(&c->sym, name, n);
}

/* ---- functions that report their own calls ---- */

bool pml__choice_instrumented(const struct pml__choice *c, const char *path) {
  const char *file = basename(path);
  if (c->hooks || any_matches(&ours, file, strlen(file))) return false;
  if (any_names_library(&c->but, path, false) || any_names_library(&c->aside, path, false)) return false;
  if (c->filter != NULL && !pml_filter_wants_file(c->filter, path)) return false;
  return c->func.n > 0 || c->lib.n == 0 || any_names_library(&c->lib, path, false);
}

static bool is_compiled_from(const struct pml__pattern *p, const struct pml__choice_place *of) {
  struct pml__source_place source;
  const char *dot = strchr(p->place, '.');
  if (dot == NULL || strncmp(dot, ".so", 3) == 0) return false; /* no source file: debug information is not read */
  if (pml__source_place(of->lines, of->path, of->offset, &source) < 0) return false;
  return fnmatch(p->place, source.file, 0) == 0 || fnmatch(p->place, basename(source.file), 0) == 0;
}

static bool is_there(const struct pml__pattern *p, const struct pml__choice_place *of) {
  if (p->place == NULL) return true;
  const struct pml__pattern place = {.text = p->place, .kind = '?'};
  return of != NULL && (names_library(&place, of->path) || is_compiled_from(p, of));
}

/* All patterns that match are marked. */
static bool any_chooses(const struct pml__patterns *p, const char *name, const struct pml__choice_place *of) {
  size_t n = strlen(name);
  bool found = false;
  for (size_t i = 0; i < p->n; i++) {
    if (!matches(&p->at[i], name, n) || !is_there(&p->at[i], of)) continue;
    mark(&p->at[i]);
    found = true;
  }
  return found;
}

/* A pattern is compared with the name with its arguments, and without them. Versions that a compiler made of a function
 * have its name. */
static bool matches_as_written(const struct pml__patterns *p, const char *name, const struct pml__choice_place *of) {
  char *nice = demangled(name);
  if (nice == NULL) return false;
  char *version = strstr(nice, " [clone ");
  if (version != NULL) *version = '\0';
  bool is = any_chooses(p, nice, of);
  nice[strcspn(nice, "(")] = '\0';
  is = any_chooses(p, nice, of) || is;
  free(nice);
  return is;
}

static uint64_t small; /* atomic */

uint64_t pml__choice_small(void) {
  return __atomic_load_n(&small, __ATOMIC_RELAXED);
}

bool pml__choice_name(const struct pml__choice *c, const char *name, const struct pml__choice_place *of) {
  const struct pml__patterns *p = c->func.n > 0 ? &c->func : &c->sym;
  if (c->hooks) return false;
  if (p->n > 0 && !any_chooses(p, name, of) && !matches_as_written(p, name, of)) return false;
  if (any_matches(&c->but, name, strlen(name))) return false;
  if (c->filter != NULL && !filter_wants(c->filter, name)) return false;
  bool is = of->bytes == 0 || of->bytes >= c->least;
  if (!is) __atomic_add_fetch(&small, 1, __ATOMIC_RELAXED);
  return is;
}

bool pml__choice_script(const struct pml__choice *c, const char *name) {
  size_t n = strlen(name);
  if (c->hooks || (c->func.n > 0 && !any_chooses(&c->func, name, NULL)) || any_matches(&c->but, name, n)) return false;
  return c->filter == NULL || pml_filter_wants_name(c->filter, name, name);
}

bool pml__choice_entry(const struct pml__choice *c, const char *name, const struct pml__choice_place *of) {
  return !any_matches(&never, name, strlen(name)) && !pml__intercept_walks_stack(name) && pml__choice_name(c, name, of);
}

/* ---- creation ---- */

static struct pml__choice *choices; /* under the caller's lock */

static bool same(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static struct pml__choice *made_before(const struct pml_intercept_options *o) {
  struct pml__choice *c = choices;
  while (c != NULL &&
         !(c->filter == NULL && o->filter == NULL && same(c->lib.asked, o->lib) && same(c->sym.asked, o->sym) &&
           same(c->func.asked, o->func) && same(c->but.asked, o->but) && same(c->aside.asked, o->aside) &&
           c->least == o->least && c->dlsym == o->dlsym && c->wrapped == o->wrapped && c->hooks == o->hooks))
    c = c->next;
  return c;
}

static void forget_matches(struct pml__patterns *p) {
  for (size_t i = 0; i < p->n; i++) __atomic_store_n(&p->at[i].matched, false, __ATOMIC_RELAXED);
}

static void discard(struct pml__choice *c) {
  release(&c->lib);
  release(&c->sym);
  release(&c->func);
  release(&c->but);
  release(&c->aside);
  pml_filter_close(c->filter);
  free(c);
}

static int fill(struct pml__choice *c, const struct pml_intercept_options *o) {
  c->least = o->least;
  c->dlsym = o->dlsym;
  c->wrapped = o->wrapped;
  c->hooks = o->hooks;
  if (!compile(&c->lib, o->lib, false) || !compile(&c->sym, o->sym, false) || !compile(&c->but, o->but, false) ||
      !compile(&c->aside, o->aside, false) || !compile(&c->func, o->func, true))
    return pml_fail(-ENOMEM, "no memory for the list of intercepted functions");
  return o->filter != NULL ? pml_filter_open(&c->filter, o->filter) : 0;
}

int pml__choice_make(struct pml__choice **out, const struct pml_intercept_options *o) {
  static const struct pml_intercept_options all;
  if (o == NULL) o = &all;
  *out = fixed_are_ready() ? made_before(o) : NULL;
  if (*out != NULL) {
    forget_matches(&(*out)->lib);
    forget_matches(&(*out)->sym);
    forget_matches(&(*out)->func);
    return 0;
  }
  struct pml__choice *c = fixed_are_ready() ? calloc(1, sizeof *c) : NULL;
  if (c == NULL) return pml_fail(-ENOMEM, "no memory for the list of intercepted functions");
  int err = fill(c, o);
  if (err < 0) {
    discard(c);
    return err;
  }
  c->next = choices;
  choices = c;
  *out = c;
  return 0;
}
