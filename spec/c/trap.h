/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/trap.h - x86-64's rdpmc and rdtsc emulated by a signal handler: where the kernel forbids them they raise
 * SIGSEGV, so that the shipped code runs on registers defined by a spec.
 *
 * rdpmc is forbidden without a PMU, and with one in every process without a mapped page of an event, unless the rdpmc
 * file of the PMU contains 2. rdtsc is forbidden in a thread that requests it.
 */
#ifndef SPEC_TRAP_H
#define SPEC_TRAP_H

#include "source/kernel/pml_rdpmc_fault.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

static struct {
  bool (*rdpmc)(uint32_t counter, uint64_t *value); /* false: there is no such counter */
  bool (*rdtsc)(uint64_t *value);
  volatile unsigned taken;
} trap;

static bool trap_emulate(greg_t *reg) {
  static const uint8_t rdpmc[] = {0x0f, 0x33}, rdtsc[] = {0x0f, 0x31};
  const void *insn = (const void *)(uintptr_t)reg[REG_RIP];
  uint64_t v;
  if (memcmp(insn, rdpmc, sizeof rdpmc) == 0) {
    if (!trap.rdpmc((uint32_t)reg[REG_RCX], &v)) return false;
  } else if (trap.rdtsc == NULL || memcmp(insn, rdtsc, sizeof rdtsc) != 0 || !trap.rdtsc(&v)) {
    return false;
  }
  reg[REG_RAX] = (greg_t)(v & UINT32_MAX);
  reg[REG_RDX] = (greg_t)(v >> 32);
  reg[REG_RIP] += 2;
  trap.taken++;
  return true;
}

static void trap_handler(int sig, siginfo_t *info, void *context) {
  (void)info;
  if (!trap_emulate(((ucontext_t *)context)->uc_mcontext.gregs)) signal(sig, SIG_DFL); /* not caused by this */
}

/* trap_rdpmc - from now on, and before pmlua's own handler; returns whether the instruction faults at all here. */
static bool trap_rdpmc(bool (*rdpmc)(uint32_t counter, uint64_t *value)) {
  struct sigaction sa = {.sa_sigaction = trap_handler, .sa_flags = SA_SIGINFO};
  trap.rdpmc = rdpmc;
  pml__rdpmc_guard();
  sigaction(SIGSEGV, &sa, NULL);
  unsigned before = trap.taken;
  uint64_t value;
  (void)pml__rdpmc_insn(NULL, 0, &value);
  return trap.taken == before + 1;
}

/*
 * trap_rdtsc - for the calling thread, until trap_rdtsc(NULL); all code that reads the time in between gets it from
 * here. Returns whether the instruction faults: some virtual machines accept the prctl() and execute the instruction
 * anyway.
 */
static inline bool trap_rdtsc(bool (*rdtsc)(uint64_t *value)) {
  trap.rdtsc = rdtsc;
  if (prctl(PR_SET_TSC, rdtsc != NULL ? PR_TSC_SIGSEGV : PR_TSC_ENABLE) != 0) return false;
  if (rdtsc == NULL) return true;
  unsigned before = trap.taken;
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return trap.taken == before + 1;
}

#endif
