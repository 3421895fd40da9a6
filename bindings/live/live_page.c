/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_page.c - the browser's page of this process: a child that runs pmlua serve --page. */
#include "embed/locate.h"
#include "live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_S 10.0

extern char **environ;

/* The command: beside this code in a checkout, in bin of an installation, else in PATH. */
static void find_command(char command[PATH_MAX]) {
  static const char *const places[] = {"/pmlua", "/../bin/pmlua", "/../../../../bin/pmlua"};
  char code[PATH_MAX];
  locate_code(code);
  char *slash = strrchr(code, '/');
  if (slash != NULL) *slash = '\0';
  for (size_t i = 0; slash != NULL && i < sizeof places / sizeof places[0]; i++) {
    int n = snprintf(command, PATH_MAX, "%.*s%s", PATH_MAX - 32, code, places[i]);
    if (n > 0 && n < PATH_MAX && access(command, X_OK) == 0) return;
  }
  snprintf(command, PATH_MAX, "pmlua");
}

/* The child's address, the first line that it writes. */
static int read_line(int fd, char *url, size_t size) {
  size_t n = 0;
  double end = live__now() + WAIT_S;
  while (live__now() < end) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 100) <= 0) continue;
    ssize_t got = read(fd, url + n, size - 1 - n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return pml_fail(-EIO, "pmlua serve ended without an address; its reason is on stderr");
    n += (size_t)got;
    url[n] = '\0';
    char *newline = strchr(url, '\n');
    if (newline != NULL) *newline = '\0';
    if (newline != NULL) return 0;
    if (n == size - 1) return pml_fail(-ENAMETOOLONG, "the page's address does not fit into %zu bytes", size);
  }
  return pml_fail(-ETIMEDOUT, "pmlua serve gave no address within %g s", WAIT_S);
}

/* The child ignores the application's terminal: it ends with the application, not by its signals. */
static int spawn(const char *command, double every_s, int out, pid_t *child) {
  char pid[32], every[32];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  snprintf(every, sizeof every, "%.0fms", every_s * 1e3);
  char *const arguments[] = {"pmlua", "serve", pid, "--page", "--export", "127.0.0.1:0", "--every", every, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  if (posix_spawn_file_actions_init(&actions) != 0) return -ENOMEM;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  int err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (err == 0) err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (err == 0) err = posix_spawnp(child, command, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return -err;
}

int pmlua_live_page(char *url, size_t size, pid_t *child) {
  char path[LIVE_PATH_MAX], command[PATH_MAX];
  int fd[2];
  int err = size > 1 ? pmlua_live_path(path, sizeof path) : pml_fail(-EINVAL, "no room for an address");
  if (err < 0) return err;
  if (pipe2(fd, O_CLOEXEC) != 0) return pml_fail(-errno, "no pipe for pmlua serve: %s", strerror(errno));
  find_command(command);
  live__lock();
  const struct live *l = live__running();
  double every_s = l != NULL ? l->setup.page_every_s : 1;
  live__unlock();
  err = spawn(command, every_s, fd[1], child);
  close(fd[1]);
  if (err < 0) err = pml_fail(err, "%.200s serve: %s; install pmlua's command", command, strerror(-err));
  if (err == 0) err = read_line(fd[0], url, size);
  close(fd[0]);
  return err;
}
