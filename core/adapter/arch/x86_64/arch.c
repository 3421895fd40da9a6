/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/arch.c - thunks, and the CPU's registers to save. */
#if defined(__x86_64__)
#include "adapter/arch/pml_arch.h"
#include "base/pml_cpuid.h"
#include "base/pml_error.h"

#include <elf.h>
#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THUNK 16u
#define SHSTK_STATUS 0x5005 /* option of arch_prctl(2), since Linux 6.6 */

/* Components of XCR0: the x87, SSE, AVX, masks, both halves of AVX-512's registers. C uses no others. */
#define COMPONENTS 0xe7u
#define AVX512 0xe0u
#define AVX 0x04u
#define WITH_XSAVEC 0x80000000u
#define WITH_MOVES 0x40000000u
#define AVX_BYTES 1088u
#define AVX512_BYTES 2688u

const uint32_t pml__arch_jump_slot = R_X86_64_JUMP_SLOT, pml__arch_glob_dat = R_X86_64_GLOB_DAT,
               pml__arch_abs64 = R_X86_64_64, pml__arch_relative = R_X86_64_RELATIVE;

/* Defined in stubs.S. */
extern __attribute__((visibility("hidden"))) uint32_t pml__arch_state;
extern __attribute__((visibility("hidden"))) uint64_t pml__arch_state_bytes;

/* Components that the kernel does not save it does not let us use: XCR0 has the last word. */
static void choose_state(void) {
  uint32_t low, high;
  if (!PML__CPU_HAS(OSXSAVE)) return;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  pml__arch_state_bytes = (low & AVX512) != 0 ? AVX512_BYTES : AVX_BYTES;
  bool moves = PML__CPU_HAS(XGETBV_ECX_1) && (low & AVX) != 0 && ((low & AVX512) == 0 || PML__CPU_HAS(AVX512BW));
  pml__arch_state = (COMPONENTS & low) | (PML__CPU_HAS(XSAVEC) ? WITH_XSAVEC : 0) | (moves ? WITH_MOVES : 0);
}

int pml_arch_prepare(void) {
  uint64_t status = 0;
  if (syscall(SYS_arch_prctl, SHSTK_STATUS, &status) == 0 && (status & 1) != 0)
    return pml_fail(PML_EMODE,
                    "the shadow stack is on; an exception through a recorded call could end this program; start it "
                    "with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
  choose_state();
  return 0;
}

size_t pml_arch_thunks_bytes(uint32_t n) {
  return (size_t)n * THUNK;
}

uintptr_t pml_arch_thunk(uintptr_t block, uint32_t i) {
  return block + (uintptr_t)i * THUNK;
}

/* lea function(%rip), %r11; jmp *16(%r11). */
void pml_arch_thunks_write(void *block, const void *functions, uint32_t n) {
  static const uint8_t code[THUNK] = {0x4c, 0x8d, 0x1d, 0,    0,   0, 0, 0x41, 0xff, 0x63, PML_ARCH_FUNCTION_ENTER,
                                      0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
  uint8_t *at = block;
  for (uint32_t i = 0; i < n; i++, at += THUNK) {
    uint32_t function = (uint32_t)((uintptr_t)functions + (uintptr_t)i * PML_ARCH_FUNCTION_BYTES - (uintptr_t)(at + 7));
    memcpy(at, code, sizeof code);
    memcpy(at + 3, &function, sizeof function);
  }
}

/*
 * A slot is used relative to the instruction's end, by an operand that ends in 101 and has no register: call and jmp
 * are ff 15 and ff 25 before the distance. Any four bytes can be the distance to some slot, so the operand matters.
 */
#define DISTANCE 4
bool pml_arch_is_call(const uint8_t *operand) {
  return operand[-1] == 0xff && (operand[0] == 0x15 || operand[0] == 0x25);
}

/*
 * In a piece of code that is short beside 64 KiB, distances to slots that lie together have few values in their third
 * byte. Operands with such a byte are rare elsewhere, so nearly all that is found so is a use of a slot.
 */
#define PIECE 4096u
#define THIRD 3 /* bytes after the operand */

struct range {
  uintptr_t lo, n, shift; /* shift: from where code is read to where it is mapped */
  pml_arch_seen *seen;
  void *arg;
};

static inline void look_at(const uint8_t *operand, const struct range *r) {
  int32_t distance;
  memcpy(&distance, operand + 1, sizeof distance);
  uintptr_t at = (uintptr_t)operand + r->shift, slot = at + 1 + DISTANCE + (uintptr_t)(intptr_t)distance;
  if (slot - r->lo < r->n) r->seen(r->arg, slot, at, pml_arch_is_call(operand));
}

/* Third bytes of distances are from @least to @least + @span, modulo 256. */
struct thirds {
  uint8_t least, span;
};

static inline struct thirds thirds_of(const uint8_t *p, size_t n, const struct range *r) {
  intptr_t most = (intptr_t)(r->lo - ((uintptr_t)(p + 1 + DISTANCE) + r->shift)), least = (most - (intptr_t)n) >> 16;
  most = (most + (intptr_t)r->n) >> 16;
  return (struct thirds){(uint8_t)least, most - least < 255 ? (uint8_t)(most - least) : 255};
}

/* The operands of @p[0] to @p[15] that a slot may follow, in the bits of the result. */
static inline uint32_t operands_of_16(const uint8_t *p, __m128i least, __m128i span) {
  const __m128i mask = _mm_set1_epi8((char)0xc7), relative = _mm_set1_epi8(0x05);
  __m128i operand = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i third = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + THIRD)), least);
  __m128i is = _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(operand, mask), relative),
                             _mm_cmpeq_epi8(_mm_min_epu8(third, span), third));
  return (uint32_t)_mm_movemask_epi8(is);
}

/* Operands from @p on; @n is a multiple of 16, and what follows them can be read. */
static void scan_piece(const uint8_t *p, size_t n, const struct range *r) {
  struct thirds t = thirds_of(p, n, r);
  const __m128i least = _mm_set1_epi8((char)t.least), span = _mm_set1_epi8((char)t.span);
  for (const uint8_t *end = p + n; p < end; p += 16)
    for (uint32_t bits = operands_of_16(p, least, span); bits != 0; bits &= bits - 1)
      look_at(p + __builtin_ctz(bits), r);
}

/* The operands of lea. */
static inline uint32_t addresses_of_16(const uint8_t *p) {
  const __m128i mask = _mm_set1_epi8((char)0xc7), relative = _mm_set1_epi8(0x05), lea = _mm_set1_epi8((char)0x8d);
  __m128i operand = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i before = _mm_loadu_si128((const __m128i *)(const void *)(p - 1));
  return (uint32_t)_mm_movemask_epi8(
      _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(operand, mask), relative), _mm_cmpeq_epi8(before, lea)));
}

bool pml_arch_scan_addresses(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi,
                             pml_arch_seen *seen, void *arg) {
  struct range r = {lo, hi - lo, at - (uintptr_t)text, seen, arg};
  size_t i = 1;
  for (; i + 16 + DISTANCE <= n; i += 16)
    for (uint32_t bits = addresses_of_16(text + i); bits != 0; bits &= bits - 1)
      look_at(text + i + __builtin_ctz(bits), &r);
  for (; i + 1 + DISTANCE <= n; i++)
    if ((text[i] & 0xc7) == 0x05 && text[i - 1] == 0x8d) look_at(text + i, &r);
  return true;
}

bool pml_arch_scan(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                   void *arg) {
  struct range r = {lo, hi - lo, at - (uintptr_t)text, seen, arg};
  size_t i = 1; /* a byte before an operand says whether it is a call */
  for (size_t piece; i + 16 + DISTANCE <= n; i += piece) {
    piece = (n - i - DISTANCE) & ~(size_t)15;
    if (piece > PIECE) piece = PIECE;
    scan_piece(text + i, piece, &r);
  }
  for (; i + 1 + DISTANCE <= n; i++)
    if ((text[i] & 0xc7) == 0x05) look_at(text + i, &r);
  return true;
}

#else
typedef int pml_arch_is_another;
#endif
