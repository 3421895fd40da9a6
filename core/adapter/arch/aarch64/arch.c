/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/aarch64/arch.c - thunks. */
#if defined(__aarch64__)
#include "adapter/arch/pml_arch.h"
#include "base/pml_error.h"

#include <elf.h>
#include <string.h>
#include <sys/prctl.h>

#define THUNK 16u
#define GET_SHADOW_STACK 74 /* option of prctl(2), since Linux 6.13 */

const uint32_t pml__arch_jump_slot = R_AARCH64_JUMP_SLOT, pml__arch_glob_dat = R_AARCH64_GLOB_DAT,
               pml__arch_abs64 = R_AARCH64_ABS64, pml__arch_relative = R_AARCH64_RELATIVE;

int pml_arch_prepare(void) {
  uint64_t status = 0;
  if (prctl(GET_SHADOW_STACK, &status, 0, 0, 0) == 0 && (status & 1) != 0)
    return pml_fail(PML_EMODE,
                    "the guarded control stack is on; an exception through a recorded call could end this program");
  return 0;
}

size_t pml_arch_thunks_bytes(uint32_t n) {
  return (size_t)n * THUNK;
}

uintptr_t pml_arch_thunk(uintptr_t block, uint32_t i) {
  return block + (uintptr_t)i * THUNK;
}

/* bti c; adr x16, function; ldr x17, [x16, 16]; br x17. */
void pml_arch_thunks_write(void *block, const void *functions, uint32_t n) {
  uint8_t *at = block;
  for (uint32_t i = 0; i < n; i++, at += THUNK) {
    uint32_t distance = (uint32_t)((uintptr_t)functions + (uintptr_t)i * PML_ARCH_FUNCTION_BYTES - (uintptr_t)(at + 4));
    uint32_t adr = 0x10000010 | (distance & 3) << 29 | (distance >> 2 & 0x7ffff) << 5;
    uint32_t ldr = 0xf9400211 | PML_ARCH_FUNCTION_ENTER / 8 << 10;
    uint32_t code[] = {0xd503245f, adr, ldr, 0xd61f0220};
    memcpy(at, code, sizeof code);
  }
  __builtin___clear_cache(block, (char *)at);
}

/* An address is loaded into a register, by two instructions or more, and called from there: code does not show it. */
bool pml_arch_scan(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                   void *arg) {
  (void)text, (void)n, (void)at, (void)lo, (void)hi, (void)seen, (void)arg;
  return false;
}

bool pml_arch_is_call(const uint8_t *operand) {
  (void)operand;
  return false;
}

bool pml_arch_scan_addresses(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi,
                             pml_arch_seen *seen, void *arg) {
  return pml_arch_scan(text, n, at, lo, hi, seen, arg);
}

bool pml_arch_only_called(const struct pml_arch_code *c, uintptr_t operand) {
  (void)c, (void)operand;
  return false;
}

bool pml_arch_lead(uintptr_t operand, uintptr_t from, uintptr_t to, bool alone) {
  (void)operand, (void)from, (void)to, (void)alone;
  return false;
}

bool pml_arch_leads(uintptr_t operand, uintptr_t to) {
  (void)operand, (void)to;
  return false;
}

#else
typedef int pml_arch_is_another;
#endif
