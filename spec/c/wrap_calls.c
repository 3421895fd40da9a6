/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/wrap_calls.c - a wrapped call: equal to the plain call, with an enter and a leave, and counted once together
 * with interception.
 *
 * This program has its wrappers linked into it with --wrap. It is also linked with a shared library of such (.shared),
 * with wrappers that have the functions' own names (.runtime), and without any (.preload), to have them preloaded.
 */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/wrap/pml_wrap.h"
#include "check.h"
#include "folder.h"
#include "intercept/library.h"
#include "intercept/ways.h"

#include "base/pml_error.h"
#include "base/pml_stream.h"
#include "read/otf2/write/pml_otf2.h"
#include "source/sde/pml_sde.h"
#include "substrate/profile/pml_profile.h"

#include <dlfcn.h>
#include <sys/time.h>

#define REGIONS 256

static uint64_t entered[REGIONS], left[REGIONS]; /* atomic */
static struct seen {
  const struct pml_stream_metrics *metrics;
  uint64_t value[PML_WRAP_VALUES_MAX];
} seen[2]; /* from the last event with values, on the main thread */
static bool link_time, combined;

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void count(const struct pml_stream_event *e, uint64_t *of, struct seen *s) {
  if (e->region < REGIONS) __atomic_fetch_add(&of[e->region], 1, __ATOMIC_RELAXED);
  errno = ENOTTY; /* consumers may change errno */
  if (e->metrics == NULL || gettid() != getpid()) return;
  s->metrics = e->metrics;
  memcpy(s->value, e->values, e->metrics->n * sizeof s->value[0]);
}
static void on_enter(void *data, const struct pml_stream_event *e) {
  (void)data;
  count(e, entered, &seen[0]);
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  (void)data;
  count(e, left, &seen[1]);
}

static pml_region_t region(const char *name) {
  struct pml_region_info info;
  pml_region_t found = 0;
  for (pml_region_t i = 1; i <= pml_region_count(); i++) {
    if (pml_region_describe(i, &info) != 0 || strcmp(info.name, name) != 0) continue;
    if (found != 0 || strcmp(info.file, "libintercept.so") != 0) return 0;
    found = i;
  }
  return found;
}
static bool balanced(const char *name, int n) {
  uint64_t in = __atomic_load_n(&entered[region(name)], __ATOMIC_RELAXED);
  uint64_t out = __atomic_load_n(&left[region(name)], __ATOMIC_RELAXED);
  bool is = region(name) != 0 && in == (uint64_t)n && out == in;
  if (!is)
    printf("# %s, region %u: %llu enters, %llu leaves, not %d\n", name, region(name), (unsigned long long)in,
           (unsigned long long)out, n);
  return is;
}
static void forget(void) {
  memset(entered, 0, sizeof entered);
  memset(left, 0, sizeof left);
  memset(seen, 0, sizeof seen);
}

static int inner_too(int outer, int inner) {
  return link_time && !combined ? outer : outer + inner;
}

/* ---- results and values ---- */

static double mixed(const char *text) {
  const struct many many = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.5};
  return lib_mixed(-1, 2, 3, 4, 5, (struct two){6, 7}, (struct floats){8, 9}, many, (struct pair){10, 11}, 12, text);
}

static void results(double plain) {
  forget();
  bool same = mixed("13") == plain;
  lib_nothing();
  CHECK(same && balanced("lib_mixed", 1) && balanced("lib_nothing", 1),
        "a call by a wrapper gives what the plain one does");
  CHECK(lib_recursive(10) == 11 && balanced("lib_recursive", inner_too(1, 10)), "recursion is counted call by call");
  errno = EDOM;
  int was = lib_errno(ERANGE);
  CHECK(was == EDOM && errno == ERANGE, "errno passes in both directions, for any consumer");
}

static int64_t recorded(const char *name) {
  struct pml_sde_event *ev;
  struct pml_value v = {.i = -1};
  if (pml_sde_find(name, &ev, NULL) < 0) return -1;
  if (pml_sde_read(ev, &v) < 0) v.i = -1;
  pml_sde_release(ev);
  return v.type == PML_TYPE_DOUBLE ? (int64_t)(v.d + 0.5) : v.i;
}

static void values(int64_t before) {
  forget();
  for (int i = 1; i <= 100; i++) (void)lib_two((struct two){i, 0.5}, 7);
  const struct pml_stream_metrics *in = seen[0].metrics, *out = seen[1].metrics;
  CHECK(in != NULL && in->n == 2 && strcmp(in->name[0], "lib_two:a.a") == 0 && strcmp(in->name[1], "lib_two:a.b") == 0,
        "chosen arguments are metrics of the enter, named after function and argument");
  CHECK(in != NULL && !pml_stream_metrics_real(in, 0) && pml_stream_metrics_real(in, 1) && seen[0].value[0] == 100 &&
            seen[0].value[1] == pml_wrap_from_real(0.5),
        "integers and doubles as what they are");
  struct two last = lib_two((struct two){100, 0.5}, 7);
  CHECK(out != NULL && out->n == 1 && strcmp(out->name[0], "lib_two:return.b") == 0 &&
            seen[1].value[0] == pml_wrap_from_real(last.b),
        "results are metrics of the leave");
  CHECK(recorded("sde:::WRAP::lib_two:n") == before + 101 && recorded("sde:::WRAP::lib_two:n:MED") == 7,
        "recorded arguments are events of the library WRAP, with quantiles");
  int64_t median = recorded("sde:::WRAP::lib_two:a.a:MED");
  CHECK(recorded("sde:::WRAP::lib_two:return.b") == before + 101 && (combined || (median >= 49 && median <= 53)),
        "so are results; the median of 1 to 100 is 51, within the sketch's error");
}

static void texts(void) {
  char longer[1000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  forget();
  mixed("some text");
  uint64_t some = seen[0].value[0];
  const char *text = pml_wrap_text(some);
  CHECK(seen[0].metrics != NULL && pml_wrap_is_text(seen[0].metrics, 0) && text != NULL &&
            strcmp(text, "some text") == 0,
        "a text is a number on the event, and a table tells the text");
  struct pml_wrap_stats s, after;
  pml_wrap_stats(&s);
  mixed("some text");
  pml_wrap_stats(&after);
  CHECK(seen[0].value[0] == some && after.texts == s.texts, "the same text is the same number, kept once");
  CHECK(pml_wrap_from_text(NULL) == 0 && pml_wrap_text(0) == NULL && pml_wrap_from_text("") != 0, "NULL is 0");
  mixed(longer);
  text = pml_wrap_text(seen[0].value[0]);
  CHECK(text != NULL && strlen(text) == PML_WRAP_TEXT_MAX, "the beginning of a long text is kept");
}

static void fill_texts(void) {
  struct pml_wrap_stats s;
  char text[32];
  uint64_t number = 0;
  for (unsigned i = 0; i < PML_WRAP_TEXTS + 100; i++) {
    snprintf(text, sizeof text, "text %u", i);
    number = pml_wrap_from_text(text);
  }
  pml_wrap_stats(&s);
  const char *first = pml_wrap_text(pml_wrap_from_text("text 0"));
  CHECK(s.texts == PML_WRAP_TEXTS && s.nameless >= 100 && number != 0 && pml_wrap_text(number) == NULL &&
            first != NULL && strcmp(first, "text 0") == 0,
        "the table is bounded: of texts beyond it the number is known, and how often that was");
}

static void nowhere(void) {
  int (*f)(int);
  struct pml_wrap_stats s;
  *(void **)&f = dlsym(RTLD_DEFAULT, "lib_nowhere");
  if (link_time) {
    CHECK(f == NULL, "with --wrap a function that is nowhere does not link");
    return;
  }
  int got = f != NULL ? f(1) : -1, err = errno;
  pml_wrap_stats(&s);
  CHECK(got == 0 && err == ENOSYS && s.missing >= 1 && strstr(pml_error_detail(-ENOSYS), "lib_nowhere") != NULL,
        "a function that is nowhere behind its wrapper gives zero and ENOSYS, with a sentence");
}

/* ---- ways out ---- */

/* A wrapper that a longjmp from inside its function's callees comes back to. */
static struct pml_wrap_value caught_values[] = {PML_WRAP_VALUE("return", PML_WRAP_INTEGER, PML_WRAP_METRIC)};
PML_WRAP_FUNCTION_VALUES(caught, "caught", NULL, __FILE__, __LINE__, NULL, 0, caught_values, 1);
static uint64_t told, open_inside;

static void hear(void *arg, const struct pml_wrap_function *f, bool results, const uint64_t *values) {
  (void)arg;
  if (f != &caught || !results || values[0] != 7) return;
  pml_region_t inside = region("lib_back");
  told++;
  open_inside += entered[inside] - left[inside];
}
static void catches(void) {
  uint64_t result[1];
  PML_WRAP_CALL(call, &caught);
  if (setjmp(ways_out) == 0) lib_back(ways_jumps_deeper, NULL);
  PML_WRAP_RESULTS(call, &caught, result, result[0] = 7);
}
static void results_after_jumps(void) {
  static const struct pml_wrap_listener listener = {hear, NULL};
  forget();
  told = open_inside = 0;
  pml_wrap_listen(&listener);
  for (volatile int i = 0; i < 100; i++) catches();
  pml_wrap_listen(NULL);
  CHECK(told == 100 && open_inside == 0 && entered[region("lib_back")] == 200,
        "results are reported after calls that a longjmp left have ended (%llu, %llu open)", (unsigned long long)told,
        (unsigned long long)open_inside);
}

/* ---- threads, contexts, signals, processes ---- */

#define THREADS 8
#define CALLS 2000

static void *storm(void *arg) {
  long bad = 0;
  char text[16];
  for (int i = 0; i < CALLS; i++) {
    bad += lib_two((struct two){i, 0}, 7).a != i + 7;
    snprintf(text, sizeof text, "%d", i % 10);
    (void)pml_wrap_from_text(text);
  }
  bad += lib_recursive(100) != 101;
  *(long *)arg = bad;
  return NULL;
}
static void threads(int64_t before) {
  pthread_t t[THREADS];
  long bad[THREADS], sum = 0;
  forget();
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, storm, &bad[i]);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], NULL);
    sum += bad[i];
  }
  CHECK(sum == 0 && balanced("lib_two", THREADS * CALLS) &&
            balanced("lib_recursive", inner_too(THREADS, THREADS * 100)),
        "%d threads: every call is counted, every result right", THREADS);
  CHECK(recorded("sde:::WRAP::lib_two:n") == before + THREADS * CALLS, "every value is recorded");
}

static volatile sig_atomic_t handled;
static void handler(int sig) {
  (void)sig;
  handled++;
  lib_nothing();
}
static void signals(void) {
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  struct pml_intercept_stats s, after;
  pml_intercept_stats(&s);
  forget();
  handled = 0;
  sigaction(SIGALRM, &a, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  int calls = 0;
  for (; calls < 3000000 && handled < 200; calls++) lib_errno(0);
  setitimer(ITIMER_REAL, &never, NULL);
  pml_intercept_stats(&after);
  CHECK(balanced("lib_errno", calls) && balanced("lib_nothing", handled - (int)(after.nested - s.nested)),
        "handlers that call wrapped functions: each call is recorded, or counted as nested");
}

static bool calls_on(void) {
  return lib_recursive(3) == 4 && lib_two((struct two){1, 2}, 3).a == 4;
}
static void forking(void) {
  CHECK(ways_fork(calls_on), "the child of a fork inside a wrapped call continues");
}

/* ---- who listens comes and goes ---- */

static struct pml_stream_consumer counter = {.thread_begin = begin, .event = {on_enter, on_leave, NULL}, .arg = &seen};
static uint64_t id;

static int removes(void *arg) {
  (void)arg;
  return pml_stream_remove(id);
}
static int adds(void *arg) {
  (void)arg;
  return pml_stream_add(&counter, &id);
}

static void comers(void) {
  forget();
  CHECK(lib_back(removes, NULL) == 1 && region("lib_back") != 0 && entered[region("lib_back")] == 1 &&
            left[region("lib_back")] == 0,
        "who goes within a call gets the enter alone");
  forget();
  CHECK(lib_back(adds, NULL) == 1 && left[region("lib_back")] == 0,
        "a consumer added within a call gets no leave of it");
  lib_nothing();
  CHECK(balanced("lib_nothing", 1), "then all");
}

static void all_ways(double plain) {
  int64_t before = recorded("sde:::WRAP::lib_two:n");
  results(plain);
  values(before);
  texts();
  nowhere();
  ways_exceptions(combined, inner_too(1, 3));
  ways_jumping(combined);
  if (!combined) results_after_jumps(); /* else this program is not chosen */
  ways_cancelling(true);
  threads(before + 101);
  ways_contexts();
  signals();
  forking();
  comers();
}

static void all_ways_out(void) {
  for (volatile int i = 0; i < 100; i++) {
    if (setjmp(ways_out) == 0) lib_back(ways_jumps_deeper, NULL);
    lib_tail(1);
    lib_recursive(5);
  }
  lib_nothing();
}

/* A profile and a trace miss no leave if both doors' events nest. */
static void nesting(void) {
  char dir[] = "/tmp/pmlua-wrap-XXXXXX";
  struct pml_profile *profile = NULL;
  struct pml_profile_stats s;
  struct pml_otf2 *trace = NULL;
  struct pml_otf2_stats t = {0};
  uint64_t unrecorded;
  if (mkdtemp(dir) == NULL) return;
  int err = pml_profile_open(&profile);
  if (err == 0) err = pml_otf2_open(&trace, dir, NULL, 0);
  if (err == 0) err = pml_otf2_attach(trace);
  if (CHECK(err == 0, "a profile and a trace of both doors")) {
    all_ways_out();
    err = pml_otf2_detach(trace, &unrecorded);
    pml_profile_stats(profile, &s);
    pml_otf2_stats(trace, &t);
    CHECK(s.events > 100 * 8 && s.unmatched == 0 && s.dropped == 0,
          "their events nest, for each way in which calls end");
    CHECK(err == 0 && t.written == 2 * s.events && t.unmatched == 0 && t.dropped == 0, "in a trace, too");
  }
  pml_profile_close(profile);
  CHECK(pml_otf2_close(trace) == 0, "the trace is whole");
  folder_remove(dir);
}

static void both(double plain) {
  const struct pml_intercept_options o = {.lib = "libintercept"};
  int err = pml_intercept_install(&o);
  if (!CHECK(err == 0, "interception beside the wrappers%s%s", err < 0 ? ": " : "",
             err < 0 ? pml_error_detail(err) : ""))
    return;
  combined = true;
  all_ways(plain);
  forget();
  lib_tail(1);
  CHECK(balanced("lib_tail", 1), "a function without a wrapper is intercepted");
  nesting();
  pml_intercept_remove();
  forget();
  lib_tail(1);
  lib_nothing();
  CHECK(balanced("lib_nothing", 1) && entered[region("lib_tail")] == 0, "without interception the wrappers continue");
  combined = false;
}

static void variants(const char *self) {
  static const struct {
    const char *before, *after, *kind;
  } other[] = {{"", ".shared link", "a shared library of wrappers for --wrap"},
               {"", ".runtime run", "wrappers with the functions' names"},
               {"LD_PRELOAD=${0%/*}/libpmlua-wrap-run.so ASAN_OPTIONS=verify_asan_link_order=0 ", ".preload run",
                "wrappers that are preloaded"}};
  char command[8192];
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    snprintf(command, sizeof command, "sh -c '%s\"$0\"%s >/dev/null' '%s'", other[i].before, other[i].after, self);
    CHECK(system(command) == 0, "all that holds for %s", other[i].kind);
  }
}

int main(int argc, char **argv) {
  link_time = argc < 2 || strcmp(argv[1], "run") != 0;
  CHECK(recorded("sde:::WRAP::lib_two:n") == -1, "before the first call there is no recorder");
  double plain = mixed("13");
  lib_two((struct two){1, 1}, 7);
  CHECK(recorded("sde:::WRAP::lib_two:n") == 1, "values are recorded also without a consumer of events");
  CHECK(pml_stream_add(&counter, &id) == 0, "a consumer of enters and leaves");
  all_ways(plain);
  both(plain);
  forget();
  pml_stream_remove(id);
  lib_nothing();
  CHECK(entered[region("lib_nothing")] == 0, "without a consumer, nothing is raised");
  fill_texts();
  if (argc == 1) variants(argv[0]);
  return check_done();
}
