/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/program/pml_starter.c - pmlua-starter, which executes a measured program: a small static executable.
 *
 * The kernel passes the largest resident set of the process that calls execve(2) on to the new program. So pmlua does
 * not fork: it spawns this executable, whose child (by CLONE_PARENT a child of pmlua) starts with this executable's
 * small memory.
 */
#include "program/pml_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Open @path as the stream @as; "": unchanged. Returns 0 or errno. */
static int redirect(const char *path, int flags, int as) {
  if (*path == '\0') return 0;
  int fd = open(path, flags, 0666), err = 0;
  if (fd == as) return 0;
  if (fd < 0 || dup2(fd, as) < 0) err = errno;
  if (fd >= 0) close(fd);
  return err;
}

static int streams(char *const *argv) {
  int written = O_WRONLY | O_CREAT | O_TRUNC;
  int err = redirect(argv[PML__STARTER_INPUT], O_RDONLY, STDIN_FILENO);
  if (err == 0) err = redirect(argv[PML__STARTER_OUTPUT], written, STDOUT_FILENO);
  return err != 0 ? err : redirect(argv[PML__STARTER_ERROR], written, STDERR_FILENO);
}

/* Wait for the start message, or for the death of pmlua. execve(2) closes the socket. */
static void become(int line, char **argv) {
  struct rusage used = {0};
  char word;
  ssize_t n;
  if (*argv[PML__STARTER_BOUND] != '\0')
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the socket is closed if pmlua ended before */
  do n = read(line, &word, 1);
  while (n < 0 && errno == EINTR);
  if (n != 1) _exit(127);
  int err = streams(argv);
  (void)getrusage(RUSAGE_SELF, &used);
  uint64_t floor = (uint64_t)used.ru_maxrss * 1024u;
  (void)send(line, &floor, sizeof floor, MSG_NOSIGNAL);
  if (err == 0) {
    (void)execvp(argv[PML__STARTER_PROGRAM], argv + PML__STARTER_PROGRAM);
    err = errno;
  }
  (void)send(line, &err, sizeof err, MSG_NOSIGNAL);
  _exit(127);
}

int main(int argc, char **argv) {
  if (argc <= PML__STARTER_PROGRAM) return 2;
  int line = atoi(argv[PML__STARTER_LINE]);
  if (fcntl(line, F_SETFD, FD_CLOEXEC) < 0) return 2;
  int pid = (int)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) become(line, argv);
  if (pid < 0) pid = -errno;
  return send(line, &pid, sizeof pid, MSG_NOSIGNAL) != sizeof pid;
}
