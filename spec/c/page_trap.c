/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_trap.c - the page reader as it ships, its rdpmc and rdtsc made by a signal handler, against a thread that
 * plays the kernel. An argument is the number of page reads.
 */
#include "source/kernel/pml_rdpmc.h"

#include "check.h"

#if defined(__x86_64__)

#include "page_reader.h"
#include "sanitized.h"
#include "trap.h"

static bool answer_rdpmc(uint32_t counter, uint64_t *value) {
  *value = machine_rdpmc(counter);
  return true;
}

static bool answer_rdtsc(uint64_t *value) {
  *value = machine_clock();
  return true;
}

int main(int argc, char **argv) {
  uint64_t reads = argc > 1 ? strtoull(argv[1], NULL, 10) : SANITIZED ? 20000 : 50000;
  pthread_t thread;
  if (!trap_rdpmc(answer_rdpmc)) {
    SKIP("rdpmc does not fault here: a real counter returns a value, and spec pmu_page reads it");
    return check_done();
  }
  bool traps_clock = trap_rdtsc(answer_rdtsc);
  trap_rdtsc(NULL); /* the thread of the model would inherit it */
  if (!traps_clock) {
    SKIP("this machine does not let rdtsc fault");
    return check_done();
  }
  if (!CHECK(kernel_start(&thread, 250), "the kernel of the model runs")) return check_done();
  (void)trap_rdtsc(answer_rdtsc);
  unsigned before = trap.taken;
  reader_run(reads, 17);
  unsigned traps = trap.taken - before;
  trap_rdtsc(NULL);
  atomic_store(&machine.stop, true);
  pthread_join(thread, NULL);
  reader_says();
  CHECK(traps > reader.by_page, "%u instructions of the reader as it ships were emulated", traps);
  return check_done();
}

#else

int main(void) {
  SKIP("the emulation is written for x86-64's rdpmc; spec page_model does the same by calls");
  return check_done();
}

#endif
