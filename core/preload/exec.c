/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/exec.c - exec() and posix_spawn(): no preloading into incompatible programs, and recording of children
 * with their own environment.
 *
 * LD_PRELOAD is inherited. Another C library's loader (musl's) would try to load libraries that need glibc, and the
 * program would not start; glibc's loader for another machine complains on standard error. So exec and posix_spawn
 * inspect the program first, and remove our libraries from its LD_PRELOAD if they do not fit or do not exist because
 * the program runs in another root. Other entries stay. Under pmlua record, a line in the recording's mailbox
 * (pml_mailbox.h) names the program and the reason. If LD_PRELOAD is missing, for example from an empty environment,
 * the variables with which this process was started are added. PMLUA_ADDED lists them, so that the child removes them
 * from its environment before the program sees it; the child keeps them as settings (pml_setting.h), and passes them on
 * to its own children.
 *
 * All functions may run in a child of vfork(), on its parent's memory, or in a signal handler: no lock, no allocation,
 * only system calls and the stack. A program that cannot be read is executed with an unchanged environment.
 */
#include "base/pml_api.h"
#include "base/pml_setting.h"
#include "record/pml_mailbox.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHY_BYTES 1024  /* bytes for the name of a loader, and for the first bytes of a script */
#define SCRIPTS_MAX 5   /* nested interpreters, the kernel's limit */
#define SEGMENTS_MAX 64 /* limit of program headers read */
#define PRELOAD "LD_PRELOAD="
#define OURS "libpmlua-"
#define OTHER_MACHINE "it was built for another kind of machine"
#define OTHER_ROOT "pmlua's library is not in its root, or may not be read there"
#define ASAN "ASAN_OPTIONS="
#define OWN "PMLUA_"
#define ADDED "PMLUA_ADDED=" /* NAME,...; NAME:BYTES if the first BYTES of the value belong to the program */
#define ADDED_BYTES (INHERITED_BYTES + 128)
#define INHERITED_BYTES 8192u /* limit for the variables with which this process was started */
#define INHERITED_MAX 40u
#define ALL SIZE_MAX
#define NONE (SIZE_MAX - 1)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

enum kind { FITS, SCRIPT, FOREIGN };

static char recording[PATH_MAX]; /* the folder of the recording; "": no recording */

/* The variables with which programs under pmlua record are started; written before main. */
static struct {
  char text[INHERITED_BYTES];
  size_t used, n;
  const char *variable[INHERITED_MAX + 1]; /* pmlua's variables; NULL after the last */
  const char *preload, *asan;              /* values; NULL: unknown */
} inherited;

/* ---- whether our libraries fit the program ---- */

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* Compares file names, because the folders differ between distributions. */
static bool is_glibc_loader(const char *loader) {
  const char *name = basename(loader);
  return begins(name, "ld-linux") || begins(name, "ld64.so") || begins(name, "ld.so") ||
         (begins(name, "ld-") && name[3] >= '0' && name[3] <= '9');
}

/* Copy the interpreter of a script to @path. */
static bool read_script(const char *head, char *path) {
  const char *at = head + 2 + strspn(head + 2, " \t");
  size_t n = strcspn(at, " \t\n");
  if (n == 0 || n >= WHY_BYTES) return false;
  memcpy(path, at, n);
  path[n] = '\0';
  return true;
}

/* Copy the program's loader to @why; "": the program has no loader. */
static void read_loader(int fd, const Elf64_Ehdr *e, char *why) {
  Elf64_Phdr p;
  why[0] = '\0';
  for (unsigned i = 0; i < e->e_phnum && i < SEGMENTS_MAX; i++) {
    if (pread(fd, &p, sizeof p, (off_t)(e->e_phoff + i * sizeof p)) != (ssize_t)sizeof p) return;
    if (p.p_type != PT_INTERP) continue;
    ssize_t n = pread(fd, why, WHY_BYTES - 1, (off_t)p.p_offset);
    why[n > 0 ? n : 0] = '\0';
    return;
  }
}

/* Replaces @path by the interpreter of a script, which is inspected next. */
static enum kind look_inside(int fd, char *path, char *why) {
  union {
    Elf64_Ehdr elf;
    char text[WHY_BYTES];
  } head = {0};
  ssize_t n = pread(fd, head.text, sizeof head.text - 1, 0);
  if (n > 2 && head.text[0] == '#' && head.text[1] == '!') return read_script(head.text, path) ? SCRIPT : FITS;
  if (n < (ssize_t)sizeof head.elf || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0) return FITS;
  if (head.elf.e_ident[EI_CLASS] != ELFCLASS64 || head.elf.e_machine != MACHINE) {
    memcpy(why, OTHER_MACHINE, sizeof OTHER_MACHINE);
    return FOREIGN;
  }
  read_loader(fd, &head.elf, why);
  if (why[0] == '\0' && !begins(basename(path), "ld-musl")) return FITS; /* nothing is preloaded without a loader */
  return is_glibc_loader(why) ? FITS : FOREIGN;
}

/* Opens regular files only: opening anything else may block or have an effect. */
static int open_file(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool is_foreign(const char *program, char why[WHY_BYTES]) {
  char path[WHY_BYTES];
  enum kind is = SCRIPT;
  size_t n = strlen(program);
  if (n >= sizeof path) return false;
  memcpy(path, program, n + 1);
  for (int i = 0; i < SCRIPTS_MAX && is == SCRIPT; i++) {
    int fd = open_file(path);
    if (fd < 0) return false;
    is = look_inside(fd, path, why);
    (void)close(fd);
  }
  return is == FOREIGN;
}

/* ---- the environment without our libraries ---- */

/* The first entry of LD_PRELOAD at or after @at, and its length. */
static const char *entry(const char *at, size_t *n) {
  at += strspn(at, ": ");
  *n = strcspn(at, ": ");
  return *n > 0 ? at : NULL;
}

static bool is_ours(const char *at, size_t n) {
  const char *name = at + n;
  while (name > at && name[-1] != '/') name--;
  return (size_t)(at + n - name) >= strlen(OURS) && begins(name, OURS);
}

static bool has_ours(const char *list) {
  size_t n;
  for (const char *at = entry(list, &n); at != NULL; at = entry(at + n, &n))
    if (is_ours(at, n)) return true;
  return false;
}

/* Write PRELOAD and the entries of others to @text, which has room for all. Returns false if there are no others. */
static bool keep_others(char *text, const char *list) {
  size_t n, used = strlen(PRELOAD);
  memcpy(text, PRELOAD, used + 1);
  for (const char *at = entry(list, &n); at != NULL; at = entry(at + n, &n)) {
    if (is_ours(at, n)) continue;
    if (used > strlen(PRELOAD)) text[used++] = ':';
    memcpy(text + used, at, n);
    text[used += n] = '\0';
  }
  return used > strlen(PRELOAD);
}

/* The size of a copy of the environment; n 0: no copy is needed. */
struct copy {
  size_t n, bytes; /* variables; bytes for the texts of changed ones */
  bool adds;       /* add the inherited variables; false: remove our libraries */
};

/* Copy the last @most bytes of @text, or all of it, to @to. Returns the end of the copy. */
static char *copy_end(char *to, const char *text, size_t most) {
  size_t n = strlen(text), cut = n > most ? n - most : 0;
  memcpy(to, text + cut, n - cut + 1);
  return to + n - cut;
}

static void note(const char *path, const char *why) {
  char line[PML_MAILBOX_LINE] = "\t";
  if (recording[0] == '\0') return;
  char *at = copy_end(line + 1, path, sizeof line / 2 - 4);
  *at++ = '\t';
  (void)copy_end(at, why, sizeof line / 2 - 4);
  (void)pml_mailbox_leave(recording, line);
}

static const char *value_of(char *const envp[], const char *name) {
  for (; envp != NULL && *envp != NULL; envp++)
    if (begins(*envp, name)) return *envp + strlen(name);
  return NULL;
}

/* Whether the first of our libraries in @list can be read. */
static bool is_there(const char *list) {
  char path[PATH_MAX];
  size_t n;
  const char *at = entry(list, &n);
  while (at != NULL && !is_ours(at, n)) at = entry(at + n, &n);
  if (at == NULL || n >= sizeof path) return true;
  memcpy(path, at, n);
  path[n] = '\0';
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) (void)close(fd);
  return fd >= 0;
}

/* @path NULL: the path is unknown. */
static struct copy look(const char *path, char *const envp[]) {
  struct copy c = {0, 0, false};
  char why[WHY_BYTES] = {0};
  int saved = errno;
  const char *list = value_of(envp, PRELOAD), *asan = value_of(envp, ASAN);
  bool has = list != NULL && has_ours(list), runs = path != NULL && (has || inherited.preload != NULL);
  bool fits = runs && !is_foreign(path, why);
  if (fits && !is_there(has ? list : inherited.preload)) {
    memcpy(why, OTHER_ROOT, sizeof OTHER_ROOT);
    fits = false;
  }
  if (runs && !fits) note(path, why);
  c.adds = fits && !has;
  if (runs && has != fits) {
    while (envp != NULL && envp[c.n] != NULL) c.n++;
    c.n += 1 + INHERITED_MAX + 3;
    c.bytes = sizeof PRELOAD + sizeof ASAN + 2 * INHERITED_BYTES + ADDED_BYTES + (list != NULL ? strlen(list) : 0);
    c.bytes += asan != NULL ? strlen(asan) : 0;
  }
  errno = saved;
  return c;
}

/* Write NAME=THEIRS:OURS to *@text, and move *@text behind it. */
static char *join(char **text, const char *name, const char *theirs, const char *ours) {
  char *at = *text, *to = stpcpy(at, name);
  if (theirs != NULL && *theirs != '\0') to = stpcpy(stpcpy(to, theirs), ":");
  *text = stpcpy(to, ours) + 1;
  return at;
}

/* Append the name in @variable, which ends at '=', to the list at @to, with the length of the program's value. */
static char *list(char *to, const char *variable, const char *theirs) {
  size_t n = strcspn(variable, "=");
  if (to[-1] != '=') *to++ = ',';
  memcpy(to, variable, n);
  to += n;
  *to = '\0';
  return theirs != NULL ? to + snprintf(to, 24, ":%zu", strlen(theirs)) : to;
}

/* Replace the variable with the same NAME= in @copy by @variable, or append it after @n variables. Returns the new
 * number. */
static size_t put(char **copy, size_t n, const char *name, char *variable) {
  size_t at = 0;
  while (at < n && !begins(copy[at], name)) at++;
  copy[at] = variable;
  return at < n ? n : n + 1;
}

/* Add the inherited variables that @envp lacks. */
static size_t add(char **copy, size_t n, char *text, char *const envp[]) {
  const char *preload = value_of(envp, PRELOAD), *asan = value_of(envp, ASAN);
  char *to = stpcpy(copy[n++] = text, ADDED);
  text += ADDED_BYTES;
  to = list(to, PRELOAD, preload);
  n = put(copy, n, PRELOAD, join(&text, PRELOAD, preload, inherited.preload));
  if (inherited.asan != NULL) to = list(to, ASAN, asan);
  if (inherited.asan != NULL) n = put(copy, n, ASAN, join(&text, ASAN, asan, inherited.asan));
  for (size_t i = 0; i < inherited.n; i++) {
    size_t name = strcspn(inherited.variable[i], "=") + 1, k = 0;
    while (envp != NULL && envp[k] != NULL && strncmp(envp[k], inherited.variable[i], name) != 0) k++;
    if (envp != NULL && envp[k] != NULL) continue;
    to = list(to, inherited.variable[i], NULL);
    copy[n++] = (char *)(uintptr_t)inherited.variable[i];
  }
  return n;
}

static char *const *fill(const struct copy *c, char **copy, char *text, char *const envp[]) {
  size_t n = 0;
  if (c->n == 0) return envp;
  for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
    bool ours = c->adds ? begins(envp[i], ADDED) : begins(envp[i], PRELOAD);
    if (!ours)
      copy[n++] = envp[i];
    else if (!c->adds && keep_others(text, envp[i] + strlen(PRELOAD)))
      copy[n++] = text;
  }
  if (c->adds) n = add(copy, n, text, envp);
  copy[n] = NULL;
  return copy;
}

/* Define the environment for @path, on the caller's stack. */
#define FITTING(env, path, envp)                                                                                       \
  struct copy c_ = look((path), (envp));                                                                               \
  char *copy_[c_.n + 1], text_[c_.bytes + 1];                                                                          \
  char *const *env = fill(&c_, copy_, text_, (envp))

/* ---- the program's path ---- */

/* Searches like the C library; NULL: not found. */
static const char *find(const char *file, char path[PATH_MAX]) {
  const char *at = secure_getenv("PATH");
  size_t m = strlen(file);
  if (strchr(file, '/') != NULL) return file;
  if (at == NULL) at = "/bin:/usr/bin";
  for (;; at++) {
    size_t n = strcspn(at, ":");
    if (n + 1 + m < PATH_MAX) {
      memcpy(path, at, n);
      path[n] = '/';
      memcpy(path + n + (n > 0), file, m + 1); /* an empty folder is the working directory */
      if (access(path, X_OK) == 0) return path;
    }
    at += n;
    if (*at == '\0') return NULL;
  }
}

/* ---- functions for programs ---- */

#define PROGRAM_CALLS(X)                                                                                               \
  X(int, execve, (const char *, char *const *, char *const *))                                                         \
  X(int, execvpe, (const char *, char *const *, char *const *))                                                        \
  X(int, fexecve, (int, char *const *, char *const *))                                                                 \
  X(int, execveat, (int, const char *, char *const *, char *const *, int))                                             \
  X(int, posix_spawn,                                                                                                  \
    (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,              \
     char *const *))                                                                                                   \
  X(int, posix_spawnp,                                                                                                 \
    (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,              \
     char *const *))

#define DECLARE(result, name, arguments) static result(*real_##name) arguments;
PROGRAM_CALLS(DECLARE)

/* Runs before main; an earlier constructor that executes a program looks the functions up itself. */
static void find_real(void) {
#define FIND(result, name, arguments) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
  if (real_execve == NULL) {
    PROGRAM_CALLS(FIND)
  }
}

/* Returns NULL if there is no room. */
static const char *copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  if (n > sizeof inherited.text - inherited.used) return NULL;
  char *at = memcpy(inherited.text + inherited.used, text, n);
  inherited.used += n;
  return at;
}

/* How many bytes at the beginning of the value of NAME= belong to the program; ALL, or NONE if the program had no such
 * variable. */
static size_t theirs_of(const char *added, const char *name) {
  size_t n = strcspn(name, "=");
  for (const char *at = added; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',')
    if (strncmp(at, name, n) == 0 && strchr(":,", at[n]) != NULL)
      return at[n] == ':' ? strtoul(at + n + 1, NULL, 10) : NONE;
  return ALL;
}

/* Our part of the value of NAME= according to @added, or the whole value if @added lacks the name. Returns NULL if
 * there is no such variable. */
static const char *ours_of(const char *added, const char *name) {
  const char *value = value_of(environ, name);
  size_t n = theirs_of(added, name);
  return value != NULL && n > 0 && n < strlen(value) ? value + n + 1 : value;
}

/* Restore the program's environment in place, in the array and the texts that main gets. */
static void take_added(const char *added) {
  size_t n = 0;
  for (size_t i = 0; environ[i] != NULL; i++) {
    char *variable = environ[i], *value = variable + strcspn(variable, "=") + 1;
    bool may = begins(variable, OWN) || begins(variable, PRELOAD) || begins(variable, ASAN);
    size_t bytes = may ? theirs_of(added, variable) : ALL;
    if (bytes == NONE || begins(variable, ADDED)) continue;
    if (bytes != ALL && bytes < strlen(value)) value[bytes] = '\0';
    environ[n++] = variable;
  }
  environ[n] = NULL;
  pml__settings_add(inherited.variable);
}

/* Keeps all variables or none: a part of them would lead to another recording. */
static void keep_variables(void) {
  const char *added = value_of(environ, ADDED), *preload = ours_of(added, PRELOAD), *asan = ours_of(added, ASAN);
  bool all = preload != NULL && has_ours(preload);
  for (size_t i = 0; all && environ[i] != NULL; i++) {
    if (!begins(environ[i], OWN) || begins(environ[i], ADDED)) continue;
    all = inherited.n < INHERITED_MAX && (inherited.variable[inherited.n] = copy_text(environ[i])) != NULL;
    inherited.n += all;
  }
  if (all && asan != NULL) all = (inherited.asan = copy_text(asan)) != NULL;
  if (all) inherited.preload = copy_text(preload);
  if (inherited.preload != NULL && added != NULL) take_added(added);
}

__attribute__((constructor)) static void begin(void) {
  const char *dir = secure_getenv("PMLUA_RECORD_DIR");
  int saved = errno;
  find_real();
  if (dir != NULL && dir[0] == '/' && strlen(dir) < sizeof recording) {
    memcpy(recording, dir, strlen(dir) + 1);
    keep_variables();
  }
  errno = saved;
}

PML_API int execve(const char *path, char *const argv[], char *const envp[]) {
  FITTING(env, path, envp);
  find_real();
  return real_execve(path, argv, env);
}

PML_API int execv(const char *path, char *const argv[]) {
  return execve(path, argv, environ);
}

PML_API int execvpe(const char *file, char *const argv[], char *const envp[]) {
  char path[PATH_MAX];
  FITTING(env, find(file, path), envp);
  find_real();
  return real_execvpe(file, argv, env);
}

PML_API int execvp(const char *file, char *const argv[]) {
  return execvpe(file, argv, environ);
}

PML_API int fexecve(int fd, char *const argv[], char *const envp[]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  FITTING(env, path, envp);
  find_real();
  return real_fexecve(fd, argv, env);
}

/* glibc before 2.34 declares no such function. */
int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
PML_API int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags) {
  char at[PATH_MAX + 64];
  const char *known = path;
  if (path[0] != '/' && fd != AT_FDCWD) {
    int n = snprintf(at, sizeof at, "/proc/self/fd/%d%s%s", fd, path[0] != '\0' ? "/" : "", path);
    known = n > 0 && (size_t)n < sizeof at ? at : NULL;
  }
  FITTING(env, known, envp);
  find_real();
  return real_execveat(fd, path, argv, env, flags);
}

PML_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  FITTING(env, path, envp);
  find_real();
  return real_posix_spawn(pid, path, actions, attributes, argv, env);
}

PML_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  char path[PATH_MAX];
  FITTING(env, find(file, path), envp);
  find_real();
  return real_posix_spawnp(pid, file, actions, attributes, argv, env);
}

/* ---- variable arguments ---- */

static size_t count(va_list args) {
  size_t n = 1;
  while (va_arg(args, char *) != NULL) n++;
  return n;
}

static void collect(char **argv, const char *first, va_list *args) {
  size_t n = 0;
  argv[n++] = (char *)(uintptr_t)first;
  do argv[n] = va_arg(*args, char *);
  while (argv[n++] != NULL);
}

/* Afterwards @args points behind the NULL. */
#define ARGUMENTS(argv, first)                                                                                         \
  va_list args, again;                                                                                                 \
  va_start(args, first);                                                                                               \
  va_copy(again, args);                                                                                                \
  char *argv[count(again) + 1];                                                                                        \
  va_end(again);                                                                                                       \
  collect(argv, first, &args)

PML_API int execl(const char *path, const char *first, ...) {
  ARGUMENTS(argv, first);
  va_end(args);
  return execve(path, argv, environ);
}

PML_API int execlp(const char *file, const char *first, ...) {
  ARGUMENTS(argv, first);
  va_end(args);
  return execvpe(file, argv, environ);
}

PML_API int execle(const char *path, const char *first, ...) {
  ARGUMENTS(argv, first);
  char *const *envp = va_arg(args, char *const *);
  va_end(args);
  return execve(path, argv, envp);
}
