/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_tool.c - run a helper program to completion, without a shell, and capture its output. */
#include "program/pml_tool.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_libc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)16 << 20)
#define BLOCK ((size_t)64 << 10)

/* ---- a sandbox that forbids starting programs, for gnuplot and Graphviz ---- */

struct rules {
  struct sock_filter code[32];
  unsigned short n; /* 0: no rules for this machine */
};

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE
#define ARGUMENT_LOW(i) ((uint32_t)offsetof(struct seccomp_data, args[i]))
#define ARGUMENT_HIGH(i) (ARGUMENT_LOW(i) + 4) /* both machines are little-endian */

static void put_rule(struct rules *rules, struct sock_filter one) {
  rules->code[rules->n++] = one;
}

static void load(struct rules *rules, uint32_t offset) {
  put_rule(rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void answer(struct rules *rules, uint32_t what) {
  put_rule(rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Continue if the loaded word is @k, otherwise skip @otherwise instructions. */
static void only_if(struct rules *rules, uint32_t k, uint8_t otherwise) {
  put_rule(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, otherwise));
}

static void refuse(struct rules *rules, uint32_t call, int err) {
  only_if(rules, call, 1);
  answer(rules, SECCOMP_RET_ERRNO | (uint32_t)err);
}

/* Rules that allow one execve(2), with exactly this pointer. */
static void make_rules(struct rules *rules, const char *path) {
  uint64_t pointer = (uint64_t)(uintptr_t)path;
  rules->n = 0;
  load(rules, offsetof(struct seccomp_data, arch));
  put_rule(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
  answer(rules, SECCOMP_RET_KILL_PROCESS);
  load(rules, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  put_rule(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32's numbers */
  answer(rules, SECCOMP_RET_ERRNO | ENOSYS);
  refuse(rules, SYS_fork, EPERM);
  refuse(rules, SYS_vfork, EPERM);
#endif
  refuse(rules, SYS_execveat, EPERM);
  refuse(rules, SYS_socket, EPERM);
  refuse(rules, SYS_clone3, ENOSYS); /* its flags are not visible; libc then falls back to clone */
  only_if(rules, SYS_clone, 4);
  load(rules, ARGUMENT_LOW(0));
  put_rule(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  answer(rules, SECCOMP_RET_ALLOW);
  answer(rules, SECCOMP_RET_ERRNO | EPERM);
  only_if(rules, SYS_execve, 5);
  load(rules, ARGUMENT_LOW(0));
  only_if(rules, (uint32_t)pointer, 2);
  load(rules, ARGUMENT_HIGH(0));
  put_rule(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(pointer >> 32), 1, 0));
  answer(rules, SECCOMP_RET_ERRNO | EPERM);
  answer(rules, SECCOMP_RET_ALLOW);
}
#else
static void make_rules(struct rules *rules, const char *path) {
  (void)path;
  rules->n = 0;
}
#endif

/* Called in the child, before execve(). Returns 0, also without rules, or -errno. */
static int apply(const struct rules *rules) {
  struct sock_fprog program = {.len = rules->n, .filter = (struct sock_filter *)(uintptr_t)rules->code};
  if (rules->n == 0) return 0;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno == EINVAL ? 0 : -errno;
}

bool pml_tool_can_confine(void) {
#ifdef MACHINE
  /* EFAULT: the kernel tried to read the rules; EINVAL: it does not support filters */
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
#else
  return false;
#endif
}

/* ---- the tool ---- */

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Skips entries of PATH that are not absolute, because another user may have filled these folders. */
static int find_program(char path[PATH_MAX], const char *name) {
  const char *entry = secure_getenv("PATH");
  if (strchr(name, '/') != NULL) {
    if (strlen(name) >= PATH_MAX || !is_program(name)) return -ENOENT;
    memcpy(path, name, strlen(name) + 1);
    return 0;
  }
  for (entry = entry != NULL ? entry : "/usr/bin:/bin"; *entry != '\0'; entry += strcspn(entry, ":")) {
    entry += *entry == ':';
    size_t length = strcspn(entry, ":");
    if (*entry != '/' || length + strlen(name) + 2 > PATH_MAX) continue;
    memcpy(path, entry, length);
    path[length] = '/';
    memcpy(path + length + 1, name, strlen(name) + 1);
    if (is_program(path)) return 0;
  }
  return -ENOENT;
}

#define VARIABLES 64

/* The variables of the caller's environment that the tool gets: paths of programs, libraries and fonts. With others
 * (GNUTERM, GDFONTPATH, the locale,...) pictures would differ between users. */
static void choose_variables(char *envp[VARIABLES + 2]) {
  static const char *const passed[] = {"PATH=", "HOME=", "TMPDIR=", "LD_", "XDG_", "FONTCONFIG_"};
  size_t n = 0;
  for (char **entry = environ; entry != NULL && *entry != NULL && n < VARIABLES; entry++)
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
      if (strncmp(*entry, passed[i], strlen(passed[i])) == 0) {
        envp[n++] = *entry;
        break;
      }
  envp[n++] = (char *)(uintptr_t) "LC_ALL=C.UTF-8";
  envp[n] = NULL;
}

/* The child. Descriptors above the standard ones are close-on-exec, or the caller's responsibility. */
static void become(const struct pml_tool *tool, const char *path, int out, const struct rules *rules) {
  char *envp[VARIABLES + 2];
  int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
  if (tool->folder != NULL && chdir(tool->folder) != 0) _exit(126);
  (void)signal(SIGINT, SIG_DFL);
  (void)signal(SIGPIPE, SIG_DFL);
  if (tool->confined && apply(rules) < 0) _exit(126);
  choose_variables(envp);
  (void)execve(path, tool->argv, envp);
  _exit(127);
}

struct text {
  char *bytes;
  size_t length, room;
};

/* Read until the other end is closed; discard bytes beyond the limit. */
static int listen_to(int in, int64_t deadline, struct text *t) {
  for (;;) {
    struct pollfd p = {.fd = in, .events = POLLIN};
    int64_t left = deadline - now_ms();
    int r = left <= 0 ? 0 : poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
    if (r == 0) return -ETIMEDOUT;
    if (r < 0 && errno != EINTR) return -errno;
    if (r < 0) continue; /* an interrupt from the terminal also reaches the tool */
    if (!PML__ARRAY_ROOM(t->bytes, t->room, t->length + BLOCK + 1)) return -ENOMEM;
    ssize_t n = read(in, t->bytes + t->length, BLOCK);
    if (n < 0) return -errno;
    if (n == 0) return 0;
    if (t->length < OUTPUT_MAX) t->length += (size_t)n;
  }
}

static int status_of(pid_t pid, int64_t deadline, int *status) {
  int how = 0;
  pid_t r;
  /* it has closed its output; if it still runs, it has until the deadline */
  while ((r = waitpid(pid, &how, WNOHANG)) == 0) {
    if (now_ms() > deadline) return -ETIMEDOUT;
    (void)poll(NULL, 0, 1);
  }
  if (r < 0) return -errno;
  *status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
  return 0;
}

static int attend(pid_t pid, int in, int timeout_ms, int *status, struct text *t) {
  int64_t deadline = now_ms() + timeout_ms;
  int err = listen_to(in, deadline, t);
  if (err == 0) err = status_of(pid, deadline, status);
  if (err == 0) return 0;
  (void)kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  return err;
}

static int run(const struct pml_tool *tool, const char *path, int *status, struct text *t) {
  struct rules rules;
  int line[2];
  if (pipe2(line, O_CLOEXEC) != 0) return -errno;
  make_rules(&rules, path);
  pid_t pid = fork();
  if (pid == 0) become(tool, path, line[1], &rules);
  int err = pid < 0 ? -errno : 0;
  close(line[1]);
  if (err == 0) err = attend(pid, line[0], tool->timeout_ms, status, t);
  close(line[0]);
  return err;
}

int pml_tool_run(const struct pml_tool *tool, int *status, char **output, size_t *length) {
  struct text t = {NULL, 0, 0};
  char path[PATH_MAX];
  *output = NULL;
  *length = 0;
  *status = 0;
  int err = find_program(path, tool->argv[0]);
  if (err < 0) return pml_fail(err, "%s is not installed, or not in PATH", tool->argv[0]);
  err = PML__ARRAY_ROOM(t.bytes, t.room, BLOCK) ? 0 : -ENOMEM;
  if (err == 0) err = run(tool, path, status, &t);
  if (err < 0) {
    free(t.bytes);
    return err;
  }
  t.bytes[t.length] = '\0';
  *output = t.bytes;
  *length = t.length;
  return 0;
}
