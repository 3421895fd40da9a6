/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler.c - opening of a sampler's events and buffers. */
#include "source/kernel/sampler/pml_sampler_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "source/kernel/event/pml_breakpoint.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_uprobe_inherit.h"
#include "source/kernel/pml_counter_error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (UINT64_C(512) << 10) /* with its page for each cpu what perf_event_mlock_kb gives every user */

/* One event that is to be opened. */
struct request {
  struct pml_sampler *s;
  struct pml_event ev;
  pid_t pid;
  int cpu;
};

static int no_memory(void) {
  return pml_fail(-ENOMEM, "sampler: out of memory");
}

static void prepare(struct perf_event_attr *a, const struct pml_event_part *part, const struct pml_sampler_options *o) {
  *a = part->attr;
  a->size = sizeof *a;
  a->sample_type = PML__SAMPLE_TYPE;
  if (o->period == 0) a->sample_type |= PERF_SAMPLE_PERIOD;
  if (o->calls) a->sample_type |= PERF_SAMPLE_CALLCHAIN;
  a->exclude_callchain_kernel = o->calls;
  if (o->registers) {
    a->sample_type |= PERF_SAMPLE_REGS_USER;
    a->sample_regs_user = PML__SAMPLER_REGISTERS;
  }
  a->sample_id_all = 1;
  a->freq = o->period == 0;
  if (o->period == 0)
    a->sample_freq = o->frequency;
  else
    a->sample_period = o->period;
  a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
  a->mmap_data = o->address;
  a->use_clockid = 1;
  a->clockid = CLOCK_MONOTONIC;
  a->inherit = o->inherit && !o->all;
  a->disabled = 1;
  a->enable_on_exec = o->on_exec;
}

static int map_buffer(struct pml_sampler *s, int fd, int cpu) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t bytes = BUFFER_BYTES;
  void *p = MAP_FAILED;
  if (!PML__ARRAY_ROOM(s->buffer, s->buffers_room, s->buffers + 1)) return no_memory();
  for (; bytes >= page; bytes /= 2) {
    p = mmap(NULL, page + (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED || (errno != EPERM && errno != ENOMEM)) break;
  }
  if (p == MAP_FAILED)
    return pml_fail(-errno, "%s: its buffer cannot be mapped; raise kernel.perf_event_mlock_kb with sysctl", s->name);
  s->buffer[s->buffers++] = (struct pml__sampler_buffer){
      .page = p, .ring = {.data = (const unsigned char *)p + page, .bytes = bytes}, .fd = fd, .cpu = cpu};
  return 0;
}

/* Events of one cpu share a buffer. */
static int give_buffer(struct pml_sampler *s, int fd, int cpu) {
  for (size_t i = 0; cpu >= 0 && i < s->buffers; i++)
    if (s->buffer[i].cpu == cpu && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->buffer[i].fd) == 0) return 0;
  return map_buffer(s, fd, cpu);
}

static int refuse(const struct request *q, const struct perf_event_attr *a, const char *pmu, int err) {
  struct pml__counter_request r = {.ev = &q->ev, .attr = a, .pmu = pmu, .pid = q->pid, .cpu = q->cpu};
  int rate = pml__event_sysctl("/proc/sys/kernel/perf_event_max_sample_rate", 0);
  if (err == -EINVAL && a->freq && rate > 0 && a->sample_freq > (uint64_t)rate)
    return pml_fail(-EINVAL, "%s: the kernel takes at most %d samples a second (kernel.perf_event_max_sample_rate)",
                    q->ev.name, rate);
  if (err == -EINVAL || err == -EOPNOTSUPP)
    return pml_fail(PML_EMODE, "%s: it cannot be sampled on this machine (%s); count it with pmlua stat", q->ev.name,
                    pml_error_name(err));
  return pml__counter_refused(&r, err);
}

/* The kernel refuses to be sampled (@err), which was not requested explicitly. */
static int open_user_only(const struct request *q, struct pml__perf_descriptor *d, struct perf_event_attr *a, int err) {
  struct pml_sampler *s = q->s;
  struct perf_event_attr user = *a;
  user.exclude_kernel = user.exclude_hv = 1;
  int again = pml__perf_descriptor_open(d, &user, q->pid, q->cpu, -1);
  if (again < 0) return again == -EACCES || again == -EPERM || again == -EINVAL ? err : again;
  *a = user;
  pml__event_note(PML__NOTE_USER_ONLY, &q->ev);
  (void)snprintf(s->name, sizeof s->name, "%.*s%s", (int)(sizeof s->name - sizeof PML__USER_ONLY), q->ev.name,
                 PML__USER_ONLY);
  return 0;
}

static int open_part(const struct request *q, unsigned number) {
  const struct pml_event_part part = pml_event_part(&q->ev, number);
  struct pml_sampler *s = q->s;
  struct perf_event_attr a;
  if (!PML__ARRAY_ROOM(s->event, s->events_room, s->events + 1)) return no_memory();
  struct pml__perf_descriptor *d = &s->event[s->events];
  prepare(&a, &part, &s->options);
  if (a.type == PERF_TYPE_BREAKPOINT) {
    int wrong = pml__breakpoint_target(q->ev.name, q->pid, s->options.on_exec);
    if (wrong < 0) return wrong;
  }
  bool probe = a.inherit && strcmp(part.pmu, "uprobe") == 0, whole = !probe || pml__uprobe_inherit(&a) == 0;
  s->defined = s->defined || (probe && whole);
  int err = pml__perf_descriptor_open(d, &a, q->pid, q->cpu, -1);
  if (err == 0 && !whole) pml__event_note(PML__NOTE_ONE_THREAD, &q->ev);
  if ((err == -EACCES || err == -EPERM) && pml__event_may_be_user_only(&q->ev)) err = open_user_only(q, d, &a, err);
  if (err < 0) return err == -ESRCH || err == -ENODEV ? err : refuse(q, &a, part.pmu, err);
  if (part.attr.precise_ip != a.precise_ip) pml__event_note(PML__NOTE_PRECISE, &q->ev);
  s->events++;
  return give_buffer(s, d->fd, q->cpu);
}

/* The kernel refuses the parts of a hybrid cpu's event that belong to the other kind of core. */
static int open_event(const struct request *q) {
  int err = 0;
  size_t before = q->s->events;
  for (unsigned i = 0; i < q->ev.nparts; i++) {
    err = open_part(q, i);
    if (err == -ENOMEM || err == -EMFILE) return err;
  }
  return q->ev.nparts > 1 && q->s->events > before ? 0 : err;
}

static int open_on_cpus(struct request *q) {
  long cpus = sysconf(_SC_NPROCESSORS_CONF);
  int last = -ENODEV;
  bool any = false;
  for (q->cpu = 0; q->cpu < cpus; q->cpu++) {
    int err = open_event(q);
    if (err == 0)
      any = true;
    else if (err != -ENODEV) /* offline */
      return err;
    else
      last = err;
  }
  return any ? 0 : last;
}

static int open_targets(struct request *q) {
  const struct pml_sampler_options *o = &q->s->options;
  int last = -ESRCH;
  bool any = false;
  q->cpu = -1;
  q->pid = o->cgroup != NULL ? q->s->cgroup.pid : o->all ? -1 : 0;
  if (o->all) return open_on_cpus(q);
  if (o->npids == 0) return o->inherit ? open_on_cpus(q) : open_event(q);
  for (size_t i = 0; i < o->npids; i++) {
    q->pid = o->pid[i];
    q->cpu = -1;
    int err = o->inherit ? open_on_cpus(q) : open_event(q);
    if (err == 0)
      any = true;
    else if (err != -ESRCH) /* a thread that has ended meanwhile */
      return err;
  }
  return any ? 0 : pml_fail(last, "%s: no such thread", q->ev.name);
}

/* Note the existing mappings of these threads' processes, or of all processes. */
static void note_maps(struct pml_sampler *s) {
  const struct pml_sampler_options *o = &s->options;
  if (o->on_exec) return;
  if (!o->all && o->npids == 0) (void)pml__maps_of_process(&s->maps, getpid());
  if (!o->all && o->npids > 0) (void)pml__maps_of_process(&s->maps, o->pid[0]);
  DIR *proc = o->all ? opendir("/proc") : NULL;
  for (struct dirent *e; proc != NULL && (e = readdir(proc)) != NULL;)
    if (e->d_name[0] >= '1' && e->d_name[0] <= '9') pml__maps_of_newcomer(&s->maps, (pid_t)strtol(e->d_name, NULL, 10));
  if (proc != NULL) (void)closedir(proc);
}

static int check(const struct pml_event *ev, const struct pml_sampler_options *o) {
  if (ev->nparts == 0) return pml_fail(PML_EMODE, "%s: only the kernel's events can be sampled", ev->name);
  if (ev->first.cpu_any >= 0)
    return pml_fail(PML_EMODE, "%s: it counts for all processes of a package; its causes are unknown", ev->name);
  if (!ev->first.here) return pml_fail(PML_ENOTHERE, "%s: its PMU %s is not on this machine", ev->name, ev->first.pmu);
  if (o->registers && (o->calls || PML__SAMPLER_REGISTERS == 0))
    return pml_fail(-EINVAL, "%s: registers are sampled on x86-64 and arm64, and not beside calls", ev->name);
  if ((o->period == 0) == (o->frequency == 0))
    return pml_fail(-EINVAL, "%s: give a period or a frequency, one of both", ev->name);
  return 0;
}

int pml_sampler_open(struct pml_sampler **out, const char *name, const struct pml_sampler_options *options) {
  struct request q = {.cpu = -1};
  *out = NULL;
  int err = pml_event_parse(&q.ev, name);
  if (err == 0) err = check(&q.ev, options);
  if (err < 0) return err;
  struct pml_sampler *s = q.s = calloc(1, sizeof *s);
  if (s == NULL) return no_memory();
  memcpy(s->name, q.ev.name, sizeof s->name);
  s->options = *options;
  s->options.all = options->all || options->cgroup != NULL;
  if (s->options.max == 0) s->options.max = PML_SAMPLER_MAX;
  s->options.on_exec = options->on_exec && !s->options.all; /* a cpu sees no exec of one thread */
  s->owner = getpid();
  if (options->cgroup != NULL) err = pml_target_cgroup(&s->cgroup, options->cgroup);
  if (err == 0) err = open_targets(&q);
  if (err < 0) {
    pml_sampler_close(s);
    return err;
  }
  note_maps(s);
  s->options.pid = NULL; /* the caller's */
  s->options.cgroup = NULL;
  for (size_t i = 0; !s->options.on_exec && i < s->events; i++) (void)ioctl(s->event[i].fd, PERF_EVENT_IOC_ENABLE, 0);
  *out = s;
  return 0;
}

void pml_sampler_close(struct pml_sampler *s) {
  if (s == NULL) return;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  bool has_buffers = getpid() == s->owner; /* a child has not: something else may be there */
  for (size_t i = 0; has_buffers && i < s->buffers; i++)
    (void)munmap(s->buffer[i].page, page + (size_t)s->buffer[i].ring.bytes);
  for (size_t i = 0; i < s->events; i++) pml__perf_descriptor_close(&s->event[i]);
  if (s->defined) pml__uprobe_release();
  pml_target_release(&s->cgroup);
  pml__maps_free(&s->maps);
  free(s->stack);
  free(s->frame);
  free(s->event);
  free(s->buffer);
  free(s->sample);
  free(s);
}

const char *pml_sampler_name(const struct pml_sampler *s) {
  return s->name;
}
