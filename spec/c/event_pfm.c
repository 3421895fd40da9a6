/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_pfm.c - libpfm4's names, of PMUs that are here and of those that are not. */
#include "check.h"
#include "pml.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct pml_event ev;

static bool encodes(const char *name, uint32_t type, uint64_t config) {
  return pml_event_parse(&ev, name) == 0 && ev.nparts == 1 && ev.first.attr.type == type &&
         ev.first.attr.config == config && ev.first.attr.size == sizeof(struct perf_event_attr);
}

static bool of(const char *pmu, bool here) {
  return strcmp(ev.first.pmu, pmu) == 0 && ev.first.here == here && ev.first.cpu_any == -1;
}

#if defined(__x86_64__)
static void check_fails(const char *name, int code, const char *says) {
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name,
        pml_error_name(err), pml_error_detail(err));
}
#endif

static void here(void) {
  CHECK(encodes("perf::TASK-CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) && of("perf", true),
        "perf::TASK-CLOCK is here");
  CHECK(strcmp(ev.unit, "ns") == 0, "and counts ns as task-clock does");
  CHECK(encodes("CONTEXT-SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES) && of("perf", true),
        "without a PMU, one that is here is found");
  CHECK(encodes("perf::PAGE-FAULTS:u", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS) && ev.first.attr.exclude_kernel &&
            !ev.first.attr.exclude_user,
        ":u is respected");
  CHECK(encodes("perf::PAGE-FAULTS:k=1", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS) &&
            !ev.first.attr.exclude_kernel && ev.first.attr.exclude_user,
        "so is libpfm4's own k=1");
}

static void elsewhere(void) {
#if defined(__x86_64__)
  /* Too old to be the machine this runs on. */
  static const char *const pmus[] = {"netburst", "amd64_k7"};
  unsigned absent = 0;
  CHECK(encodes("amd64_k7::DATA_CACHE_MISSES", PERF_TYPE_RAW, 0x41) && of("amd64_k7", false),
        "an event of a PMU that is not here encodes and says so");
  for (size_t i = 0; i < 2; i++) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s::X", pmus[i]);
    absent += pml_event_parse(&ev, name) == PML_ENOEVENT && strstr(pml_error_detail(PML_ENOEVENT), "no event");
  }
  CHECK(absent == 2, "a wrong event of an absent PMU is a wrong event, not a wrong PMU");
  CHECK(encodes("skx::L2_RQSTS:MISS:uk", PERF_TYPE_RAW, 0x3f24) && !ev.first.attr.exclude_user &&
            !ev.first.attr.exclude_kernel,
        "modifiers in one word follow unit masks");
  CHECK(encodes("skx::MEM_LOAD_RETIRED:L1_MISS:upp", PERF_TYPE_RAW, 0x8d1) && ev.first.attr.precise_ip == 2 &&
            ev.first.attr.exclude_kernel,
        ":upp is libpfm4's :u:precise=2");
  CHECK(encodes("skx::L2_RQSTS:MISS:u=1", PERF_TYPE_RAW, 0x3f24) && ev.first.attr.exclude_kernel,
        "libpfm4's own modifiers follow unit masks");
  CHECK(encodes("skx::inst_retired:any_p:c=2:i", PERF_TYPE_RAW, 0x28000c0),
        "counter mask and inversion go where the CPU wants them, case aside");
  static const struct {
    const char *name;
    uint64_t config;
  } topdown[] = {{"spr::TOPDOWN:SLOTS", 0x0400},
                 {"spr::TOPDOWN:SLOTS:u", 0x0400},
                 {"spr::TOPDOWN:SLOTS_P", 0x01a4},
                 {"spr::TOPDOWN:BACKEND_BOUND_SLOTS", 0x02a4},
                 {"spr::TOPDOWN:BAD_SPEC_SLOTS", 0x04a4},
                 {"spr::topdown:bad_spec_slots:c=1:u", 0x10004a4},
                 {"spr::TOPDOWN:BR_MISPREDICT_SLOTS", 0x08a4},
                 {"spr::TOPDOWN:MEMORY_BOUND_SLOTS", 0x10a4},
                 {"icl::TOPDOWN:SLOTS", 0x0400},
                 {"icl::TOPDOWN:BR_MISPREDICT_SLOTS", 0x08a4},
                 {"icx::TOPDOWN:BACKEND_BOUND_SLOTS", 0x02a4}};
  for (size_t i = 0; i < sizeof topdown / sizeof topdown[0]; i++)
    CHECK(encodes(topdown[i].name, PERF_TYPE_RAW, topdown[i].config), "%s is 0x%04llx: %llx", topdown[i].name,
          (unsigned long long)topdown[i].config, (unsigned long long)ev.first.attr.config);
  CHECK(pml_event_parse(&ev, "skx_unc_cha0::UNC_C_CLOCKTICKS") == 0 && !ev.first.here,
        "so does an uncore event of another machine");
  CHECK(pml_event_parse(&ev, "UNC_CLK_UNHALTED") == 0 && !ev.first.here && strstr(ev.first.pmu, "unc"),
        "an event no PMU here has is found elsewhere");
  check_fails("skx::L2_RQSTS:MISS:pp", PML_ENOEVENT, "skx::L2_RQSTS:MISS:pp: this event has no precise form");
  check_fails("skx::L2_RQSTS:MISSS", PML_ENOEVENT, "skx::L2_RQSTS has no attribute \"MISSS\"; nearest: MISS");
  check_fails("skx::L2_RQSTS:u=7", PML_ESYNTAX, "skx::L2_RQSTS:u=7");
  check_fails("snb::L2_RQSTS:QQQQQQQQ", PML_ENOEVENT, "its unit masks: ");
  check_fails("skx::L2_RQST", PML_ENOEVENT, "nearest: skx::L2_RQSTS");
  check_fails("skxx::L2_RQSTS", PML_ENOEVENT, "no PMU \"skxx\"");
#else
  SKIP("libpfm4 names of x86 are known on x86 only");
#endif
}

static void *parse_many(void *arg) {
  struct pml_event mine;
  uintptr_t bad = 0;
  (void)arg;
  for (int i = 0; i < 300; i++) {
    bad += pml_event_parse(&mine, i % 2 ? "perf::CPU-CLOCK:u" : "task-clock") != 0;
    bad += mine.first.attr.type != PERF_TYPE_SOFTWARE || mine.first.attr.exclude_kernel != i % 2;
    bad += pml_event_parse(&mine, "perf::CPU-CLOK") != PML_ENOEVENT;
  }
  return (void *)bad;
}

static void threads(void) {
  pthread_t t[4];
  uintptr_t bad = 0;
  for (size_t i = 0; i < 4; i++)
    if (pthread_create(&t[i], NULL, parse_many, NULL) != 0) abort();
  for (size_t i = 0; i < 4; i++) {
    void *r;
    pthread_join(t[i], &r);
    bad += (uintptr_t)r;
  }
  CHECK(bad == 0, "four threads parse at once and each gets its own event");
}

int main(void) {
  bool set = getenv("LIBPFM_ENCODE_INACTIVE") != NULL;
  here();
  CHECK((getenv("LIBPFM_ENCODE_INACTIVE") != NULL) == set, "the environment is as it was");
  elsewhere();
  threads();
  return check_done();
}
