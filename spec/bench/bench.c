/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench.c - the benchmark of the hot paths: each cost beside its limit and, where installed, its peer; takes
 * less than a minute. */
#include "bench.h"
#include "../c/permission.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/pml_eventset.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#define MOST 8

static const char *const names[MOST] = {"task-clock",   "page-faults",  "context-switches", "cpu-migrations",
                                        "minor-faults", "major-faults", "cgroup-switches",  "cpu-clock"};
static const uint64_t config[MOST] = {PERF_COUNT_SW_TASK_CLOCK,       PERF_COUNT_SW_PAGE_FAULTS,
                                      PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
                                      PERF_COUNT_SW_PAGE_FAULTS_MIN,  PERF_COUNT_SW_PAGE_FAULTS_MAJ,
                                      PERF_COUNT_SW_CGROUP_SWITCHES,  PERF_COUNT_SW_CPU_CLOCK};
static const char *const papi_names[MOST] = {"perf::TASK-CLOCK",      "perf::PAGE-FAULTS",  "perf::CONTEXT-SWITCHES",
                                             "perf::CPU-MIGRATIONS",  "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS",
                                             "perf::CGROUP-SWITCHES", "perf::CPU-CLOCK"};

/* The limit of what a group read can be: read(2) and nothing else. */
struct raw_group {
  int fd[MOST];
  size_t n;
  uint64_t buffer[3 + MOST] __attribute__((aligned(64)));
};

static bool raw_open(struct raw_group *g, size_t n) {
  for (g->n = 0; g->n < n; g->n++) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = config[g->n]};
    a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    a.exclude_kernel = !counts_kernel();
    g->fd[g->n] = (int)syscall(SYS_perf_event_open, &a, 0, -1, g->n > 0 ? g->fd[0] : -1, 0);
    if (g->fd[g->n] < 0) return false;
  }
  return true;
}

static void raw_close(struct raw_group *g) {
  while (g->n > 0) close(g->fd[--g->n]);
}

/*
 * Where the kernel puts the events of a group in memory changes the cost of a read by up to a fifth. Each batch takes
 * the next of several groups, so that the median covers several placements.
 */
enum { PLACEMENTS = 8 };

struct placements {
  struct raw_group raw[PLACEMENTS];
  struct pml_eventset *set[PLACEMENTS];
  size_t next_raw, next_read, next_start;
};

static void raw_read(void *arg, size_t n) {
  struct placements *p = arg;
  struct raw_group *g = &p->raw[p->next_raw++ % PLACEMENTS];
  size_t bytes = (3 + g->n) * sizeof(uint64_t);
  for (size_t i = 0; i < n; i++)
    if (read(g->fd[0], g->buffer, bytes) < 0) return;
}

static void set_read(void *arg, size_t n) {
  struct placements *p = arg;
  struct pml_eventset *set = p->set[p->next_read++ % PLACEMENTS];
  uint64_t v[MOST];
  for (size_t i = 0; i < n; i++) pml_eventset_read(set, v);
}

static void set_start_stop(void *arg, size_t n) {
  struct placements *p = arg;
  struct pml_eventset *set = p->set[p->next_start++ % PLACEMENTS];
  uint64_t v[MOST];
  for (size_t i = 0; i < n; i++) {
    pml_eventset_start(set);
    pml_eventset_stop(set, v);
  }
  pml_eventset_start(set);
}

static void close_all(struct placements *p) {
  for (size_t i = 0; i < PLACEMENTS; i++) {
    raw_close(&p->raw[i]);
    pml_eventset_close(p->set[i]);
  }
}

static void set_rows(size_t n) {
  struct placements p = {.next_raw = 0};
  char text[MOST][32];
  const char *name[MOST];
  for (size_t i = 0; i < n; i++) {
    snprintf(text[i], sizeof text[i], "%s%s", names[i], counts_kernel() ? "" : ":u");
    name[i] = text[i];
  }
  int rc = 0;
  for (size_t i = 0; i < PLACEMENTS && rc == 0; i++) {
    rc = pml_eventset_open(&p.set[i], name, n, NULL);
    if (rc == 0 && !raw_open(&p.raw[i], n)) rc = -errno;
    if (rc == 0) pml_eventset_start(p.set[i]);
  }
  if (rc < 0) {
    printf("event set of %zu: %s\n", n, pml_error_detail(rc));
    close_all(&p);
    return;
  }
  struct bench_papi *papi = bench_papi_open(papi_names, n);
  struct bench_op op[5] = {
      {.batch = raw_read, .arg = &p},
      {.batch = set_read, .arg = &p},
      {.batch = papi != NULL ? bench_papi_read : NULL, .arg = papi},
      {.batch = set_start_stop, .arg = &p},
      {.batch = papi != NULL ? bench_papi_start_stop : NULL, .arg = papi},
  };
  bench_run(op, 5);
  char figure[64];
  snprintf(figure, sizeof figure, "event set read, %zu software", n);
  bench_row(figure, &op[1], "group read(2)", &op[0], 1.05, "PAPI_read", &op[2]);
  snprintf(figure, sizeof figure, "event set start + stop, %zu", n);
  bench_row(figure, &op[3], "group read(2)", &op[0], 2.2, "PAPI_start/stop", &op[4]);
  bench_papi_close(papi);
  close_all(&p);
}

static volatile uint64_t sink;

static void clock_ns(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) sink = pml_clock_ns();
}

static void clock_bare(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) sink = pml__clock_counter();
}

static void clock_rows(void) {
  static long long papi_sink;
  bool papi = bench_papi_version() != NULL;
  struct bench_op op[3] = {
      {.batch = clock_bare}, {.batch = clock_ns}, {.batch = papi ? bench_papi_ns : NULL, .arg = &papi_sink}};
  bench_run(op, 3);
  bench_row("timestamp in ns", &op[1], "bare counter read", &op[0], 1.5, "PAPI_get_real_nsec", &op[2]);
}

static void page_rows(void) {
  struct bench_op op[4] = {{.batch = bench_page_count_bare},
                           {.batch = bench_page_count},
                           {.batch = bench_page_read_bare},
                           {.batch = bench_page_read}};
  bench_run(op, 4);
  bench_row("page read, count (*)", &op[1], "bare instructions (*)", &op[0], 1.2, NULL, NULL);
  bench_row("page read, count and times (*)", &op[3], "bare instructions (*)", &op[2], 1.2, NULL, NULL);
}

static void real_page_rows(void) {
  struct pml_event ev;
  struct pml_counter c;
  if (!pml_event_has_pmu()) {
    printf("%-34s needs a PMU\n", "page read of a real counter");
    return;
  }
  if (pml_event_parse(&ev, "instructions:u") != 0 || pml_counter_open(&c, &ev, 0, NULL, NULL, 0) != 0) return;
  const char *why = NULL;
  if (pml_counter_path(&c, &why) == PML_PATH_PAGE) {
    struct bench_op op[2] = {{.batch = bench_real_count_bare, .arg = &c}, {.batch = bench_real_count, .arg = &c}};
    bench_run(op, 2);
    bench_row("page read of a real counter", &op[1], "bare instructions", &op[0], 1.2, NULL, NULL);
  } else {
    printf("%-34s not here: %s\n", "page read of a real counter", why);
  }
  pml_counter_close(&c);
}

/* The last cpu that is allowed: the first one has the interrupts. */
static int pin(void) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (size_t cpu = CPU_SETSIZE; cpu-- > 0;) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? (int)cpu : -1;
  }
  return -1;
}

static void kernel_rows(void) {
  for (size_t n = 1; n <= MOST; n++) set_rows(n);
}

/* The order matters: the last groups change the cost of sections. */
static const struct {
  const char *name;
  void (*rows)(void);
} groups[] = {{"kernel", kernel_rows},
              {"clock", clock_rows},
              {"page", page_rows},
              {"real", real_page_rows},
              {"sampler", bench_sampler_rows},
              {"sde", bench_sde_rows},
              {"section", bench_section_rows},
              {"foreign", bench_foreign_rows},
              {"annotation", bench_annotation_rows},
              {"plugin", bench_plugin_rows},
              {"substrate", bench_substrate_rows},
              {"intercept", bench_intercept_rows},
              {"wrap", bench_wrap_rows},
              {"startup", bench_startup_rows},
              {"recorder", bench_recorder_rows},
              {"dropin", bench_dropin_rows},
              {"count", bench_count_rows}};
#define GROUPS (sizeof groups / sizeof groups[0])

static bool is_wanted(const char *name, char **wanted) {
  if (*wanted == NULL) return true;
  for (; *wanted != NULL; wanted++)
    if (strcmp(*wanted, name) == 0) return true;
  return false;
}

static bool is_group(const char *name) {
  for (size_t i = 0; i < GROUPS; i++)
    if (strcmp(groups[i].name, name) == 0) return true;
  fprintf(stderr, "no group of rows is called '%s'; there are", name);
  for (size_t i = 0; i < GROUPS; i++) fprintf(stderr, " %s", groups[i].name);
  fputc('\n', stderr);
  return false;
}

int main(int argc, char **argv) {
  int cpu = pin();
  struct pml_clock_info clock;
  for (int i = 1; i < argc; i++)
    if (!is_group(argv[i])) return 2;
  if (pml_clock_init() != 0 || pml_clock_describe(&clock) != 0) return 1;
  (void)bench_sde_open();
  const char *papi = bench_papi_version();
  printf("medians over 401 interleaved batches of 0.25 ms, cpu %d, clock %s (a read: %.1f ns), peer %s\n", cpu,
         clock.name, clock.cost_ns, papi != NULL ? papi : "not installed");
  bench_head();
  for (size_t i = 0; i < GROUPS; i++)
    if (is_wanted(groups[i].name, argv + 1)) groups[i].rows();
  printf("(*) on a page that the bench owns, the clock instruction in place of the counter's in both.\n");
  printf("%u over their limit\n", bench_rows_over());
  return 0;
}
