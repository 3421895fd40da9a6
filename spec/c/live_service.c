/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_service.c - live service: replies, and robustness against data received by its socket. */
#include "check.h"
#include "live.h"

#include <dirent.h>
#include <sched.h>

#define PLACES 16

static char text[4096];

static int sum_up(const struct pmlua_reading *r, void *sum) {
  if (r->real) return 7;
  *(int64_t *)sum += r->i;
  return 0;
}

static void readings(struct pmlua_client *c) {
  static double real = 0.5;
  static int64_t one = 1, many = INT64_C(1) << 61;
  struct pml_sde_library *lib;
  int64_t sum = 0;
  pml_sde_library(&lib, "CLIENT");
  pml_sde_register(lib, "one", PML_SDE_RO, PML_TYPE_INT64, &one);
  pml_sde_register(lib, "many", PML_SDE_RO, PML_TYPE_INT64, &many);
  pml_sde_register(lib, "real", PML_SDE_RO, PML_TYPE_DOUBLE, &real);
  CHECK(pmlua_read(c, "CLIENT::o*\nCLIENT::many", LIVE_WAIT_S, sum_up, &sum) == 0 && sum == many + 1,
        "events are read by patterns");
  CHECK(pmlua_read(c, "CLIENT::*", LIVE_WAIT_S, sum_up, &sum) == 7, "until the visitor ends it");
  CHECK(pmlua_read(c, "CLIENT::none", LIVE_WAIT_S, sum_up, &sum) == 0 && sum == 2 * (many + 1), "or there is none");
  pml_sde_shutdown(lib);
}

static void client(const char *path) {
  struct pmlua_client *c = NULL;
  char *answer = NULL, pid[32];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  CHECK(pmlua_connect(&c, "spec") == 0 && pmlua_ask(c, "eval", "x = 7 return 6 * x", LIVE_WAIT_S, &answer) == 0 &&
            strcmp(answer, "42") == 0,
        "the client in C finds it by name");
  free(answer);
  CHECK(pmlua_ask(c, "eval", "error 'on purpose'", LIVE_WAIT_S, &answer) == -EREMOTEIO && answer == NULL &&
            strstr(pml_error_detail(-EREMOTEIO), "on purpose") != NULL,
        "its error is told");
  CHECK(pmlua_ask(c, "eval", "return x", LIVE_WAIT_S, &answer) == 0 && strcmp(answer, "7") == 0,
        "after which the session continues");
  free(answer);
  CHECK(pmlua_ask(c, "ask", "", 1, &answer) == -EINVAL, "an unknown kind is refused");
  readings(c);
  pmlua_disconnect(c);
  CHECK(pmlua_connect(&c, pid) == 0, "or by pid");
  pmlua_disconnect(c);
  CHECK(pmlua_connect(&c, path) == 0, "or by its socket");
  pmlua_disconnect(c);
  CHECK(pmlua_connect(&c, "none") == -ENOENT && c == NULL, "not by another name: %s", pml_error_detail(-ENOENT));
}

static void life(void) {
  char path[LIVE_PATH_MAX], again[LIVE_PATH_MAX];
  struct stat st;
  const struct pmlua_live_options o = {.name = "spec"};
  CHECK(pmlua_live_path(path, sizeof path) == PML_ECLOSED, "before the start there is no path");
  CHECK(pmlua_live_stop() == 0, "and nothing to stop");
  int err = pmlua_live_start(&o);
  if (!CHECK(err == 0 && pmlua_live_path(path, sizeof path) == 0, "it starts: %s", pml_error_detail(err))) return;
  CHECK(lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600, "its socket has mode 0600");
  CHECK(pmlua_live_path(again, 8) == -ENAMETOOLONG, "a path that does not fit is not cut");
  CHECK(pmlua_live_start(NULL) == 0 && pmlua_live_path(again, sizeof again) == 0 && strcmp(path, again) == 0,
        "started again it continues unchanged");
  int fd = live_connect(path);
  CHECK(live_evals(fd, "6 * 7", "42"), "it answers");
  client(path);
  CHECK(pmlua_live_stop() == 0 && access(path, F_OK) != 0, "stopped, its socket is gone");
  CHECK(live_ended(fd), "and its connections have ended");
  close(fd);
  CHECK(pmlua_live_stop() == 0, "stopped again nothing happens");
  for (int i = 0; i < 20; i++)
    if (pmlua_live_start(&o) < 0 || pmlua_live_stop() < 0) CHECK(false, "it starts and stops in round %d", i);
}

static bool answers_error_and_ends(const char *bytes, size_t n) {
  struct live_frame answer;
  int fd = live_connect_self();
  bool good = live_send(fd, bytes, n) && live_receive(fd, &answer);
  if (good) {
    good = answer.kind == LIVE_ERROR && live_ended(fd);
    live_frame_reset(&answer);
  }
  close(fd);
  return good;
}

static void garbage(void) {
  static const char *const bad[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                    "pmlua1 eval 65537\n",
                                    "pmlua1\0eval 1\n",
                                    "\n",
                                    "pmlua1\n",
                                    "pmlua1 \n",
                                    "pmlua1 eval\n",
                                    "pmlua1 eval \n",
                                    "pmlua1 eval x\n",
                                    "pmlua1 eval -1\n",
                                    "pmlua1 eval +1\n",
                                    "pmlua1 eval 007\n",
                                    "pmlua1 eval 1 \n",
                                    "pmlua1 eval 1\r\n",
                                    "pmlua1  eval 1\n",
                                    "pmlua1 evil 1\n",
                                    "pmlua1 ok 1\n",
                                    "pmlua2 eval 1\n",
                                    "ok 1\n",
                                    "pmlua1 eval 18446744073709551617\n",
                                    "pmlua1 eval 99999999999999999999999999999999999999999\n",
                                    "pmlua1 eval                                                              1\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(answers_error_and_ends(bad[i], strcmp(bad[i], "pmlua1") == 0 ? 14 : strlen(bad[i])),
          "an invalid question, %zu, gets an error and the end", i + 1);
  static char zeros[100000];
  int fd = live_connect_self();
  (void)live_send(fd, zeros, sizeof zeros); /* may be cut off */
  CHECK(live_ended(fd), "a hundred thousand zero bytes are the end of a connection");
  close(fd);
  unsigned seed = 1;
  for (int i = 0; i < 200; i++) {
    char bytes[300];
    for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (char)((seed = seed * 1103515245u + 12345u) >> 16);
    if (i % 2) memcpy(bytes, "pmlua1 eval 250\n", 16);
    fd = live_connect_self();
    if (!live_send(fd, bytes, sizeof bytes) && i % 2) CHECK(false, "random bytes are read");
    shutdown(fd, SHUT_WR);
    if (!live_ended(fd)) CHECK(false, "and answered in time");
    close(fd);
  }
  fd = live_connect_self();
  CHECK(live_evals(fd, "'still'", "still"), "it replies after two hundred times random bytes");
  close(fd);
}

static void slow_peers(void) {
  static const char question[] = "pmlua1 eval 8\nreturn 7";
  int fd = live_connect_self(), half = live_connect_self(), gone = live_connect_self();
  bool sent = live_send(half, question, 9) && live_send(gone, question, 18);
  close(gone);
  for (size_t i = 0; i < sizeof question - 1 && sent; i++) {
    sent = live_send(fd, question + i, 1);
    live_sleep_ms(1);
  }
  struct live_frame answer;
  bool there = sent && live_receive(fd, &answer);
  CHECK(there && strcmp(answer.payload, "7") == 0, "a question that comes byte by byte is answered");
  if (there) live_frame_reset(&answer);
  there = live_send(half, question + 9, sizeof question - 10) && live_receive(half, &answer);
  CHECK(there && strcmp(answer.payload, "7") == 0, "and one whose second half came later");
  if (there) live_frame_reset(&answer);
  shutdown(half, SHUT_WR);
  CHECK(live_ended(half), "a peer that closes its half is disconnected");
  close(half);
  close(fd);
}

static void pipelined(void) {
  static const char two[] = "pmlua1 eval 8\nreturn 1pmlua1 eval 8\nreturn 2";
  struct live_frame answer[2];
  int fd = live_connect_self();
  bool there = live_send(fd, two, sizeof two - 1) && live_receive(fd, &answer[0]);
  there = there && live_receive(fd, &answer[1]);
  CHECK(there && strcmp(answer[0].payload, "1") == 0 && strcmp(answer[1].payload, "2") == 0,
        "two questions in one piece get two replies in order");
  if (there) {
    live_frame_reset(&answer[0]);
    live_frame_reset(&answer[1]);
  }
  int other = live_connect_self();
  CHECK(live_evals(fd, "x = 1 return x", "1") && live_evals(other, "x", "nil"), "each connection has its own state");
  close(other);
  close(fd);
}

static void never_reading(void) {
  static const char big[] = "return ('x'):rep(8 << 20)";
  int deaf[4];
  for (int i = 0; i < 4; i++) {
    deaf[i] = live_connect_self();
    live_question(deaf[i], LIVE_EVAL, big, sizeof big - 1);
  }
  int fd = live_connect_self();
  CHECK(live_evals(fd, "1", "1"), "four clients that do not read their 8 MB do not delay other replies");
  struct live_frame answer;
  bool there = live_receive(deaf[0], &answer);
  CHECK(there && answer.length == 8u << 20, "one of them reads it after all");
  if (there) live_frame_reset(&answer);
  for (int i = 0; i < 4; i++) close(deaf[i]);
  CHECK(live_ask(fd, LIVE_EVAL, "return ('x'):rep(17 << 20)", text, sizeof text) == LIVE_ERROR,
        "an answer above 16 MB is an error: %s", text);
  close(fd);
}

static void flood(void) {
  int fd[8], calm = live_connect_self();
  static char questions_[64 << 10];
  size_t n = 0;
  while (n + 16 < sizeof questions_) n += (size_t)sprintf(questions_ + n, "pmlua1 eval 1\n1");
  for (int i = 0; i < 8; i++) {
    fd[i] = live_connect_self();
    fcntl(fd[i], F_SETFL, O_NONBLOCK);
  }
  int answered = 0;
  for (int round = 0; round < 50; round++) {
    for (int i = 0; i < 8; i++)
      if (send(fd[i], questions_, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
        CHECK(false, "a flood is refused: %d", errno);
    answered += live_evals(calm, "1 + 2", "3");
  }
  CHECK(answered == 50, "beside eight floods a calm one is answered 50 times: %d", answered);
  for (int i = 0; i < 8; i++) close(fd[i]);
  close(calm);
}

static void filled(void) {
  static const char passing[] = "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end";
  static const char staying[] = "if kept == 7 then kept = {} end "
                                "while true do kept[#kept + 1] = ('x'):rep(100000) .. #kept end";
  int fd = live_connect_self();
  CHECK(live_evals(fd, "kept = 7 return kept", "7"), "a session has a variable");
  int kind = live_ask(fd, LIVE_EVAL, passing, text, sizeof text);
  CHECK(kind == LIVE_ERROR, "a question that needs too much memory, or time, is stopped: %s", text);
  CHECK(live_evals(fd, "kept", "7"), "and the variable stays");
  for (int i = 0; i < 20 && strstr(text, "a new session begins") == NULL;
       i++) /* on a busy machine the time ends first */
    kind = live_ask(fd, LIVE_EVAL, staying, text, sizeof text);
  CHECK(kind == LIVE_ERROR && strstr(text, "a new session begins") != NULL,
        "a question that fills the session is refused: %s", text);
  CHECK(live_evals(fd, "kept", "nil") && live_evals(fd, "1 + 1", "2"), "and the session replies to the next ones");
  close(fd);
}

static bool is_told(int fd, const char *why) {
  struct live_frame answer;
  bool there = live_receive(fd, &answer);
  bool told = there && answer.kind == LIVE_ERROR && strstr(answer.payload, why) != NULL;
  if (there) live_frame_reset(&answer);
  return told && live_ended(fd);
}

#define WATCH "local rule = pml.sde.watch('SPEC::x', 0.05, function() end) return 1"

static void seventeen(void) {
  int fd[PLACES];
  bool all = true;
  for (int i = 0; i < PLACES; i++) {
    fd[i] = live_connect_self();
    all = live_evals(fd[i], WATCH, "1") && all;
  }
  CHECK(all, "sixteen are served at once");
  live_sleep_ms(1500);
  int one = live_connect_self();
  CHECK(is_told(one, "too many"), "the seventeenth gets an error, and its connection ends");
  close(one);
  live_send(fd[3], "pmlua1 ev", 9);
  bool served = false;
  for (double until = live_now() + LIVE_WAIT_S; !served && live_now() < until; live_sleep_ms(served ? 0 : 100)) {
    one = live_connect_self();
    served = live_evals(one, WATCH, "1");
    if (!served) close(one);
  }
  CHECK(served, "it is served, once another has been silent for 5 s in the middle of a question");
  CHECK(live_ended(fd[3]), "and that one has made place");
  CHECK(live_evals(fd[4], "3", "3"), "while those at work stay");
  close(one);
  for (int i = 0; i < PLACES; i++) close(fd[i]);
  for (int i = 0; i < 100 && (one = live_connect_self()) >= 0 && !live_evals(one, "4", "4"); i++) close(one);
  CHECK(live_evals(one, "5", "5"), "those who leave make place");
  close(one);
}

/* Who only holds a place gives it to who wants it: first who never asked, then who has been silent longest. */
static void idle_connections(void) {
  int fd[PLACES], late[2];
  bool all = true;
  for (int i = 0; i < PLACES; i++) {
    fd[i] = live_connect_self();
    all = (i == 5 || live_evals(fd[i], i == 0 ? WATCH : "1", "1")) && all;
  }
  CHECK(all, "sixteen have a place");
  live_sleep_ms(1500); /* now all of them are idle */
  for (int i = 0; i < 2; i++) {
    bool served = false;
    for (double until = live_now() + LIVE_WAIT_S; !served && live_now() < until; live_sleep_ms(served ? 0 : 100)) {
      late[i] = live_connect_self();
      served = live_evals(late[i], WATCH, "1");
      if (!served) close(late[i]);
    }
    CHECK(served, "one more is served, in place of an idle one");
    int gone = i == 0 ? 5 : 1; /* fd[0] came first, but its rule is at work */
    CHECK(is_told(fd[gone], "idle"), "the client that had the place gets the reason");
  }
  CHECK(live_evals(fd[0], "2", "2") && live_evals(fd[2], "3", "3"), "and the others have theirs");
  for (int i = 0; i < PLACES; i++) close(fd[i]);
  for (int i = 0; i < 2; i++) close(late[i]);
}

static void stopped_amid(void) {
  static const char sort[] = "local s = ('x'):rep(4e6) local a, b, t = s .. 'a', s .. 'b', {} "
                             "for i = 1, 400000 do t[i] = i % 2 == 0 and a or b end table.sort(t)";
  int fd[4];
  for (int i = 0; i < 4; i++) {
    fd[i] = live_connect_self();
    live_question(fd[i], LIVE_EVAL, sort, sizeof sort - 1);
  }
  live_sleep_ms(500);
  int err = pmlua_live_stop();
  CHECK(err == 0, "the service ends in the middle of sorting that would take half an hour: %s", pml_error_detail(err));
  for (int i = 0; i < 4; i++) {
    CHECK(live_ended(fd[i]), "and so does the connection");
    close(fd[i]);
  }
  CHECK(pmlua_live_start(NULL) == 0, "it starts again");
}

static atomic_int in_function, let_go;
static int64_t wait_here(void *arg, const double *values, size_t n) {
  (void)arg, (void)values, (void)n;
  atomic_fetch_add(&in_function, 1);
  while (!atomic_load(&let_go)) live_sleep_ms(1);
  return (int64_t)atomic_fetch_sub(&in_function, 1);
}

static void stopped_in_function(void) {
  static const char call[] = "pml.live.call('wait')";
  pmlua_live_function("wait", wait_here, NULL);
  int fd = live_connect_self(), other = live_connect_self();
  live_question(fd, LIVE_EVAL, call, sizeof call - 1);
  while (atomic_load(&in_function) == 0) live_sleep_ms(1);
  CHECK(live_evals(other, "1 + 1", "2"), "a function that waits holds up no other question");
  int err = pmlua_live_stop();
  CHECK(err == -ETIMEDOUT, "a function that does not return is not waited for: %s", pml_error_detail(err));
  CHECK(pmlua_live_start(NULL) == 0, "it starts again beside it");
  atomic_store(&let_go, 1);
  while (atomic_load(&in_function) != 0) live_sleep_ms(1);
  pmlua_live_function("wait", NULL, NULL);
  close(fd);
  close(other);
}

static int open_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 4096; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static pid_t thread_named(const char *name) {
  char path[300], has[32];
  DIR *tasks = opendir("/proc/self/task");
  pid_t found = 0;
  for (struct dirent *e; tasks != NULL && found == 0 && (e = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
    FILE *f = fopen(path, "r");
    if (f == NULL) continue;
    if (fgets(has, sizeof has, f) != NULL && strncmp(has, name, strlen(name)) == 0) found = (pid_t)atoi(e->d_name);
    fclose(f);
  }
  if (tasks != NULL) closedir(tasks);
  return found;
}

/* A thread that bound itself starts the service, which does not stay there; code of a question has what cpus are left.
 */
static void beside_a_bound_thread(void) {
  cpu_set_t all, one, has;
  size_t cpu = 0;
  int fd = -1;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  while (!CPU_ISSET(cpu, &all)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
  CHECK(pmlua_live_start(NULL) == 0 && (fd = live_connect_self()) >= 0 &&
            live_ask(fd, LIVE_EVAL, "1 + 1", text, sizeof text) == LIVE_OK,
        "a thread that bound itself to a cpu starts the service");
  static const char *const names[] = {"pmlua-live", "pmlua-ask"};
  for (int i = 0; i < 2; i++) {
    pid_t tid = thread_named(names[i]);
    CHECK(tid > 0 && sched_getaffinity(tid, sizeof has, &has) == 0 && CPU_EQUAL(&has, &all),
          "%s may run on all cpus of the process", names[i]);
  }
  CHECK(sched_getscheduler(thread_named("pmlua-ask")) == SCHED_IDLE, "and code of a question has the rest of them");
  close(fd);
  (void)pmlua_live_stop();
  (void)sched_setaffinity(0, sizeof all, &all);
}

int main(void) {
  live_runtime();
  alarm(300);
  int before = open_descriptors();
  life();
  beside_a_bound_thread();
  if (!CHECK(pmlua_live_start(NULL) == 0, "it starts")) return check_done();
  CHECK_EACH(garbage, slow_peers, pipelined, never_reading, flood, filled, seventeen, idle_connections, stopped_amid,
             stopped_in_function);
  CHECK(pmlua_live_stop() == 0, "it stops");
  for (int i = 0; i < 1000 && open_descriptors() != before; i++) usleep(10000); /* threads of stopped questions end */
  CHECK(open_descriptors() == before, "and leaves no descriptor open");
  return check_done();
}
