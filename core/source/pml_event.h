/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_event.h - events by name, their perf attributes, and the list of all events. */
#ifndef PML_EVENT_H
#define PML_EVENT_H

#include "base/pml_api.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/*
 * The grammar, one for every source:
 *
 *   clock::ticks  clock::ns                   pmlua's own clock
 *   sde:::LIB::EVENT                          what library LIB publishes (pml_sde.h), now or once it registers
 *   plugin::NAME::METRIC                      what a metric plugin measures (pml_plugin.h), once it is loaded
 *   sim::Ir  sim::D1mr ...                    what callgrind counts of the calling thread (pml_sim.h), under simulation
 *   cycles  instructions  task-clock ...      perf's generic names (hardware, cache, software)
 *   PMU::EVENT:UMASK  EVENT                   libpfm4's names, of any PMU it knows, here or not
 *   pmu/event/  pmu/event=0x3c,umask=1/       a PMU of /sys/bus/event_source/devices, by its formats and events
 *   rNNN                                      raw, hexadecimal, of the core PMU
 *   subsys:event                              tracepoint
 *   mem:ADDR|SYMBOL[+OFF][:rwx][:len]         hardware breakpoint (watchpoint); symbol of the calling process
 *   uprobe:PATH:SYMBOL|0xOFFSET[%return]      user-space probe
 *   usdt:PATH:PROVIDER:NAME                   probe that the program's author placed (sys/sdt.h), all its places
 *
 * A PMU that counts packages and not threads (uncore, energy: it has a cpumask) counts for every process of the host.
 * Its event is the sum over all its places, or, with :packageN, :packageN:dieM or :cpuN at the very end, the count of
 * that place: power/energy-pkg/:package1, skx_unc_imc0::UNC_M_CAS_COUNT:RD:package0. The kernel's topology gives the
 * numbers. PMU_*, as in uncore_imc_*, is the sum over PMU_0, PMU_1, ..., which must encode the event alike.
 *
 * Any event except clock, sde, sim and plugin events may end in modifiers: :u user, :k kernel, :h hypervisor, or
 * several at once (:uk). :p, :pp and :ppp request the precise address of an event from a core PMU (perf's precise_ip 1
 * to 3), and combine with the others (:upp); if the PMU does not support this, the event is opened without, and
 * pml_event_user_only() reports it. Without a modifier nothing is excluded, except the hypervisor and guests on core
 * PMUs. Where the kernel refuses to count itself (perf_event_paranoid 2), an event without a modifier is opened
 * user-only and is called NAME:u, except what only happens in the kernel (tracepoints, context-switches,
 * cpu-migrations, ...), which stays refused.
 *
 * pmu/.../ takes perf's own form of modifiers (pmu/event/u) as well; parameters given beside an event win over its own.
 * mem: access is rw unless said, or x alone; the length is 1, 2, 4 or 8, unless said the symbol's own size, else 4,
 * less where the address is not aligned to it. An EVENT without a PMU is looked for among the PMUs that are here, then
 * among all others. Cache names are perf's: L1-dcache-loads, LLC-store-misses, iTLB-load-misses.
 */
#define PML_EVENT_NAME_MAX 256
#define PML_EVENT_PARTS_MAX 64
#define PML_EVENT_PLACE_MAX 32

struct pml__source; /* where events come from: the kernel, a library, a plugin, ... */

/* One perf event of one PMU. A generic event on a hybrid CPU has a part per core type, one of packages per place, PMU_*
 * also per PMU. */
struct pml_event_part {
  const char *pmu; /* sysfs or libpfm4 name of the PMU; static storage */
  struct perf_event_attr attr;
  bool here;   /* false: encoded, but this machine has no such PMU; generic and raw events leave that to the kernel */
  int cpu_any; /* -1, or a cpu the PMU insists on (uncore), from its cpumask */
  char place[PML_EVENT_PLACE_MAX]; /* what that cpu stands for: "package0", "package0:die1", "cpu8"; else "" */
};

/* The differences of a further part from the first. */
struct pml_event_other {
  const char *pmu;
  char place[PML_EVENT_PLACE_MAX];
  int cpu_any;
  uint32_t core_type;    /* type of the part's PMU, if it differs from the first's and the kernel needs it; else 0 */
  uint64_t probe_offset; /* of a further place of a USDT probe in its file; else 0 */
};

/* Plain data, owned by the caller, no resources: copy it, forget it. */
struct pml_event {
  const struct pml__source *source; /* NULL: the kernel, of an event that was made by hand */
  char name[PML_EVENT_NAME_MAX];    /* as asked for */
  char unit[16];                    /* "", "ns", "ticks", or what sysfs says ("Joules") */
  double scale;                     /* what a count is multiplied with to be in @unit; 1 if nothing is said */
  bool
      may_be_user_only; /* no modifier was given: it may be opened as NAME:u where the kernel refuses to count itself */
  unsigned
      nparts; /* 0: the kernel does not count it; else 1, or one per PMU of a hybrid CPU or place of an uncore PMU */
  struct pml_event_part first;
  const struct pml_event_other *other; /* [nparts - 1]; static storage: the same for all events of a PMU */
};

/*
 * pml_event_parse - encode @name.
 *
 * Returns 0; PML_ENOEVENT (the detail names the nearest events), PML_ESYNTAX, PML_ENOSYMBOL, -EACCES or -ENOENT
 * (tracefs not readable or not mounted: the detail says how to get it; or the file of a uprobe), PML_EFORMAT (a sysfs
 * file or an ELF file is malformed), PML_ETOOMANY (its PMU has more places than an event has parts: name one),
 * -ENAMETOOLONG, -ENOMEM. An event whose PMU is known but absent parses: first.here
 * is false; its attr.type is UINT32_MAX where perf has no number for such a PMU. *@ev is undefined after a failure.
 * Cost: milliseconds at first (libpfm4 is set up), then microseconds. Thread-safe (a lock), not async-signal-safe.
 */
PML_API int pml_event_parse(struct pml_event *ev, const char *name);

/* pml_event_part - part @i of @ev, below @ev->nparts. Cost: a copy. Thread-safe, async-signal-safe. */
PML_API struct pml_event_part pml_event_part(const struct pml_event *ev, unsigned i) PML_NAMESAKE(pml_event_part);

/*
 * pml_event_source - the source that events of such a name belong to, whether there is such an event or not: "perf"
 * (the kernel), "clock", "sde", "plugin", "sim". Static storage. Cost: some comparisons. Thread-safe,
 * async-signal-safe.
 */
PML_API const char *pml_event_source(const char *name);

/*
 * pml_event_permitted - the name by which the calling thread may count @name now: @name, or NAME:u where the kernel
 * refuses to count itself. @permitted: PML_EVENT_NAME_MAX bytes.
 * Returns 0, or what pml_event_parse() and pml_counter_open() return; @permitted is then @name. Cost: a parse, and an
 * open and close of an event without a modifier.
 */
PML_API int pml_event_permitted(const char *name, char *permitted);

/*
 * pml_event_user_only - one sentence for the user if this process has opened events without a modifier user-only, and
 * one if a PMU that is shared with guests, or is a guest's, made it open events otherwise than asked; else NULL. Each
 * is given once: its taker prints it, and asks again. Static storage. Thread-safe.
 */
PML_API const char *pml_event_user_only(void);

/* pml_event_user_only_reason - the first of these sentences, for files: taken or not. Constant. Thread-safe. */
PML_API const char *pml_event_user_only_reason(void);

/* One row of the list. Strings live until the callback returns. */
struct pml_event_info {
  const char *name;        /* parses as it stands; breakpoints and uprobes are shown by an example of each shape */
  const char *description; /* one line, "" if none */
  const char *
      source; /* "clock", "sde", "sim", "plugin", "generic", "libpfm4", "sysfs", "tracepoint", "breakpoint", "uprobe" */
  const char *pmu; /* PMU the event belongs to, or library */
  bool available;
  const char *reason; /* why not available, or under which restriction (:u only); "" otherwise */
};

typedef int pml_event_visit(const struct pml_event_info *info, void *arg); /* non-zero stops the walk */

/*
 * pml_event_list - visit every event pmlua can name: events of this machine's PMUs first, events of libpfm4's PMUs that
 * are not here last. @pattern: NULL, or a glob (or plain text: substring) matched without case against name and
 * description.
 * @all: also the PMUs that are not here (about a hundred thousand rows, a second or two).
 * Events of libpfm4 that need a number to be chosen (UNC_P_FREQ_BAND0_CYCLES:ff=N, some twenty) have no row.
 * The kernel is queried for availability once per PMU, not per event. Where tracefs cannot be read, a single row
 * replaces all tracepoints; its reason explains how to get them. Returns 0, the visitor's non-zero result, or a
 * negative code. Thread-safe; the visitor must not call back into pml_event.
 */
PML_API int pml_event_list(const char *pattern, bool all, pml_event_visit *visit, void *arg);

/* A PMU that libpfm4 has tables for. Plain data. */
struct pml_event_pmu {
  char name[64], description[128];
  const char *kind;  /* "core", "uncore", "os" (perf's generic and raw events), "unknown"; static */
  unsigned counters; /* general counters, of a core that runs one thread; 0: libpfm4 does not say */
  unsigned fixed;    /* counters that are bound to one event each */
  unsigned events;   /* event names, without their unit masks */
  bool here;         /* libpfm4 recognised this machine's CPU as having it, whether the kernel exposes it or not */
};

/*
 * pml_event_pmus - the PMUs that libpfm4 has tables for; which these are depends on the architecture it was built for.
 * @out: @max elements, of which as many are filled as there are PMUs; NULL with @max 0 to count.
 * Returns the number of PMUs (0 if libpfm4 is not usable). Cost: microseconds, once libpfm4 is set up. Thread-safe.
 */
PML_API int pml_event_pmus(struct pml_event_pmu *out, size_t max);

/*
 * pml_event_has_pmu - does this machine expose a hardware core PMU?
 * Returns 1, or 0 with the detail of PML_ENOPMU set (why, and the remedy). Cost: some perf_event_open, then cached.
 */
PML_API int pml_event_has_pmu(void);

/* Features of the core PMU, found by opening events. */
struct pml_event_pmu_traits {
  bool counts_guests; /* a host's events may include its guests: false where the PMU is lent to them (mediated) */
  bool precise;       /* precise events (PEBS, IBS, SPE): false in most guests */
  unsigned kinds;     /* of core, as sysfs shows them */
};

/*
 * pml_event_pmu_traits - what kind of PMU the core's is. Returns 0, PML_ENOPMU, -EACCES.
 * Cost: some perf_event_open. Thread-safe, not async-signal-safe.
 */
PML__SHARED int pml_event_pmu_traits(struct pml_event_pmu_traits *out) PML_NAMESAKE(pml_event_pmu_traits);

/*
 * pml_event_set_sysfs - read PMUs and the topology of cpus below @root instead of /sys (a described machine); NULL:
 * back to /sys. libpfm4's names of uncore PMUs then also refer to that machine, if it has such a PMU. Returns 0,
 * -ENOENT, -EACCES, -ENAMETOOLONG. Thread-safe; for the whole process.
 */
PML__SHARED int pml_event_set_sysfs(const char *root);

PML_END_DECLS

#endif
