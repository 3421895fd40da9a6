/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_identity.c - every address that a program can compare or look up is what it was. */
#include "adapter/intercept/pml_intercept.h"
#include "check.h"
#include "intercept/counted.h"
#include "intercept/library.h"

#include <dlfcn.h>

#define ADDRESSES 8
#define WALKS 8 /* functions of slots_walk.c */
#ifdef __PIC__
#define COUNTED 6u
#else
#define COUNTED 4u /* a fixed-address program has a separate address for the function */
#endif

typedef int number(int i);

static char folder[4096];

/* All ways that lead to functions of the libraries, also to functions of an opened library. */
struct view {
  void *at[ADDRESSES];
  const char *name[ADDRESSES];
};

static void *open_library(const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return dlopen(path, RTLD_LAZY);
}

static struct view look(void *leaf, void *versions) {
  struct view v = {{(void *)lib_tailed, dlsym(RTLD_DEFAULT, "lib_tailed"), dlsym(RTLD_NEXT, "lib_tailed"),
                    dlsym(leaf, "leaf_calls"), dlvsym(versions, "versioned", "OLD"),
                    dlvsym(versions, "versioned", "NEW"), dlsym(leaf, "lib_tailed"), (void *)lib_recursive},
                   {NULL}};
  for (size_t i = 0; i < ADDRESSES; i++) {
    Dl_info info;
    if (dladdr(v.at[i], &info) != 0) v.name[i] = info.dli_sname;
  }
  return v;
}

static bool same_name(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same(const struct view *a, const struct view *b) {
  for (size_t i = 0; i < ADDRESSES; i++)
    if (a->at[i] == NULL || a->at[i] != b->at[i] || !same_name(a->name[i], b->name[i])) return false;
  return true;
}

static uint64_t unseen(void) {
  struct pml_intercept_stats s;
  pml_intercept_stats(&s);
  return s.unseen;
}

static void compared(void) {
  const struct pml_intercept_options o = {.lib = "libintercept:slots_*"};
  void *leaf = open_library("slots_leaf.so"), *versions = open_library("slots_versions.so");
  if (!CHECK(leaf != NULL && versions != NULL, "libraries are opened")) return;
  struct view before = look(leaf, versions);
  if (!CHECK(count_calls() == 0 && pml_intercept_install(&o) == 0, "interception is installed")) return;
  uint64_t n = unseen();
  struct view after = look(leaf, versions);
  CHECK(same(&before, &after), "every address is what it was, and dladdr() has the same name for it");
  CHECK(unseen() == n + COUNTED, "the look-ups of chosen functions are counted");
  CHECK(dlsym(leaf, "lib_none") == NULL && dlerror() != NULL && unseen() == n + COUNTED, "one of nothing is not");
  number *f = NULL;
  *(void **)&f = after.at[3];
  CHECK(f(1) == lib_tail(1) + 1 && calls("leaf_calls") == 0 && calls("lib_tail") == 2,
        "calls by these pointers are not seen, those that they make are");
  void *again = open_library("slots_leaf.so");
  CHECK(again == leaf && dlerror() == NULL, "opening a library leaves no error behind");
  CHECK(dlsym(leaf, "leaf_calls") == after.at[3] && dlerror() == NULL, "nor does a look-up");
  pml_intercept_remove();
}

/* A recorded call returns to pmlua first. */
static void callers(void) {
  const struct pml_intercept_options o = {.lib = "slots_walk"};
  void *walk = open_library("slots_walk.so");
  number *sees = NULL;
  bool all = true;
  if (walk == NULL || !CHECK(pml_intercept_install(&o) == 0, "interception of what looks at its caller")) return;
  *(void **)&sees = dlsym(walk, "walk_sees");
  CHECK(sees != NULL && sees(0) == 0 && calls("walk_plain") == 1, "a function that does not say so sees pmlua");
  for (int i = 1; i < WALKS && sees != NULL; i++) all &= sees(i) == 1;
  CHECK(all, "functions that unwind, or change the stack, by their names, see who called them");
  pml_intercept_remove();
}

static void asked_for(void) {
  const struct pml_intercept_options o = {.lib = "slots_*", .dlsym = true};
  void *leaf = open_library("slots_leaf.so");
  number *f = NULL;
  uint64_t n = unseen();
  if (leaf == NULL || !CHECK(pml_intercept_install(&o) == 0, "interception is installed with dlsym")) return;
  *(void **)&f = dlsym(leaf, "leaf_calls");
  CHECK(f != NULL && f(1) == lib_tail(1) + 1 && calls("leaf_calls") == 1 && unseen() == n,
        "calls by pointers are seen");
  pml_intercept_remove();
}

static void variants(const char *self) {
  static const char *const kind[] = {"now", "noplt", "nopie"};
  char command[4300];
  for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
    if (!SHOWS_CALLS && strcmp(kind[i], "noplt") == 0) {
      SKIP(HIDES_CALLS);
      continue;
    }
    snprintf(command, sizeof command, "%s.%s variant >/dev/null", self, kind[i]);
    CHECK(system(command) == 0, "all that holds for a program that is linked with %s", kind[i]);
  }
}

int main(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/');
  snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - argv[0]) : 1, slash != NULL ? argv[0] : ".");
  CHECK_EACH(compared, callers, asked_for);
  if (argc == 1) variants(argv[0]);
  return check_done();
}
