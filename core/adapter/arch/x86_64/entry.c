/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/entry.c - jumps at the entries of functions. */
#if defined(__x86_64__)
#include "adapter/arch/pml_arch.h"

#include <string.h>

#define WORD 8u /* bytes that are stored, and fetched, at once if they are aligned */

/* The length of a no-operation at @p, of those that compilers and assemblers write; 0: another instruction. */
static size_t nop_at(const uint8_t *p, size_t n) {
  static const uint8_t operand[][2] = {{0x00, 3}, {0x40, 4}, {0x44, 5}, {0x80, 7}, {0x84, 8}}; /* and the length */
  size_t before = 0;
  while (before < n && (p[before] == 0x66 || p[before] == 0x2e)) before++;
  if (before < n && p[before] == 0x90) return before + 1;
  if (n - before < 3 || p[before] != 0x0f || p[before + 1] != 0x1f) return 0;
  for (size_t i = 0; i < sizeof operand / sizeof operand[0]; i++)
    if (p[before + 2] == operand[i][0] && n - before >= operand[i][1]) return before + operand[i][1];
  return 0;
}

static size_t profiler_call(const uint8_t *at, size_t n) {
  if (n >= 5 && at[0] == 0xe8) return 5;
  return n >= 6 && ((at[0] == 0xff && at[1] == 0x15) || (at[0] == 0x67 && at[1] == 0xe8)) ? 6 : 0;
}

size_t pml_arch_entry(const uint8_t *at, size_t n, enum pml_arch_entry kind) {
  size_t all = 0;
  if (kind == PML_ARCH_PROFILER && profiler_call(at, n) > 0) return profiler_call(at, n);
  if (kind == PML_ARCH_SLED) return n >= 11 && at[0] == 0xeb && at[1] == 9 ? 11 : 0;
  for (size_t bytes; all < PML_ARCH_ENTRY_BYTES && (bytes = nop_at(at + all, n - all)) > 0;) all += bytes;
  return all >= PML_ARCH_ENTRY_BYTES ? all : 0;
}

/* endbr64 */
size_t pml_arch_entry_marked(const uint8_t *at, size_t n) {
  static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
  return n >= sizeof mark && memcmp(at, mark, sizeof mark) == 0 ? sizeof mark : 0;
}

/* jmp *(%rip), and the address. */
void pml_arch_island_write(void *island, uintptr_t to) {
  static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(island, jump, sizeof jump);
  memcpy((uint8_t *)island + sizeof jump, &to, sizeof to);
}

/* All of a word that contains the jump is stored at once, where other threads may be in the code. */
static void store(uintptr_t at, const uint8_t bytes[PML_ARCH_ENTRY_BYTES]) {
  uintptr_t word = at & ~(uintptr_t)(WORD - 1);
  if (at - word + PML_ARCH_ENTRY_BYTES > WORD) {
    memcpy((void *)at, bytes, PML_ARCH_ENTRY_BYTES); /* NOLINT(performance-no-int-to-ptr) */
    return;
  }
  uint64_t *to = (uint64_t *)word; /* NOLINT(performance-no-int-to-ptr) */
  uint64_t all = *to;
  memcpy((uint8_t *)&all + (at - word), bytes, PML_ARCH_ENTRY_BYTES);
  __atomic_store_n(to, all, __ATOMIC_RELEASE);
}

bool pml_arch_entry_patch(uintptr_t at, uintptr_t island, uint8_t saved[PML_ARCH_ENTRY_BYTES], bool alone) {
  uint8_t jump[PML_ARCH_ENTRY_BYTES] = {0xe9};
  intptr_t distance = (intptr_t)(island - at - PML_ARCH_ENTRY_BYTES);
  int32_t near = (int32_t)distance;
  if (!alone && at / WORD != (at + PML_ARCH_ENTRY_BYTES - 1) / WORD) return false;
  if (island == 0) {
    store(at, saved);
    return true;
  }
  if (near != distance) return false;
  memcpy(jump + 1, &near, sizeof near);
  memcpy(saved, (const void *)at, PML_ARCH_ENTRY_BYTES); /* NOLINT(performance-no-int-to-ptr) */
  store(at, jump);
  return true;
}

#else
typedef int pml_entry_is_another;
#endif
