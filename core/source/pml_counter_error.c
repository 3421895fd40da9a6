/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_counter_error.c - what a refused perf_event_open means, and what to do about it. */
#include "source/pml_counter_error.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static int read_sysctl(const char *path, int absent) {
  int v = absent;
  FILE *f = fopen(path, "re");
  if (f == NULL) return absent;
  if (fscanf(f, "%d", &v) != 1) v = absent;
  fclose(f);
  return v;
}

static bool watchdog_is_on(void) {
  return read_sysctl("/proc/sys/kernel/nmi_watchdog", 0) > 0;
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

static bool is_core_hardware(const struct perf_event_attr *attr) {
  return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW;
}

static int no_such_counter(const struct pml__counter_request *q, int err) {
  const char *name = q->ev->name;
  if (is_core_hardware(q->attr) && pml_event_has_pmu() == 0)
    return pml_fail(PML_ENOPMU, "%s: this machine has no hardware PMU; %s", name, pml_error_remedy(PML_ENOPMU));
  return pml_fail(PML_ENOTHERE, "%s: the PMU %s of this machine does not count it (%s); see pmlua events", name, q->pmu,
                  pml_error_name(err));
}

/* The rules of kernel/events/core.c and of Debian's level 3, in the order in which they bite. */
static int no_permission(const struct pml__counter_request *q) {
  const char *name = q->ev->name;
  int level = read_sysctl("/proc/sys/kernel/perf_event_paranoid", 2);
  if (level > 2)
    return pml_fail(PML_EPARANOID,
                    "%s: perf_event_paranoid is %d, which forbids all events; sysctl kernel.perf_event_paranoid=2",
                    name, level);
  if (q->pid == -1 && level > 0)
    return pml_fail(
        PML_EPARANOID,
        "%s: perf_event_paranoid is %d, which forbids counting a whole cpu; run with CAP_PERFMON, or sysctl "
        "kernel.perf_event_paranoid=0",
        name, level);
  if (q->attr->type == PERF_TYPE_TRACEPOINT && level > -1)
    return pml_fail(PML_EPARANOID,
                    "%s: perf_event_paranoid is %d, which forbids tracepoints; run with CAP_PERFMON, or sysctl "
                    "kernel.perf_event_paranoid=-1",
                    name, level);
  if (!q->attr->exclude_kernel && level > 1)
    return pml_fail(PML_EPARANOID,
                    "%s: perf_event_paranoid is %d, which forbids counting the kernel; append :u, or sysctl "
                    "kernel.perf_event_paranoid=1",
                    name, level);
  if (q->pid > 0)
    return pml_fail(PML_ECAP,
                    "%s: thread %d belongs to somebody else; run with CAP_PERFMON and CAP_SYS_PTRACE, or as root", name,
                    (int)q->pid);
  return pml_fail(PML_ECAP,
                  "%s: perf_event_paranoid (%d) allows it, but a capability is missing or a container's seccomp "
                  "filter forbids perf_event_open; run with CAP_PERFMON",
                  name, level);
}

static int too_many(const struct pml__counter_request *q) {
  const char *name = q->ev->name;
  if (watchdog_is_on())
    return pml_fail(PML_ETOOMANY,
                    "%s: %s has no counter left for it; use fewer events or multiplexing (the NMI watchdog "
                    "holds one: sysctl kernel.nmi_watchdog=0)",
                    name, q->pmu);
  return pml_fail(PML_ETOOMANY, "%s: %s has no counter left for it; use fewer events, or ask for multiplexing", name,
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
    return pml_fail(err, "%s: there is no thread %d", name, (int)q->pid);
  case -EBUSY:
    return pml_fail(err, "%s: %s is in exclusive use by another tool; end it", name, q->pmu);
  case -E2BIG:
    return pml_fail(err, "%s: this kernel is too old for an option of the event", name);
  case -ENOSYS:
    return pml_fail(err, "%s: this kernel has no perf events (CONFIG_PERF_EVENTS)", name);
  case -EINVAL:
    if (q->joins && q->opens_alone) return too_many(q);
    return pml_fail(err, "%s: %s refuses it as it stands (pid %d, cpu %d); check its parameters and modifiers", name,
                    q->pmu, (int)q->pid, q->cpu);
  default:
    return pml_fail(err, "%s: perf_event_open: %s", name, pml_error_text(err));
  }
}

int pml__counter_starved(const char *name) {
  if (watchdog_is_on())
    return pml_fail(PML_EWATCHDOG,
                    "%s: its group does not get its counters, and the NMI watchdog holds one; sysctl "
                    "kernel.nmi_watchdog=0, or use one event less, or ask for multiplexing",
                    name);
  return pml_fail(PML_ETOOMANY,
                  "%s: its group does not get its counters: there are too few, or others hold them; use fewer events, "
                  "or ask for multiplexing",
                  name);
}
