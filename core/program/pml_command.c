/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_command.c - a child process that waits for its counters before it runs the program. */
#include "program/pml_command.h"

#include "base/pml_error.h"
#include "base/pml_libc.h"
#include "base/pml_library.h"
#include "program/pml_starter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 10 /* polling interval for the end if the kernel has no pidfd */

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

/* Receive the next message from the starter; returns false at the end. */
static bool hear(const struct pml_command *c, void *word, size_t size) {
  ssize_t n;
  do n = recv(c->line, word, size, MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  return n == (ssize_t)size;
}

static const char *or_empty(const char *text) {
  return text != NULL ? text : "";
}

/* Spawn the starter with @line as its descriptor @as, which is free in the new process, because execve(2) closes
 * pmlua's own. It must be another number, which glibc before 2.29 would close as well. Returns 0 or -errno. */
static int spawn_starter(pid_t *pid, char *const *argv, const struct pml_command_setting *s, int line, int as) {
  char path[PATH_MAX], number[16];
  size_t n = 0;
  while (argv[n] != NULL) n++;
  int err = pml__library_own("pmlua-starter", path);
  const char **words = err < 0 ? NULL : malloc((PML__STARTER_PROGRAM + n + 1) * sizeof *words);
  posix_spawn_file_actions_t actions;
  if (words == NULL) return err < 0 ? err : -ENOMEM;
  (void)snprintf(number, sizeof number, "%d", as);
  words[0] = "pmlua-starter";
  words[PML__STARTER_LINE] = number;
  words[PML__STARTER_BOUND] = s->bound ? "bound" : "";
  words[PML__STARTER_INPUT] = or_empty(s->input);
  words[PML__STARTER_OUTPUT] = or_empty(s->output);
  words[PML__STARTER_ERROR] = or_empty(s->error);
  memcpy(words + PML__STARTER_PROGRAM, argv, (n + 1) * sizeof *words);
  err = posix_spawn_file_actions_init(&actions);
  if (err == 0) {
    err = posix_spawn_file_actions_adddup2(&actions, line, as);
    if (err == 0)
      err =
          posix_spawn(pid, path, &actions, NULL, (char *const *)(uintptr_t)words, s->envp != NULL ? s->envp : environ);
    (void)posix_spawn_file_actions_destroy(&actions);
  }
  free(words);
  return -err;
}

int pml_command_spawn(struct pml_command *c, char *const *argv) {
  const struct pml_command_setting same = {0};
  return pml_command_spawn_with(c, argv, &same);
}

int pml_command_spawn_with(struct pml_command *c, char *const *argv, const struct pml_command_setting *setting) {
  int line[2], child = -ECHILD;
  pid_t starter = 0;
  memset(c, 0, sizeof *c);
  c->line = c->pidfd = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) return -errno;
  int err = spawn_starter(&starter, argv, setting, line[1], line[0]);
  close(line[1]);
  c->line = line[0];
  if (err == 0) {
    (void)hear(c, &child, sizeof child);
    while (waitpid(starter, NULL, 0) < 0 && errno == EINTR) continue;
    if (child < 0) err = child;
  }
  if (err < 0) {
    shut(&c->line);
    return err;
  }
  c->pid = child;
  c->pidfd = (int)syscall(SYS_pidfd_open, child, 0);
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

/* Returns 0 if the child was reaped, 1 if it still runs, or -errno. */
static int reap(struct pml_command *c, int options) {
  int status = 0;
  struct rusage used = {0};
  pid_t r;
  do r = wait4(c->pid, &status, options, &used);
  while (r < 0 && errno == EINTR);
  if (r == 0) return 1;
  if (r < 0) {
    /* another waiter reaped it, or SIGCHLD is ignored: its status is lost */
    int err = pml_fail(-errno, "cannot wait for the command: is SIGCHLD ignored?");
    c->pid = 0;
    return err;
  }
  reaped(c, status, &used);
  return 0;
}

/* Sets the detail; otherwise an earlier failure with this errno would provide it. */
static int cannot_start(int why) {
  return pml_fail(-why, "%s", pml_error_text(-why));
}

int pml_command_start(struct pml_command *c) {
  int why = 0;
  if (c->pid == 0 && !c->done) return PML_ECLOSED;
  if (c->line < 0) return pml_fail(-EALREADY, "the command was already started");
  c->started_ns = now_ns();
  /* if the child was killed meanwhile, its end is reported */
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

/* The rest of @timeout_ms; -1: no limit. */
static int left_of(int timeout_ms, uint64_t from) {
  if (timeout_ms < 0) return -1;
  uint64_t spent = (now_ns() - from) / 1000000u;
  return spent >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)spent;
}

int pml_command_wait(struct pml_command *c, int timeout_ms) {
  uint64_t from = now_ns();
  bool last = false;
  if (c->done) return 0;
  if (c->line >= 0) return pml_fail(PML_EMODE, "the command has not started");
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
  if (c->pid == 0) return -ESRCH; /* its pid may belong to another process by now */
  return kill(c->pid, sig) == 0 ? 0 : -errno;
}

void pml_command_close(struct pml_command *c) {
  if (c->pid != 0) {
    (void)kill(c->pid, SIGKILL);
    (void)reap(c, 0);
  }
  shut(&c->line);
  shut(&c->pidfd);
}
