/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_counter_error.c - explanations and remedies of perf_event_open failures. */
#include "source/kernel/pml_counter_error.h"

#include "base/pml_error.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_perf_descriptor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool watchdog_is_on(void) {
  return pml__event_sysctl("/proc/sys/kernel/nmi_watchdog", 0) > 0;
}

bool pml__counter_is_software(const struct perf_event_attr *attr, const char *pmu) {
  switch (attr->type) {
  case PERF_TYPE_SOFTWARE:
  case PERF_TYPE_TRACEPOINT:
  case PERF_TYPE_BREAKPOINT:
    return true;
  case PERF_TYPE_HARDWARE:
  case PERF_TYPE_HW_CACHE:
  case PERF_TYPE_RAW:
    return false;
  default:
    return strcmp(pmu, "msr") == 0 || strcmp(pmu, "uprobe") == 0 || strcmp(pmu, "kprobe") == 0;
  }
}

enum pml__packed pml__counter_packed(const struct perf_event_attr *attr, bool intel) {
  unsigned umask = (attr->config >> 8) & 0xff;
  if (!intel || attr->type < PERF_TYPE_RAW || (attr->config & 0xff) != 0) return PML__NOT_PACKED;
  if (umask == 0x04) return PML__PACKED_SLOTS;
  return (umask & 0xf0) == 0x80 ? PML__PACKED_METRIC : PML__NOT_PACKED;
}

bool pml__cpu_is_intel(void) {
#if defined(__x86_64__)
  unsigned top, ebx, ecx, edx;
  return __get_cpuid(0, &top, &ebx, &ecx, &edx) && ebx == signature_INTEL_ebx;
#else
  return false;
#endif
}

static bool is_core_hardware(const struct perf_event_attr *attr) {
  return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW;
}

static bool opens(struct perf_event_attr attr, pid_t pid, int cpu) {
  attr.disabled = 1;
  int fd = pml__perf_event_open(&attr, pid, cpu, -1);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static struct perf_event_attr user_only(const struct pml__counter_request *q) {
  struct perf_event_attr user = *q->attr;
  user.exclude_kernel = user.exclude_hv = 1;
  return user;
}

static int no_such_counter(const struct pml__counter_request *q, int err) {
  const char *name = q->ev->name;
  if (q->pid < -1 && (opens(user_only(q), 0, -1) || opens(*q->attr, 0, -1)))
    return pml_fail(-EINVAL,
                    "%s: perf events are not counted by this cgroup's hierarchy; name a folder of cgroup v2 or "
                    "of perf_event",
                    name);
  if (is_core_hardware(q->attr) && pml_event_has_pmu() == 0)
    return pml_fail(PML_ENOPMU, "%s: this machine has no hardware PMU; %s", name, pml_error_remedy(PML_ENOPMU));
  return pml_fail(PML_ENOTHERE, "%s: this machine's PMU %s does not support it (%s); pmlua events lists what it does",
                  name, q->pmu, pml_error_name(err));
}

/* May this thread count any event at all? Tries the least demanding event on the thread itself. */
static bool may_count_itself(void) {
  struct perf_event_attr least = {.type = PERF_TYPE_SOFTWARE, .size = sizeof least, .exclude_kernel = 1};
  least.config = PERF_COUNT_SW_DUMMY;
  least.exclude_hv = 1;
  return opens(least, 0, -1);
}

#define AS_ROOT "run as root or with CAP_PERFMON"
#define OR_SYSCTL "run with CAP_PERFMON, or as root: sysctl kernel.perf_event_paranoid="

/* Above level 2 Debian's, Ubuntu's and Android's kernels allow nothing; else it is not the level that forbids. */
static int nothing_permitted(const char *name, int level) {
  if (level > 2)
    return pml_fail(PML_EPARANOID, "%s: perf_event_paranoid is %d, which forbids all events; " OR_SYSCTL "2", name,
                    level);
  return pml_fail(PML_ECAP,
                  "%s: a container's seccomp filter or a security module forbids perf_event_open; allow it on the host",
                  name);
}

/* Level 2 forbids to count the kernel. User space is offered where it opens, which for some PMUs it does not. */
static int kernel_forbidden(const struct pml__counter_request *q, int level) {
  bool offer = !q->attr->exclude_user && !q->ev->may_be_user_only && pml__event_counts_in_user_space(q->ev);
  offer = offer && opens(user_only(q), q->pid, q->cpu);
  return pml_fail(PML_EPARANOID, "%s: perf_event_paranoid is %d, which forbids counting the kernel; %s" OR_SYSCTL "1",
                  q->ev->name, level, offer ? "count user space only (:u), " : "");
}

/* The kernel checks the owner of the thread last, so an event that it refuses for the thread, but not for this one, is
 * refused because of the owner. */
static bool is_foreign(const struct pml__counter_request *q) {
  return q->pid > 0 && !opens(user_only(q), q->pid, q->cpu) && opens(user_only(q), 0, q->cpu);
}

/* The strictest restriction comes first; the kernel is queried where that is more precise than the level. */
static int no_permission(const struct pml__counter_request *q) {
  const char *name = q->ev->name;
  int level = pml__paranoid_level();
  if (is_core_hardware(q->attr) && pml_event_has_pmu() == 0) return no_such_counter(q, -ENOENT);
  if (!may_count_itself()) return nothing_permitted(name, level);
  if (strcmp(q->pmu, "uprobe") == 0 || strcmp(q->pmu, "kprobe") == 0)
    return pml_fail(PML_ECAP, "%s: only privileged processes may set probes; run as root or with CAP_SYS_ADMIN", name);
  if (q->pid < 0 && level > 0)
    return pml_fail(PML_EPARANOID,
                    "%s: perf_event_paranoid is %d, which forbids counting a whole cpu%s; " OR_SYSCTL "0", name, level,
                    q->pid < -1 ? " or cgroup" : "");
  if (is_foreign(q)) return pml_fail(PML_ECAP, "%s: thread %d belongs to another user; " AS_ROOT, name, (int)q->pid);
  if (!q->attr->exclude_kernel && level > 1) return kernel_forbidden(q, level);
  return pml_fail(PML_ECAP, "%s: the kernel refuses it to this process (perf_event_paranoid is %d); " AS_ROOT, name,
                  level);
}

static struct perf_event_attr in_all_modes(const struct pml__counter_request *q) {
  struct perf_event_attr all = *q->attr;
  all.exclude_user = all.exclude_kernel = all.exclude_hv = 0;
  return all;
}

static int too_many(const struct pml__counter_request *q) {
  const char *name = q->ev->name;
  if (watchdog_is_on())
    return pml_fail(PML_ETOOMANY,
                    "%s: %s has no counter left for it; use fewer events or multiplexing (the NMI watchdog "
                    "holds one; as root: sysctl kernel.nmi_watchdog=0)",
                    name, q->pmu);
  return pml_fail(PML_ETOOMANY, "%s: %s has no counter left for it; use fewer events, or request multiplexing", name,
                  q->pmu);
}

static int no_descriptor(const struct pml__counter_request *q, int err) {
  struct rlimit lim = {0};
  getrlimit(RLIMIT_NOFILE, &lim);
  if (err == -ENFILE) return pml_fail(err, "%s: the system is out of file descriptors; raise fs.file-max", q->ev->name);
  return pml_fail(err, "%s: the process is out of file descriptors (limit %llu); raise RLIMIT_NOFILE (ulimit -n)",
                  q->ev->name, (unsigned long long)lim.rlim_cur);
}

int pml__counter_refused(const struct pml__counter_request *q, int err) {
  const char *name = q->ev->name;
  switch (err) {
  case -ENOENT:
  case -EOPNOTSUPP:
    return no_such_counter(q, err);
  case -ENXIO:
  case -ENODEV:
    if (q->cpu >= 0) return pml_fail(err, "%s: cpu %d is offline or has no %s", name, q->cpu, q->pmu);
    return no_such_counter(q, err);
  case -EACCES:
  case -EPERM:
    return no_permission(q);
  case -ENOSPC:
    return too_many(q);
  case -EMFILE:
  case -ENFILE:
    return no_descriptor(q, err);
  case -ESRCH:
    return pml_fail(err, "%s: no thread %d", name, (int)q->pid);
  case -EBUSY:
    return pml_fail(err, "%s: %s is in exclusive use by another tool; end it", name, q->pmu);
  case -E2BIG:
    return pml_fail(err, "%s: this kernel is too old for an option of the event", name);
  case -ENOSYS:
    return pml_fail(err, "%s: this kernel has no perf events (CONFIG_PERF_EVENTS)", name);
  case -EINVAL:
    if (pml__counter_packed(q->attr, pml__cpu_is_intel()) == PML__PACKED_METRIC)
      return pml_fail(
          err, "%s: it counts in the group of the core's slots only; put cpu/slots/ into the same event set", name);
    if (q->joins && q->opens_alone) return too_many(q);
    if (opens(in_all_modes(q), q->pid, q->cpu))
      return pml_fail(err, "%s: %s always counts user space and kernel; omit its modifiers", name, q->pmu);
    return pml_fail(err, "%s: the PMU %s refuses it (pid %d, cpu %d); check its parameters and modifiers", name, q->pmu,
                    (int)q->pid, q->cpu);
  default:
    return pml_fail(err, "%s: perf_event_open: %s", name, pml_error_text(err));
  }
}

int pml__counter_starved(const char *name) {
  if (watchdog_is_on())
    return pml_fail(PML_EWATCHDOG,
                    "%s: its group gets no counters, and the NMI watchdog holds one; as root: sysctl "
                    "kernel.nmi_watchdog=0, or use one event fewer, or request multiplexing",
                    name);
  return pml_fail(PML_ETOOMANY,
                  "%s: its group gets no counters: there are too few, or other tools hold them; use fewer events, "
                  "or ask for multiplexing",
                  name);
}
