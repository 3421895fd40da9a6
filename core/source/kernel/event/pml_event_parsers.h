/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_parsers.h - parsers and listers of the kernel's events. Internal. */
#ifndef PML_EVENT_PARSERS_H
#define PML_EVENT_PARSERS_H

#include "source/base/pml_source.h"

/* Events opened user-only: pml_event_user.c */
#define PML__USER_ONLY ":u" /* what their names end in */
bool pml__event_may_be_user_only(const struct pml_event *ev);
bool pml__event_counts_in_user_space(const struct pml_event *ev);
/* pml__event_is_of_kernel - the event occurs only in the kernel: counted in user space it would always be 0. */
bool pml__event_is_of_kernel(const struct perf_event_attr *attr);
/* pml__event_ignores_modes - a clock of the kernel, which counts user space and the kernel even if one is excluded. */
bool pml__event_ignores_modes(const struct perf_event_attr *attr);

/* How the opened event differs from the requested one; for pml_event_user_only(), which names the first event of each
 * kind. */
enum pml__event_note {
  PML__NOTE_USER_ONLY,
  PML__NOTE_GUESTS,
  PML__NOTE_HOST,
  PML__NOTE_PRECISE,
  PML__NOTE_CLOCK, /* a modifier was given that changes nothing */
  PML__NOTE_NEVER, /* a modifier was given that leaves nothing */
  PML__NOTE_ONE_THREAD,
  PML__NOTE_CODE, /* libpfm4 has its code wrong */
  PML__NOTES
};
void pml__event_note(enum pml__event_note which, const struct pml_event *ev);
/* pml__event_sysctl - the number in the file @path of /proc/sys; @absent where it cannot be read. */
int pml__event_sysctl(const char *path, int absent);
int pml__paranoid_level(void); /* kernel.perf_event_paranoid; 2, the kernel's default, where it cannot be read */

/*
 * pml__event_probe - may an event like @attr be opened? On @cpu >= 0 for every process, else on the calling thread.
 * *reason: "", or why not, or with which modifier; static storage. Cost: one or two perf_event_open.
 */
bool pml__event_probe(const struct perf_event_attr *attr, int cpu, const char **reason);

/* generic names and raw codes: pml_event_generic.c */
int pml__event_parse_generic(struct pml_event *ev, const char *base, const struct pml__mods *m);
/* pml__event_spread_over_cores - make a part of @ev for each core PMU of a hybrid CPU. Returns 0 or -ENOMEM. */
int pml__event_spread_over_cores(struct pml_event *ev);
int pml__event_parse_raw(struct pml_event *ev, const char *base, const struct pml__mods *m);
int pml__event_walk_generic(const struct pml__walk *w);

/* libpfm4: pml_event_pfm.c */
int pml__event_parse_pfm(struct pml_event *ev, const char *name);
int pml__event_walk_pfm(const struct pml__walk *w, bool here);
int pml__event_walk_pfm_pmus(const struct pml__walk *w); /* the PMUs themselves, by name */
bool pml__event_pfm_has_pmu(const char *name);

/* PMUs of sysfs: pml_event_sysfs.c */
struct pml__core_pmu {
  char name[64];
  uint32_t type;
};
/* pml__core_pmus - the core PMUs sysfs shows (2 and more: hybrid), sorted by name; cached. Returns their number. */
unsigned pml__core_pmus(struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX]);

/* pml__sysfs_pinned_to - may the calling thread only run on cpus of core PMU @pmu? False where sysfs has no list. */
bool pml__sysfs_pinned_to(const char *pmu);
/* pml__sysfs_pmu_of - the name of the PMU with this type, or "". */
void pml__sysfs_pmu_of(uint32_t type, char pmu[64]);
/* pml__sysfs_described - the root is not /sys. */
bool pml__sysfs_described(void);
/* pml__sysfs_file - read FILE of PMU into @buf, the trailing newline cut off; -errno. */
int pml__sysfs_file(const char *pmu, const char *file, char *buf, size_t size);
/* pml__sysfs_read - the same of any file below the root. */
int pml__sysfs_read(const char *file, char *buf, size_t size);
int pml__event_parse_sysfs(struct pml_event *ev, const char *name);
int pml__event_walk_sysfs(const struct pml__walk *w);

/* places of PMUs that count packages: pml_event_place.c. -1: not said. */
struct pml__place {
  int package, die, cpu;
};
/* pml__place_split - copy @name to @base (PML_EVENT_NAME_MAX bytes) without its trailing place, if it has one. */
void pml__place_split(struct pml__place *place, char *base, const char *name);
/*
 * pml__event_place - give @ev a part for each place of its PMU that matches @want; unchanged if its PMU counts threads.
 */
int pml__event_place(struct pml_event *ev, const struct pml__place *want);
/* pml__event_places - the suffixes for the event's name: ":package0, :package1"; "" if it has no places. */
void pml__event_places(const struct pml_event *ev, char *text, size_t size);

/* Where a format puts a value: "config1:0-7,32-35". */
#define PML__FORMAT_RANGES 8
struct pml__format {
  unsigned word; /* 0 config, 1 config1, 2 config2, 3 config3 */
  unsigned nranges;
  unsigned bits;
  struct {
    unsigned low, high;
  } range[PML__FORMAT_RANGES];
};
bool pml__format_parse(struct pml__format *f, const char *text);
/* pml__format_put - set the bits of @f in @word to @value; false if it does not fit. */
bool pml__format_put(const struct pml__format *f, uint64_t *word, uint64_t value);

/* tracepoints: pml_event_trace.c */
/* pml__tracefs - the tracefs that can be read; NULL, and in *err why not. It may be mounted any time: not cached. */
const char *pml__tracefs(int *err);
/* pml__trace_id - the number in file @path; -errno, -EINVAL for garbage. */
int pml__trace_id(const char *path, uint64_t *id);
int pml__event_parse_trace(struct pml_event *ev, const char *base, const struct pml__mods *m);
int pml__event_walk_trace(const struct pml__walk *w);

/* breakpoints and uprobes: pml_event_probe.c */
int pml__event_parse_mem(struct pml_event *ev, const char *name);
int pml__event_parse_uprobe(struct pml_event *ev, const char *name);
int pml__event_walk_probe(const struct pml__walk *w);
/* pml__uprobe_part - the first part of @ev: a probe at an offset of a file. Returns 0 or a failure with a detail. */
int pml__uprobe_part(struct pml_event *ev, const char *name, const char *path, uint64_t offset);

/* USDT probes: pml_event_usdt.c */
int pml__event_parse_usdt(struct pml_event *ev, const char *name);

/* One place of a probe, of a note that sys/sdt.h made. */
struct pml__usdt_place {
  const char *provider, *name; /* in the mapped file */
  const char *arguments; /* where they are, "-4@%eax 8@$5": sizes, negative if signed, and operands; "": it has none */
  uint64_t offset;       /* in the file */
  uint64_t semaphore;    /* in the file; 0: it has none */
};
/*
 * pml__usdt_walk - visit every place of every probe in the file until @visit is not 0. Returns what it returned last,
 * 0, PML_EFORMAT or -errno; no detail.
 */
typedef int pml__usdt_visit(const struct pml__usdt_place *place, void *arg);
PML__SHARED int pml__usdt_walk(const char *path, pml__usdt_visit *visit, void *arg);

/* symbols of ELF files: pml_event_elf.c */
struct pml__symbol {
  uint64_t value; /* address in the file's own layout */
  uint64_t size;
  uint64_t offset; /* in the file; UINT64_MAX: not in the file (.bss) */
  bool indirect;   /* an ifunc: @value is the function chosen in this process, or UINT64_MAX */
};
/* pml__elf_symbol - look @name up in .symtab and .dynsym. Returns 0, PML_ENOSYMBOL, PML_EFORMAT, -errno; no detail. */
int pml__elf_symbol(const char *path, const char *name, struct pml__symbol *sym);
/* pml__process_symbol - the same in the calling process: sym->value is the address. */
int pml__process_symbol(const char *name, struct pml__symbol *sym);

#endif
