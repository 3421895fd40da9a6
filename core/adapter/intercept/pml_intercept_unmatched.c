/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_unmatched.c - patterns without a match, and similar names. */
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_error.h"
#include "base/text/pml_nearest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WANT_BYTES 128u
#define PATTERN_BYTES 512u

struct asked {
  const struct pml__choice *choice;
  struct pml__objects all;
  const struct pml__object *o; /* the object whose symbols are visited */
  struct pml__nearest near;    /* receives the names; without a wanted name, matches are noted instead */
};

static bool is_open(const struct pml__pattern *p) {
  return !__atomic_load_n(&p->matched, __ATOMIC_RELAXED);
}

static bool any_open(const struct pml__patterns *p) {
  for (size_t i = 0; i < p->n; i++)
    if (is_open(&p->at[i])) return true;
  return false;
}

/* Copy the literal characters of a glob. */
static void letters(char *to, const char *pattern) {
  size_t n = 0;
  for (; *pattern != '\0' && n + 1 < WANT_BYTES; pattern++)
    if (strchr("*?[]\\", *pattern) == NULL) to[n++] = *pattern;
  to[n] = '\0';
}

static int report(const char *option, const char *pattern, const struct pml__nearest *near,
                  pml_intercept_unmatched_visit *visit, void *arg) {
  struct pml_intercept_unmatched u = {.option = option, .pattern = pattern, .n = near->n};
  for (unsigned i = 0; i < near->n; i++) u.nearest[i] = near->best[i].name;
  return visit(&u, arg);
}

/* ---- libraries ---- */

static void offer_library(struct pml__nearest *near, const char *path) {
  const char *file = basename(path), *so = strstr(file, ".so");
  char stem[WANT_BYTES];
  if (so == NULL || strstr(near->want, ".so") != NULL) {
    pml__nearest_offer(near, file);
    return;
  }
  snprintf(stem, sizeof stem, "%.*s", (int)(so - file), file);
  pml__nearest_offer(near, stem);
}

static int report_libraries(const struct asked *a, pml_intercept_unmatched_visit *visit, void *arg) {
  const struct pml__patterns *p = &a->choice->lib;
  char want[WANT_BYTES];
  int err = 0;
  for (size_t i = 0; i < p->n && err == 0; i++) {
    if (!is_open(&p->at[i])) continue;
    struct pml__nearest near = {.want = want};
    letters(want, p->at[i].text);
    for (size_t k = 0; k < a->all.n; k++)
      if (a->all.at[k].path[0] != '\0') offer_library(&near, a->all.at[k].path);
    err = report("lib", p->at[i].text, &near, visit, arg);
  }
  return err;
}

/* ---- functions ---- */

static bool see_function(void *arg, size_t symbol) {
  struct asked *a = arg;
  const Elf64_Sym *s = pml__object_symbol(a->o, symbol);
  size_t n;
  if (s == NULL || s->st_shndx == SHN_UNDEF) return true;
  if (ELF64_ST_TYPE(s->st_info) != STT_FUNC && ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC) return true;
  const char *name = pml__object_name(a->o, s, &n);
  if (name == NULL) return true;
  if (a->near.want != NULL)
    pml__nearest_offer(&a->near, name);
  else
    pml__choice_note(a->choice, name, n);
  return true;
}

static void see_functions(struct asked *a) {
  for (size_t i = 0; i < a->all.n; i++) {
    struct pml__object *o = &a->all.at[i];
    if (!o->wanted || !pml__object_pin(o)) continue;
    a->o = o;
    pml__object_walk(o, see_function, a);
    pml__object_unpin(o);
  }
}

static int report_functions(struct asked *a, pml_intercept_unmatched_visit *visit, void *arg) {
  const struct pml__patterns *p = &a->choice->sym;
  char want[WANT_BYTES];
  int err = 0;
  if (!any_open(p)) return 0;
  see_functions(a);
  for (size_t i = 0; i < p->n && err == 0; i++) {
    if (!is_open(&p->at[i])) continue;
    letters(want, p->at[i].text);
    a->near = (struct pml__nearest){.want = want};
    see_functions(a);
    err = report("sym", p->at[i].text, &a->near, visit, arg);
  }
  a->near.want = NULL;
  return err;
}

/* Names of these functions are in files that are not read again for similar ones. */
static int report_entries(const struct asked *a, pml_intercept_unmatched_visit *visit, void *arg) {
  const struct pml__patterns *p = &a->choice->func;
  struct pml__nearest none = {.want = ""};
  char text[PATTERN_BYTES];
  int err = 0;
  for (size_t i = 0; i < p->n && err == 0; i++) {
    const struct pml__pattern *one = &p->at[i];
    bool placed = one->place != NULL;
    snprintf(text, sizeof text, "%s%s%s", one->text, placed ? "@" : "", placed ? one->place : "");
    if (is_open(one)) err = report("func", text, &none, visit, arg);
  }
  return err;
}

/* ---- libraries and functions ---- */

int pml_intercept_unmatched(pml_intercept_unmatched_visit *visit, void *arg) {
  struct asked a = {.choice = pml__intercept_last_choice()};
  if (a.choice == NULL) return 0;
  if (any_open(&a.choice->func)) (void)report_entries(&a, visit, arg);
  if (!any_open(&a.choice->lib) && !any_open(&a.choice->sym)) return 0;
  int err = pml__objects_collect(&a.all);
  bool any = false;
  for (size_t i = 0; i < a.all.n && err == 0; i++) {
    struct pml__object *o = &a.all.at[i];
    o->wanted = pml__choice_library(a.choice, o->path, o->program);
    any |= o->wanted;
  }
  if (err < 0)
    (void)pml_fail(err, "no memory for the list of loaded libraries");
  else
    err = report_libraries(&a, visit, arg);
  if (err == 0 && any) err = report_functions(&a, visit, arg);
  pml__objects_free(&a.all);
  return err;
}
