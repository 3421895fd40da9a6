/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_pfm.c - libpfm4's names, of PMUs that are here and of those that are not. */
#include "check.h"
#include "pml.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The codes of Intel's event files, which libpfm4 4.13 has otherwise; and their neighbours, which it has right. */
static void corrected(void) {
  static const struct {
    const char *name;
    uint64_t config, config1;
  } event[] = {{"spr::TOPDOWN:SLOTS", 0x0400, 0},
               {"spr::TOPDOWN:SLOTS:u", 0x0400, 0},
               {"spr::TOPDOWN:SLOTS_P", 0x01a4, 0},
               {"spr::TOPDOWN:BACKEND_BOUND_SLOTS", 0x02a4, 0},
               {"spr::TOPDOWN:BAD_SPEC_SLOTS", 0x04a4, 0},
               {"spr::topdown:bad_spec_slots:c=1:u", 0x10004a4, 0},
               {"spr::TOPDOWN:BR_MISPREDICT_SLOTS", 0x08a4, 0},
               {"spr::TOPDOWN:MEMORY_BOUND_SLOTS", 0x10a4, 0},
               {"icl::TOPDOWN:SLOTS", 0x0400, 0},
               {"icl::TOPDOWN:BR_MISPREDICT_SLOTS", 0x08a4, 0},
               {"icx::TOPDOWN:BACKEND_BOUND_SLOTS", 0x02a4, 0},
               {"icx::MEM_LOAD_MISC_RETIRED:UC", 0x04d4, 0},
               {"icx::MEM_LOAD_MISC_RETIRED:UC:u", 0x04d4, 0},
               {"icl::MEM_LOAD_MISC_RETIRED:UC", 0x04d4, 0},
               {"skx::UOPS_RETIRED:STALL_CYCLES", 0x018002c2, 0},
               {"clx::UOPS_RETIRED:STALL_CYCLES", 0x018002c2, 0},
               {"skl::UOPS_RETIRED:STALL_OCCURRENCES", 0x018402c2, 0},
               {"skl::UOPS_RETIRED:TOTAL_CYCLES", 0x108002c2, 0},
               {"skx::UOPS_RETIRED:RETIRE_SLOTS", 0x02c2, 0},
               {"hsw::UOPS_RETIRED:STALL_CYCLES", 0x018001c2, 0},
               {"spr::ARITH:IDIV_ACTIVE", 0x010008b0, 0},
               {"spr::ARITH:IDIV_ACTIVE:c=2", 0x020008b0, 0},
               {"spr::ARITH:INT_DIVIDER_ACTIVE", 0x010008b0, 0},
               {"spr::UOPS_RETIRED:MS", 0x04c2, 0x8},
               {"spr::uops_retired:c=1:ms:i", 0x018004c2, 0x8},
               {"spr::INT_MISC:UNKNOWN_BRANCH_CYCLES", 0x40ad, 0x7},
               {"spr::MEM_TRANS_RETIRED:STORE_SAMPLE", 0x02cd, 0},
               {"hsw::L2_RQSTS:DEMAND_DATA_RD_HIT", 0xc124, 0},
               {"hsw_ep::L2_RQSTS:RFO_HIT", 0xc224, 0},
               {"bdw::L2_RQSTS:CODE_RD_HIT", 0xc424, 0},
               {"bdw_ep::L2_RQSTS:L2_PF_HIT", 0xd024, 0},
               {"bdw_ep::L2_RQSTS:PF_MISS", 0x3024, 0},
               {"hsw::L2_RQSTS:L2_PF_MISS", 0x3024, 0},
               {"skx::L2_RQSTS:PF_MISS", 0x3824, 0},
               {"ivb::L2_RQSTS:DEMAND_DATA_RD_HIT", 0x0124, 0},
               {"ivb::MOVE_ELIMINATION:INT_ELIMINATED", 0x0158, 0},
               {"ivb_ep::MOVE_ELIMINATION:INT_NOT_ELIMINATED", 0x0458, 0},
               {"ivb_ep::MEM_LOAD_UOPS_LLC_MISS_RETIRED:LOCAL_DRAM", 0x03d3, 0},
               {"ivb::MEM_LOAD_UOPS_LLC_MISS_RETIRED:LOCAL_DRAM", 0x01d3, 0},
               {"nhm::MACRO_INSTS:FUSIONS_DECODED", 0x01a6, 0},
               {"nhm::MACRO_INSTS:DECODED", 0x01d0, 0},
               {"glm::CPU_CLK_UNHALTED:CORE_P", 0x003c, 0},
               {"glm::CPU_CLK_UNHALTED:REF", 0x013c, 0},
               {"glm::CPU_CLK_UNHALTED:REF_TSC", 0x0300, 0},
               {"atom::BOGUS_BR", 0x01e4, 0},
               {"atom::CYCLES_DIV_BUSY", 0x0114, 0},
               {"atom::HW_INT_RCV", 0x00c8, 0}};
  for (size_t i = 0; i < sizeof event / sizeof event[0]; i++)
    CHECK(encodes(event[i].name, PERF_TYPE_RAW, event[i].config) && ev.first.attr.config1 == event[i].config1,
          "%s is 0x%04llx: %llx, %llx", event[i].name, (unsigned long long)event[i].config,
          (unsigned long long)ev.first.attr.config, (unsigned long long)ev.first.attr.config1);
}

static int find_corrected(const struct pml_event_info *info, void *arg) {
  *(bool *)arg = strstr(info->description, "[code corrected: r4d4]") != NULL;
  return 0;
}

/* In a process that libpfm4 lets believe it has an Ice Lake-X. */
static int on_ice_lake(void) {
  bool listed = false;
  if (setenv("LIBPFM_FORCE_PMU", "icx", 1) != 0 || pml_event_parse(&ev, "icx::INST_RETIRED:ANY_P") != 0 ||
      pml_event_user_only() != NULL || pml_event_parse(&ev, "icx::MEM_LOAD_MISC_RETIRED:UC") != 0)
    return 1;
  const char *note = pml_event_user_only();
  if (note == NULL || strstr(note, "icx::MEM_LOAD_MISC_RETIRED:UC") == NULL || strstr(note, "r4d4") == NULL) return 2;
  if (pml_event_list("icx::MEM_LOAD_MISC_RETIRED:UC", false, find_corrected, &listed) != 0 || !listed) return 3;
  return 0;
}

static void note(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(on_ice_lake());
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0,
        "the correction is named where the PMU is here, once used and in the list: status %d", status >> 8);
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
  corrected();
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
#if defined(__x86_64__)
  note(); /* before libpfm4 is initialised here */
#endif
  here();
  CHECK((getenv("LIBPFM_ENCODE_INACTIVE") != NULL) == set, "the environment is as it was");
  elsewhere();
  threads();
  return check_done();
}
