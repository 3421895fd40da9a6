/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_socket.c - sockets of running applications: folder, names, permissions. */
#include "live/live_socket.h"

#include "base/pml_error.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 32
#define CLEANED_MAX 1000 /* entries looked at, so that a crowded folder delays no start */

/* --- the folder --- */

static bool is_ours(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int check_folder(const char *folder) {
  struct stat st;
  if (lstat(folder, &st) != 0) return pml_fail(-errno, "%s: %s", folder, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return pml_fail(-EPERM, "%s is not a folder; remove it", folder);
  if (st.st_uid != geteuid()) return pml_fail(-EPERM, "%s belongs to user %u, not to us", folder, st.st_uid);
  if ((st.st_mode & 077) != 0)
    return pml_fail(-EPERM, "%s is open to others (mode %03o); chmod 700 it, or remove it", folder, st.st_mode & 0777);
  return 0;
}

int live_socket_folder(char folder[LIVE_PATH_MAX]) {
  const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
  int n;
  if (runtime != NULL && runtime[0] == '/' && is_ours(runtime))
    n = snprintf(folder, LIVE_PATH_MAX, "%s/pmlua", runtime);
  else
    n = snprintf(folder, LIVE_PATH_MAX, "/tmp/pmlua-%u", geteuid());
  if (n >= (int)LIVE_PATH_MAX - 16 - LIVE_NAME_MAX)
    return pml_fail(-ENAMETOOLONG, "XDG_RUNTIME_DIR is too long a name for sockets below it");
  if (mkdir(folder, 0700) != 0 && errno != EEXIST)
    return pml_fail(-errno, "%s cannot be made: %s", folder, strerror(errno));
  return check_folder(folder);
}

void live_socket_name(char out[LIVE_NAME_MAX + 1], const char *name) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (name == NULL || name[0] == '\0') name = program_invocation_short_name;
  if (name[0] == '\0') name = "program";
  size_t n = 0;
  for (; n < LIVE_NAME_MAX && name[n] != '\0'; n++) out[n] = strchr(allowed, name[n]) != NULL ? name[n] : '_';
  out[n] = '\0';
}

/* --- sockets --- */

/*
 * While a socket is made the program may close all descriptors, and open its own: it is looked at before each use. A
 * call fails with EBADF then, and all is done anew.
 */
static int new_socket(struct live_descriptor *d) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = fd < 0 ? -errno : 0;
  live_descriptor_take(d, fd);
  live_descriptor_lift(d);
  return err == 0 ? 0 : pml_fail(err, "no socket can be opened: %s", strerror(-err));
}

static void address(struct sockaddr_un *a, const char *path) {
  *a = (struct sockaddr_un){.sun_family = AF_UNIX};
  snprintf(a->sun_path, sizeof a->sun_path, "%s", path);
}

/* Without a listener the kernel refuses at once. A full backlog (EAGAIN) means that there is one. */
static bool is_stale(const char *path) {
  struct sockaddr_un a;
  struct live_descriptor d;
  int err = EBADF;
  address(&a, path);
  while (err == EBADF) {
    if (new_socket(&d) < 0) return false;
    err = connect(live_descriptor_get(&d), (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
    live_descriptor_close(&d, false);
  }
  return err == ECONNREFUSED;
}

/* The mode of what bind() makes is the umask's, which belongs to the application; no other user gets into the folder.
 */
static int bind_and_listen(const struct live_descriptor *d, const char *path) {
  struct sockaddr_un a;
  address(&a, path);
  int err = bind(live_descriptor_get(d), (struct sockaddr *)&a, sizeof a) == 0 ? 0 : -errno;
  if (err == -EADDRINUSE && is_stale(path) && unlink(path) == 0)
    err = bind(live_descriptor_get(d), (struct sockaddr *)&a, sizeof a) == 0 ? 0 : -errno;
  if (err == -EADDRINUSE) return pml_fail(err, "%s: this process is served already", path);
  if (err < 0) return pml_fail(err, "%s: %s", path, strerror(-err));
  if (chmod(path, 0600) == 0 && listen(live_descriptor_get(d), BACKLOG) == 0) return 0;
  err = -errno;
  unlink(path);
  return pml_fail(err, "%s: %s", path, strerror(-err));
}

int live_socket_listen(struct live_descriptor *d, char path[LIVE_PATH_MAX], const char *name) {
  char folder[LIVE_PATH_MAX], clean[LIVE_NAME_MAX + 1];
  live_descriptor_none(d);
  int err = live_socket_folder(folder);
  if (err < 0) return err;
  live_socket_name(clean, name);
  if (snprintf(path, LIVE_PATH_MAX, "%s/%d.%s", folder, (int)getpid(), clean) >= (int)LIVE_PATH_MAX)
    return pml_fail(-ENAMETOOLONG, "%s is too long a name for a folder of sockets", folder);
  do {
    err = new_socket(d);
    if (err == 0) err = bind_and_listen(d, path);
    if (err < 0) live_descriptor_close(d, false);
  } while (err == -EBADF);
  return err;
}

/* PID.NAME */
static bool is_socket_name(const char *name) {
  size_t digits = strspn(name, "0123456789");
  return digits > 0 && digits < 10 && name[digits] == '.' && name[digits + 1] != '\0';
}

void live_socket_clean(const char *folder) {
  DIR *d = opendir(folder);
  if (d == NULL) return;
  struct live_descriptor own;
  live_descriptor_take(&own, dirfd(d));
  const struct dirent *e;
  for (int n = 0; n < CLEANED_MAX && (e = readdir(d)) != NULL; n++) {
    char path[LIVE_PATH_MAX];
    if (!is_socket_name(e->d_name)) continue;
    if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path) continue;
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) continue;
    /* A live process may be between its bind() and its listen(). */
    pid_t pid = (pid_t)atoi(e->d_name);
    bool gone = kill(pid, 0) != 0 && errno == ESRCH;
    if (gone || (pid != getpid() && is_stale(path) && time(NULL) - st.st_mtime > 1)) unlink(path);
  }
  if (live_descriptor_get(&own) >= 0) closedir(d); /* else its number is the program's by now */
}

int live_socket_admit(int fd) {
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t n = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0) return pml_fail(-EPERM, "cannot identify the client");
  if (peer.uid == geteuid() || peer.uid == 0) return 0;
  return pml_fail(-EPERM, "user %u may not ask a process of user %u", peer.uid, geteuid());
}
