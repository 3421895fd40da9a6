/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/event_place.c - events of packages: their names, where they are opened, what an event set of them reads. On
 * machines described in spec/data/sysfs: server has two packages of two dies; twin has two cpus and a PMU for each,
 * which is the kernel's own cpu clock, so that it really counts. Run from the repository's root.
 */
#include "check.h"
#include "pml.h"
#include "source/base/pml_event_parse.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct pml_event ev;

/* The PMUs and cpus of its parts: "amd_umc_0 0 package0". */
static bool spreads(const char *name, uint32_t first_type, uint64_t config, const char *where) {
  char text[2000] = "";
  size_t used = 0;
  uint32_t type = first_type;
  const char *last = NULL;
  if (pml_event_parse(&ev, name) != 0) {
    printf("# %s\n", pml_error_detail(PML_ENOEVENT));
    return false;
  }
  bool same = true;
  for (unsigned i = 0; i < ev.nparts; i++) {
    const struct pml_event_part part = pml_event_part(&ev, i), *p = &part;
    if (last && strcmp(last, p->pmu) != 0) type++;
    last = p->pmu;
    same &= p->attr.type == type && p->attr.config == config && p->here;
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s %d %s", i ? ", " : "", p->pmu, p->cpu_any, p->place);
  }
  if (strcmp(text, where) != 0) printf("# %s: %s\n", name, text);
  return same && strcmp(text, where) == 0 && strcmp(ev.name, name) == 0;
}

/* The cpus that it is opened on, and what they stand for: "0 package0, 24 package1". */
static bool opens(const char *name, uint32_t type, uint64_t config, const char *where) {
  char text[400] = "";
  size_t used = 0;
  if (pml_event_parse(&ev, name) != 0) {
    printf("# %s\n", pml_error_detail(PML_ENOEVENT));
    return false;
  }
  bool same = true;
  for (unsigned i = 0; i < ev.nparts; i++) {
    const struct pml_event_part part = pml_event_part(&ev, i), *p = &part;
    same &= p->attr.type == type && p->attr.config == config && p->here;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %s", i ? ", " : "", p->cpu_any, p->place);
  }
  if (strcmp(text, where) != 0) printf("# %s: %s\n", name, text);
  return same && strcmp(text, where) == 0 && strcmp(ev.name, name) == 0;
}

static void check_fails(const char *name, int code, const char *says) {
  int err = pml_event_parse(&ev, name);
  CHECK(err == code && strstr(pml_error_detail(err), says), "\"%.60s\" fails with %s: %.200s", name,
        pml_error_name(err), pml_error_detail(err));
}

static void places(void) {
  CHECK(opens("power/energy-pkg/", 40, 2, "0 package0, 24 package1"), "an event of packages is of all of them");
  CHECK(strcmp(ev.unit, "Joules") == 0 && ev.scale == 0x1p-32, "with unit and scale");
  CHECK(opens("power/energy-pkg/:package1", 40, 2, "24 package1") && strcmp(ev.unit, "Joules") == 0,
        "or of the one that is named");
  CHECK(opens("uncore_imc_0/cas_count_read/:package1", 14, 0x304, "24 package1:die0, 36 package1:die1"),
        "a package of two dies is both of them");
  CHECK(opens("uncore_imc_1/cas_count_read/:package1:die1", 15, 0x304, "36 package1:die1"), "or one of them");
  CHECK(opens("uncore_imc_1/event=4,umask=0xc/:package0:die0", 15, 0xc04, "0 package0:die0"), "by parameters, too");
  CHECK(opens("uncore_imc_0/cas_count_read/:cpu12", 14, 0x304, "12 package0:die1"), "a place may be a cpu");
  CHECK(opens("amd_l3/misses/:package0", 41, 4, "0 cpu0, 1 cpu1"), "where a die has several, each is a cpu");
  CHECK(opens("far/x/", 43, 1, "7 cpu7"), "and where the kernel says nothing of the cpu");
  CHECK(opens("cpu/cpu-cycles/", 4, 0x3c, "-1 "), "a PMU that counts threads has no places");
}

static void families(void) {
  CHECK(spreads("uncore_imc_*/cas_count_read/:package1", 14, 0x304,
                "uncore_imc_0 24 package1:die0, uncore_imc_0 36 package1:die1, uncore_imc_1 24 package1:die0, "
                "uncore_imc_1 36 package1:die1") &&
            strcmp(ev.unit, "MiB") == 0 && ev.scale == 6.103515625e-5,
        "PMUs that differ in their number alone are one event, each of its own type, in the unit of all");
  check_fails("uncore_imc_*/nosuch/", PML_ENOEVENT, "PMU uncore_imc_0 has no event or parameter \"nosuch\"");
  check_fails("uncore_imc_*/event=4/:package2", PML_ENOEVENT, " only");
  check_fails("uncore_r3qpi_*/umask=1/", PML_ENOEVENT, "PMU uncore_r3qpi_1 has no");
  check_fails("uncore_*/event=1/", PML_ENOEVENT, "no PMU \"uncore_*\"");
  check_fails("*/event=1/", PML_ENOEVENT, "no PMU");
  check_fails("_*/event=1/", PML_ENOEVENT, "no PMU");
  check_fails("uncore_imc*/event=1/", PML_ENOEVENT, "no PMU");
}

/* The parts of many channels, in the order of their numbers; those that count something else are not among them. */
static void channels(void) {
  if (!CHECK(pml_event_set_sysfs("spec/data/sysfs/icelake") == 0, "a machine of twelve channels is described")) return;
  CHECK(pml_event_parse(&ev, "uncore_imc_*/event=0x04,umask=0x0f/") == 0 && ev.nparts == 24,
        "all channels of all packages");
  struct pml_event_part third = pml_event_part(&ev, 4), last = pml_event_part(&ev, 23);
  CHECK(strcmp(third.pmu, "uncore_imc_2") == 0 && third.attr.type == 22 && third.cpu_any == 0, "2 comes before 10");
  CHECK(strcmp(last.pmu, "uncore_imc_11") == 0 && last.attr.type == 31 && last.cpu_any == 40 &&
            last.attr.config == 0xf04 && strcmp(last.place, "package1") == 0,
        "and the last is the last");
  if (!CHECK(pml_event_set_sysfs("spec/data/sysfs/zen5") == 0,
             "a machine is described whose PMUs are each of a package"))
    return;
  CHECK(spreads("amd_umc_*/event=0x0a,rdwrmask=2/", 20, 0x20a,
                "amd_umc_0 0 package0, amd_umc_1 0 package0, amd_umc_2 64 package1, amd_umc_3 64 package1"),
        "each is on the cpus of its own mask");
  CHECK(spreads("amd_umc_*/event=0x0a,rdwrmask=1/:package1", 22, 0x10a, "amd_umc_2 64 package1, amd_umc_3 64 package1"),
        "of one package, those that count there");
  if (!CHECK(pml_event_set_sysfs("spec/data/sysfs/desktop") == 0, "a machine whose PMUs are not alike")) return;
  check_fails("unlike_*/event=1/", PML_EFORMAT, "unlike_* are not alike: unlike_1 encodes \"event=1\" otherwise");
}

static void libpfm_names(void) {
  CHECK(opens("skx_unc_imc0::UNC_M_CAS_COUNT:RD:package0", 14, 0x304, "0 package0:die0, 12 package0:die1"),
        "libpfm4's name of a memory controller");
  CHECK(opens("hswep_unc_cbo0::UNC_C_CLOCKTICKS:package1", 30, 0, "24 package1"), "of a cache box");
  CHECK(opens("hswep_unc_ubo::UNC_U_EVENT_MSG", 31, 0x842, "0 package0, 24 package1"), "of a box that has no number");
  CHECK(opens("hswep_unc_r3qpi1::UNC_R3_CLOCKTICKS", 32, 1, "0 package0, 24 package1"),
        "with a number inside its name");
  CHECK(opens("rapl::RAPL_ENERGY_PKG:package1", 40, 2, "24 package1"), "of energy");
  CHECK(pml_event_parse(&ev, "amd64_fam19h_zen3_l3::UNC_L3_REQUESTS:ALL:package1") == 0 && ev.nparts == 2 &&
            ev.first.attr.type == 41 && pml_event_part(&ev, 1).cpu_any == 25,
        "and of caches of several in a package");
  CHECK(pml_event_parse(&ev, "skx_unc_imc5::UNC_M_CAS_COUNT:RD") == 0 && !ev.first.here,
        "a controller that the machine lacks is not there");
  check_fails("skx_unc_imc5::UNC_M_CAS_COUNT:RD:package0", PML_ESYNTAX, "does not count by package");
}

static void wrong(void) {
  check_fails("power/energy-pkg/:package2", PML_ENOEVENT, "power counts at package0, package1 only");
  check_fails("power/energy-pkg/:package0:die1", PML_ENOEVENT, " only");
  check_fails("power/energy-pkg/:cpu3", PML_ENOEVENT, " only");
  check_fails("power/energy-pkg/:die0", PML_ESYNTAX, "\"die0\" is not a modifier");
  check_fails("power/energy-pkg/:package", PML_ESYNTAX, "is not a modifier");
  check_fails("power/energy-pkg/:package0x1", PML_ESYNTAX, "is not a modifier");
  check_fails("power/energy-pkg/:package99999999999999999999", PML_ESYNTAX, "is not a modifier");
  check_fails("power/energy-pkg/:package0:package1", PML_ESYNTAX, "is not a modifier");
  check_fails("cpu/cpu-cycles/:package0", PML_ESYNTAX, "does not count by package");
  check_fails("task-clock:package0", PML_ESYNTAX, "does not count by package");
  check_fails("cstate_core/c3-residency/", PML_ETOOMANY, "more than 64 places; choose one");
}

/* --- the list --- */

struct seen {
  const char *name, *says;
  bool found;
};

static int look(const struct pml_event_info *info, void *arg) {
  struct seen *s = arg;
  if (strcmp(info->name, s->name) == 0) s->found = strstr(info->description, s->says) != NULL;
  return 0;
}

/* Names are kept: a visitor must not parse. */
struct names {
  size_t n;
  char name[64][PML_EVENT_NAME_MAX];
};

static int keep(const struct pml_event_info *info, void *arg) {
  struct names *all = arg;
  if (strcmp(info->source, "sysfs") == 0 && all->n < 64) strcpy(all->name[all->n++], info->name);
  return 0;
}

static void rows_parse(void) {
  static struct names all;
  size_t wrong = 0;
  CHECK(pml_event_list("/", false, keep, &all) == 0 && all.n > 20, "%zu events and places are listed", all.n);
  for (size_t i = 0; i < all.n; i++) wrong += pml_event_parse(&ev, all.name[i]) != 0;
  CHECK(wrong == 0, "and every one of them parses as it stands");
}

static void check_listed(const char *name, const char *says) {
  struct seen s = {.name = name, .says = says};
  CHECK(pml_event_list("/", false, look, &s) == 0 && s.found, "%s is listed: %s", name, says);
}

static void listed(void) {
  check_listed("power/energy-pkg/", "in Joules; the sum of :package0, :package1");
  check_listed("power/energy-pkg/:package1", "in Joules");
  check_listed("uncore_imc_0/cas_count_read/:package1:die0", "in MiB");
  check_listed("cstate_core/c3-residency/:package0", "event=0x01");
  check_listed("cstate_core/c3-residency/:package0:die1", "event=0x01");
  rows_parse();
}

/* --- an event set --- */

static void burn(void) {
  for (volatile unsigned i = 0; i < 20000000;) i = i + 1;
}

static void counted(void) {
  const char *names[] = {"node/cpu-clock/", "node/cpu-clock/:package0", "node/cpu-clock/:package1", "task-clock"};
  struct pml_eventset *set;
  struct pml_eventset_event info;
  struct pml_reading r[2], all[4];
  uint64_t v[4];
  const char *part;
  int err = pml_eventset_open(&set, names, 4, NULL);
  if (err < 0) {
    SKIP(pml_error_detail(err));
    return;
  }
  pml_eventset_start(set);
  burn();
  CHECK(pml_eventset_stop(set, v) == 0 && v[1] > 0 && v[2] > 0, "each package counts what happens in it");
  CHECK(v[3] > 0 && v[1] + v[2] > v[3], "that is more than what this thread does");
  CHECK(pml_eventset_readings(set, all) == 0 && pml_eventset_part(set, 0, 0, &part, &r[0]) == 0 &&
            strcmp(part, "node:package0") == 0,
        "a part has its package's name");
  CHECK(pml_eventset_part(set, 0, 1, &part, &r[1]) == 0 && strcmp(part, "node:package1") == 0 &&
            r[0].raw + r[1].raw == all[0].raw && all[0].raw == v[0] &&
            pml_eventset_part(set, 0, 2, &part, &r[1]) == -ENOENT,
        "the host is the sum of its packages");
  CHECK(pml_eventset_event(set, 2, &info) == 0 && strcmp(info.name, "node/cpu-clock/:package1") == 0 &&
            strcmp(info.unit, "ns") == 0 && info.nparts == 1 && info.path == PML_PATH_READ && info.why[0] != 0,
        "an event keeps its package in its name, and is read by the kernel");
  pml_eventset_close(set);
}

/* Two PMUs that are the cpu clock of a cpu each: their sum is what both count. */
static void family_counted(void) {
  const char *names[] = {"half_*/event=0/", "half_0/event=0/", "half_1/event=0/"};
  struct pml_eventset *set;
  struct pml_reading r;
  uint64_t v[3];
  const char *part;
  int err = pml_eventset_open(&set, names, 3, NULL);
  if (err < 0) {
    SKIP(pml_error_detail(err));
    return;
  }
  pml_eventset_start(set);
  burn();
  CHECK(pml_eventset_stop(set, v) == 0 && v[1] > 0 && v[2] > 0 && v[0] > v[1] && v[0] > v[2],
        "a family counts what its PMUs do");
  CHECK(pml_eventset_part(set, 0, 0, &part, &r) == 0 && strcmp(part, "half_0:package0") == 0 && r.raw < v[0],
        "a part has its PMU's name");
  CHECK(pml_eventset_part(set, 0, 1, &part, &r) == 0 && strcmp(part, "half_1:package1") == 0, "and the other its own");
  pml_eventset_close(set);
}

/* Units of the kernel, of events that count at packages. */
static void scaled(void) {
  static const struct {
    const char *name, *unit;
    double scale;
    bool binary;
    int64_t exponent;
  } all[] = {{"node/energy/:package0", "Joules", 0x1p-32, true, -32}, {"node/odd/", "MiB", 0.75, false, 0}};
  struct pml_eventset *set;
  struct pml_eventset_event info;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    int err = pml_eventset_open(&set, &all[i].name, 1, NULL);
    if (err < 0) {
      SKIP(pml_error_detail(err));
      continue;
    }
    CHECK(pml_eventset_event(set, 0, &info) == 0 && strcmp(info.unit, all[i].unit) == 0 && info.scale == all[i].scale &&
              info.binary == all[i].binary && info.exponent == all[i].exponent,
          "%s is in units of %s times %g, a power where it is one", all[i].name, all[i].unit, all[i].scale);
    pml_eventset_close(set);
  }
}

static void too_many(void) {
  const char *names[PML_EVENTSET_MAX];
  struct pml_eventset *set;
  for (size_t i = 0; i < PML_EVENTSET_MAX; i++) names[i] = "many/x/";
  CHECK(pml_eventset_open(&set, names, PML_EVENTSET_MAX, NULL) == PML_ETOOMANY &&
            strstr(pml_error_detail(PML_ETOOMANY), "name fewer places"),
        "a set of more counters than there is room for is refused: %s", pml_error_detail(PML_ETOOMANY));
}

int main(void) {
  CHECK(pml_event_set_sysfs("spec/data/sysfs/server") == 0, "a machine of two packages is described");
  places();
#ifdef __x86_64__
  libpfm_names();
#else
  (void)libpfm_names;
  SKIP("names of x86 PMUs: a libpfm4 for this architecture knows none");
#endif
  wrong();
  listed();
  too_many();
  families();
  channels();
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
    SKIP("a machine with two cpus is needed to count at two places");
  else if (CHECK(pml_event_set_sysfs("spec/data/sysfs/twin") == 0, "a machine that really counts")) {
    counted();
    family_counted();
    scaled();
  }
  CHECK(pml_event_set_sysfs(NULL) == 0, "and /sys comes back");
  return check_done();
}
