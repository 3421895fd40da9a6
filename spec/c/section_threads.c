/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/section_threads.c - sections on many threads: no lost or torn data, ends of threads, stops by other threads.
 */
#include "base/pml_thread.h"
#include "sanitized.h"
#include "sections.h"

#include <sys/resource.h>

#define THREADS 6
#define SECTIONS 200
#define ROUNDS (SANITIZED ? 60 : 400)

static struct pml_section *section[SECTIONS], *common;
static atomic_bool done;

static void *work(void *arg) {
  size_t first = (size_t)(uintptr_t)arg;
  char label[32];
  for (int round = 0; round < ROUNDS; round++) {
    pml_section_start(common);
    for (size_t i = first; i < SECTIONS; i += 1 + first) {
      pml_section_start(section[i]);
      pml_section_stop_work(section[i], 2, 1);
    }
    snprintf(label, sizeof label, "by label %d", round % 10);
    pml_section_start_label(label);
    pml_section_stop_label(label);
    pml_section_stop(common);
  }
  return NULL;
}

/* Every row must agree with itself at any moment: one workload of 2 in one iteration for each call. */
static void *report_all(void *arg) {
  uintptr_t wrong = 0, reports = 0;
  while (!atomic_load(&done) || reports == 0) {
    struct pml_section_report r;
    if (pml_section_report(reports % 2 != 0, &r) != 0) {
      wrong++;
      break;
    }
    for (size_t i = 0; i < r.n; i++) {
      const struct pml_section_row *row = &r.row[i];
      wrong += row->min_ns > row->max_ns || (row->count > 0 && row->mean_ns > row->max_ns * 1.0001 + 1);
      if (row->work > 0) wrong += row->work != 2.0 * (double)row->count || row->iterations != row->count;
    }
    pml_section_report_free(&r);
    reports++;
  }
  (void)arg;
  return (void *)wrong;
}

static uint64_t calls_expected(size_t i) {
  uint64_t n = 0;
  for (size_t first = 0; first < THREADS; first++) n += i >= first && (i - first) % (1 + first) == 0;
  return n * (uint64_t)ROUNDS;
}

static void work_reported(const char *what) {
  pthread_t t[THREADS], reporter;
  void *wrong = NULL;
  atomic_store(&done, false);
  pthread_create(&reporter, NULL, report_all, NULL);
  for (size_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
  for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  atomic_store(&done, true);
  pthread_join(reporter, &wrong);
  CHECK(wrong == NULL, "%s (%u wrong)", what, (unsigned)(uintptr_t)wrong);
}

static void together(void) {
  work_reported("reports that are made meanwhile are whole");
  unsigned lost = 0;
  for (size_t i = 0; i < SECTIONS; i++) lost += row_of(section[i]).count != calls_expected(i);
  struct pml_section_row c = row_of(common);
  CHECK(lost == 0 && c.count == (uint64_t)THREADS * (uint64_t)ROUNDS, "no call of %d threads is lost", THREADS);
  CHECK(c.nthreads == THREADS && c.running == 0, "the threads that took part are counted, and stay when they ended");
  uint64_t labelled = 0;
  for (int i = 0; i < 10; i++) {
    char label[32];
    snprintf(label, sizeof label, "by label %d", i);
    labelled += row_of(pml_section_find(label)).count;
  }
  CHECK(labelled == (uint64_t)THREADS * (uint64_t)ROUNDS, "labels that all define at once are one section each");
  struct pml_section_report r;
  pml_section_report(true, &r);
  uint64_t rows = 0, calls = 0;
  bool ordered = true;
  for (size_t i = 0; i < r.n; i++) {
    if (i > 0 && r.row[i].section == r.row[i - 1].section) ordered &= r.row[i].thread > r.row[i - 1].thread;
    if (r.row[i].section != common) continue;
    rows++;
    calls += r.row[i].count == (uint64_t)ROUNDS && r.row[i].thread != 0;
  }
  CHECK(rows == THREADS && calls == THREADS && ordered, "by thread, each has a row with its own calls");
  pml_section_report_free(&r);
}

static void *reset_all(void *arg) {
  for (int i = 0; i < 300 && !atomic_load(&done); i++) {
    pml_section_reset();
    usleep(200);
  }
  return arg;
}

static void resetting(void) {
  pthread_t resetter;
  atomic_store(&done, false);
  pthread_create(&resetter, NULL, reset_all, NULL);
  work_reported("with resets at any time, rows are whole");
  pthread_join(resetter, NULL);
  pml_section_reset();
  CHECK(row_of(common).count == 0, "the last reset leaves nothing");
}

static void on_a_thread(void *(*f)(void *), void *arg) {
  pthread_t t;
  pthread_create(&t, NULL, f, arg);
  pthread_join(t, NULL);
}

static void *stop_common(void *arg) {
  *(int *)arg = pml_section_stop(common);
  return NULL;
}

static void *never_stop(void *arg) {
  pml_section_start(common);
  pml_section_start(section[0]);
  return arg;
}

static void misusing(void) {
  int err = 0;
  pml_section_reset();
  pml_section_start(common);
  on_a_thread(stop_common, &err);
  struct pml_section_row r = row_of(common);
  CHECK(err == -EINVAL && r.misuse[PML_SECTION_FOREIGN] == 1 && r.misuse[PML_SECTION_UNMATCHED] == 0,
        "a stop on another thread than the start is reported as such");
  CHECK(r.running == 1 && pml_section_stop(common) == 0, "and the start is still to be stopped");
  on_a_thread(stop_common, &err);
  CHECK(row_of(common).misuse[PML_SECTION_UNMATCHED] == 1, "with no start anywhere, it has none");
  on_a_thread(never_stop, NULL);
  r = row_of(common);
  CHECK(r.misuse[PML_SECTION_ABANDONED] == 1 && row_of(section[0]).misuse[PML_SECTION_ABANDONED] == 1 && r.running == 0,
        "a section that a thread never stopped is reported after its end");
}

static void *once(void *arg) {
  pml_section_start(common);
  pml_section_stop_work(common, 1, 1);
  return arg;
}

static void many_threads(void) {
  enum { MANY = 700 };
  struct pml_section_report r;
  size_t rows = 0;
  pml_section_reset();
  for (int i = 0; i < MANY; i++) on_a_thread(once, NULL);
  struct pml_section_row row = row_of(common);
  CHECK(row.count == MANY && row.work == MANY, "%d threads one after the other lose nothing", MANY);
  pml_section_report(true, &r);
  for (size_t i = 0; i < r.n; i++) rows += r.row[i].section == common;
  CHECK(rows > 0 && rows <= 257, "and are not kept one by one for ever (%zu rows)", rows);
  pml_section_report_free(&r);
}

static void *use_events(void *arg) {
  for (int i = 0; i < 50; i++) {
    pml_section_start(arg);
    pml_section_stop(arg);
  }
  return NULL;
}

static void events_and_series(void) {
  const char *names[] = {"clock::ns"};
  struct pml_section_options o = {.events = names, .nevents = 1, .record = PML_SECTION_RECORD_ALL};
  struct pml_section *s;
  pthread_t t[THREADS];
  CHECK(pml_section_define("threads with events", &o, &s) == 0, "a section with an event and a series");
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, use_events, s);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  struct pml_section_report r;
  pml_section_report(false, &r);
  bool found = false;
  for (size_t i = 0; i < r.n; i++)
    if (r.row[i].section == s)
      found = r.row[i].count == THREADS * 50 && r.row[i].misuse[PML_SECTION_UNREAD] == 0 &&
              (double)r.row[i].value[0].i >= r.row[i].total_ns;
  CHECK(found, "each thread has a separate set, and the sums are merged");
  CHECK(pml_recorder_count(pml_section_durations(s)) == THREADS * 50, "and all durations are in the series");
  pml_section_report_free(&r);
}

static void unreadable_events(void) {
  const char *names[] = {"page-faults:u"};
  struct pml_section_options o = {.events = names, .nevents = 1};
  struct pml_section *s;
  struct pml_section_row row;
  struct rlimit usual, none;
  if (pml_section_define("unreadable", &o, &s) < 0) {
    SKIP("no software event can be opened here");
    return;
  }
  getrlimit(RLIMIT_NOFILE, &usual);
  none = (struct rlimit){0, usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  on_a_thread(use_events, s);
  setrlimit(RLIMIT_NOFILE, &usual);
  pml_section_read(s, &row, NULL);
  CHECK(row.count == 50 && row.max_ns > 0 && row.misuse[PML_SECTION_UNREAD] == 50,
        "without descriptors for its events a thread's times count, and unread counts are reported");
}

#if SANITIZED
static void forking(void) {
  SKIP("sanitizers do not allow threads to be left behind by a fork");
}
#else
static bool begins_from_zero(void) {
  bool good = row_of(common).count == 0;
  (void)once(NULL);
  return good && row_of(common).count == 1 && row_of(common).nthreads == 1;
}
static void forking(void) {
  pthread_t t[2];
  unsigned failed = 0;
  atomic_store(&done, false);
  for (size_t i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
  for (int i = 0; i < 20; i++) failed += !child_finds(begins_from_zero);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  CHECK(failed == 0, "children of a process whose threads are in sections start from zero (%u of 20 failed)", failed);
}
#endif

/* Pages in memory. */
static long resident(void) {
  long pages = 0, size = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages;
}

static pthread_barrier_t at_work;

static void *first_section(void *arg) {
  (void)arg;
  pthread_barrier_wait(&at_work); /* all have their stacks */
  pthread_barrier_wait(&at_work);
  pml_section_start(common);
  pml_section_stop(common);
  pthread_barrier_wait(&at_work);
  pthread_barrier_wait(&at_work);
  return NULL;
}

/* A page of sums, a page of the process's data, and memory of malloc(): a stack of frames, a few tables. */
static void first_sections(void) {
  enum { MANY = 128, PAGES = 2 + 2 };
  pthread_t t[MANY];
  if (SANITIZED) return; /* sanitizers use additional memory for each thread */
  pthread_barrier_init(&at_work, NULL, MANY + 1);
  for (int i = 0; i < MANY; i++)
    if (pthread_create(&t[i], NULL, first_section, NULL) != 0) exit(1);
  pthread_barrier_wait(&at_work);
  long before = resident();
  pthread_barrier_wait(&at_work);
  pthread_barrier_wait(&at_work);
  long more = resident() - before;
  pthread_barrier_wait(&at_work);
  for (int i = 0; i < MANY; i++) pthread_join(t[i], NULL);
  CHECK(more <= MANY * PAGES, "a thread's first section takes %d pages or less (%d threads: %ld)", PAGES, MANY, more);
}

static void a_million(void) {
  enum { MILLION = SANITIZED ? 20000 : 1000000 };
  unsigned wrong = 0;
  char label[32];
  struct pml_section_report r;
  pml_section_reset();
  for (int i = 0; i < MILLION; i++) {
    struct pml_section *s;
    snprintf(label, sizeof label, "of very many %d", i);
    wrong += pml_section_define(label, NULL, &s) != 0 || pml_section_start(s) != 0 || pml_section_stop(s) != 0;
  }
  CHECK(wrong == 0, "%d sections are defined and used", MILLION);
  CHECK(pml_section_report(false, &r) == 0 && r.n == MILLION, "and all are reported");
  pml_section_report_free(&r);
}

int main(void) {
  bool good = pml_section_define("common", NULL, &common) == 0;
  for (int i = 0; i < SECTIONS; i++) {
    char label[32];
    snprintf(label, sizeof label, "section %d", i);
    good &= pml_section_define(label, NULL, &section[i]) == 0;
  }
  CHECK(good, "sections for all threads");
  together();
  resetting();
  misusing();
  many_threads();
  events_and_series();
  unreadable_events();
  forking();
  first_sections();
  a_million();
  return check_done();
}
