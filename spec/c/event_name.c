/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_name.c - clocks, generic names, raw codes, modifiers, and the answers to wrong names. */
#include "check.h"
#include "pml.h"

#include <errno.h>
#include <string.h>

static struct pml_event ev;

static const struct perf_event_attr *attr(void) {
  return &ev.first.attr;
}

static bool encodes(const char *name, uint32_t type, uint64_t config) {
  return pml_event_parse(&ev, name) == 0 && ev.nparts == 1 && attr()->type == type && attr()->config == config &&
         attr()->size == sizeof(struct perf_event_attr) && ev.scale == 1 && strcmp(ev.name, name) == 0;
}

static bool excludes(const char *name, bool user, bool kernel, bool hyper) {
  return pml_event_parse(&ev, name) == 0 && attr()->exclude_user == user && attr()->exclude_kernel == kernel &&
         attr()->exclude_hv == hyper;
}

static void check_fails(const char *name, int code, const char *says) {
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name ? name : "NULL",
        pml_error_name(err), pml_error_detail(err));
}

static void clocks(void) {
  CHECK(pml_event_parse(&ev, "clock::ticks") == 0 && strcmp(pml_event_source(ev.name), "clock") == 0 &&
            ev.nparts == 0 && ev.nparts == 0 && strcmp(ev.unit, "ticks") == 0,
        "clock::ticks is the clock in ticks");
  CHECK(pml_event_parse(&ev, "clock::ns") == 0 && strcmp(pml_event_source(ev.name), "clock") == 0 && ev.nparts == 0 &&
            strcmp(ev.unit, "ns") == 0,
        "clock::ns is the clock in ns");
  check_fails("clok::ns", PML_ENOEVENT, "nearest: clock::");
  check_fails("sde::LIB::EVENT", PML_ENOEVENT, "nearest: sde:::");
  check_fails("clock::seconds", PML_ENOEVENT, "clock::ns");
  check_fails("clock::ns:u", PML_ENOEVENT, "without modifiers");
}

static void generic(void) {
  CHECK(encodes("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), "cycles is a hardware event");
  CHECK(encodes("cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), "cpu-cycles is its other name");
  CHECK(encodes("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES), "branch-misses is a hardware event");
  CHECK(encodes("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), "page-faults is a software event");
  CHECK(encodes("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES), "cs is context-switches");
  CHECK(encodes("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) && strcmp(ev.unit, "ns") == 0,
        "task-clock counts ns");
  CHECK(encodes("r1c0", PERF_TYPE_RAW, 0x1c0), "r1c0 is the raw code 0x1c0");
  CHECK(encodes("rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX), "a raw code may have 64 bits");
  check_fails("r10000000000000000", PML_ESYNTAX, "64 bits");
}

static void caches(void) {
  CHECK(encodes("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000), "L1-dcache-load-misses");
  CHECK(encodes("L1-dcache-stores", PERF_TYPE_HW_CACHE, 0x100), "L1-dcache-stores");
  CHECK(encodes("L1-icache-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10201), "L1-icache-prefetch-misses");
  CHECK(encodes("LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102), "LLC-store-misses");
  CHECK(encodes("dTLB-prefetches", PERF_TYPE_HW_CACHE, 0x203), "dTLB-prefetches");
  CHECK(encodes("iTLB-load-misses", PERF_TYPE_HW_CACHE, 0x10004), "iTLB-load-misses");
  CHECK(encodes("branch-loads", PERF_TYPE_HW_CACHE, 0x5), "branch-loads");
  CHECK(encodes("node-load-misses", PERF_TYPE_HW_CACHE, 0x10006), "node-load-misses");
  CHECK(encodes("l1d-misses", PERF_TYPE_HW_CACHE, 0x10000), "perf's short spellings are taken");
  check_fails("iTLB-stores", PML_ENOEVENT, "nearest");
  check_fails("L1-dcache-loads-", PML_ENOEVENT, "L1-dcache-loads");
  check_fails("L1-dcache", PML_ENOEVENT, "no event");
}

static void modifiers(void) {
  CHECK(excludes("cycles", false, false, true), "no modifier excludes the hypervisor only");
  CHECK(attr()->exclude_guest == 1, "a core event leaves out guests");
  CHECK(excludes("cycles:u", false, true, true), ":u leaves user space");
  CHECK(excludes("cycles:k", true, false, true), ":k leaves the kernel");
  CHECK(excludes("cycles:uk", false, false, true), ":uk leaves both");
  CHECK(excludes("cycles:hku", false, false, false), "the order of modifiers does not matter");
  CHECK(excludes("page-faults:u", false, true, true), "software events take modifiers");
  CHECK(excludes("page-faults", false, false, false), "software events exclude nothing");
  CHECK(excludes("cycles:pp", false, false, true) && attr()->precise_ip == 2, ":pp is precise, of user and kernel");
  CHECK(excludes("cycles:ppup", false, true, true) && attr()->precise_ip == 3, "it goes with others");
  CHECK(excludes("r3c:p", false, false, true) && attr()->precise_ip == 1, "raw codes may be precise");
  CHECK(excludes("cycles:u", false, true, true) && attr()->precise_ip == 0, "nothing is precise by itself");
  CHECK(pml_event_parse(&ev, "cycles:pppp") < 0, "more than :ppp there is not");
  CHECK(pml_event_parse(&ev, "task-clock:p") == PML_ESYNTAX, "software has no precise events");
  CHECK(pml_event_parse(&ev, "mem:main:x:p") == PML_ESYNTAX, "nor have breakpoints");
  CHECK(excludes("r3c:u", false, true, true), "raw codes take modifiers");
  check_fails("cycles:uu", PML_ENOEVENT, "cycles");
  check_fails("cycles:q", PML_ENOEVENT, "no attribute \"q\"");
}

static void wrong(void) {
  char longest[PML_EVENT_NAME_MAX + 8];
  memset(longest, 'a', sizeof longest);
  longest[PML_EVENT_NAME_MAX] = '\0';
  check_fails(longest, -ENAMETOOLONG, "longer than 255");
  longest[PML_EVENT_NAME_MAX - 1] = '\0';
  check_fails(longest, PML_ENOEVENT, "no event");
  check_fails(NULL, PML_ESYNTAX, "empty");
  check_fails("", PML_ESYNTAX, "empty");
  check_fails("cycles\n", PML_ESYNTAX, "control character 0x0a at byte 7");
  check_fails("cylces", PML_ENOEVENT, "nearest: cycles");
  check_fails("instuctions:u", PML_ENOEVENT, "nearest: instructions");
  check_fails("TASK-CLOK", PML_ENOEVENT, "task-clock");
  check_fails(":", PML_ENOEVENT, "no event");
  check_fails("::", PML_ENOEVENT, "no PMU");
  check_fails("\xff\xfe", PML_ENOEVENT, "no event");
}

int main(void) {
  clocks();
  generic();
  caches();
  modifiers();
  wrong();
  return check_done();
}
