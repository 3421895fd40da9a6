/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_model.c - the page reader against a thread that plays the kernel, on any machine, a million
 * times: the two instructions are replaced by calls. An argument is the number of page reads.
 */
#include <stdint.h>

static uint64_t machine_rdpmc(uint32_t counter);
static uint64_t machine_clock(void);
#define PML_RDPMC_INSN(counter) machine_rdpmc(counter)
#define PML_RDPMC_CYCLES() machine_clock()

#include "source/kernel/pml_rdpmc.h"

#include "page_reader.h"
#include "sanitized.h"

int main(int argc, char **argv) {
  uint64_t reads = argc > 1 ? strtoull(argv[1], NULL, 10) : SANITIZED ? 100000 : 1000000;
  pthread_t thread;
  if (!CHECK(kernel_start(&thread, 20), "the kernel of the model runs")) return check_done();
  reader_run(reads, 101);
  atomic_store(&machine.stop, true);
  pthread_join(thread, NULL);
  reader_says();
  return check_done();
}
