/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_available.c - availability of an event and of a PMU. */
#include "source/kernel/event/pml_breakpoint.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_perf_descriptor.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

static int try_open(const struct perf_event_attr *attr, int cpu) {
  struct perf_event_attr a = *attr;
  a.disabled = 1;
  int fd = pml__perf_event_open(&a, cpu >= 0 ? -1 : 0, cpu, -1);
  if (fd < 0) return fd;
  (void)close(fd);
  return 0;
}

/* Why perf_event_open() returned errno @err; static storage. */
static const char *refusal_of(int err) {
  switch (-err) {
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    return "this machine has no PMU that counts it (virtual machine or container?); the compiler (pmlua cc --count) "
           "or a simulation (--sim) can count instead";
  case EACCES:
  case EPERM:
    return "not permitted: lower kernel.perf_event_paranoid or use CAP_PERFMON (in a container, also let seccomp pass "
           "perf_event_open)";
  case ENOSYS:
    return "this kernel is built without perf_event_open";
  case EBUSY:
    return "another tool uses its PMU";
  case EMFILE:
  case ENFILE:
    return "too many open files";
  default:
    return "the kernel refuses it";
  }
}

static bool is_absence(int err) {
  return err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP || err == -ENOSYS;
}

bool pml__event_probe(const struct perf_event_attr *attr, int cpu, const char **reason) {
  int err = try_open(attr, cpu);
  *reason = "";
  if (err == 0 && attr->type == PERF_TYPE_BREAKPOINT && pml__breakpoint_check("mem") < 0) {
    *reason = "hardware breakpoints never fire on this machine (virtual machine?)";
    return false;
  }
  if (err == 0) return true;
  if ((err == -EACCES || err == -EPERM) && cpu < 0 && !attr->exclude_kernel) {
    /* Permission is checked before presence: only the permitted form tells whether there is anything to permit. */
    struct perf_event_attr user = *attr;
    user.exclude_kernel = user.exclude_hv = 1;
    int user_err = try_open(&user, cpu);
    if (user_err == 0 && !pml__event_is_of_kernel(attr)) {
      *reason = "user space only, as NAME:u (perf_event_paranoid)";
      return true;
    }
    if (is_absence(user_err)) err = user_err;
  }
  /* Only these PMUs count what packages do. */
  *reason = cpu >= 0 && is_absence(err) ? "this machine has no PMU that counts it" : refusal_of(err);
  return false;
}

/* Try perf's generic events on the core PMU: 0 if one of them counts, else the error; absent only if all are absent. */
static int try_core_pmu(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .exclude_kernel = 1};
  attr.exclude_hv = 1;
  int absent = 0;
  for (attr.config = 0; attr.config < PERF_COUNT_HW_MAX; attr.config++) {
    int err = try_open(&attr, -1);
    if (!is_absence(err)) return err;
    absent = err;
  }
  return absent;
}

int pml_event_has_pmu(void) {
  static _Atomic int known; /* 0: not asked yet, 1: there is one, else the kernel's -errno */
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == 0) {
    int before = pml__event_shortage_reset(0);
    state = try_core_pmu();
    pml__event_note_shortage(state);
    struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX];
    /* Refused for another reason than absence: sysfs shows whether there is one. */
    if (state == 0 || (!is_absence(state) && pml__core_pmus(pmu) > 0)) state = 1;
    if (pml__event_shortage() == 0) atomic_store_explicit(&known, state, memory_order_relaxed);
    (void)pml__event_shortage_reset(before);
  }
  if (state == 1) return 1;
  pml_error_note(PML_ENOPMU, __func__, "%s (%s)", pml_error_text(PML_ENOPMU),
                 is_absence(state) ? "virtual machine or container?" : refusal_of(state));
  return 0;
}

/* Whether a generic event opens with exactly these features; otherwise the PMU lacks them. */
static bool opens_as(struct perf_event_attr attr, bool guests, unsigned precise) {
  attr.exclude_guest = !guests;
  attr.precise_ip = precise & 3;
  struct perf_event_attr got = attr;
  int fd = pml__perf_event_open(&got, 0, -1, -1);
  if (fd < 0) return false;
  (void)close(fd);
  return got.exclude_guest == attr.exclude_guest && got.precise_ip == attr.precise_ip;
}

int pml_event_pmu_traits(struct pml_event_pmu_traits *out) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .disabled = 1, .exclude_kernel = 1};
  attr.exclude_hv = 1;
  *out = (struct pml_event_pmu_traits){0};
  if (pml_event_has_pmu() == 0) return PML_ENOPMU;
  for (attr.config = 0; attr.config < PERF_COUNT_HW_MAX; attr.config++)
    if (opens_as(attr, false, 0) || opens_as(attr, true, 0)) break;
  if (attr.config == PERF_COUNT_HW_MAX) return pml_fail(-EACCES, "no generic event can be opened: see pmlua doctor");
  out->counts_guests = opens_as(attr, true, 0);
  out->precise = opens_as(attr, false, 1) || opens_as(attr, true, 1);
  struct pml__core_pmu kinds[PML_EVENT_PARTS_MAX];
  out->kinds = pml__core_pmus(kinds);
  return 0;
}
