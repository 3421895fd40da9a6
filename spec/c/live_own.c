/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_own.c - the live service in the application's own loop: no thread, questions in slices, the state it
 * lends. */
#include "check.h"
#include "live.h"

#define CLIENTS 5
#define BUDGET_US 200

static long long steps = 7;
static char text[4096];

static int threads(void) {
  char line[256];
  int n = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) (void)sscanf(line, "Threads: %d", &n);
  if (f != NULL) fclose(f);
  return n;
}

/* Dispatch until @fd has something to read; the number of dispatches, -1 after LIVE_WAIT_S. */
static long serve_until(int fd) {
  double end = live_now() + LIVE_WAIT_S;
  for (long n = 1; live_now() < end; n++) {
    struct pollfd p[2] = {{.fd = pmlua_live_fd(), .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (poll(p, 2, 1000) < 0) return -1;
    if (p[1].revents != 0) return n;
    if (p[0].revents != 0 && pmlua_live_dispatch(BUDGET_US) < 0) return -1;
  }
  return -1;
}

static bool take(int fd, int kind, const char *want) {
  struct live_frame answer;
  bool there = serve_until(fd) > 0 && live_receive(fd, &answer);
  if (!there) return false;
  snprintf(text, sizeof text, "%s", answer.payload);
  bool good = (int)answer.kind == kind && (want == NULL || strcmp(answer.payload, want) == 0);
  if (!good) printf("# answered %s\n", text);
  live_frame_reset(&answer);
  return good;
}

static bool asks(int fd, enum live_kind kind, const char *question, int answers, const char *want) {
  return live_question(fd, kind, question, strlen(question)) && take(fd, answers, want);
}

static bool evals(int fd, const char *code, const char *want) {
  return asks(fd, LIVE_EVAL, code, LIVE_OK, want);
}

#define COUNT "local x = 0 for i = 1, 3e6 do x = x + 1 end return x"
#define COROUTINES                                                                                                     \
  "local w = coroutine.wrap(function() for k = 1, 3 do for i = 1, 3e5 do end coroutine.yield(k) end end) "             \
  "local co = coroutine.create(function(...) local t = { w(), w(), w(), ... } for i = 1, 3e5 do end error(t) end) "    \
  "local ok, t = coroutine.resume(co, 'a', 'b') return ok, table.concat(t, ' '), coroutine.status(co)"

static void slices(void) {
  int fd[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) fd[i] = live_connect_self();
  CHECK(evals(fd[0], "return 6 * 7", "42"), "a question is answered by dispatch: %s", text);
  for (int i = 0; i < CLIENTS - 1; i++) live_question(fd[i], LIVE_EVAL, COUNT, strlen(COUNT));
  CHECK(evals(fd[CLIENTS - 1], "return 'short'", "short"), "a short one does not wait for four long ones");
  struct pollfd p = {.fd = fd[0], .events = POLLIN};
  CHECK(poll(&p, 1, 0) == 0, "which take more than one dispatch");
  bool all = true;
  for (int i = 0; i < CLIENTS - 1; i++) all = take(fd[i], LIVE_OK, "3000000") && all;
  CHECK(all, "and are answered, too");
  CHECK(evals(fd[0], COROUTINES, "false\t1 2 3 a b\tdead"), "coroutines are suspended with their question: %s", text);
  CHECK(evals(fd[0],
              "local t = {} for i = 1, 500 do t[i] = i end local n = 0 "
              "table.sort(t, function(a, b) for k = 1, 300 do n = n + 1 end return a > b end) return t[1], n > 1e5",
              "500\ttrue"),
        "what C calls goes on to its end: %s", text);
  CHECK(asks(fd[0], LIVE_EVAL, "while true do end", LIVE_ERROR, NULL) && strstr(text, "12 million") != NULL,
        "a question without end has an end: %s", text);
  CHECK(asks(fd[1], LIVE_EVAL, "local t = {} while true do t[#t + 1] = {} end", LIVE_ERROR, NULL) &&
            strstr(text, "3 MB") != NULL,
        "and one that takes memory: %s", text);
  CHECK(evals(fd[1], "return 1", "1"), "after which the session works");
  CHECK(asks(fd[0], LIVE_EVAL, "return ('x'):rep(1 << 20)", LIVE_ERROR, NULL), "a long string is refused: %s", text);
  for (int i = 0; i < CLIENTS; i++) close(fd[i]);
  (void)pmlua_live_dispatch(BUDGET_US);
}

static void sessions(void) {
  int fd = live_connect_self(), other;
  CHECK(evals(fd, "left = 1 seen = 0 pml.sde.watch('OWN::steps', 0.002, function() seen = seen + 1 end) return left",
              "1"),
        "a client has variables and a rule");
  CHECK(evals(fd, "return pml.live.state 'return config, app.steps()'", "{ name = \"own\" }\t7"),
        "it asks the application's own state: %s", text);
  CHECK(evals(fd, "return select(2, pml.live.state 'error(5)')", NULL) && strstr(text, "5") != NULL,
        "whose errors are values: %s", text);
  bool ran = false;
  for (int i = 0; i < 500 && !ran; i++) {
    live_sleep_ms(2);
    ran = asks(fd, LIVE_EVAL, "return seen > 0", LIVE_OK, NULL) && strcmp(text, "true") == 0;
  }
  CHECK(ran, "its rule runs between questions");
  close(fd);
  for (int i = 0; i < 10; i++) (void)pmlua_live_dispatch(BUDGET_US);
  int each[CLIENTS];
  bool fresh = true;
  for (int i = 0; i < CLIENTS; i++)
    fresh = evals(each[i] = live_connect_self(), "return left, seen", "nil\tnil") && fresh;
  CHECK(fresh, "the next clients have none of it");
  other = live_connect_self();
  CHECK(take(other, LIVE_ERROR, "too many connections"), "a client above the number of connections is refused");
  close(other);
  for (int i = 0; i < CLIENTS; i++) close(each[i]);
}

static int tell_steps(void *arg, const struct pmlua_value *in, struct pmlua_value *out) {
  (void)arg, (void)in;
  out[0].i = steps;
  return 0;
}

static int describe(void *arg, const struct pmlua_value *in, struct pmlua_value *out) {
  static char json[256];
  (void)arg;
  if (in[1].d < 0) return pml_fail(-EDOM, "%s is negative", in[0].s);
  snprintf(json, sizeof json, "{\"name\": \"%s\", \"of\": %s}", in[0].s, in[2].s);
  out[0].s = json;
  out[1].s = NULL;
  return 0;
}

static void functions(int fd) {
  CHECK(pmlua_live_define("describe", "sdj>js", describe, NULL) == 0, "a typed function is lent");
  CHECK(pmlua_live_define("bad", "sx", describe, NULL) == -EINVAL, "a wrong format is refused");
  CHECK(evals(fd,
              "local t, none = pml.live.call('describe', 'x', 1, { 1, { k = 'v' } }) return t.name, t.of[2].k, none",
              "x\tv\tnil"),
        "with strings and tables: %s", text);
  CHECK(evals(fd, "return tostring(select(2, pml.live.call('describe', 'x', -1)))", "live.call: EDOM: x is negative"),
        "its failure is returned: %s", text);
  CHECK(asks(fd, LIVE_EVAL, "pml.live.call('describe', 'x', {})", LIVE_ERROR, NULL) &&
            strstr(text, "describe: argument 2: number expected, got table") != NULL,
        "its arguments are checked: %s", text);
  CHECK(evals(fd, "return pml.live.functions()[1]", "describe"), "it is listed");
}

static int64_t stop_inside(void *arg, const double *values, size_t n) {
  (void)arg, (void)values, (void)n;
  return pmlua_live_dispatch(0) == PML_EMODE ? pmlua_live_stop() : -1;
}

static void refusals(void) {
  struct pmlua_live_config c = {.size = sizeof c, .connections = 17};
  CHECK(pmlua_live_start_with(&c) == -EINVAL, "seventeen connections are refused: %s", pml_error_detail(-EINVAL));
  c = (struct pmlua_live_config){.size = sizeof c, .nice = 20};
  CHECK(pmlua_live_start_with(&c) == -EINVAL, "and nice 20: %s", pml_error_detail(-EINVAL));
  c = (struct pmlua_live_config){.size = sizeof c, .page_every_s = -1};
  CHECK(pmlua_live_start_with(&c) == -EINVAL, "and a negative period: %s", pml_error_detail(-EINVAL));
  c = (struct pmlua_live_config){.size = sizeof c, .memory_bytes = 1000};
  CHECK(pmlua_live_start_with(&c) == -EINVAL, "and little memory: %s", pml_error_detail(-EINVAL));
  c = (struct pmlua_live_config){.size = sizeof c, .state = (struct pmlua *)&c};
  CHECK(pmlua_live_start_with(&c) == -EINVAL, "and a state for threads: %s", pml_error_detail(-EINVAL));
  CHECK(pmlua_live_fd() == PML_ECLOSED && pmlua_live_dispatch(1) == PML_ECLOSED,
        "without a service there is no descriptor");
  CHECK(pmlua_live_start(NULL) == 0 && pmlua_live_fd() == PML_EMODE && pmlua_live_dispatch(1) == PML_EMODE,
        "nor with a thread: %s", pml_error_detail(PML_EMODE));
  pmlua_live_stop();
}

int main(void) {
  struct pml_sde_library *library;
  struct pmlua *p;
  (void)live_runtime();
  refusals();
  int before = threads();
  pml_sde_library(&library, "OWN");
  pml_sde_register(library, "steps", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &steps);
  CHECK(pmlua_open(&p, NULL) == 0 && pmlua_function(p, "app.steps", ">i", tell_steps, NULL) == 0 &&
            pmlua_run_string(p, "setup", "config = { name = 'own' }", NULL, NULL) == 0,
        "the application has a state");
  struct pmlua_live_config c = {.size = sizeof c,
                                .name = "own",
                                .own_loop = 1,
                                .connections = CLIENTS,
                                .instructions = 12000000,
                                .memory_bytes = 3u << 20,
                                .state = p};
  int err = pmlua_live_start_with(&c);
  if (!CHECK(err == 0, "the service starts: %s", pml_error_detail(err))) return check_done();
  CHECK(threads() == before, "without a thread");
  slices();
  sessions();
  int fd = live_connect_self();
  functions(fd);
  pmlua_live_function("stop", stop_inside, NULL);
  live_question(fd, LIVE_EVAL, "pml.live.call('stop')", 21);
  for (int i = 0; i < 1000 && pmlua_live_dispatch(BUDGET_US) >= 0; i++) live_sleep_ms(1);
  CHECK(pmlua_live_dispatch(BUDGET_US) == PML_ECLOSED && live_ended(fd), "a function that it calls may stop it");
  close(fd);
  CHECK(pmlua_live_start_with(&c) == 0 && (fd = live_connect_self()) >= 0 && evals(fd, "return 2", "2"),
        "it starts again");
  pid_t child = fork();
  if (child == 0)
    _exit(pmlua_live_dispatch(1) == PML_ECLOSED && pmlua_live_start_with(&c) == 0 &&
                  evals(live_connect_self(), "return 4", "4")
              ? 0
              : 1);
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0, "a forked child starts its own");
  CHECK(evals(fd, "return 3", "3") && pmlua_live_stop() == 0 && live_ended(fd),
        "and its parent's goes on until its stop");
  close(fd);
  pmlua_close(p);
  return check_done();
}
