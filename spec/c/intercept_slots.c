/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_slots.c - calls are recorded through every kind of slot and pointer, and reach their functions. */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "check.h"
#include "intercept/counted.h"
#include "intercept/library.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

typedef int number(int i);
typedef int plain(void);

static char folder[4096];

static void *open_library(const char *name, int mode) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void *handle = dlopen(path, mode);
  if (handle == NULL) printf("# %s\n", dlerror());
  return handle;
}

static int call(void *handle, const char *name, int i) {
  number *f = NULL;
  *(void **)&f = handle != NULL ? dlsym(handle, name) : NULL;
  return f != NULL ? f(i) : -1;
}
static int call_plain(void *handle, const char *name) {
  plain *f = NULL;
  *(void **)&f = handle != NULL ? dlsym(handle, name) : NULL;
  return f != NULL ? f() : -1;
}

/* ---- how a library is linked ---- */

static void linked(void) {
  static const struct {
    const char *file, *what;
    int itself, other; /* calls that are seen */
  } variant[] = {{"slots_leaf.so", "a library that is bound when it calls", 1, 1},
                 {"leaf_now.so", "one that is bound when it is loaded, its slots read-only", 1, 1},
                 {"leaf_norelro.so", "one whose slots stay writable", 1, 1},
                 {"leaf_relr.so", "one with packed relocations", 1, 1},
                 {"leaf_sysv.so", "one with the old hash table alone", 1, 1},
                 {"leaf_stripped.so", "one without the symbols that debuggers want", 1, 1},
                 {"leaf_symbolic.so", "one that calls itself without a slot, invisibly", 0, 1}};
  for (size_t i = 0; i < sizeof variant / sizeof variant[0]; i++) {
#ifdef __aarch64__
    if (strcmp(variant[i].file, "leaf_relr.so") == 0) {
      SKIP("packed relocations: this linker has none for arm64");
      continue;
    }
#endif
    forget();
    void *handle = open_library(variant[i].file, RTLD_LAZY);
    int twice = call(handle, "leaf_twice", 3), other = call(handle, "leaf_calls", 3);
    CHECK(twice == 8 && other == lib_tail(3) + 1 && calls("leaf_twice") == 1 && calls("leaf_calls") == 1 &&
              calls("leaf_once") == variant[i].itself && calls("lib_tail") == variant[i].other + 1,
          "%s", variant[i].what);
    if (handle != NULL) dlclose(handle);
  }
}

static void without_plt(void) {
  if (!SHOWS_CALLS) {
    SKIP(HIDES_CALLS);
    return;
  }
  forget();
  void *handle = open_library("leaf_noplt.so", RTLD_LAZY);
  CHECK(call(handle, "leaf_calls", 1) == 5 && calls("lib_tail") == 1, "one that calls without a PLT");
  if (handle != NULL) dlclose(handle);
}

/* ---- what dlsym() gives ---- */

static void looked_up(void) {
  number *f = NULL;
  forget();
  *(void **)&f = dlsym(RTLD_DEFAULT, "lib_tail");
  CHECK(f != NULL && f(1) == 4 && calls("lib_tail") == 1, "the functions that the program finds with RTLD_DEFAULT");
  *(void **)&f = dlsym(RTLD_NEXT, "lib_tail");
  CHECK(f != NULL && f(2) == 6 && calls("lib_tail") == 1, "and with RTLD_NEXT");
  CHECK(dlsym(RTLD_DEFAULT, "lib_none") == NULL && dlerror() != NULL && dlerror() == NULL,
        "a missing symbol is an error, reported once");
  CHECK(dlsym(RTLD_DEFAULT, "lib_tail") != NULL && dlerror() == NULL,
        "and after an existing symbol, no error is reported");
  void *handle = open_library("slots_versions.so", RTLD_NOW);
  plain *old = NULL, *new = NULL;
  *(void **)&old = handle != NULL ? dlvsym(handle, "versioned", "OLD") : NULL;
  *(void **)&new = handle != NULL ? dlvsym(handle, "versioned", "NEW") : NULL;
  CHECK(old != NULL && new != NULL &&old() == 1 && new () == 2 && calls("versioned") == 2, "versions, by dlvsym()");
  CHECK(handle != NULL && dlvsym(handle, "versioned", "NONE") == NULL, "and not those that are not there");
  if (handle != NULL) dlclose(handle);
}

/* The linker gave them addresses in this program: behind these are the functions, and the doors to the loader. */
static void stood_in(void) {
#ifndef __PIC__
  number *volatile kept = lib_tailed;
  void *(*volatile ask)(void *, const char *) = dlsym;
  number *f = NULL;
  forget();
  *(void **)&f = ask(RTLD_DEFAULT, "lib_tailed");
  CHECK(f == kept && f(1) == lib_tailed(1) && calls("lib_tailed") == 2,
        "functions whose addresses a program at a fixed place takes have one address, and calls by it are seen");
#endif
}

static void several(void) {
  forget();
  void *handle = open_library("slots_both.so", RTLD_LAZY);
  CHECK(call_plain(handle, "both_versions") == 12 && calls("versioned") == 2,
        "two versions of one name in one program are two functions with one name");
  if (handle != NULL) dlclose(handle);
  handle = open_library("slots_chosen.so", RTLD_LAZY);
  CHECK(call(handle, "chosen_call", 1) == 101 && calls("chosen_call") == 1 && call(handle, "chosen_inside", 1) == 102 &&
            calls("chosen_call") == 1,
        "a function that another chose (IFUNC), found and called through a slot");
  CHECK(call(handle, "chosen_inside", 1) == 102 && calls("chosen_call") == 1, "and again");
  if (handle != NULL) dlclose(handle);
}

/* ---- libraries that open libraries ---- */

static void openers(void) {
  forget();
  void *handle = open_library("slots_opener.so", RTLD_LAZY);
  CHECK(call(handle, "opener_early", 5) == 106 && calls("chosen_inside") == 1 && calls("chosen_call") == 1,
        "a library that was opened by the constructor of another");
  CHECK(call(handle, "opener_late", 5) == lib_tail(5) + 1 && calls("leaf_calls") == 1 && calls("lib_tail") == 2,
        "and a library that the opened library opens");
  if (handle != NULL) dlclose(handle);
}

/* ---- closing and opening again ---- */

static uintptr_t base_of(void *handle) {
  struct link_map *map = NULL;
  return handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_addr : 0;
}

static bool seen_again(void *handle) {
  forget();
  return call(handle, "leaf_calls", 2) == 7 && call(handle, "leaf_twice", 2) == 6 && calls("lib_tail") == 1 &&
         calls("leaf_calls") == 1 && calls("leaf_once") == 1;
}

static void reopened(void) {
  int same = 0, moved = 0;
  bool good = true;
  uintptr_t before = 0;
  for (int i = 0; i < 20; i++) {
    void *handle = open_library(i % 5 == 4 ? "leaf_norelro.so" : "slots_leaf.so", RTLD_LAZY), *taken = MAP_FAILED;
    uintptr_t base = base_of(handle);
    good &= seen_again(handle);
    if (before != 0) base == before ? same++ : moved++;
    before = base;
    if (handle != NULL) dlclose(handle);
    if (i % 3 == 2) /* now and then the place gets taken */
      taken = mmap((void *)base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (taken != MAP_FAILED && i % 6 == 5) munmap(taken, 4096);
  }
  CHECK(good && moved > 0, "a library that is closed and opened again, or another in its place: %d times elsewhere",
        moved);
  if (same > 0)
    CHECK(good, "and %d times where one was before", same);
  else
    SKIP("the loader put no library where one was before");
}

#define AGAIN 50

static uint64_t scans(void) {
  struct pml_intercept_stats s;
  pml_intercept_stats(&s);
  return s.scans;
}

/* Opened and closed @n times, each time where it was not before; whether every call was seen. */
static bool again(const char *path, int n) {
  void *taken[AGAIN];
  bool good = true;
  for (int i = 0; i < n; i++) {
    forget();
    void *handle = dlopen(path, RTLD_LAZY);
    uintptr_t base = base_of(handle);
    good &= call(handle, "leaf_calls", 2) == 7 && calls("leaf_calls") == 1 && calls("lib_tail") == 1;
    if (handle == NULL || dlclose(handle) != 0) return false;
    taken[i] = mmap((void *)base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  for (int i = 0; i < n; i++)
    if (taken[i] != MAP_FAILED) munmap(taken[i], 4096);
  return good;
}

static bool put(const char *how, const char *file, const char *path) {
  char line[9000];
  snprintf(line, sizeof line, how, folder, file, path);
  return system(line) == 0;
}

static void read_once(void) {
  char to[] = "/tmp/pmlua-again-XXXXXX", path[64], line[80];
  bool made = mkdtemp(to) != NULL;
  snprintf(path, sizeof path, "%s/leaf_again.so", to);
  made = made && put("cp '%s/%s' '%s'", "slots_leaf.so", path);
  uint64_t before = scans();
  CHECK(made && again(path, AGAIN) && scans() - before == 1, "a library that is opened %d times is read once", AGAIN);
  before = scans();
  made = put("cat '%s/%s' >'%s'", "leaf_norelro.so", path);
  CHECK(made && again(path, 3) && scans() - before == 1, "once more when another was written over it");
  before = scans();
  made = unlink(path) == 0 && put("cp '%s/%s' '%s'", "leaf_now.so", path);
  CHECK(made && again(path, 3) && scans() - before == 1, "and when another file was put in its place");
#if SHOWS_CALLS
  before = scans();
  made = put("install '%s/%s' '%s'", "leaf_noplt.so", path);
  CHECK(made && again(path, AGAIN) && scans() - before == 1, "also one whose code calls through slots of addresses");
#endif
  snprintf(line, sizeof line, "rm -rf %s", to);
  CHECK(system(line) == 0, "and is removed");
}

/* The file of a library that is mapped is another one when it is looked at: its code is read in memory. */
static void replaced(const struct pml_intercept_options *o) {
#if SHOWS_CALLS
  static const char *const by[] = {"leaf_now.so", "slots_leaf.so"};
  char to[] = "/tmp/pmlua-replaced-XXXXXX", path[64], line[80];
  bool seen = mkdtemp(to) != NULL;
  for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
    snprintf(path, sizeof path, "%s/leaf_%zu.so", to, i);
    seen = seen && put("cp '%s/%s' '%s'", "leaf_noplt.so", path);
    void *handle = dlopen(path, RTLD_LAZY);
    seen = seen && unlink(path) == 0 && put("cp '%s/%s' '%s'", by[i], path);
    seen = seen && pml_intercept_install(o) == 0;
    forget();
    seen = seen && call(handle, "leaf_calls", 2) == 7 && calls("lib_tail") == 1;
    pml_intercept_remove();
    if (handle != NULL) dlclose(handle);
  }
  CHECK(seen, "calls of a library are seen whose file is another one by now");
  snprintf(line, sizeof line, "rm -rf %s", to);
  CHECK(system(line) == 0, "and is removed");
#else
  (void)o;
#endif
}

/* The target of a bound slot stays loaded as long as the library, because the loader keeps it when it binds. @seen:
 * recorded calls of the functions of slots_global.so. */
static void bound(const char *what) {
  void *global = open_library("slots_global.so", RTLD_LAZY | RTLD_GLOBAL);
  void *user = open_library("slots_user.so", RTLD_LAZY);
  int first = call_plain(user, "user_only");
  if (global != NULL) dlclose(global);
  void *other = open_library("slots_leaf.so", RTLD_LAZY);
  int second = call_plain(user, "user_only");
  CHECK(first == 8 && second == 8, "%s: recorded functions remain when it is closed", what);
  if (other != NULL) dlclose(other);
  if (user != NULL) dlclose(user);
}

static void either(const char *what) {
#if SANITIZED
  (void)what;
  SKIP("RTLD_DEEPBIND: sanitizers do not allow it");
#else
  void *global = open_library("slots_global.so", RTLD_LAZY | RTLD_GLOBAL);
  void *user = open_library("slots_user.so", RTLD_LAZY);
  int all_first = call_plain(user, "user_either");
  if (user != NULL) dlclose(user);
  user = open_library("slots_user.so", RTLD_LAZY | RTLD_DEEPBIND);
  int own_first = call_plain(user, "user_either");
  CHECK(all_first == 11 && own_first == 12, "%s: global symbols come first, with RTLD_DEEPBIND the library's own",
        what);
  if (user != NULL) dlclose(user);
  if (global != NULL) dlclose(global);
#endif
}

/* ---- all at once ---- */

#define THREADS 4
#define ROUNDS (SANITIZED ? 40 : 200)

static void *open_and_close(void *arg) {
  static const char *const files[THREADS] = {"slots_leaf.so", "leaf_now.so", "leaf_norelro.so", "leaf_sysv.so"};
  size_t which = (size_t)(uintptr_t)arg;
  uintptr_t wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    void *handle = open_library(files[(which + (size_t)i % 2) % THREADS], RTLD_LAZY);
    wrong += call(handle, "leaf_calls", i) != 2 * (i + 1) + 1 || call(handle, "leaf_twice", i) != 2 * (i + 1);
    if (handle == NULL || dlclose(handle) != 0) wrong++;
  }
  return (void *)wrong; /* NOLINT(performance-no-int-to-ptr) */
}

static void together(const struct pml_intercept_options *o) {
#ifdef __SANITIZE_THREAD__
  (void)o, (void)open_and_close;
  SKIP("threads that open libraries: this sanitizer does not see the loader's locks");
#else
  pthread_t thread[THREADS];
  uintptr_t wrong = 0;
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, open_and_close, (void *)i);
  for (int i = 0; i < ROUNDS; i++) {
    pml_intercept_remove();
    wrong += pml_intercept_install(o) != 0;
  }
  for (int i = 0; i < THREADS; i++) {
    void *theirs = NULL;
    pthread_join(thread[i], &theirs);
    wrong += (uintptr_t)theirs;
  }
  CHECK(wrong == 0, "threads open and close libraries while interception is installed and removed");
  forget();
  void *handle = open_library("slots_leaf.so", RTLD_LAZY);
  CHECK(seen_again(handle), "and afterwards every call is seen");
  if (handle != NULL) dlclose(handle);
#endif
}

/* ---- many ---- */

#define MANY 64
#define OFTEN 8u /* log2 of MANY, and the first looks */
#ifdef __x86_64__
#define LOOKS_MAX (MANY + 3 * OFTEN) /* three libraries have slots that the loader has not bound */
#else
#define LOOKS_MAX (MANY * OFTEN) /* each of them has; without pauses these were some 2,000 */
#endif

/* The target of a library's calls exists in two places, so its slots are left to the loader and inspected again. */
static void many(void) {
  char line[9000], path[64], to[] = "/tmp/pmlua-many-XXXXXX";
  void *handle[MANY] = {NULL};
  bool good = mkdtemp(to) != NULL;
  void *global = open_library("slots_global.so", RTLD_LAZY | RTLD_GLOBAL),
       *user = open_library("slots_user.so", RTLD_LAZY);
  snprintf(line, sizeof line, "for i in $(seq 0 %d); do cp '%s/slots_leaf.so' %s/$i.so || exit 1; done", MANY - 1,
           folder, to);
  good = good && system(line) == 0;
  uint64_t before = pml__intercept_looks;
  for (int i = 0; i < MANY && good; i++) {
    snprintf(path, sizeof path, "%s/%d.so", to, i);
    handle[i] = dlopen(path, RTLD_LAZY);
    good = handle[i] != NULL;
  }
  uint64_t looks = pml__intercept_looks - before;
  CHECK(good && looks >= MANY && looks <= LOOKS_MAX, "%d libraries opened one by one are looked at %d times", MANY,
        (int)looks);
  for (int i = 0; i < MANY; i++)
    if (handle[i] != NULL) dlclose(handle[i]);
  if (user != NULL) dlclose(user);
  if (global != NULL) dlclose(global);
  snprintf(line, sizeof line, "rm -rf %s", to);
  CHECK(system(line) == 0, "and are removed");
}

/* ---- nothing found ---- */

struct missed {
  unsigned n;
  char text[1024];
};

static int miss(const struct pml_intercept_unmatched *u, void *arg) {
  struct missed *m = arg;
  size_t at = strlen(m->text);
  m->n++;
  snprintf(m->text + at, sizeof m->text - at, "%s %s:", u->option, u->pattern);
  for (unsigned i = 0; i < u->n; i++)
    snprintf(m->text + strlen(m->text), sizeof m->text - strlen(m->text), " %s", u->nearest[i]);
  snprintf(m->text + strlen(m->text), sizeof m->text - strlen(m->text), "\n");
  return 0;
}

static bool misses(const char *lib, const char *sym, const char *expected) {
  struct pml_intercept_options o = {.lib = lib, .sym = sym};
  struct missed m = {0, ""};
  bool good = pml_intercept_install(&o) == 0;
  pml_intercept_remove();
  good &= pml_intercept_unmatched(miss, &m) == 0 && strcmp(m.text, expected) == 0;
  if (!good) printf("# %s", m.text);
  return good;
}

static int stop(const struct pml_intercept_unmatched *u, void *arg) {
  (void)u;
  return ++*(int *)arg + 40;
}

static void unmatched(void) {
  CHECK(misses("libintercept:libinterce*.so", "lib_t*:lib_back", ""), "patterns that match leave nothing to say");
  CHECK(misses("libintercept", "lib_tial:lib_nothing", "sym lib_tial: lib_tail\n"),
        "of a missing function the nearest name is given");
  CHECK(misses("libintercpt:libintercept", NULL, "lib libintercpt: libintercept\n"), "of a library, too");
  CHECK(misses("libitnercept.so*", "lib_tial", "lib libitnercept.so*: libintercept.so\n"),
        "where there is no library no function is missed");
  CHECK(misses("libintercept", "zzzzzzzzzzzz*", "sym zzzzzzzzzzzz*:\n"), "and nothing where nothing is near");
  struct pml_intercept_options o = {.lib = "slots_leaf", .sym = "leaf_once"};
  struct missed m = {0, ""};
  CHECK(pml_intercept_install(&o) == 0 && pml_intercept_unmatched(miss, &m) == 0 && m.n == 1,
        "a library that is not loaded yet is missed");
  void *handle = open_library("slots_leaf.so", RTLD_LAZY);
  m.n = 0;
  CHECK(pml_intercept_unmatched(miss, &m) == 0 && m.n == 0, "until it is");
  if (handle != NULL) dlclose(handle);
  CHECK(pml_intercept_unmatched(miss, &m) == 0 && m.n == 0, "and not when it is gone");
  pml_intercept_remove();
  int n = 0;
  o = (struct pml_intercept_options){.lib = "liba:libb"};
  CHECK(pml_intercept_install(&o) == 0 && pml_intercept_unmatched(stop, &n) == 41 && n == 1, "a visitor may end it");
  pml_intercept_remove();
}

/* ---- a filter ---- */

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

/* Equal options share the choice, because a choice is never freed; a difference in any option makes another one. */
static void choices(void) {
  static const struct pml_intercept_options o[] = {
      {.lib = "liba", .sym = "f", .but = "g", .aside = "libt"},
      {.lib = "libb", .sym = "f", .but = "g", .aside = "libt"},
      {.lib = "liba", .sym = "h", .but = "g", .aside = "libt"},
      {.lib = "liba", .sym = "f", .but = "h", .aside = "libt"},
      {.lib = "liba", .sym = "f", .but = "g", .aside = "libu"},
      {.lib = "liba", .sym = "f", .aside = "libt"},
      {.lib = "liba", .sym = "f", .but = "g", .aside = "libt", .dlsym = true},
      {.lib = "liba", .sym = "f", .but = "g", .aside = "libt", .wrapped = true},
      {.lib = "liba", .sym = "f", .but = "g", .aside = "libt", .hooks = true}};
  enum { N = sizeof o / sizeof o[0] };
  struct pml__choice *first[N], *again;
  unsigned made = 0, equal = 0, shared = 0;
  for (size_t i = 0; i < N; i++) {
    made += pml__choice_make(&first[i], &o[i]) == 0;
    for (size_t k = 0; k < i; k++) equal += first[i] == first[k];
  }
  for (size_t i = 0; i < N; i++) shared += pml__choice_make(&again, &o[i]) == 0 && again == first[i];
  CHECK(made == N && equal == 0 && shared == N, "of %u choices, %u equal another, and %u are shared", made, equal,
        shared);
}

int main(int argc, char **argv) {
  struct pml_intercept_options o = {.lib = "libintercept:slots_*:leaf_*", .dlsym = true};
  const char *slash = strrchr(argv[0], '/');
  snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - argv[0]) : 1, slash != NULL ? argv[0] : ".");
  bound("without interception");
  either("without interception");
  if (!CHECK(count_calls() == 0 && pml_intercept_install(&o) == 0, "interception is installed")) return check_done();
  bound("with it");
  either("with it");
  CHECK_EACH(linked, without_plt, looked_up, stood_in, several, openers, reopened, read_once, many);
  together(&o);
  pml_intercept_remove();
  replaced(&o);
  unmatched();
  if (argc == 1) variants(argv[0]);
  choices();
  return check_done();
}
