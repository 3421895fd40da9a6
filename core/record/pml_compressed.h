/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_compressed.h - a compressed series of times and values in a fixed piece of memory. Internal.
 *
 * The algorithm is from T. Pelkonen et al., "Gorilla: A Fast, Scalable, In-Memory Time Series Database", VLDB 2015,
 * sections 4.1.1 and 4.1.2: times as differences of differences, and values as exclusive or with the value before.
 * Times are any int64_t, and values any 64 bits, so that NaNs keep their payload. There are three changes:
 * - A difference of differences that fits no class takes 64 bits, so that every time can be stored.
 * - The number of leading zeros takes 6 bits, because integers have up to 63 of them.
 * - A value gets new bounds of its bits if that is shorter than the bounds of the value before.
 *
 *   sample 1     64 bits of time, 64 bits of value
 *   later time   0: as the difference before; 10, 110, 1110 and 7, 9, 12 bits, signed: the difference of differences;
 *                1111 and 64 bits
 *   later value  0: as before; 10 and the bits inside the bounds; 11, 6 bits: leading zeros, 6 bits: number of bits
 *                less one, and these bits
 *
 * Bits are stored from the highest of each byte on. Bits behind the last sample mean nothing: a reader needs the number
 * of samples. A writer that stores this number after pml__compressed_add() loses nothing if it is killed.
 */
#ifndef PML_COMPRESSED_H
#define PML_COMPRESSED_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

#define PML__COMPRESSED_LONGEST 146u /* bits of a sample */

/* A writer or a reader. */
struct pml__compressed {
  unsigned char *at;
  size_t bits, end;      /* the next bit, and how many there are */
  uint32_t n;            /* samples so far */
  uint8_t leading, used; /* bounds of the value before; used 0: none */
  uint64_t time, difference, value;
};

/* pml__compressed_begin - an empty series in @bytes at @memory, which is borrowed, or a reader of it. */
static inline void pml__compressed_begin(struct pml__compressed *c, void *memory, size_t bytes) {
  *c = (struct pml__compressed){.at = memory, .end = 8 * bytes};
}

/*
 * pml__compressed_add - append a sample. False: the longest sample would not fit; nothing is written.
 * pml__compressed_next - read a sample. False: the memory ends. The caller stores the number of samples. Beyond
 * them, and in memory without a series, samples are arbitrary, but nothing outside the memory is read.
 * No lock, allocation or system call. Cost: some 400 instructions.
 */
bool pml__compressed_add(struct pml__compressed *c, int64_t time, uint64_t value);
PML__SHARED bool pml__compressed_next(struct pml__compressed *c, int64_t *time, uint64_t *value);

PML_END_DECLS

#endif
