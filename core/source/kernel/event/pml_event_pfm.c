/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_pfm.c - libpfm4: loading, encoding of its names, and errors. */
#include "source/kernel/event/pml_event_pfm.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "source/kernel/event/pml_event_sysfs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIBRARY "libpfm.so.4"

static struct pml__libpfm pfm;
static bool loaded;

static void load(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  bool all = library != NULL;
#define GET(name) all = all && (*(void **)&pfm.name = dlsym(library, "pfm_" #name)) != NULL;
  PML__LIBPFM_LIST(GET)
#undef GET
  loaded = all;
}

const struct pml__libpfm *pml__libpfm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, load);
  if (!loaded)
    pml_error_note(PML_ENOTHERE, __func__,
                   LIBRARY ", which lists the events of PMUs, is not installed (Debian: libpfm4)");
  return loaded ? &pfm : NULL;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:=."

static struct pml__lock pfm_lock;
const struct pml__libpfm *pml__pfm;

/*
 * The variable makes libpfm4 encode events of PMUs that are not here; it is read once, by pfm_initialize(), and the
 * caller's environment is as before afterwards.
 */
static int initialize(void) {
  const char *var = "LIBPFM_ENCODE_INACTIVE";
  bool set = secure_getenv(var) != NULL;
  if (!set) (void)setenv(var, "1", 1);
  int r = pml__pfm->initialize();
  if (!set) (void)unsetenv(var);
  return r;
}

bool pml__pfm_lock(void) {
  static int state = 1; /* 1: not tried yet, else what libpfm4 said */
  pml__lock_take(&pfm_lock);
  if (state == 1 && (pml__pfm = pml__libpfm()) == NULL) state = PFM_ERR_NOTSUPP;
  if (state == 1) state = initialize();
  if (state == PFM_SUCCESS) return true;
  pml__lock_leave(&pfm_lock);
  return false;
}

void pml__pfm_unlock(void) {
  pml__lock_leave(&pfm_lock);
}

bool pml__pfm_pmu(int i, pfm_pmu_info_t *pmu) {
  memset(pmu, 0, sizeof *pmu);
  pmu->size = sizeof *pmu;
  return pml__pfm->get_pmu_info((pfm_pmu_t)i, pmu) == PFM_SUCCESS;
}

/* An uncore PMU that is not here has no perf type to be encoded for: take the codes its registers want. */
static int encode_absent(const char *name, struct pml__pfm_encoding *e) {
  uint64_t codes[3] = {0};
  char *full = NULL;
  pfm_pmu_encode_arg_t arg = {.codes = codes, .count = 3, .fstr = &full, .size = sizeof arg};
  int r = pml__pfm->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_NONE, &arg);
  if (r != PFM_SUCCESS) return r;
  e->attr.type = PML__TYPE_NONE;
  e->attr.config = codes[0];
  e->attr.config1 = codes[1];
  e->attr.config2 = codes[2];
  e->idx = arg.idx;
  if (full != NULL) e->corrected = pml__pfm_correct(full, &e->attr);
  free(full);
  return r;
}

int pml__pfm_encode(const char *name, struct pml__pfm_encoding *e) {
  memset(e, 0, sizeof *e);
  char *full = NULL; /* made by libpfm4 where it succeeds; ours to free */
  pfm_perf_encode_arg_t arg = {.attr = &e->attr, .fstr = &full, .size = sizeof arg};
  int r = pml__pfm->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
  e->idx = arg.idx;
  e->cpu = arg.cpu;
  if (r == PFM_SUCCESS && full != NULL) e->corrected = pml__pfm_correct(full, &e->attr);
  free(full);
  if (r == PFM_ERR_NOTSUPP) {
    e->cpu = -1;
    r = encode_absent(name, e);
  }
  e->attr.size = sizeof e->attr;
  return r;
}

/* Our ":ukpp" is libpfm4's ":u:k:precise=2"; taken apart only when it does not know the suffix itself. */
static int encode_with_mods(const char *name, struct pml__pfm_encoding *e) {
  int r = pml__pfm_encode(name, e);
  struct pml__mods m;
  char base[PML_EVENT_NAME_MAX], full[PML_EVENT_NAME_MAX + 20], precise[12] = "";
  pml__mods_split(&m, base, name);
  if (r != PFM_ERR_ATTR || (!m.any && m.precise == 0)) return r;
  if (m.precise > 0) (void)snprintf(precise, sizeof precise, ":precise=%u", m.precise & 3);
  (void)snprintf(full, sizeof full, "%s%s%s%s%s", base, m.user ? ":u" : "", m.kernel ? ":k" : "", m.hyper ? ":h" : "",
                 precise);
  return pml__pfm_encode(full, e);
}

/* A name without a PMU that none of this machine's PMUs has: the first PMU elsewhere that has it. */
static int encode_anywhere(const char *name, struct pml__pfm_encoding *e) {
  pfm_pmu_info_t pmu;
  char full[PML_EVENT_NAME_MAX];
  int worst = PFM_ERR_NOTFOUND;
  for (int i = 0; i < PFM_PMU_MAX; i++) {
    if (!pml__pfm_pmu(i, &pmu) || pmu.is_present || strcmp(pmu.name, "perf_raw") == 0) continue;
    if ((size_t)snprintf(full, sizeof full, "%s::%s", pmu.name, name) >= sizeof full) continue;
    int r = encode_with_mods(full, e);
    if (r == PFM_SUCCESS) return r;
    if (r != PFM_ERR_NOTFOUND) worst = r;
  }
  return worst;
}

/* libpfm4 finds PMUs in /sys by names that it does not export: "skx_unc_imc0" is the kernel's "uncore_imc_0". */
static bool find_described(const char *name, uint32_t *type) {
  static const struct {
    const char *part, *kernel;
  } other[] = {{"rapl", "power"}, {"_l3", "amd_l3"}, {"_nb", "amd_nb"}},
    odd[] = {{"cbo", "cbox_"}, {"sbo", "sbox_"}, {"ubo", "ubox"}};
  const char *unit = strstr(name, "_unc_");
  char pmu[64];
  for (size_t i = 0; !unit && i < sizeof other / sizeof *other; i++)
    if (strstr(name, other[i].part)) return pml__sysfs_type(other[i].kernel, type) == 0;
  if (!unit) return false;
  unit += strlen("_unc_");
  size_t n = strcspn(unit, "0123456789");
  if (strncmp(unit, "r2", 2) == 0 || strncmp(unit, "r3", 2) == 0 || strncmp(unit, "m2", 2) == 0 ||
      strncmp(unit, "m3", 2) == 0)
    n = 2 + strcspn(unit + 2, "0123456789");
  (void)snprintf(pmu, sizeof pmu, "uncore_%.*s%s%s", (int)n, unit, unit[n] ? "_" : "", unit + n);
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    if (n == 3 && strncmp(unit, odd[i].part, n) == 0)
      (void)snprintf(pmu, sizeof pmu, "uncore_%s%s", odd[i].kernel, unit + n);
  return pml__sysfs_type(pmu, type) == 0;
}

static int fill(struct pml_event *ev, const struct pml__pfm_encoding *e) {
  pfm_event_info_t info = {.size = sizeof info};
  pfm_pmu_info_t pmu;
  if (pml__pfm->get_event_info(e->idx, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS ||
      !pml__pfm_pmu((int)info.pmu, &pmu))
    return pml_fail(PML_ENOEVENT, "libpfm4 encodes \"%.200s\" but does not support its PMU%s", ev->name,
                    secure_getenv("LIBPFM_FORCE_PMU") != NULL ? "; unset LIBPFM_FORCE_PMU, which hides all others"
                                                              : "");
  struct pml_event_part *part = pml__event_first(ev, pmu.name);
  part->attr = e->attr;
  part->here = pmu.is_present && e->attr.type != PML__TYPE_NONE;
  part->cpu_any = e->cpu;
  if (!part->here && pmu.type == PFM_PMU_TYPE_UNCORE && pml__sysfs_described())
    part->here = find_described(pmu.name, &part->attr.type);
  if (e->corrected && part->here) pml__event_note(PML__NOTE_CODE, ev);
  return 0;
}

/* A generic event that libpfm4 names (perf::CYCLES) belongs to all core PMUs of a hybrid CPU, as cycles does. */
static int spread_over_hybrid(struct pml_event *ev) {
  const struct perf_event_attr *attr = &ev->first.attr;
  bool generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
  return generic && attr->config >> 32 == 0 ? pml__event_spread_over_cores(ev) : 0;
}

/* The event @full starts with, without its attributes; @rest gets the first attribute. -1: no such event. */
static int find_event(const char *full, const char **rest) {
  char head[PML_EVENT_NAME_MAX];
  pml__copy(head, sizeof head, full);
  char *sep = strstr(head, "::");
  char *colon = strchr(sep ? sep + 2 : head, ':');
  *rest = full + strlen(full);
  if (colon) {
    *colon = '\0';
    *rest = full + (colon - head) + 1;
  }
  return pml__pfm->find_event(head);
}

static bool has_attribute(const pfm_event_info_t *info, const char *s, size_t n) {
  pfm_event_attr_info_t attr;
  for (int i = 0; i < info->nattrs; i++) {
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    if (pml__pfm->get_event_attr_info(info->idx, i, PFM_OS_PERF_EVENT_EXT, &attr) != PFM_SUCCESS) continue;
    if (strlen(attr.name) == n && strncasecmp(attr.name, s, n) == 0) return true;
  }
  return false;
}

/* @wanted: whose nearest attributes are named; "" for the first unit masks there are. */
static int fail_attribute(const char *name, int nhead, const pfm_event_info_t *info, const char *wanted) {
  struct pml__nearest near = {.want = wanted};
  char text[300] = "", list[300] = "";
  for (int i = 0; i < info->nattrs; i++) {
    pfm_event_attr_info_t attr = {.size = sizeof attr};
    if (pml__pfm->get_event_attr_info(info->idx, i, PFM_OS_PERF_EVENT_EXT, &attr) != PFM_SUCCESS) continue;
    pml__nearest_offer(&near, attr.name);
    size_t used = strlen(list);
    if (attr.type == PFM_ATTR_UMASK && used + strlen(attr.name) + 3 < 100)
      (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", attr.name);
  }
  struct pml__mods m;
  if (pml__mods_parse(&m, wanted) && m.precise > 0)
    return pml_fail(PML_ENOEVENT, "%.160s: this event has no precise form; omit the p of \"%.16s\"", name, wanted);
  if (!*wanted) return pml_fail(PML_ESYNTAX, "event \"%.160s\" needs a unit mask, such as %s", name, list);
  if (near.n)
    return pml_fail(PML_ENOEVENT, "event %.*s has no attribute \"%.64s\"%s", nhead, name, wanted,
                    pml__nearest_text(&near, text, sizeof text));
  return pml_fail(PML_ENOEVENT, "event %.*s has no attribute \"%.64s\"%s%s", nhead, name, wanted,
                  *list ? "; its unit masks: " : "", list);
}

/* libpfm4 has the event, but not with these attributes. */
static int fail_encoding(const char *name, int r) {
  const char *s;
  pfm_event_info_t info = {.size = sizeof info};
  int idx = find_event(name, &s);
  if (idx < 0 || pml__pfm->get_event_info(idx, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": %s", name, pml__pfm->strerror(r));
  int nhead = (int)(s - name) - (*s != '\0');
  if (r == PFM_ERR_UMASK && !*s) return fail_attribute(name, nhead, &info, "");
  while (r == PFM_ERR_ATTR && *s) {
    size_t n = strcspn(s, ":"), key = strcspn(s, ":=");
    if (!has_attribute(&info, s, key)) {
      char wanted[PML_EVENT_NAME_MAX];
      pml__copy(wanted, key + 1 < sizeof wanted ? key + 1 : sizeof wanted, s);
      return fail_attribute(name, nhead, &info, *wanted ? wanted : ":");
    }
    s += n + (s[n] == ':');
  }
  return pml_fail(PML_ESYNTAX, "event \"%.200s\": %s", name, pml__pfm->strerror(r));
}

int pml__event_parse_pfm(struct pml_event *ev, const char *name) {
  struct pml__pfm_encoding e;
  int err;
  /* Skip the search in some four hundred tables for characters that none of its names has. */
  if (name[strspn(name, LETTERS)]) return PML__NOT_MINE;
  if (!pml__pfm_lock()) return PML__NOT_MINE;
  int r = encode_with_mods(name, &e);
  if (r == PFM_ERR_NOTFOUND && !strstr(name, "::")) r = encode_anywhere(name, &e);
  if (r == PFM_SUCCESS)
    err = fill(ev, &e);
  else
    err = r == PFM_ERR_NOTFOUND ? PML__NOT_MINE : fail_encoding(name, r);
  pml__pfm_unlock();
  if (err == 0) err = spread_over_hybrid(ev);
  return err;
}
