/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/aarch64/entry.c - jumps at the entries of functions. */
#if defined(__aarch64__)
#include "adapter/arch/pml_arch.h"

#include <string.h>

#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define BRANCH 0x14000000u
#define SLED 8u /* instructions: a branch over the others, which are no-operations */

static uint32_t at_of(const uint8_t *at, size_t i) {
  uint32_t code;
  memcpy(&code, at + i * sizeof code, sizeof code);
  return code;
}

/* Calls of a profiler here come with instructions that save the return address, which no jump can replace. */
size_t pml_arch_entry(const uint8_t *at, size_t n, enum pml_arch_entry kind) {
  if (kind == PML_ARCH_SLED)
    return n >= SLED * sizeof NOP && at_of(at, 0) == (BRANCH | SLED) && at_of(at, 1) == NOP ? SLED * sizeof NOP : 0;
  return kind == PML_ARCH_NOPS && n >= sizeof NOP && at_of(at, 0) == NOP ? sizeof NOP : 0;
}

size_t pml_arch_entry_marked(const uint8_t *at, size_t n) {
  return n >= sizeof BTI_C && at_of(at, 0) == BTI_C ? sizeof BTI_C : 0;
}

/* ldr x16, the address; br x16; the address. */
void pml_arch_island_write(void *island, uintptr_t to) {
  static const uint32_t jump[] = {0x58000050, 0xd61f0200};
  memcpy(island, jump, sizeof jump);
  memcpy((uint8_t *)island + sizeof jump, &to, sizeof to);
  __builtin___clear_cache(island, (char *)island + PML_ARCH_ISLAND_BYTES);
}

/* One instruction, which other threads see as a whole, and which the architecture lets change while they run it. */
bool pml_arch_entry_patch(uintptr_t at, uintptr_t island, uint8_t saved[PML_ARCH_ENTRY_BYTES], bool alone) {
  uint32_t *code = (uint32_t *)at; /* NOLINT(performance-no-int-to-ptr) */
  intptr_t distance = (intptr_t)(island - at);
  uint32_t fresh = BRANCH | ((uint32_t)(distance >> 2) & 0x3ffffff);
  (void)alone;
  if (island == 0)
    memcpy(&fresh, saved, sizeof fresh);
  else if (distance >= (intptr_t)1 << 27 || distance < -((intptr_t)1 << 27))
    return false;
  else
    memcpy(saved, code, sizeof *code);
  __atomic_store_n(code, fresh, __ATOMIC_RELEASE);
  __builtin___clear_cache((char *)code, (char *)(code + 1));
  return true;
}

#else
typedef int pml_entry_is_another;
#endif
