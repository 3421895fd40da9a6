/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_first.c - a first call does not show the time that its consumers take to get ready for it. */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/wrap/pml_wrap.h"
#include "check.h"
#include "intercept/library.h"
#include "intercept/sparing.h"

#define REGIONS 256

/* One thread's; it takes its time for each region that it meets first. */
static struct met {
  uint64_t ready[REGIONS]; /* the clock when it was */
  unsigned before, after;  /* first enters at a clock before that, or after */
  bool entered[REGIONS];
} met;

static uint64_t later(uint64_t than) {
  uint64_t now;
  do now = pml_clock_ticks();
  while (now <= than);
  return now;
}

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  (void)later(pml_clock_ticks());
  return arg;
}
static void ready(void *data, pml_region_t region) {
  struct met *m = data;
  if (region < REGIONS && m->ready[region] == 0) m->ready[region] = later(pml_clock_ticks());
}
static void on_enter(void *data, const struct pml_stream_event *e) {
  struct met *m = data;
  if (e->region >= REGIONS || m->entered[e->region]) return;
  m->entered[e->region] = true;
  (m->ready[e->region] != 0 && e->ticks >= m->ready[e->region] ? &m->after : &m->before)[0]++;
}
/* Like a consumer that needs memory for each region. */
static uint64_t enter_plainly(void *data, pml_region_t region, uint64_t ticks) {
  struct met *m = data;
  return region < REGIONS && m->entered[region] ? 0 : ticks;
}
static uint64_t leave_plainly(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  return 0;
}
SPARING_FAST(enter_sparingly, enter_plainly);
SPARING_FAST(leave_sparingly, leave_plainly);
static void on_leave(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
}

static void *calls(void *arg) {
  (void)arg;
  lib_nothing();
  lib_recursive(3);
  lib_tail(1);
  return NULL;
}

static void intercepted(void) {
  struct pml_intercept_options o = {.lib = "libintercept"};
  memset(&met, 0, sizeof met);
  int err = pml_intercept_install(&o);
  CHECK(err == 0, "interception is installed%s%s", err < 0 ? ": " : "", err < 0 ? pml_error_detail(err) : "");
  calls(NULL);
  CHECK(met.after >= 3 && met.before == 0,
        "the clock of each function's first call is read when all are ready (%u after, %u before)", met.after,
        met.before);
  memset(&met, 0, sizeof met);
  in_threads(1, calls, NULL, 0);
  CHECK(met.after >= 3 && met.before == 0, "so it is on another thread (%u after, %u before)", met.after, met.before);
  pml_intercept_remove();
}

static struct pml_wrap_value argument = PML_WRAP_VALUE("n", PML_WRAP_INTEGER, PML_WRAP_METRIC);
static struct pml_wrap_function bare = {.name = "bare", .library = "nowhere"},
                                with = {.name = "with", .library = "nowhere", .in = &argument, .nin = 1};

static void wrapped(void) {
  uint64_t in = 1;
  struct pml_wrap_call call;
  memset(&met, 0, sizeof met);
  for (int i = 0; i < 2; i++) {
    memset(&call, 0, sizeof call);
    pml__wrap_enter(&call, &bare, NULL);
    pml__wrap_leave(&call);
    memset(&call, 0, sizeof call);
    pml__wrap_enter(&call, &with, &in);
    pml__wrap_leave(&call);
  }
  CHECK(met.after == 2 && met.before == 0, "so it is for wrapped functions (%u after, %u before)", met.after,
        met.before);
  memset(&met, 0, sizeof met);
  memset(&call, 0, sizeof call);
  pml__wrap_enter(&call, &bare, NULL);
  pml__wrap_leave(&call);
  CHECK(met.after == 1 && met.before == 0, "also for known functions of the process");
}

static void sections(void) {
  struct pml_section *s = NULL;
  memset(&met, 0, sizeof met);
  CHECK(pml_section_define("first", NULL, &s) == 0, "a section");
  pml_section_start(s);
  pml_section_stop(s);
  CHECK(met.after == 1 && met.before == 0, "and for a section's first start");
}

static unsigned asked, taken;
static void count_asked(void *data, pml_region_t region) {
  (void)data, (void)region;
  asked++;
}
static uint64_t take_plainly(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  taken++;
  return 0;
}
SPARING_FAST(take_sparingly, take_plainly);

#ifdef __SANITIZE_THREAD__
static void of_two(const struct pml_stream_consumer *slow) {
  (void)slow, (void)count_asked, (void)take_sparingly, (void)asked, (void)taken;
  SKIP("under ThreadSanitizer all registers are saved for each call, and all consumers get it at once");
}
#else
/* Later events are inside the call of the slow consumer. */
static void of_two(const struct pml_stream_consumer *slow) {
  struct pml_stream_consumer quick = {.thread_begin = begin,
                                      .prepare = count_asked,
                                      .event = {on_leave, on_leave, NULL},
                                      .fast = {take_sparingly, leave_sparingly},
                                      .arg = &met};
  struct pml_intercept_options o = {.lib = "libintercept"};
  uint64_t first = 0, second = 0;
  if (!CHECK(pml_stream_add(&quick, &first) == 0 && pml_stream_add(slow, &second) == 0 &&
                 pml_intercept_install(&o) == 0,
             "a consumer that needs no time, and one that does"))
    return;
  lib_nothing();
  asked = taken = 0;
  memset(&met, 0, sizeof met);
  lib_nothing();
  CHECK(taken == 1 && met.before + met.after == 1, "both get the enter (%u, %u)", taken, met.before + met.after);
  CHECK(asked == 0, "who has it is not asked to get ready for it (%u times)", asked);
  pml_intercept_remove();
  pml_stream_remove(second);
  pml_stream_remove(first);
}
#endif

int main(void) {
  struct pml_stream_consumer c = {.thread_begin = begin,
                                  .prepare = ready,
                                  .event = {on_enter, on_leave, NULL},
                                  .fast = {enter_sparingly, leave_sparingly},
                                  .arg = &met};
  uint64_t id;
  (void)pml_clock_init();
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer that takes its time");
  CHECK_EACH(intercepted, wrapped, sections);
  pml_stream_remove(id);
  of_two(&c);
  return check_done();
}
