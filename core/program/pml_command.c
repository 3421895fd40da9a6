/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_command.c - a child process that waits for its counters before it runs the program. */
#include "program/pml_command.h"

#include "base/pml_error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 10 /* how often the end is looked for where the kernel has no pidfd */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t timeval_ns(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void shut(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Until execve(2) does it, the handlers of the parent would run in the child, for the parent's sake. */
static void without_handlers(void) {
  static const int signals[] = {SIGINT, SIGTERM};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    struct sigaction sa;
    if (sigaction(signals[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN) signal(signals[i], SIG_DFL);
  }
}

/* Make @path the child's stream @as. Returns 0 or errno. */
static int redirect(const char *path, int flags, int as) {
  if (path == NULL) return 0;
  int fd = open(path, flags, 0666), err = 0;
  if (fd == as) return 0;
  if (fd < 0 || dup2(fd, as) < 0) err = errno;
  shut(&fd);
  return err;
}

/* The kernel's largest resident set of the calling process, which execve(2) hands on to the program. */
static uint64_t maxrss(void) {
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024u : 0;
}

static int streams(const struct pml_command_setting *s) {
  int written = O_WRONLY | O_CREAT | O_TRUNC;
  int err = redirect(s->input, O_RDONLY, STDIN_FILENO);
  if (err == 0) err = redirect(s->output, written, STDOUT_FILENO);
  return err != 0 ? err : redirect(s->error, written, STDERR_FILENO);
}

/* The child: wait for the go-ahead, or for the death of the parent. The socket is gone after execve(2). */
static void become(char *const *argv, const struct pml_command_setting *s, int line) {
  char word;
  ssize_t n;
  if (s->bound) (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the line is closed if the parent ended before */
  do n = read(line, &word, 1);
  while (n < 0 && errno == EINTR);
  if (n == 1) {
    uint64_t floor = maxrss();
    int err = streams(s);
    (void)send(line, &floor, sizeof floor, MSG_NOSIGNAL);
    if (err == 0) {
      (void)execvpe(argv[0], argv, s->envp != NULL ? s->envp : environ);
      err = errno;
    }
    (void)send(line, &err, sizeof err, MSG_NOSIGNAL);
  }
  _exit(127);
}

/* The terminal's and other people's wish to end the caller: it has no handlers for the child's sake yet. */
static void hold_signals(struct pml_command *c) {
  sigset_t ends;
  (void)sigemptyset(&ends);
  (void)sigaddset(&ends, SIGINT);
  (void)sigaddset(&ends, SIGTERM);
  c->held = pthread_sigmask(SIG_BLOCK, &ends, &c->mask) == 0;
}

static void release_signals(struct pml_command *c) {
  if (c->held) (void)pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
  c->held = false;
}

/* Returns whether that is the end of it: of a script without an interpreter execvpe(3) makes one of the shell's. */
static bool spawned_at_once(struct pml_command *c, char *const *argv, const struct pml_command_setting *s) {
  posix_spawnattr_t how;
  if (!s->at_once || s->bound || s->input != NULL || s->output != NULL || s->error != NULL) return false;
  if (posix_spawnattr_init(&how) != 0) return false;
  hold_signals(c);
  (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  (void)posix_spawnattr_setsigmask(&how, &c->mask);
  c->floor_bytes = maxrss(); /* the child shares our memory until it becomes its program */
  c->started_ns = now_ns();
  c->why = posix_spawnp(&c->pid, argv[0], NULL, &how, argv, s->envp != NULL ? s->envp : environ);
  (void)posix_spawnattr_destroy(&how);
  if (c->why == 0) return true;
  c->pid = 0;
  c->end.status = 127;
  if (c->why != ENOEXEC) return true;
  c->why = 0;
  release_signals(c);
  return false;
}

int pml_command_spawn(struct pml_command *c, char *const *argv) {
  const struct pml_command_setting same = {0};
  return pml_command_spawn_with(c, argv, &same);
}

int pml_command_spawn_with(struct pml_command *c, char *const *argv, const struct pml_command_setting *setting) {
  int line[2];
  memset(c, 0, sizeof *c);
  c->line = c->pidfd = -1;
  if (spawned_at_once(c, argv, setting)) {
    if (c->pid != 0) c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    return 0;
  }
  c->started_ns = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) return -errno;
  pid_t pid = fork();
  int err = pid < 0 ? -errno : 0;
  if (pid == 0) {
    without_handlers();
    close(line[0]); /* else it would hold itself */
    become(argv, setting, line[1]);
  }
  close(line[1]);
  c->line = line[0];
  if (err < 0) {
    shut(&c->line);
    return err;
  }
  c->pid = pid;
  c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  return 0;
}

static void reaped(struct pml_command *c, int status, const struct rusage *used) {
  c->end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  c->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  c->end.real_ns = c->started_ns != 0 ? now_ns() - c->started_ns : 0;
  c->end.user_ns = timeval_ns(used->ru_utime);
  c->end.system_ns = timeval_ns(used->ru_stime);
  c->end.maxrss_bytes = (uint64_t)used->ru_maxrss * 1024u;
  c->end.maxrss_floor_bytes = c->floor_bytes;
  c->done = true;
  c->pid = 0;
}

/* Returns 0 when it was reaped, 1 when it still runs, or -errno. */
static int reap(struct pml_command *c, int options) {
  int status = 0;
  struct rusage used = {0};
  pid_t r;
  do r = wait4(c->pid, &status, options, &used);
  while (r < 0 && errno == EINTR);
  if (r == 0) return 1;
  if (r < 0) {
    /* Another waiter reaped it, or SIGCHLD is ignored: its status is lost. */
    int err = pml_fail(-errno, "cannot wait for the command: is SIGCHLD ignored?");
    c->pid = 0;
    return err;
  }
  reaped(c, status, &used);
  return 0;
}

/* Set the sentence: otherwise that of an earlier failure with this errno would be used. */
static int cannot_start(int why) {
  return pml_fail(-why, "%s", pml_error_text(-why));
}

/* The next of what the child says before it becomes its program; false: nothing more. */
static bool hear(const struct pml_command *c, void *word, size_t size) {
  ssize_t n;
  do n = recv(c->line, word, size, MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  return n == (ssize_t)size;
}

int pml_command_start(struct pml_command *c) {
  int why = 0;
  if (c->held) {
    release_signals(c);
    c->done = c->why != 0;
    return c->why != 0 ? cannot_start(c->why) : 0;
  }
  if (c->pid == 0 && !c->done) return PML_ECLOSED;
  if (c->line < 0) return pml_fail(-EALREADY, "the command was already started");
  c->started_ns = now_ns();
  /* A child that was killed meanwhile hears nothing; its end will say so. */
  (void)send(c->line, "g", 1, MSG_NOSIGNAL);
  bool failed = hear(c, &c->floor_bytes, sizeof c->floor_bytes) && hear(c, &why, sizeof why);
  shut(&c->line);
  if (!failed) return 0;
  (void)reap(c, 0);
  return cannot_start(why);
}

static int wait_once(const struct pml_command *c, int timeout_ms) {
  if (c->pidfd >= 0) {
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
    int r = poll(&p, 1, timeout_ms);
    return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
  }
  bool last = timeout_ms >= 0 && timeout_ms <= POLL_MS;
  if (poll(NULL, 0, last ? timeout_ms : POLL_MS) < 0) return -errno;
  return last ? -ETIMEDOUT : 0;
}

/* The rest of @timeout_ms, or -1 without a limit. */
static int left_of(int timeout_ms, uint64_t from) {
  if (timeout_ms < 0) return -1;
  uint64_t spent = (now_ns() - from) / 1000000u;
  return spent >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)spent;
}

int pml_command_wait(struct pml_command *c, int timeout_ms) {
  uint64_t from = now_ns();
  bool last = false;
  if (c->done) return 0;
  if (c->line >= 0 || c->held) return pml_fail(PML_EMODE, "the command has not started");
  if (c->pid == 0) return PML_ECLOSED;
  for (;;) {
    int r = reap(c, WNOHANG);
    if (r <= 0) return r;
    if (last) return pml_fail(-ETIMEDOUT, "the command is still running");
    r = wait_once(c, left_of(timeout_ms, from));
    if (r == -EINTR) return -EINTR;
    last = r == -ETIMEDOUT;
  }
}

int pml_command_kill(struct pml_command *c, int sig) {
  if (c->pid == 0) return -ESRCH; /* its number may be another's by now */
  return kill(c->pid, sig) == 0 ? 0 : -errno;
}

void pml_command_close(struct pml_command *c) {
  release_signals(c);
  if (c->pid != 0) {
    (void)kill(c->pid, SIGKILL);
    (void)reap(c, 0);
  }
  shut(&c->line);
  shut(&c->pidfd);
}
