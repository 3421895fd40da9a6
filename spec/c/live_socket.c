/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_socket.c - the runtime folder, the sockets in it, and who may ask. */
#include "check.h"
#include "live.h"

#include <pwd.h>

static char folder[LIVE_PATH_MAX], runtime[64];

static mode_t mode_of(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void folders(void) {
  char other[LIVE_PATH_MAX], expected[LIVE_PATH_MAX], path[256];
  snprintf(expected, sizeof expected, "%s/pmlua", runtime);
  int err = live_socket_folder(folder);
  CHECK(err == 0 && strcmp(folder, expected) == 0 && mode_of(folder) == 0700,
        "the folder is the user's own, mode 0700");
  chmod(folder, 0750);
  err = live_socket_folder(other);
  CHECK(err == -EPERM && strstr(pml_error_detail(err), "750") != NULL, "open to a group it is refused: %s",
        pml_error_detail(err));
  rmdir(folder);
  CHECK(symlink("/tmp", folder) == 0 && live_socket_folder(other) == -EPERM, "a link in its place is refused");
  unlink(folder);
  int fd = open(folder, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
  close(fd);
  err = live_socket_folder(other);
  CHECK(err == -EPERM, "and so is a file: %s", pml_error_detail(err));
  unlink(folder);
  snprintf(path, sizeof path, "%s/nowhere", runtime);
  setenv("XDG_RUNTIME_DIR", path, 1);
  snprintf(expected, sizeof expected, "/tmp/pmlua-%u", geteuid());
  err = live_socket_folder(other);
  CHECK(err == 0 && strcmp(other, expected) == 0, "without a runtime folder it is %s", expected);
  snprintf(path, sizeof path, "%s/%0100d", runtime, 1);
  bool deep = mkdir(path, 0700) == 0;
  setenv("XDG_RUNTIME_DIR", path, 1);
  err = live_socket_folder(other);
  CHECK(deep && err == -ENAMETOOLONG, "one that is too deep for a socket is refused: %s", pml_error_detail(err));
  rmdir(path);
  setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static void names(void) {
  char name[LIVE_NAME_MAX + 1];
  live_socket_name(name, "solver-1.x_Y");
  CHECK(strcmp(name, "solver-1.x_Y") == 0, "a plain name stays");
  live_socket_name(name, "a/../b c\n\xc3\xa9");
  CHECK(strcmp(name, "a_.._b_c___") == 0, "what does not belong into a file's name becomes _: %s", name);
  live_socket_name(name, "0123456789012345678901234567890123456789");
  CHECK(strlen(name) == LIVE_NAME_MAX, "a long one is cut");
  live_socket_name(name, "");
  CHECK(strcmp(name, "live_socket") == 0, "without one, it is the program's: %s", name);
}

static void sockets(void) {
  char path[LIVE_PATH_MAX], again[LIVE_PATH_MAX], expected[LIVE_PATH_MAX + 32];
  mode_t before = umask(0777);
  struct live_descriptor d, second;
  int err = live_socket_listen(&d, path, "spec"), fd = live_descriptor_get(&d);
  umask(before);
  snprintf(expected, sizeof expected, "%s/%d.spec", folder, (int)getpid());
  CHECK(err == 0 && strcmp(path, expected) == 0 && mode_of(path) == 0600, "a socket has mode 0600 under any umask");
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) && (fcntl(fd, F_GETFL) & O_NONBLOCK), "it ends with exec and never waits");
  err = live_socket_listen(&second, again, "spec");
  CHECK(err == -EADDRINUSE && access(path, F_OK) == 0 && !live_descriptor_held(&second),
        "the name is taken while a service listens: %s", pml_error_detail(err));
  live_descriptor_close(&d, false);
  CHECK(live_socket_listen(&d, path, "spec") == 0, "a socket without a listener is replaced");
  live_descriptor_close(&d, false);
  unlink(path);
}

/* A socket as a process leaves it that was killed. */
static void leave(char *path, size_t size, const char *name) {
  snprintf(path, size, "%s/%s", folder, name);
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0) perror(path);
  close(fd);
}

static void stale(void) {
  char dead[160], file[160], mine[LIVE_PATH_MAX], fresh[160], late[160], name[32];
  struct live_descriptor living;
  CHECK(live_socket_listen(&living, mine, "living") == 0, "one listens");
  leave(dead, sizeof dead, "999999999.dead");
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  snprintf(name, sizeof name, "%d.fresh", (int)child);
  leave(fresh, sizeof fresh, name);
  snprintf(name, sizeof name, "%d.late", (int)child);
  leave(late, sizeof late, name);
  struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  utimensat(AT_FDCWD, late, old, 0);
  snprintf(file, sizeof file, "%s/999999998.file", folder);
  close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  live_socket_clean(folder);
  CHECK(access(dead, F_OK) != 0, "the socket of a process that is gone is removed");
  CHECK(access(late, F_OK) != 0, "and one that a living process no longer listens to");
  CHECK(access(fresh, F_OK) == 0, "but not one that may be just about to be listened to");
  CHECK(access(mine, F_OK) == 0, "nor one that is served");
  CHECK(access(file, F_OK) == 0, "and a file that is no socket stays");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  unlink(file);
  unlink(fresh);
  unlink(mine);
  live_descriptor_close(&living, false);
}

/* The server's half of a connection made by another user, as far as it goes through. */
static int admit_other(uid_t uid) {
  char path[LIVE_PATH_MAX];
  struct live_descriptor d;
  int fd = live_socket_listen(&d, path, "peer") == 0 ? live_descriptor_get(&d) : -1, answer[2];
  chmod(runtime, 0755);
  chmod(folder, 0755); /* otherwise no other user gets in here: the peer's uid is the second lock */
  chmod(path, 0666);
  if (pipe(answer) != 0) return 1;
  pid_t child = fork();
  if (child == 0) {
    char c = 'n';
    if (setresuid(uid, uid, uid) == 0 && live_connect(path) >= 0) c = 'y';
    if (write(answer[1], &c, 1) == 1 && c == 'y') pause();
    _exit(0);
  }
  char c = 'n';
  int err = 1;
  if (read(answer[0], &c, 1) == 1 && c == 'y') {
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    err = live_socket_admit(peer);
    close(peer);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(fd);
  close(answer[0]);
  close(answer[1]);
  unlink(path);
  chmod(folder, 0700);
  chmod(runtime, 0700);
  return err;
}

static void peers(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
    CHECK(live_socket_admit(pair[0]) == 0, "we ourselves may ask");
    close(pair[0]);
    close(pair[1]);
  }
  const struct passwd *nobody = getpwnam("nobody");
  if (geteuid() != 0 || nobody == NULL) {
    SKIP("another user's question: only root can ask as another user");
    return;
  }
  int err = admit_other(nobody->pw_uid);
  CHECK(err == -EPERM && strstr(pml_error_detail(err), "may not ask") != NULL, "another user may not: %s",
        err == 1 ? "he did not get through" : pml_error_detail(err));
}

int main(void) {
  snprintf(runtime, sizeof runtime, "%s", live_runtime());
  folders();
  if (live_socket_folder(folder) < 0) return 1;
  names();
  sockets();
  stale();
  peers();
  return check_done();
}
