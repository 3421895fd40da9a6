/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/arch.c - thunks, and what this CPU has of registers. */
#if defined(__x86_64__)
#include "adapter/arch/pml_arch.h"
#include "base/pml_error.h"

#include <cpuid.h>
#include <elf.h>
#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THUNK 16u
#define SHSTK_STATUS 0x5005 /* of arch_prctl(2), since Linux 6.6 */

#define X87 0x01u
#define AVX 0x04u
#define AVX512 0x40u
#define ASK 0x80000000u

const uint32_t pml__arch_jump_slot = R_X86_64_JUMP_SLOT, pml__arch_glob_dat = R_X86_64_GLOB_DAT;

extern __attribute__((visibility("hidden"))) uint32_t pml__arch_vectors; /* of stubs.S */

void pml__arch_enter(void);

/* Registers that the kernel does not save it does not let us use: XCR0 has the last word. */
static uint32_t vectors(void) {
  uint32_t a, b, c, d, low, high, has = X87;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return has;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  has |= low & AVX;
  if ((low & 0xe0) == 0xe0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) != 0) has |= AVX512;
  if (__get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & 4) != 0) has |= ASK;
  return has;
}

int pml_arch_prepare(void) {
  uint64_t status = 0;
  if (syscall(SYS_arch_prctl, SHSTK_STATUS, &status) == 0 && (status & 1) != 0)
    return pml_fail(PML_EMODE,
                    "the shadow stack is on; an exception through a recorded call could end this program; start it "
                    "with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
  pml__arch_vectors = vectors();
  return 0;
}

size_t pml_arch_thunks_bytes(uint32_t n) {
  return (size_t)n * THUNK + sizeof(uintptr_t);
}

uintptr_t pml_arch_thunk(uintptr_t block, uint32_t i) {
  return block + (uintptr_t)i * THUNK;
}

/* lea function(%rip), %r11; jmp *enter(%rip). The address of the stub is behind the last one. */
void pml_arch_thunks_write(void *block, const void *functions, uint32_t n) {
  static const uint8_t code[THUNK] = {0x4c, 0x8d, 0x1d, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc};
  uint8_t *at = block;
  for (uint32_t i = 0; i < n; i++, at += THUNK) {
    uint32_t function = (uint32_t)((uintptr_t)functions + (uintptr_t)i * PML_ARCH_FUNCTION_BYTES - (uintptr_t)(at + 7));
    uint32_t enter_slot = (n - i) * THUNK - 13;
    memcpy(at, code, sizeof code);
    memcpy(at + 3, &function, sizeof function);
    memcpy(at + 9, &enter_slot, sizeof enter_slot);
  }
  void (*enter)(void) = pml__arch_enter;
  memcpy(at, &enter, sizeof enter);
}

/*
 * A slot is used relative to the instruction's end, by an operand that ends in 101 and has no register: call and jmp
 * are ff 15 and ff 25 before the distance. Any four bytes can be the distance to some slot, so the operand matters.
 */
#define DISTANCE 4
static inline bool is_call(const uint8_t *operand) {
  return operand[-1] == 0xff && (operand[0] == 0x15 || operand[0] == 0x25);
}

static inline uintptr_t slot_of(const uint8_t *operand) {
  int32_t distance;
  memcpy(&distance, operand + 1, sizeof distance);
  return (uintptr_t)(operand + 1 + DISTANCE) + (uintptr_t)(intptr_t)distance;
}

/* The operands of @p[1] to @p[16] that a slot may follow, in the bits of the result; of calls and jumps, or of all. */
static inline uint32_t operands_of_16(const uint8_t *p, bool calls) {
  const __m128i mask = _mm_set1_epi8((char)0xc7), relative = _mm_set1_epi8(0x05);
  const __m128i ff = _mm_set1_epi8((char)0xff), call = _mm_set1_epi8(0x15), jump = _mm_set1_epi8(0x25);
  __m128i before = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i operand = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
  __m128i is = calls ? _mm_and_si128(_mm_cmpeq_epi8(before, ff),
                                     _mm_or_si128(_mm_cmpeq_epi8(operand, call), _mm_cmpeq_epi8(operand, jump)))
                     : _mm_cmpeq_epi8(_mm_and_si128(operand, mask), relative);
  return (uint32_t)_mm_movemask_epi8(is);
}

static inline bool is_operand(const uint8_t *p, bool calls) {
  return calls ? is_call(p) : (p[0] & 0xc7) == 0x05;
}

/* Ends when @seen says so. */
__attribute__((always_inline)) static inline void scan(const uint8_t *text, const uint8_t *end, uintptr_t lo,
                                                       uintptr_t hi, bool calls, pml_arch_seen *seen, void *arg) {
  const uint8_t *p = text;
  for (; end - p >= 16 + 1 + DISTANCE; p += 16) {
    for (uint32_t bits = operands_of_16(p, calls); bits != 0; bits &= bits - 1) {
      const uint8_t *operand = p + __builtin_ctz(bits) + 1;
      uintptr_t slot = slot_of(operand);
      if (slot - lo < hi - lo && !seen(arg, slot, is_call(operand))) return;
    }
  }
  for (; end - p >= 2 + DISTANCE; p++)
    if (is_operand(p + 1, calls) && slot_of(p + 1) - lo < hi - lo && !seen(arg, slot_of(p + 1), is_call(p + 1))) return;
}

bool pml_arch_scan_calls(const uint8_t *text, const uint8_t *end, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                         void *arg) {
  scan(text, end, lo, hi, true, seen, arg);
  return true;
}

bool pml_arch_scan(const uint8_t *text, const uint8_t *end, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                   void *arg) {
  scan(text, end, lo, hi, false, seen, arg);
  return true;
}

#else
typedef int pml_arch_is_another;
#endif
