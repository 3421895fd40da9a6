/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_fork.c - live service of forked children, under their pids; executed programs are not served; sockets are
 * removed at exit. */
#include "check.h"
#include "fork_join.h"
#include "live.h"
#include "sanitized.h"

#include <dirent.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

static char runtime[64];

static bool find_socket(char path[LIVE_PATH_MAX], pid_t pid) {
  snprintf(path, LIVE_PATH_MAX, "%s/pmlua/%d.live_fork", runtime, (int)pid);
  for (double until = live_now() + LIVE_WAIT_S; live_now() < until; live_sleep_ms(5)) {
    int fd = live_connect(path);
    if (fd < 0) continue;
    close(fd);
    return true;
  }
  return false;
}

static int sockets(void) {
  char folder[96];
  int n = 0;
  snprintf(folder, sizeof folder, "%s/pmlua", runtime);
  DIR *d = opendir(folder);
  for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  if (d != NULL) closedir(d);
  return n;
}

static int64_t answer_of_the_application(void *arg, const double *values, size_t n) {
  (void)values, (void)n;
  return *(int *)arg;
}

static int64_t pid_of_the_application(void *arg, const double *values, size_t n) {
  (void)arg, (void)values, (void)n;
  return getpid();
}

static void forked(int number) {
  char path[LIVE_PATH_MAX], want[32], text[64];
  int go[2], fd = live_connect_self();
  if (pipe(go) != 0) return;
  pid_t pid = fork();
  if (pid == 0) {
    char c;
    close(go[1]);
    exit(read(go[0], &c, 1) != 0); /* until the parent lets go: then atexit */
  }
  close(go[0]);
  snprintf(want, sizeof want, "%d", (int)pid);
  bool found = find_socket(path, pid);
  int child = found ? live_connect(path) : -1;
  CHECK(live_evals(child, "pml.live.call('pid')", want), "child %d is served under its own pid", number);
  CHECK(live_evals(child, "pml.live.call('answer')", "42"), "with the functions of the application");
  CHECK(live_ask(fd, LIVE_EVAL, "1", text, sizeof text) == LIVE_OK, "the parent's connections continue");
  close(go[1]);
  CHECK(ends_well(pid) && access(path, F_OK) != 0, "the child's exit removes its socket");
  CHECK(live_evals(fd, "2", "2"), "and not the parent's");
  close(child);
  close(fd);
}

static void copies(void) {
  int fd = live_connect_self(), go[2];
  if (pipe(go) != 0) return;
  if (!live_evals(fd, "1", "1")) CHECK(false, "a connection is served");
  pid_t pid = fork();
  if (pid == 0) {
    char c;
    close(go[1]);
    close(fd);
    _exit(read(go[0], &c, 1) != 0);
  }
  close(go[0]);
  live_send(fd, "nonsense\n", 9);
  CHECK(live_ended(fd), "a connection ends, although a child was forked meanwhile");
  close(go[1]);
  CHECK(ends_well(pid), "and the child ends by _exit");
  close(fd);
}

static bool is_sleep(pid_t pid) {
  char path[64], name[32] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return false;
  bool is = fgets(name, sizeof name, f) != NULL && strcmp(name, "sleep\n") == 0;
  fclose(f);
  return is;
}

/* A child is served after 50 ms: if it takes longer to execute, it may have left a socket without a listener. */
static void executed(const char *how, pid_t pid, double forked) {
  char path[LIVE_PATH_MAX];
  snprintf(path, sizeof path, "%s/pmlua/%d.live_fork", runtime, (int)pid);
  while (!is_sleep(pid) && live_now() < forked + LIVE_WAIT_S) live_sleep_ms(1);
  bool at_once = live_now() < forked + 0.05;
  live_sleep_ms(200);
  CHECK(is_sleep(pid) && live_connect(path) < 0 && (!at_once || access(path, F_OK) != 0),
        "%s: the executed program is not served", how);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static void executions(void) {
  int fd = live_connect_self();
  double forked = live_now();
  pid_t pid = fork();
  if (pid == 0) {
    execlp("sleep", "sleep", "60", (char *)NULL);
    _exit(1);
  }
  executed("fork and exec", pid, forked);
  forked = live_now();
  pid = vfork();
  if (pid == 0) {
    execlp("sleep", "sleep", "60", (char *)NULL);
    _exit(1);
  }
  executed("vfork and exec", pid, forked);
  CHECK(live_evals(fd, "3", "3"), "the parent continues");
  FILE *p = popen("echo out", "r");
  char line[8] = "";
  bool read_it = p != NULL && fgets(line, sizeof line, p) != NULL;
  CHECK(read_it && strcmp(line, "out\n") == 0, "popen works");
  if (p != NULL) pclose(p);
  close(fd);
}

static void stopped_early(void) {
  pid_t pid = fork();
  if (pid == 0) {
    char path[LIVE_PATH_MAX];
    bool good = pmlua_live_stop() == 0 && pmlua_live_path(path, sizeof path) == PML_ECLOSED;
    good = good && pmlua_live_start(NULL) == 0;
    int fd = good ? live_connect_self() : -1;
    good = good && live_evals(fd, "5", "5");
    exit(!good);
  }
  CHECK(ends_well(pid), "a child may stop and start in its first 50 ms");
}

static int pipe_with(const char *bytes) {
  int end[2];
  if (pipe(end) != 0) return -1;
  ssize_t n = write(end[1], bytes, strlen(bytes));
  close(end[1]);
  return n > 0 ? end[0] : -1;
}

/*
 * All descriptors are closed and others opened, of every number and of kinds that an eventfd, a socket of the service
 * or a connection could be taken for. The first client wakes the service, and may be turned away.
 */
static bool reopens(const char *path) {
  int own[8], pair[2], one;
  uint64_t count = 0;
  char text[32] = "";
  bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
  good = good && send(pair[0], "0123456789abcdef", 16, 0) == 16;
  for (int i = 0; i < 8; i++) own[i] = i % 2 ? eventfd(7, EFD_NONBLOCK) : pipe_with("0123456789abcdef");
  for (double until = live_now() + LIVE_WAIT_S; live_now() < until; live_sleep_ms(10)) {
    one = live_connect(path);
    bool answers = live_evals(one, "8", "8");
    if (one >= 0) close(one);
    if (answers) break;
  }
  one = live_connect(path);
  good = good && live_evals(one, "pml.live.call('pid') > 1", "true");
  close(one);
  for (int i = 0; i < 8; i++) {
    if (i % 2)
      good = good && read(own[i], &count, sizeof count) == sizeof count && count == 7;
    else
      good = good && read(own[i], text, sizeof text) == 16;
    close(own[i]);
  }
  good = good && recv(pair[1], text, sizeof text, MSG_DONTWAIT) == 16;
  close(pair[0]);
  close(pair[1]);
  return good;
}

/* Closes all descriptors like a daemon. In a new child the service starts later; in a served child it opens separate
 * sockets. */
static bool closes_all(bool late) {
  char path[LIVE_PATH_MAX];
  if (late) find_socket(path, getpid());
  for (int fd = 3; fd < 4096; fd++) close(fd);
  int file = open("/dev/null", O_RDWR | O_CLOEXEC), pair[2];
  bool good = file >= 0 && pipe(pair) == 0;
  if (!late) good = good && find_socket(path, getpid());
  if (late) good = good && reopens(path);
  good = good && pmlua_live_stop() == 0 && pmlua_live_start(NULL) == 0;
  int fd = good ? live_connect_self() : -1;
  good = good && live_evals(fd, "6", "6");
  char byte;
  return good && fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 && read(pair[0], &byte, 1) < 0;
}

/* A crowd: some are held up while the service makes a socket, and the program has its number before it is known. */
static void daemons(void) {
  pid_t pid[8];
  for (int late = 0; late <= 1; late++) {
    unsigned good = 0;
    for (int i = 0; i < 8; i++) {
      pid[i] = fork();
      if (pid[i] == 0) exit(!closes_all(late));
    }
    for (int i = 0; i < 8; i++) good += ends_well(pid[i]);
    CHECK(good == 8, "%u of 8 children that close all descriptors %s are answered", good,
          late ? "while they are served" : "before they are served");
  }
}

/* Without the C library's handlers: neither served nor harmed, and what it does at its end is not its parent's. */
static void forked_raw(void) {
  char path[LIVE_PATH_MAX];
  if (pmlua_live_path(path, sizeof path) != 0) return;
  pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    char own[LIVE_PATH_MAX];
    bool good = pmlua_live_path(own, sizeof own) == PML_ECLOSED && pmlua_live_stop() == 0;
    if (good && fork() == 0) exit(0);
    exit(!good); /* the parent's socket stays */
  }
  CHECK(ends_well(pid), "a child by the system call alone is not served, may fork, and ends");
  int fd = live_connect(path);
  CHECK(live_evals(fd, "9", "9"), "and its parent is served as before");
  close(fd);
  pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    bool good = pmlua_live_start(NULL) == 0;
    int own = good ? live_connect_self() : -1;
    exit(!live_evals(own, "10", "10"));
  }
  CHECK(ends_well(pid), "such a child may start a separate service");
}

static int64_t fork_inside(void *arg, const double *values, size_t n) {
  (void)arg, (void)values, (void)n;
  pid_t pid = fork();
  if (pid == 0) _exit(7);
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

static void forked_by_the_service(void) {
  pmlua_live_function("fork", fork_inside, NULL);
  int fd = live_connect_self();
  CHECK(live_evals(fd, "pml.live.call('fork')", "7"), "a function that the service calls may fork");
  close(fd);
}

static void named(void) {
  char path[LIVE_PATH_MAX], name[32];
  for (int late = 0; late <= 1; late++) {
    pid_t pid = fork();
    if (pid == 0) {
      if (late)
        while (pmlua_live_path(path, sizeof path) != 0) live_sleep_ms(1);
      const struct pmlua_live_options o = {.name = "worker"};
      snprintf(name, sizeof name, "/%d.worker", (int)getpid());
      bool good = pmlua_live_start(&o) == 0 && pmlua_live_path(path, sizeof path) == 0 && strstr(path, name) != NULL;
      live_sleep_ms(100); /* the thread would make the socket of the other name by now */
      good = good && live_evals(live_connect_self(), "6 * 7", "42");
      snprintf(path, sizeof path, "%s/pmlua/%d.live_fork", runtime, (int)getpid());
      good = good && access(path, F_OK) != 0;
      _exit(pmlua_live_stop() == 0 && good ? 0 : 1);
    }
    CHECK(exit_of(pid) == 0, "a forked worker is served under its own name%s", late ? ", after its parent's" : "");
  }
}

static void start_service(void) {
  if (pmlua_live_start(NULL) != 0) _exit(2);
}

static void use_service(void) {
  char path[LIVE_PATH_MAX];
  (void)pmlua_live_path(path, sizeof path); /* a child's comes later */
  if (pmlua_live_function("joined", pid_of_the_application, NULL) != 0) _exit(2);
}

int main(void) {
  static int answer = 42;
  snprintf(runtime, sizeof runtime, "%s", live_runtime());
  if (SANITIZED) {
    SKIP("a fork among threads that allocate may leave a sanitizer's allocator locked in the child");
    return check_done();
  }
  alarm(100);
  CHECK(forks_with(start_service, use_service), "a fork handler joins threads that use the service");
  pmlua_live_function("pid", pid_of_the_application, NULL);
  pmlua_live_function("answer", answer_of_the_application, &answer);
  if (!CHECK(pmlua_live_start(NULL) == 0, "the service starts")) return check_done();
  for (int i = 1; i <= 3; i++) forked(i);
  copies();
  executions();
  CHECK_EACH(stopped_early, daemons, forked_raw, forked_by_the_service, named);
  CHECK(sockets() == 1, "one socket is left: %d", sockets());
  pmlua_live_stop();
  CHECK(sockets() == 0, "and none after the stop");
  return check_done();
}
