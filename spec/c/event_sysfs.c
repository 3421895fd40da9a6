/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_sysfs.c - pmu/event/ names, on machines described in spec/data/sysfs. Run from the repository's root. */
#include "check.h"
#include "pml.h"
#include "source/kernel/event/pml_event_parsers.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

static struct pml_event ev;

static const struct perf_event_attr *attr(void) {
  return &ev.first.attr;
}

static bool encodes(const char *name, uint32_t type, uint64_t c, uint64_t c1, uint64_t c2) {
  return pml_event_parse(&ev, name) == 0 && ev.nparts == 1 && attr()->type == type && attr()->config == c &&
         attr()->config1 == c1 && attr()->config2 == c2;
}

static void check_fails(const char *name, int code, const char *says) {
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name,
        pml_error_name(err), pml_error_detail(err));
}

static void formats(void) {
  struct pml__format f;
  uint64_t word = UINT64_MAX;
  CHECK(pml__format_parse(&f, "config1:0-7,32-35") && f.word == 1 && f.bits == 12 &&
            pml__format_put(&f, &word, 0xabc) && word == 0xfffffffaffffffbc,
        "a value is spread over its ranges, lowest bits first, and other bits stay");
  CHECK(pml__format_parse(&f, "config:0-63") && pml__format_put(&f, &word, 0) && word == 0, "64 bits are one range");
  CHECK(pml__format_parse(&f, "config2:5") && !pml__format_put(&f, &word, 2), "one bit does not hold 2");
  static const char *const bad[] = {
      "",           "config",      "config:",   "config:-1",   "config:1-",
      "config:7-0", "config:0-64", "config4:0", "config:0,",   "config:0-31,32-63,0",
      "config:000", "config:1 2",  "konfig:1",  "config:\xff", "config:0,1,2,3,4,5,6,7,8"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(!pml__format_parse(&f, bad[i]), "\"%s\" is no format", bad[i]);
}

static void core_pmu(void) {
  CHECK(encodes("cpu/cpu-cycles/", 4, 0x3c, 0, 0) && attr()->exclude_hv && strcmp(ev.first.pmu, "cpu") == 0,
        "an event by its name");
  CHECK(encodes("cpu/event=0x3c,umask=1/", 4, 0x13c, 0, 0), "an event by its parameters");
  CHECK(encodes("cpu/event=0xf3c/", 4, 0xf0000003c, 0, 0), "a parameter in two ranges of bits");
  CHECK(encodes("cpu/event=60,edge,cmask=255/", 4, 0xff04003c, 0, 0), "decimal numbers, and flags without a value");
  CHECK(encodes("cpu/mem-loads/", 4, 0x1cd, 3, 0), "an event with bits in config1");
  CHECK(encodes("cpu/mem-loads,ldlat=30/", 4, 0x1cd, 30, 0), "the user's parameter wins over the event's");
  CHECK(encodes("cpu/ldlat=30,mem-loads/", 4, 0x1cd, 30, 0), "wherever it stands");
  CHECK(encodes("cpu/event=1,frontend=0xfffff,offcore_rsp=0xffffffffffffffff/", 4, 1, UINT64_MAX, 0xfffff),
        "config2 and all of config1");
  CHECK(encodes("cpu/config=0x1ff,config1=2,config2=3/", 4, 0x1ff, 2, 3), "whole words");
  CHECK(encodes("cpu/l3-slice,umask=3,cmask=7/", 4, 0x10700032e, 0, 0), "parameters an event leaves open");
  CHECK(encodes("cpu/cpu-cycles/u", 4, 0x3c, 0, 0) && attr()->exclude_kernel, "modifiers as perf writes them");
  CHECK(encodes("cpu/cpu-cycles/:uk", 4, 0x3c, 0, 0) && !attr()->exclude_kernel, "and after a colon");
  CHECK(encodes("cpu/slots/", 4, 0x100, 0, 0) && ev.scale == 2 && !*ev.unit, "a scale without a unit");
  CHECK(encodes("cycles", PERF_TYPE_HARDWARE, 0, 0, 0) && strcmp(ev.first.pmu, "cpu") == 0,
        "one core PMU needs no extended type");
}

static void uncore(void) {
  CHECK(encodes("uncore_imc_0/cas_count_read/:cpu22", 14, 0x304, 0, 0) && strcmp(ev.unit, "MiB") == 0 &&
            ev.scale == 6.103515625e-5,
        "unit and scale of an uncore event");
  CHECK(ev.first.cpu_any == 22 && !attr()->exclude_hv && !attr()->exclude_guest,
        "a cpu of its cpumask; nothing is excluded: such PMUs refuse that");
  CHECK(encodes("power/energy-pkg/", 20, 2, 0, 0) && strcmp(ev.unit, "Joules") == 0 && ev.scale == 0x1p-32 &&
            ev.first.cpu_any == 0,
        "energy in Joules");
}

/* The kernel writes a point into .scale whatever the program's locale is. */
static void comma(void) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR", "es_ES.UTF-8", "it_IT.UTF-8"};
  bool set = false;
  for (size_t i = 0; i < sizeof locales / sizeof *locales && !set; i++) set = setlocale(LC_NUMERIC, locales[i]) != NULL;
  if (set)
    CHECK(pml_event_parse(&ev, "power/energy-pkg/") == 0 && ev.scale == 0x1p-32, "a decimal comma changes no scale");
  else
    SKIP("no locale with a decimal comma is installed (apt-get install locales-all)");
  (void)setlocale(LC_NUMERIC, "C");
}

static void wrong(void) {
  check_fails("cpu/cpu-cyles/", PML_ENOEVENT, "nearest: cpu-cycles");
  check_fails("cpu/umsk=1/", PML_ENOEVENT, "nearest: umask");
  check_fails("cpu/umask=256/", PML_ESYNTAX, "does not fit its 8 bits");
  check_fails("cpu/umask=0x/", PML_ESYNTAX, "not a number");
  check_fails("cpu/umask=/", PML_ESYNTAX, "has no value");
  check_fails("cpu/umask=0x10000000000000000/", PML_ESYNTAX, "not a number");
  check_fails("cpu/l3-slice,umask=3/", PML_ESYNTAX, "needs a value for cmask");
  check_fails("cpu/,/", PML_ESYNTAX, "empty");
  check_fails("cpu//", PML_ESYNTAX, "pmu/event/");
  check_fails("cpu/cpu-cycles", PML_ESYNTAX, "pmu/event/");
  check_fails("/cpu-cycles/", PML_ESYNTAX, "pmu/event/");
  check_fails("cpu/cpu-cycles/q", PML_ESYNTAX, "\"q\" is not a modifier");
  check_fails("cpu/slots.scale/", PML_ENOEVENT, "no event or parameter");
  check_fails("cpu/../power/events/energy-pkg/", PML_ENOEVENT, "no event or parameter");
  check_fails("../type/", PML_ENOEVENT, "no PMU");
  check_fails("gpu/busy/", PML_ENOEVENT, "this machine has broken, cpu, power");
  check_fails("typeless/x/", PML_EFORMAT, "type");
  check_fails("broken/backwards=1/", PML_EFORMAT, "config:9-3");
  check_fails("broken/beyond=1/", PML_EFORMAT, "config:60-64");
  check_fails("broken/open=1/", PML_EFORMAT, "config:0-");
  check_fails("broken/word=1/", PML_EFORMAT, "config7:0-3");
  check_fails("broken/noformat/", PML_ENOEVENT, "nosuch");
  check_fails("broken/halved/", PML_EFORMAT, "malformed");
  check_fails("broken/notanumber/", PML_ESYNTAX, "not a number");
  check_fails("broken/badscale/", PML_EFORMAT, "\"1,5\", not a number");
  CHECK(encodes("broken/good=1/", 21, 1, 0, 0) && ev.first.cpu_any == -1, "what is not broken works");
}

static void hybrid(void) {
  CHECK(pml_event_parse(&ev, "instructions:u") == 0 && ev.nparts == 2, "a generic event has a part per core PMU");
  CHECK(strcmp(ev.first.pmu, "cpu_atom") == 0 && ev.first.attr.config == (UINT64_C(10) << 32 | 1) &&
            ev.first.attr.type == PERF_TYPE_HARDWARE && ev.first.attr.exclude_kernel,
        "the small cores by their extended type");
  CHECK(strcmp(pml_event_part(&ev, 1).pmu, "cpu_core") == 0 &&
            pml_event_part(&ev, 1).attr.config == (UINT64_C(4) << 32 | 1) && pml_event_part(&ev, 1).attr.exclude_kernel,
        "and the big ones");
  CHECK(pml_event_parse(&ev, "LLC-load-misses") == 0 && ev.nparts == 2 &&
            ev.first.attr.config == (UINT64_C(10) << 32 | 0x10002) && ev.first.attr.type == PERF_TYPE_HW_CACHE,
        "cache events too");
  CHECK(pml_event_parse(&ev, "r1c0") == 0 && ev.nparts == 2 && ev.first.attr.type == 10 &&
            pml_event_part(&ev, 1).attr.type == 4 && ev.first.attr.config == 0x1c0,
        "raw codes go to each PMU by its own type");
  CHECK(pml_event_parse(&ev, "perf::CYCLES:u") == 0 && ev.nparts == 2 && ev.first.attr.config == UINT64_C(10) << 32 &&
            pml_event_part(&ev, 1).attr.exclude_kernel,
        "and so do libpfm4's names of generic events");
  CHECK(encodes("cpu_atom/cpu-cycles/", 10, 0x3c, 0, 0) && attr()->exclude_hv && ev.first.cpu_any == -1,
        "the PMU's own name picks one");
  CHECK(pml_event_parse(&ev, "task-clock") == 0 && ev.nparts == 1, "software events have one part");
}

int main(void) {
  formats();
  CHECK(pml_event_set_sysfs("spec/data/sysfs/desktop") == 0, "the described machine is found");
  core_pmu();
  uncore();
  comma();
  wrong();
  CHECK(pml_event_set_sysfs("spec/data/sysfs/hybrid") == 0, "another machine takes its place at once");
  hybrid();
  CHECK(pml_event_set_sysfs("spec/data/nosuch") == -ENOENT, "a folder that is not there is refused");
  CHECK(pml_event_set_sysfs(NULL) == 0 && pml_event_parse(&ev, "uncore_clock/clockticks/") == PML_ENOEVENT,
        "and /sys comes back");
  return check_done();
}
