/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_forbidden.c - user-space reads that are forbidden while a page is open: the page says that the counter
 * may be read, and the instruction faults, as after `echo 0 > /sys/devices/cpu/rdpmc`. Each read uses read(2), no
 * signal of a fault reaches the program, and its other signals are delivered as usual.
 */
#include "check.h"
#include "dressed.h"

#include <setjmp.h>
#include <sys/mman.h>

#if defined(__x86_64__)

#define OFFSET (INT64_C(1) << 40) /* added to counts read by page */

static volatile unsigned seen;
static void *volatile seen_at;
static sigjmp_buf after;

static void own_handler(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  seen++;
  seen_at = info->si_addr;
  siglongjmp(after, 1);
}

static volatile struct perf_event_mmap_page *new_page(uint32_t i) {
  (void)i;
  struct perf_event_mmap_page *p =
      mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p->cap_user_rdpmc = p->cap_user_time = 1;
  p->index = 1;
  p->pmc_width = 48;
  p->offset = OFFSET;
  p->time_mult = 1;
  return p;
}

static bool by_kernel(const struct pml_reading *r) {
  return r->raw < (uint64_t)OFFSET;
}

static void a_set(bool restarts, const char *how) {
  uint64_t v[MEMBERS] = {0};
  const char *why = NULL;
  struct pml_eventset *s = open_dressed(new_page, restarts);
  if (!CHECK(s != NULL, "a set opens")) return;
  struct pml__kernel_backend *k = pml__kernel_backend_of(s);
  CHECK(pml_counter_path(&k->counter[1], NULL) == PML_PATH_PAGE, "%s: its events seem to be read by page", how);
  bool good = pml_eventset_start(s) >= 0;
  for (int i = 0; i < 20; i++) good &= pml_eventset_read(s, v) >= 0 && v[1] < (uint64_t)OFFSET;
  CHECK(good && v[1] > 0, "a set reads on: %llu ns of task-clock", (unsigned long long)v[1]);
  CHECK(pml_counter_path(&k->counter[0], &why) == PML_PATH_READ && why != NULL, "and says why: %s", why ? why : "");
  pml_eventset_close(s);
}

static void a_counter_and_a_group(bool restarts, const char *how) {
  uint64_t buffer[3 + MEMBERS];
  struct pml_reading r[MEMBERS] = {{0}}, one = {0};
  struct pml_eventset *s = open_dressed(new_page, restarts);
  if (!CHECK(s != NULL, "a set opens")) return;
  struct pml_group g = {.member = pml__kernel_backend_of(s)->counter, .buffer = buffer, .n = MEMBERS};
  bool counter = pml_counter_read(&g.member[1], &one) == 0 && by_kernel(&one);
  bool group = pml_group_read(&g, r) == 0 && by_kernel(&r[0]) && by_kernel(&r[2]) && r[1].raw > 0;
  CHECK(counter && group, "%s: a counter and a group read on, too", how);
  pml_eventset_close(s);
}

static char *new_nothing(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void own_fault(void) {
  char *volatile nothing = new_nothing();
  unsigned before = seen;
  if (sigsetjmp(after, 1) == 0) *(volatile char *)(nothing + 8) = 1;
  CHECK(seen == before + 1 && seen_at == nothing + 8, "the program's own fault reaches its handler, with the address");
  if (sigsetjmp(after, 1) == 0) raise(SIGSEGV);
  CHECK(seen == before + 2, "and so does a signal that was sent");
}

enum disposition { DEFAULT, IGNORE };

/* How a child ends in which nothing but pmlua handles the signal. */
static int child_of(enum disposition d, bool sent) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, d == IGNORE ? SIG_IGN : SIG_DFL);
    pml__rdpmc_guard();
    if (sent)
      raise(SIGSEGV);
    else
      *(volatile char *)new_nothing() = 1;
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static bool killed(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void ends(void) {
  CHECK(killed(child_of(DEFAULT, false)), "a program without a handler ends by its fault");
  CHECK(killed(child_of(DEFAULT, true)), "and by a signal that was sent");
  CHECK(killed(child_of(IGNORE, false)), "a program that ignores the signal ends by its fault, as before");
  int status = child_of(IGNORE, true);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "and ignores a signal that was sent");
}

/* Without the handler the read must fault, else there is nothing to see. */
static bool rdpmc_faults(void) {
  pid_t child = fork();
  if (child == 0) {
    uint64_t v;
    signal(SIGSEGV, SIG_DFL);
    (void)pml__rdpmc_insn(NULL, 0, &v);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return killed(status);
}

int main(void) {
  struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO};
  if (!rdpmc_faults()) {
    SKIP("rdpmc does not fault here: a real counter returns a value");
    return check_done();
  }
  ends(); /* before the guard is installed in this process */
  sigaction(SIGSEGV, &own, NULL);
  pml__rdpmc_guard();
  a_set(false, "plain");
  a_counter_and_a_group(false, "plain");
  if (pml__rseq_ready()) {
    a_set(true, "in a restartable section");
    a_counter_and_a_group(true, "in a restartable section");
  } else {
    SKIP("the C library has registered no restartable sequences");
  }
  CHECK(seen == 0, "no signal reached the program: %u", seen);
  own_fault();
  return check_done();
}

#else

int main(void) {
  SKIP("the pages of this spec name x86-64's counters");
  return check_done();
}

#endif
