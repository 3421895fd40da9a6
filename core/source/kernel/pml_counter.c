/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_counter.c - one perf_event counter: open, read by the cheapest correct path, close. */
#include "source/kernel/pml_counter.h"

#include "base/pml_error.h"
#include "base/pml_libc.h"
#include "base/pml_thread.h"
#include "source/kernel/event/pml_breakpoint.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_perf_descriptor.h"
#include "source/kernel/event/pml_uprobe_inherit.h"
#include "source/kernel/pml_counter_error.h"
#include "source/kernel/pml_counter_private.h"
#include "source/kernel/pml_rdpmc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ARM64_USER_ACCESS 0x2u /* config1 of a PMUv3 event: mrs from EL0 */

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* Why a counter is not read by its page. Kept as a number: a counter is 32 bytes, so that one is found by a shift. */
#define WHY_LIST(X)                                                                                                    \
  X(TURNED_OFF, "opened without user-space reads")                                                                     \
  X(SOFTWARE, "a software event has no counter register")                                                              \
  X(OF_CPU, "it counts a cpu, not the calling thread")                                                                 \
  X(OF_OTHER, "it counts another thread")                                                                              \
  X(ON_ONE_CPU, "it counts on one cpu only")                                                                           \
  X(INHERITED, "it is inherited: the page lacks what children count")                                                  \
  X(PACKED, "slots and topdown events share a register that only the kernel can unpack")                               \
  X(NO_INSTRUCTION, "this architecture has no user-space counter read")                                                \
  X(CORES_DIFFER,                                                                                                      \
    "its cores differ, the C library has no restartable sequences, and the thread is not pinned to like ones")         \
  X(UNMAPPED, "its page cannot be mapped (perf_event_mlock_kb, or the PMU refuses)")                                   \
  X(FORBIDDEN, FORBIDDEN_TEXT)

#if defined(__aarch64__)
#define FORBIDDEN_TEXT "the kernel forbids user-space reads (sysctl kernel.perf_user_access=1 allows them)"
#else
#define FORBIDDEN_TEXT "the kernel forbids user-space reads (cap_user_rdpmc is 0; see rdpmc in the PMU's sysfs folder)"
#endif

#define WHY_NUMBER(id, text) id,
#define WHY_TEXT(id, text) [id] = text,
enum why { PAGE_PATH, WHY_LIST(WHY_NUMBER) };
static const char *const why_text[] = {WHY_LIST(WHY_TEXT)};

/* Why a page must not even be mapped. */
static enum why why_no_page(const struct perf_event_attr *attr, const char *pmu, pid_t pid, int cpu, unsigned flags) {
  if (flags & PML_OPEN_NO_PAGE) return TURNED_OFF;
  if (pml__counter_is_software(attr, pmu)) return SOFTWARE;
  if (pid < 0) return OF_CPU;
  if (pid != 0) return OF_OTHER;
  if (cpu != -1) return ON_ONE_CPU;
  if (attr->inherit) return INHERITED;
  if (pml__counter_packed(attr, pml__cpu_is_intel()) != PML__NOT_PACKED) return PACKED;
  if (PML_RDPMC_COUNTERS == 0) return NO_INSTRUCTION;
  return PAGE_PATH;
}

/*
 * Where cores differ in kind, another kind's counter may be asked for by a thread that is moved in mid-read: either the
 * read restarts then, or the thread stays where the event counts. Reads by page: 0, with *owner as it says.
 */
static enum why why_not_on_differing_cores(const char *pmu, uint64_t *owner) {
  struct pml__core_pmu kinds[PML_EVENT_PARTS_MAX];
  *owner = pml_thread_self()->id;
  if (pml__core_pmus(kinds) < 2) return PAGE_PATH;
  if (pml__rseq_ready()) {
    *owner |= PML__OWNER_RESTARTS;
    return PAGE_PATH;
  }
  return pml__sysfs_pinned_to(pmu) ? PAGE_PATH : CORES_DIFFER;
}

static void unmap(struct pml_counter *c) {
  if (c->page != NULL) munmap((void *)(uintptr_t)c->page, page_bytes());
  c->page = NULL;
  c->owner = PML__OWNER_NONE;
}

static void map_page(struct pml_counter *c, const char *pmu) {
  uint64_t owner;
  c->why = (uint16_t)why_not_on_differing_cores(pmu, &owner);
  if (c->why != PAGE_PATH) return;
  void *page = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, c->fd, 0);
  if (page == MAP_FAILED) {
    c->why = UNMAPPED;
    return;
  }
  c->page = page;
  c->owner = owner;
  if (c->page->cap_user_rdpmc) {
    pml__rdpmc_guard();
    return;
  }
  unmap(c);
  c->why = FORBIDDEN;
}

/* arm64 gives user space a counter only if asked for at open, and refuses the open where sysctl forbids it. */
static bool wants_user_access(const struct perf_event_attr *attr, const char *pmu) {
#if defined(__aarch64__)
  bool pmuv3 = attr->type < PERF_TYPE_MAX || strncmp(pmu, "armv8", 5) == 0 || strncmp(pmu, "armv9", 5) == 0;
  if (!pmuv3) return false;
  FILE *f = fopen("/proc/sys/kernel/perf_user_access", "re");
  int on = f != NULL ? fgetc(f) : EOF;
  if (f != NULL) fclose(f);
  return on == '1';
#else
  (void)attr, (void)pmu;
  return false;
#endif
}

/* Returns 0 with the event in @c, whose flags show whether it needs a page, or -errno. */
static int open_fd(struct pml_counter *c, const struct pml__counter_request *q, struct perf_event_attr *attr,
                   int group_fd) {
  struct pml__perf_descriptor d = {.fd = -1};
  struct perf_event_attr asked = *attr;
  int err = -ENOENT;
  if (c->why == PAGE_PATH && wants_user_access(attr, q->pmu)) {
    attr->config1 |= ARM64_USER_ACCESS;
    err = pml__perf_descriptor_open(&d, attr, q->pid, q->cpu, group_fd);
    if (err < 0) attr->config1 = asked.config1;
  }
  if (err < 0) err = pml__perf_descriptor_open(&d, attr, q->pid, q->cpu, group_fd);
  c->fd = d.fd;
  c->id = d.id;
  if (err < 0) return err;
  if (asked.exclude_guest != attr->exclude_guest)
    pml__event_note(attr->exclude_guest ? PML__NOTE_GUESTS : PML__NOTE_HOST, q->ev);
  if (asked.precise_ip != attr->precise_ip) pml__event_note(PML__NOTE_PRECISE, q->ev);
  return err;
}

/* A modifier was given, and the kernel took it, that does not do what it says. */
static void note_modifier(const struct pml_event *ev, const struct perf_event_attr *attr) {
  if (!attr->exclude_user && !attr->exclude_kernel) return;
  if (pml__event_ignores_modes(attr))
    pml__event_note(PML__NOTE_CLOCK, ev);
  else if (attr->exclude_kernel && attr->type == PERF_TYPE_SOFTWARE && pml__event_is_of_kernel(attr))
    pml__event_note(PML__NOTE_NEVER, ev);
}

static bool opens_alone(const struct perf_event_attr *attr, pid_t pid, int cpu) {
  struct pml__perf_descriptor d;
  struct perf_event_attr a = *attr;
  bool opens = pml__perf_descriptor_open(&d, &a, pid, cpu, -1) == 0;
  pml__perf_descriptor_close(&d);
  return opens;
}

/*
 * The kernel refuses to count itself (@err), which was not requested explicitly: count user space, if that opens.
 * Any other error of the second try takes precedence over the permission, because without such a PMU no permission is
 * missing.
 */
static int open_user_only(struct pml_counter *c, const struct pml__counter_request *q, struct perf_event_attr *attr,
                          int group_fd, int err) {
  const struct perf_event_attr asked = *attr;
  attr->exclude_kernel = attr->exclude_hv = 1;
  int again = open_fd(c, q, attr, group_fd);
  if (again == 0) {
    if (pml__event_ignores_modes(attr)) return 0;
    c->flags |= PML_OPENED_USER_ONLY;
    pml__event_note(PML__NOTE_USER_ONLY, q->ev);
    return 0;
  }
  *attr = asked;
  return again == -EACCES || again == -EPERM || again == -EINVAL ? err : again;
}

/* The target for the kernel. An uncore PMU counts neither threads nor cpus: its event is opened on the PMU's cpu. */
static int resolve_target(const struct pml_target *t, const struct pml_event_part *part, pid_t *pid, int *cpu) {
  if (t->pid < -1 && part->cpu_any >= 0)
    return pml_fail(PML_EMODE, "target: %s counts for all processes of a package, not for a cgroup", part->pmu);
  *pid = t->pid > 0 && t->pid == gettid() ? 0 : t->pid;
  *cpu = t->cpu_plus - 1;
  if (part->cpu_any >= 0) {
    *pid = -1;
    *cpu = part->cpu_any;
  }
  if (*cpu < -1) return pml_fail(-EINVAL, "target: cpu %d is not valid", *cpu);
  if (*pid < 0 && *cpu == -1)
    return pml_fail(-EINVAL, "target: %s counted by cpu; give its number", *pid == -1 ? "pid -1 is" : "a cgroup is");
  return 0;
}

static void prepare_attr(struct perf_event_attr *a, const struct pml_event_part *part, const struct pml_target *t,
                         bool joins, unsigned flags) {
  *a = part->attr;
  a->size = sizeof *a;
  a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  if (flags & PML__OPEN_GROUP) a->read_format |= PERF_FORMAT_GROUP;
  a->disabled = !joins && (flags & PML_OPEN_DISABLED) != 0;
  /*
   * arm's check of whether a group fits ignores a disabled leader, unless it waits for an exec. A user-space probe that
   * waits for an exec is not placed in existing mappings.
   */
  bool probe = strcmp(part->pmu, "uprobe") == 0;
  unsigned waits = probe ? PML_OPEN_ON_EXEC : PML__OPEN_GROUP | PML_OPEN_ON_EXEC;
  a->enable_on_exec = a->disabled && (flags & waits) != 0;
  a->inherit = t->inherit;
}

/* Makes a probe that is to be inherited an event that is. False: it is not, so that it counts one thread. */
static bool inherits(struct pml_counter *c, const struct pml__counter_request *q, struct perf_event_attr *attr) {
  if (!attr->inherit || q->pid < 0 || strcmp(q->pmu, "uprobe") != 0) return true;
  if (pml__uprobe_inherit(attr) < 0) return false;
  c->flags |= PML__OPENED_DEFINED;
  return true;
}

int pml_counter_open(struct pml_counter *c, const struct pml_event *ev, unsigned part, const struct pml_target *target,
                     const struct pml_counter *leader, unsigned flags) {
  static const struct pml_target self = {0};
  const struct pml_target *t = target != NULL ? target : &self;
  *c = (struct pml_counter){.fd = -1, .flags = (uint16_t)flags, .owner = PML__OWNER_NONE};
  if (ev->nparts == 0)
    return pml_fail(PML_EMODE, "%s is not an event of the kernel; open it with an event set (pml.eventset)", ev->name);
  if (part >= ev->nparts) return pml_fail(-EINVAL, "%s: no part %u", ev->name, part);
  if (leader != NULL && leader->fd < 0) return pml_fail(PML_ECLOSED, "%s: the leader of its group is closed", ev->name);
  const struct pml_event_part of = pml_event_part(ev, part), *p = &of;
  if (!p->here) return pml_fail(PML_ENOTHERE, "%s: its PMU %s is not on this machine", ev->name, p->pmu);

  struct pml__counter_request q = {.ev = ev, .pmu = p->pmu, .joins = leader != NULL};
  struct perf_event_attr attr;
  int rc = resolve_target(t, p, &q.pid, &q.cpu);
  if (rc == 0 && p->attr.type == PERF_TYPE_BREAKPOINT)
    rc = pml__breakpoint_target(ev->name, q.pid, (flags & PML_OPEN_ON_EXEC) != 0);
  if (rc == 0 && p->attr.type == PERF_TYPE_BREAKPOINT) rc = pml__breakpoint_check(ev->name);
  if (rc < 0) return rc;
  prepare_attr(&attr, p, t, q.joins, flags);
  bool whole = inherits(c, &q, &attr);
  q.attr = &attr;
  c->why = (uint16_t)why_no_page(&attr, p->pmu, q.pid, q.cpu, flags);
  int group_fd = q.joins ? leader->fd : -1;
  rc = open_fd(c, &q, &attr, group_fd);
  if (rc == 0) note_modifier(ev, &attr);
  if (rc == 0 && !whole) pml__event_note(PML__NOTE_ONE_THREAD, ev);
  if ((rc == -EACCES || rc == -EPERM) && ev->may_be_user_only) rc = open_user_only(c, &q, &attr, group_fd, rc);
  if (rc < 0) {
    if (c->flags & PML__OPENED_DEFINED) pml__uprobe_release();
    q.opens_alone = rc == -EINVAL && q.joins && opens_alone(&attr, q.pid, q.cpu);
    return pml__counter_refused(&q, rc);
  }
  if (c->why == PAGE_PATH) map_page(c, p->pmu);
  return 0;
}

int pml_target_cgroup(struct pml_target *t, const char *path) {
  struct statfs fs;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return pml_fail(-errno, "%.300s: %s", path, pml_error_text(-errno));
  if (fstatfs(fd, &fs) != 0 || (fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC)) {
    (void)close(fd);
    return pml_fail(-EINVAL, "%.300s: not a cgroup; name a folder below /sys/fs/cgroup", path);
  }
  t->pid = PML__PID_OF_CGROUP(fd);
  return 0;
}

void pml_target_release(struct pml_target *t) {
  if (t->pid >= -1) return;
  (void)close(PML__CGROUP_OF_PID(t->pid));
  t->pid = 0;
}

void pml_counter_close(struct pml_counter *c) {
  struct pml__perf_descriptor d = {.fd = c->fd, .id = c->id};
  if (c->fd < 0) return;
  /* A child does not have its parent's pages: other memory may be there now. */
  if (c->page != NULL && pml__thread_is_of_parent(c->owner & ~PML__OWNER_RESTARTS)) c->page = NULL;
  unmap(c); /* closing the fd alone would keep the counter busy */
  pml__perf_descriptor_close(&d);
  if (c->flags & PML__OPENED_DEFINED) pml__uprobe_release();
  c->fd = -1;
}

static int read_group_leader(const struct pml_counter *c, struct pml_reading *r) {
  struct {
    uint64_t nr, enabled, running, value[PML__GROUP_MAX];
  } b;
  ssize_t got = read(c->fd, &b, sizeof b);
  if (got < 0) return -errno;
  if (got < (ssize_t)(4 * sizeof(uint64_t)) || (uint64_t)got != (3 + b.nr) * sizeof(uint64_t)) return -EIO;
  *r = (struct pml_reading){.raw = b.value[0], .enabled_ns = b.enabled, .running_ns = b.running};
  return 0;
}

int pml_counter_read(const struct pml_counter *c, struct pml_reading *r) {
  if (PML_UNLIKELY(c->fd < 0)) return PML_ECLOSED;
  if (pml__counter_read_page(c, pml_thread_id(), r) > 0) return 0;
  if (c->flags & PML__OPEN_GROUP) return read_group_leader(c, r);
  ssize_t got = read(c->fd, r, sizeof *r); /* the fields stand as the kernel writes them */
  if (PML_LIKELY(got == (ssize_t)sizeof *r)) return 0;
  return got < 0 ? -errno : -EIO;
}

enum pml_path pml_counter_path(const struct pml_counter *c, const char **why) {
  const char *reason = NULL;
  if (c->fd < 0)
    reason = "it is closed";
  else if (c->page == NULL)
    reason = why_text[c->why];
  else if ((c->owner & ~PML__OWNER_RESTARTS) != pml_thread_id())
    reason = "it was opened by another thread";
  else if (!c->page->cap_user_rdpmc)
    reason = "the kernel no longer allows user-space reads";
  else if (c->page->index == 0)
    reason = "it is not on a counter at this moment";
  if (why != NULL) *why = reason;
  return reason == NULL ? PML_PATH_PAGE : PML_PATH_READ;
}
