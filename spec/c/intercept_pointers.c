/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_pointers.c - functions that are called through a slot, and whose address code takes through it: the
 * calls are seen, the address stays what it was, and what cannot be seen is named.
 */
#include "adapter/intercept/pml_intercept.h"
#include "check.h"
#include "intercept/counted.h"
#include "intercept/library.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef __x86_64__
int main(void) {
  SKIP("calls through slots of addresses can be distinguished on x86-64");
  return check_done();
}
#else

typedef int number(int i);

static char folder[4096];
static const struct pml_intercept_options chosen = {.lib = "slots_targets*"};

static void *open_pointed(void) {
  char path[4200];
  snprintf(path, sizeof path, "%s/slots_pointed.so", folder);
  void *handle = dlopen(path, RTLD_NOW);
  if (handle == NULL) printf("# %s\n", dlerror());
  return handle;
}

static const struct way {
  const char *name;
  int calls, adds;
  bool seen, left;
} ways[] = {{"called", 1, 1, true, true},    {"jumped", 1, 2, true, true},   {"hoisted", 10, 3, true, true},
            {"tested", 1, 4, true, true},    {"spilled", 1, 5, false, true}, {"returned", 1, 6, true, true},
            {"switched", 1, 7, false, true}, {"compared", 1, 8, true, true}, {"passed", 1, 9, false, true},
            {"only", 10, 10, true, false},   {"tail", 1, 11, true, false}};
#define WAYS (sizeof ways / sizeof ways[0])

static number *find(void *handle, const char *begin, const char *name) {
  char text[64];
  number *f = NULL;
  snprintf(text, sizeof text, "%s_%s", begin, name);
  *(void **)&f = dlsym(handle, text);
  return f;
}

static bool calls_by(void *handle, const struct way *w, int *n) {
  char target[64];
  snprintf(target, sizeof target, "target_%s", w->name);
  (void)calls(target);
  number *f = find(handle, "call", w->name);
  bool good = f != NULL && f(100) == 100 + w->adds;
  *n = calls(target);
  return good;
}

struct named {
  bool is[WAYS], calls[WAYS];
  size_t n;
};

static int note_left(const struct pml_intercept_unrecorded *l, void *arg) {
  struct named *named = arg;
  named->n++;
  for (size_t i = 0; i < WAYS; i++)
    if (strncmp(l->function, "target_", 7) == 0 && strcmp(l->function + 7, ways[i].name) == 0)
      named->is[i] = strcmp(l->library, "slots_targets.so") == 0, named->calls[i] = l->calls;
  return 0;
}

static void seen(void *handle, const char *when) {
  struct named named = {.n = 0};
  CHECK(pml_intercept_unrecorded(note_left, &named) == 0, "functions of which calls may be missing can be asked for");
  for (size_t i = 0; i < WAYS; i++) {
    int n;
    bool good = calls_by(handle, &ways[i], &n);
    CHECK(good && n == (ways[i].seen ? ways[i].calls : 0) && named.is[i] == ways[i].left && !named.calls[i],
          "%s: a function that is %s has %d calls, %d of them seen%s", when, ways[i].name, ways[i].calls, n,
          ways[i].left ? ", and is named" : "");
  }
}

static bool none_seen(void *handle) {
  bool none = true;
  for (size_t i = 0; i < WAYS; i++) {
    int n;
    none &= calls_by(handle, &ways[i], &n) && n == 0;
  }
  return none;
}

static bool are_functions(void *handle) {
  void *(*pointers)(void *to[4]) = NULL, *to[4], *returned;
  int (*is_compared)(void *address) = NULL;
  *(void **)&pointers = dlsym(handle, "pointers");
  *(void **)&is_compared = dlsym(handle, "is_compared");
  if (pointers == NULL || is_compared == NULL) return false;
  returned = pointers(to);
  bool same = returned == dlsym(handle, "target_returned") && is_compared(dlsym(handle, "target_compared")) == 1;
  for (size_t i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "target_%s", ways[i].name);
    same &= to[i] == dlsym(handle, name);
  }
  return same;
}

static bool stop; /* atomic */

static void *call_on(void *arg) {
  number *f = find(arg, "call", "called"), *hoisted = find(arg, "call", "hoisted");
  for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
    if (f(i) != i + 1 || hoisted(i) != i + 3) return arg;
  return NULL;
}

static int calls_in_threads(void *handle) {
  pthread_t thread[2];
  int n, bad = 0;
  void *end = NULL;
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, call_on, handle) != 0) return 2;
  for (int i = 0; i < 20; i++) {
    bad |= pml_intercept_install(&chosen) != 0;
    pml_intercept_remove();
  }
  bad |= pml_intercept_install(&chosen) != 0;
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) bad |= pthread_join(thread[i], &end) != 0 || end != NULL;
  bad |= !are_functions(handle) || !calls_by(handle, &ways[0], &n) || n != 1;
  return bad ? 1 : 0;
}

static bool refuse_writable_code(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int refused(void *handle) {
  struct named named = {.n = 0};
  int n;
  if (!refuse_writable_code()) return 2;
  if (pml_intercept_install(&chosen) != 0 || pml_intercept_unrecorded(note_left, &named) != 0) return 1;
  bool good = named.is[0] && named.calls[0] && named.calls[1] && named.calls[2] && !named.calls[4];
  good &= calls_by(handle, &ways[0], &n) && n == 0 && calls_by(handle, &ways[9], &n) && n == 10;
  return good && are_functions(handle) ? 0 : 1;
}

static int in_child(int (*does)(void *handle), void *handle) {
  int status = -1;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) _exit(count_calls() == 0 ? does(handle) : 3); /* a child has no consumers */
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

static size_t mappings(void) {
  FILE *f = fopen("/proc/self/maps", "re");
  size_t n = 0;
  for (int c; f != NULL && (c = fgetc(f)) != EOF;) n += c == '\n';
  if (f != NULL) fclose(f);
  return n;
}

static void opened_again(void *handle) {
  size_t before = 0, good = 0;
  dlclose(handle);
  for (int i = 0; i < 60; i++) {
    int n, m;
    void *again = open_pointed();
    if (again == NULL) break;
    (void)dlsym(again, "pointers"); /* libraries that were opened are looked at then */
    good += calls_by(again, &ways[0], &n) && n == 1 && calls_by(again, &ways[2], &m) && m == 10 && are_functions(again);
    dlclose(again);
    if (i == 10) before = mappings();
  }
  CHECK(good == 60, "of a library that is closed and opened again, too (%zu of 60 times)", good);
  CHECK(mappings() <= before + 2, "without more and more memory");
}

int main(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/');
  (void)argc;
  snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - argv[0]) : 1, slash != NULL ? argv[0] : ".");
  void *handle = open_pointed();
  if (!CHECK(handle != NULL && count_calls() == 0 && are_functions(handle), "a library is opened")) return check_done();
  int threads = SANITIZED ? 2 : 0, refuses = in_child(refused, handle);
  for (int i = 0; i < 10 && threads == 0; i++) threads = in_child(calls_in_threads, handle);
  if (threads != 2) CHECK(threads == 0, "code changes while threads run it");
  if (refuses == 2)
    SKIP("no seccomp here");
  else
    CHECK(refuses == 0, "where code may not be changed, its calls are named, and the program continues");
  CHECK(pml_intercept_install(&chosen) == 0, "interception is installed");
  seen(handle, "at first");
  CHECK(are_functions(handle), "addresses taken by code remain the functions' addresses");
  pml_intercept_remove();
  CHECK(none_seen(handle) && are_functions(handle), "after removal nothing is seen");
  CHECK(pml_intercept_install(&chosen) == 0, "installed again");
  seen(handle, "again");
  opened_again(handle);
  return check_done();
}
#endif
