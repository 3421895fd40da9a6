/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_rdpmc_fault.c - fallback to read(2) when a user-space counter read faults. */
#include "source/kernel/pml_rdpmc_fault.h"

#include "base/pml_process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
#define FAULT SIGSEGV
#define IP(at) (at)->uc_mcontext.gregs[REG_RIP]
#define REGISTER(at, n) (at)->uc_mcontext.gregs[n]
#else
#define FAULT SIGILL
#define IP(at) (at)->uc_mcontext.pc
#define REGISTER(at, n) (at)->uc_mcontext.regs[n]
#endif

/* The address of an instruction that may fault, and the address to continue at, as distances from the fields. */
struct place {
  int32_t insn, landing;
  uint32_t page; /* register */
};
extern const struct place faults_begin[] __asm__("__start_pml_rdpmc_faults") __attribute__((visibility("hidden")));
extern const struct place faults_end[] __asm__("__stop_pml_rdpmc_faults") __attribute__((visibility("hidden")));

static struct pml__lock lock;
static bool installed;
static struct sigaction before; /* written before the handler is installed, never afterwards */

static const struct place *place_of(uintptr_t ip) {
  for (const struct place *p = faults_begin; (uintptr_t)p < (uintptr_t)faults_end; p++)
    if ((uintptr_t)&p->insn + (uintptr_t)(intptr_t)p->insn == ip) return p;
  return NULL;
}

/* All zero: cap_user_rdpmc is 0. The page is the thread's own, which stands in its read. */
static void go_on(const struct place *p, ucontext_t *at) {
  uintptr_t bytes = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)REGISTER(at, p->page) & ~(bytes - 1);
  (void)mmap((void *)page, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  uintptr_t landing = (uintptr_t)&p->landing + (uintptr_t)(intptr_t)p->landing;
  IP(at) = (__typeof__(IP(at)))landing;
}

/* A fault recurs when its handler returns; a signal that was sent does not. */
static void end_by(int sig, const siginfo_t *info) {
  struct sigaction end = {.sa_handler = SIG_DFL};
  (void)sigaction(sig, &end, NULL);
  if (info->si_code <= 0) (void)syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
  const struct place *p = info->si_code > 0 ? place_of((uintptr_t)IP((ucontext_t *)context)) : NULL;
  int saved = errno;
  if (p != NULL)
    go_on(p, context);
  else if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(sig, info, context);
  else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && info->si_code > 0))
    end_by(sig, info); /* the kernel ends a program that ignores a fault, too */
  else if (before.sa_handler != SIG_IGN)
    before.sa_handler(sig);
  errno = saved;
}

static bool is_function(const struct sigaction *a) {
  return (a->sa_flags & SA_SIGINFO) != 0 || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

void pml__rdpmc_guard(void) {
  struct sigaction guard = {.sa_sigaction = on_fault};
  pml__lock_take(&lock);
  if (!installed && sigaction(FAULT, NULL, &before) == 0) {
    guard.sa_flags = is_function(&before) ? before.sa_flags | SA_SIGINFO : SA_SIGINFO | SA_ONSTACK;
    guard.sa_mask = before.sa_mask;
    guard.sa_flags &= ~(int)SA_RESETHAND;
    installed = sigaction(FAULT, &guard, NULL) == 0;
  }
  pml__lock_leave(&lock);
}

#else

void pml__rdpmc_guard(void) {}

#endif
