/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/sampler/pml_sampler.h - sampling of events: instruction and data addresses from the kernel's ring
 * buffer.
 */
#ifndef PML_SAMPLER_H
#define PML_SAMPLER_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

struct pml_sampler; /* opaque */

struct pml_sampler_options {
  const pid_t *pid; /* @npids threads; none: the calling thread */
  size_t npids;
  bool all;           /* every process, on every cpu; @pid, @inherit and @on_exec are ignored */
  const char *cgroup; /* as @all, but the processes of this cgroup only: its folder */
  bool inherit;       /* threads and processes that are made from now on, too */
  bool on_exec;       /* begin when the thread executes a program */
  bool address;       /* keep the address of the data that was accessed, where the event has one */
  bool calls;         /* keep the stack of user space, as far as programs have frame pointers */
  bool registers;     /* keep the registers of user space, not beside @calls */
  uint64_t period;    /* a sample every so many events; 0: by @frequency */
  uint64_t frequency; /* samples a second that the kernel aims at */
  size_t max;         /* samples to keep; 0: PML_SAMPLER_MAX. With @calls, up to PML_SAMPLER_CALLS as many calls */
};

#define PML_SAMPLER_MAX (UINT64_C(1) << 22)
#define PML_SAMPLER_CALLS 16u

enum pml_sample_mode { PML_SAMPLE_USER, PML_SAMPLE_KERNEL, PML_SAMPLE_OTHER }; /* other: of a hypervisor or guest */

struct pml_sample {
  uint64_t time_ns; /* CLOCK_MONOTONIC */
  uint64_t ip, address;
  uint64_t period; /* events that the sample represents */
  int32_t pid, tid;
  uint32_t cpu, mode;
  uint32_t depth; /* with options.calls: depth of the stack; with options.registers: number of registers */
  uint64_t stack; /* internal: where it is stored */
};

struct pml_sampler_counts {
  uint64_t samples;   /* kept */
  uint64_t lost;      /* records that the kernel had no room for; drain more often, or sample less */
  uint64_t dropped;   /* samples beyond options.max, or without memory for them or their stack */
  uint64_t throttled; /* times that the kernel paused an event whose samples took too long */
  uint64_t odd;       /* records that make no sense */
};

/*
 * pml_sampler_open - sample @name from now on. With @inherit or @all there is an event for each thread and cpu, and a
 * buffer of 512 KiB for each cpu; else an event and a buffer for each thread.
 * Returns 0, PML_EMODE (the event is not the kernel's, or counts packages), -EINVAL (period and frequency), -ESRCH, or
 * what pml_event_parse() and pml_counter_open() return. *@s is NULL on failure. Owned by the caller, one user at a
 * time. Cost: some ten system calls for each event and cpu. Thread-safe, not async-signal-safe.
 */
PML__SHARED int pml_sampler_open(struct pml_sampler **s, const char *name, const struct pml_sampler_options *options);
PML__SHARED void pml_sampler_close(struct pml_sampler *s);

/* pml_sampler_name - the sampled event: the requested name, or NAME:u where the kernel refuses to be sampled. */
PML__SHARED const char *pml_sampler_name(const struct pml_sampler *s);

/*
 * pml_sampler_drain - read the records that the kernel has written. Call it some ten times a second. Returns the number
 * of samples that came, PML_EMODE in a forked child. Cost: no system call; some 50 ns a sample.
 * pml_sampler_stop - sample no more, and drain.
 */
PML__SHARED int64_t pml_sampler_drain(struct pml_sampler *s);
PML__SHARED int64_t pml_sampler_stop(struct pml_sampler *s);

PML__SHARED struct pml_sampler_counts pml_sampler_counts(const struct pml_sampler *s);
/* pml_sampler_samples - those that were kept, by buffer; valid until the next drain. */
PML__SHARED const struct pml_sample *pml_sampler_samples(const struct pml_sampler *s, size_t *n);

/* A place in a file or another object. */
struct pml_sampler_frame {
  const char *object;
  uint64_t place;
};

/*
 * pml_sampler_registers - with options.registers, the registers of sample @i in the order of PML_SAMPLER_REGISTERS, up
 * to @n; NULL: none. pml_sampler_where - the object and the place of sample @i.
 */
#if defined(__x86_64__)
#define PML_SAMPLER_REGISTERS                                                                                          \
  "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"
#elif defined(__aarch64__)
#define PML_SAMPLER_REGISTERS                                                                                          \
  "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",  \
      "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc"
#else
#define PML_SAMPLER_REGISTERS "none"
#endif
PML__SHARED const uint64_t *pml_sampler_registers(const struct pml_sampler *s, size_t i, size_t *n);
PML__SHARED struct pml_sampler_frame pml_sampler_where(struct pml_sampler *s, size_t i);

/* The criterion for counting samples. */
enum pml_sampler_by {
  PML_SAMPLER_BY_CODE,   /* object, and offset in its file */
  PML_SAMPLER_BY_PAGE,   /* process, and the page of the data's address */
  PML_SAMPLER_BY_THREAD, /* process and thread */
  PML_SAMPLER_BY_CPU,
  PML_SAMPLER_BY_PATH, /* the whole stack */
  PML_SAMPLER_BY_DATA  /* the data at the address: in a file, or the process's mapping */
};

struct pml_sampler_row {
  const char *object; /* file, "[kernel]", "[heap]", "//anon", "[unknown]"; NULL: by thread or cpu */
  uint64_t place;     /* offset in the file, or the address where there is no file; page's address; thread; cpu */
  int32_t pid;        /* 0: not of one process */
  uint64_t samples;
  uint64_t period; /* sum of the samples' periods: about how many events these were */
  /*
   * By path: the stack, from where the event happened to the outermost caller; callers' places are within their calls.
   * By data: where in a file a variable of this address would be; none where no file is near. Until the next fold.
   */
  const struct pml_sampler_frame *frame;
  uint32_t frames;
};

/*
 * pml_sampler_fold - count samples. *@rows: sorted by object, process and place; the caller frees it, the sampler owns
 * the names. A place in a file is found by the mapping that the process, or the process it was forked from, had at that
 * time. Returns the number of rows or -ENOMEM. Cost: a sort of all samples.
 */
PML__SHARED int64_t pml_sampler_fold(struct pml_sampler *s, enum pml_sampler_by by, struct pml_sampler_row **rows);

PML_END_DECLS

#endif
