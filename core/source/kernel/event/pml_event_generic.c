/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_generic.c - perf's generic hardware, cache and software names, and raw codes. */
#include "source/kernel/event/pml_event_parsers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct generic {
  const char *name, *alias;
  uint32_t type;
  uint64_t config;
  const char *description;
};

/* clang-format off */
static const struct generic generics[] = {
  {"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "core cycles, at whatever frequency the core runs"},
  {"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions retired"},
  {"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "accesses to the last cache level, as a rule"},
  {"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "misses of the last cache level, as a rule"},
  {"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch instructions retired"},
  {"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
  {"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, "bus cycles"},
  {"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles stalled during issue"},
  {"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles stalled during retirement"},
  {"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a constant reference frequency"},
  {"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "time on the cpu by a high-resolution timer, in ns"},
  {"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "time the thread has run, in ns"},
  {"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
  {"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context switches (they happen in the kernel: not with :u)"},
  {"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "moves of the thread to another cpu"},
  {"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults served without I/O"},
  {"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that needed I/O"},
  {"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, "unaligned accesses that the kernel had to fix up"},
  {"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, "instructions the kernel had to emulate"},
  {"dummy", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, "counts nothing"},
  {"bpf-output", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, "output of BPF programs"},
  {"cgroup-switches", NULL, PERF_TYPE_SOFTWARE, 11 /* PERF_COUNT_SW_CGROUP_SWITCHES */, "switches to a task of another cgroup"},
};

/* The first spelling of each is listed; perf also accepts the others. */
static const char *const cache_names[][4] = {
  [PERF_COUNT_HW_CACHE_L1D] = {"L1-dcache", "L1-d", "L1d", "L1-data"},
  [PERF_COUNT_HW_CACHE_L1I] = {"L1-icache", "L1-i", "L1i", "L1-instruction"},
  [PERF_COUNT_HW_CACHE_LL] = {"LLC", "L2"},
  [PERF_COUNT_HW_CACHE_DTLB] = {"dTLB", "d-tlb", "Data-TLB"},
  [PERF_COUNT_HW_CACHE_ITLB] = {"iTLB", "i-tlb", "Instruction-TLB"},
  [PERF_COUNT_HW_CACHE_BPU] = {"branch", "bpu", "btb", "bpc"},
  [PERF_COUNT_HW_CACHE_NODE] = {"node"},
};
static const char *const cache_ops[][4] = {
  [PERF_COUNT_HW_CACHE_OP_READ] = {"load", "loads", "read"},
  [PERF_COUNT_HW_CACHE_OP_WRITE] = {"store", "stores", "write"},
  [PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetch", "prefetches", "speculative-read", "speculative-load"},
};
static const char *const cache_results[][4] = {
  [PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {"refs", "reference", "ops", "access"},
  [PERF_COUNT_HW_CACHE_RESULT_MISS] = {"misses", "miss"},
};
/* Which operations a cache can have at all: bit per PERF_COUNT_HW_CACHE_OP_*. */
static const unsigned cache_can[] = {
  [PERF_COUNT_HW_CACHE_L1D] = 7, [PERF_COUNT_HW_CACHE_L1I] = 5, [PERF_COUNT_HW_CACHE_LL] = 7, [PERF_COUNT_HW_CACHE_DTLB] = 7,
  [PERF_COUNT_HW_CACHE_ITLB] = 1, [PERF_COUNT_HW_CACHE_BPU] = 1, [PERF_COUNT_HW_CACHE_NODE] = 7,
};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof *(a))

/*
 * The row of @table one of whose spellings opens *s and ends there or at a '-'; the longest wins. *s moves behind it.
 * Returns -1 and leaves *s unchanged if no name matches.
 */
static int match_prefix(const char *const table[][4], size_t rows, const char **s) {
  size_t best = 0;
  int row = -1;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < 4 && table[i][j]; j++) {
      size_t n = strlen(table[i][j]);
      if (n <= best || strncasecmp(*s, table[i][j], n) != 0 || ((*s)[n] != '\0' && (*s)[n] != '-')) continue;
      best = n;
      row = (int)i;
    }
  if (row >= 0) *s += best + ((*s)[best] == '-');
  return row;
}

static bool parse_cache(const char *name, uint64_t *config) {
  const char *s = name;
  int cache = match_prefix(cache_names, COUNT(cache_names), &s);
  if (cache < 0 || !*s || s[-1] != '-') return false;
  int op = match_prefix(cache_ops, COUNT(cache_ops), &s);
  int result = *s ? match_prefix(cache_results, COUNT(cache_results), &s) : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
  if (result < 0 || *s || s[-1] == '-') return false;
  if (op < 0) op = PERF_COUNT_HW_CACHE_OP_READ;
  if (!(cache_can[cache] >> op & 1)) return false;
  *config = (uint64_t)cache | (uint64_t)op << 8 | (uint64_t)result << 16;
  return true;
}

int pml__event_spread_over_cores(struct pml_event *ev) {
  struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX];
  struct pml_event_other other[PML_EVENT_PARTS_MAX];
  unsigned n = pml__core_pmus(pmu);
  if (n < 2) return 0;
  memset(other, 0, sizeof other);
  ev->first.pmu = pml__keep_text(pmu[0].name);
  pml__event_set_core(&ev->first.attr, pmu[0].type);
  for (unsigned i = 1; i < n; i++) {
    other[i - 1].pmu = pml__keep_text(pmu[i].name);
    if (other[i - 1].pmu[0] == '\0') return -ENOMEM;
    other[i - 1].core_type = pmu[i].type;
    other[i - 1].cpu_any = -1;
  }
  return pml__event_others(ev, other, n - 1);
}

/*
 * One part on a CPU of one kind; on a hybrid CPU one per core PMU. A machine that shows no core PMU gets a part all the
 * same: the kernel says best why it cannot count.
 */
static int add_hardware(struct pml_event *ev, uint32_t type, uint64_t config, const struct pml__mods *m) {
  struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX];
  struct pml_event_part *part = pml__event_first(ev, pml__core_pmus(pmu) > 0 ? pml__keep_text(pmu[0].name) : "cpu");
  part->attr.type = type;
  part->attr.config = config;
  pml__mods_apply(m, &part->attr, true);
  return pml__event_spread_over_cores(ev);
}

int pml__event_parse_generic(struct pml_event *ev, const char *base, const struct pml__mods *m) {
  for (size_t i = 0; i < COUNT(generics); i++) {
    const struct generic *g = &generics[i];
    if (strcmp(base, g->name) != 0 && !(g->alias && strcmp(base, g->alias) == 0)) continue;
    if (g->type == PERF_TYPE_HARDWARE) return add_hardware(ev, g->type, g->config, m);
    struct pml_event_part *part = pml__event_first(ev, "software");
    part->attr.type = g->type;
    part->attr.config = g->config;
    pml__mods_apply(m, &part->attr, false);
    return 0;
  }
  uint64_t config;
  if (!parse_cache(base, &config)) return PML__NOT_MINE;
  return add_hardware(ev, PERF_TYPE_HW_CACHE, config, m);
}

int pml__event_parse_raw(struct pml_event *ev, const char *base, const struct pml__mods *m) {
  size_t n = strlen(base);
  if (base[0] != 'r' || n < 2) return PML__NOT_MINE;
  for (size_t i = 1; i < n; i++)
    if (!isxdigit((unsigned char)base[i])) return PML__NOT_MINE;
  char hex[PML_EVENT_NAME_MAX + 2];
  uint64_t config;
  (void)snprintf(hex, sizeof hex, "0x%s", base + 1);
  if (!pml__parse_u64(hex, n + 1, &config))
    return pml_fail(PML_ESYNTAX, "raw event \"%.200s\" has more than 64 bits", base);
  return add_hardware(ev, PERF_TYPE_RAW, config, m);
}

struct availability {
  bool hardware, software, kernel; /* kernel: software events that happen in the kernel only */
  const char *hardware_reason, *software_reason, *kernel_reason;
};

static int row(const struct pml__walk *w, const struct availability *a, const char *name, const char *text) {
  struct pml_event_info info = {.name = name, .description = text, .source = "generic", .pmu = "cpu"};
  info.available = a->hardware;
  info.reason = a->hardware_reason;
  return pml__walk_row(w, &info);
}

static int named_row(const struct pml__walk *w, const struct availability *a, const struct generic *g,
                     const char *name) {
  const struct perf_event_attr attr = {.type = g->type, .size = sizeof attr, .config = g->config};
  struct pml_event_info info = {.name = name, .description = g->description, .source = "generic", .pmu = "software"};
  if (g->type == PERF_TYPE_HARDWARE) { /* a PMU may count cycles, but not instructions */
    info.pmu = "cpu";
    info.reason = "";
    info.available = w->probe && pml__event_probe(&attr, -1, &info.reason);
    return pml__walk_row(w, &info);
  }
  bool kernel = pml__event_is_of_kernel(&attr);
  info.available = kernel ? a->kernel : a->software;
  info.reason = kernel ? a->kernel_reason : a->software_reason;
  return pml__walk_row(w, &info);
}

static int walk_caches(const struct pml__walk *w, const struct availability *a) {
  int err = 0;
  for (size_t c = 0; c < COUNT(cache_names) && !err; c++)
    for (size_t op = 0; op < COUNT(cache_ops) && !err; op++)
      for (int miss = 0; miss <= 1 && !err; miss++) {
        if (!(cache_can[c] >> op & 1)) continue;
        char name[64], text[96];
        (void)snprintf(name, sizeof name, "%s-%s%s", cache_names[c][0], cache_ops[op][!miss], miss ? "-misses" : "");
        (void)snprintf(text, sizeof text, "%s %s%s, as the kernel maps them on this CPU", cache_names[c][0],
                       cache_ops[op][miss ? 0 : 1], miss ? " misses" : "");
        err = row(w, a, name, text);
      }
  return err;
}

int pml__event_walk_generic(const struct pml__walk *w) {
  struct availability a = {.hardware_reason = "", .software_reason = "", .kernel_reason = ""};
  if (w->probe) {
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr};
    for (attr.config = 0; !a.hardware && attr.config < PERF_COUNT_HW_MAX; attr.config++)
      a.hardware = pml__event_probe(&attr, -1, &a.hardware_reason);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    a.software = pml__event_probe(&attr, -1, &a.software_reason);
    attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    a.kernel = pml__event_probe(&attr, -1, &a.kernel_reason);
  }
  int err = 0;
  for (size_t i = 0; i < COUNT(generics) && !err; i++) {
    const struct generic *g = &generics[i];
    err = named_row(w, &a, g, g->name);
    if (!err && g->alias) err = named_row(w, &a, g, g->alias);
  }
  if (!err) err = walk_caches(w, &a);
  if (!err) err = row(w, &a, "r00c0", "a raw event code in hexadecimal (here c0), of the core PMU");
  return err;
}
