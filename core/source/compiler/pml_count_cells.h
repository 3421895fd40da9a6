/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/pml_count_cells.h - kinds of operation that compiled code counts, and their weights.
 *
 * The instrumenter adds to cells by these numbers, the runtime reads them: an event of Byfl's nine is the sum over all
 * cells of count times weight. Definitions follow Byfl (Pakin and McCormick, 2014; its source for the bits) with these
 * differences, which make counts equal to counts by hand:
 *  - flop_count and fp_bits_count cover arithmetic: add, sub, mul, div, rem, sqrt, min, max, and fma, which counts
 *    twice. Comparisons, conversions, roundings and signs have separate cells; Byfl counts the first two as flops.
 *  - a vector operation counts once for each lane, and the bits are the bits of all lanes: operands and result.
 *  - memory moved by memcpy, memmove and memset counts as bytes, not as instructions or calls; a copied byte is
 *    loaded and stored.
 *  - bytes of loads and stores, but not of copies, sets and vectors under a mask, are split into local and global
 *    variables; the rest is accessed through pointers whose origin the function does not show.
 *  - jumps without a condition, phis, casts that keep the bits and the parts of structures are no operations.
 */
#ifndef PML_COUNT_CELLS_H
#define PML_COUNT_CELLS_H

#include <stdint.h>

/* X(kind, what, flops in a lane, operands and result of an arithmetic operation) */
#define PML_FP_KINDS(X)                                                                                                \
  X(add, "additions", 1, 3)                                                                                            \
  X(sub, "subtractions", 1, 3)                                                                                         \
  X(mul, "multiplications", 1, 3)                                                                                      \
  X(div, "divisions", 1, 3)                                                                                            \
  X(rem, "remainders", 1, 3)                                                                                           \
  X(fma, "fused multiplications and additions, 2 flops each", 2, 4)                                                    \
  X(sqrt, "square roots", 1, 2)                                                                                        \
  X(min, "minima", 1, 3)                                                                                               \
  X(max, "maxima", 1, 3)                                                                                               \
  X(compare, "comparisons", 0, 0)                                                                                      \
  X(convert, "conversions to, from or between floating-point types", 0, 0)                                             \
  X(round, "roundings to an integral value", 0, 0)                                                                     \
  X(sign, "negations, absolute values and copies of a sign", 0, 0)

/* X(form, what, lanes, bits of a lane, ...): of each precision the scalar first, then the vectors by their width. */
#define PML_FP_FORMS(X, ...)                                                                                           \
  X(half, "halves or bfloats", 1, 16, __VA_ARGS__)                                                                     \
  X(half_64, "4 halves or bfloats at once", 4, 16, __VA_ARGS__)                                                        \
  X(half_128, "8 halves or bfloats at once", 8, 16, __VA_ARGS__)                                                       \
  X(half_256, "16 halves or bfloats at once", 16, 16, __VA_ARGS__)                                                     \
  X(half_512, "32 halves or bfloats at once", 32, 16, __VA_ARGS__)                                                     \
  X(float, "floats", 1, 32, __VA_ARGS__)                                                                               \
  X(float_64, "2 floats at once", 2, 32, __VA_ARGS__)                                                                  \
  X(float_128, "4 floats at once", 4, 32, __VA_ARGS__)                                                                 \
  X(float_256, "8 floats at once", 8, 32, __VA_ARGS__)                                                                 \
  X(float_512, "16 floats at once", 16, 32, __VA_ARGS__)                                                               \
  X(double, "doubles", 1, 64, __VA_ARGS__)                                                                             \
  X(double_128, "2 doubles at once", 2, 64, __VA_ARGS__)                                                               \
  X(double_256, "4 doubles at once", 4, 64, __VA_ARGS__)                                                               \
  X(double_512, "8 doubles at once", 8, 64, __VA_ARGS__)                                                               \
  X(extended, "x87 numbers of 80 bits", 1, 80, __VA_ARGS__)                                                            \
  X(quad, "numbers of 128 bits", 1, 128, __VA_ARGS__)

/* X(form, what, bytes); other sizes are "other", with a cell for their bytes */
#define PML_MEMORY_FORMS(X)                                                                                            \
  X(int_1, "an integer of 1 byte", 1)                                                                                  \
  X(int_2, "an integer of 2 bytes", 2)                                                                                 \
  X(int_4, "an integer of 4 bytes", 4)                                                                                 \
  X(int_8, "an integer of 8 bytes", 8)                                                                                 \
  X(int_16, "an integer of 16 bytes", 16)                                                                              \
  X(fp_2, "a half or bfloat", 2)                                                                                       \
  X(fp_4, "a float", 4)                                                                                                \
  X(fp_8, "a double", 8)                                                                                               \
  X(fp_10, "an x87 number", 10)                                                                                        \
  X(fp_16, "a floating-point number of 16 bytes", 16)                                                                  \
  X(pointer_4, "a pointer of 4 bytes", 4)                                                                              \
  X(pointer_8, "a pointer of 8 bytes", 8)                                                                              \
  X(vector_8, "a vector of 8 bytes", 8)                                                                                \
  X(vector_16, "a vector of 16 bytes", 16)                                                                             \
  X(vector_32, "a vector of 32 bytes", 32)                                                                             \
  X(vector_64, "a vector of 64 bytes", 64)                                                                             \
  X(other, "something of another size, or a vector under a mask", 0)

/* X(name, what), each in scalars and in the lanes of vectors */
#define PML_INT_KINDS(X)                                                                                               \
  X(add, "integer additions and subtractions")                                                                         \
  X(mul, "integer multiplications")                                                                                    \
  X(div, "integer divisions and remainders")                                                                           \
  X(logic, "and, or, exclusive or, counts and reversals of bits")                                                      \
  X(shift, "shifts and rotations")                                                                                     \
  X(compare, "comparisons of integers or pointers")                                                                    \
  X(minmax, "integer minima, maxima and absolute values")                                                              \
  X(convert, "conversions between integers of different width")

/* X(name, what, load_count, store_count, call_ins_count, op_count, op_bits_count) */
#define PML_OTHER_CELLS(X)                                                                                             \
  X(load_other_bytes, "bytes of load_other", 1, 0, 0, 0, 0)                                                            \
  X(store_other_bytes, "bytes of store_other", 0, 1, 0, 0, 0)                                                          \
  X(copy, "memory copied: memcpy, memmove, structures", 0, 0, 0, 1, 0)                                                 \
  X(copy_bytes_loaded, "bytes that copies read", 1, 0, 0, 0, 0)                                                        \
  X(copy_bytes_stored, "bytes that copies write", 0, 1, 0, 0, 0)                                                       \
  X(set, "memory set: memset, structures cleared", 0, 0, 0, 1, 0)                                                      \
  X(set_bytes, "bytes set", 0, 1, 0, 0, 0)                                                                             \
  X(atomic, "atomic read-modify-writes, beside their load and store", 0, 0, 0, 0, 0)                                   \
  X(fence, "fences", 0, 0, 0, 1, 0)                                                                                    \
  X(address, "addresses computed from an index or a member's offset", 0, 0, 0, 1, 0)                                   \
  X(select, "choices without a branch", 0, 0, 0, 1, 0)                                                                 \
  X(branch, "branches with a condition", 0, 0, 0, 1, 0)                                                                \
  X(branch_switch, "branches of many ways", 0, 0, 0, 1, 0)                                                             \
  X(branch_indirect, "branches to a computed address", 0, 0, 0, 1, 0)                                                  \
  X(call_direct, "calls of a named function", 0, 0, 1, 1, 0)                                                           \
  X(call_indirect, "calls through a pointer", 0, 0, 1, 1, 0)                                                           \
  X(vector_move, "moves within and between vectors, and of an element to or from one", 0, 0, 0, 1, 0)                  \
  X(other, "operations of no other kind", 0, 0, 0, 1, 0)                                                               \
  X(op_bits, "bits of operands and results of all operations but loads and stores", 0, 0, 0, 0, 1)                     \
  X(lines, "lines of 64 bytes that a thread touched, each once, estimated (--count=lines)", 0, 0, 0, 0, 0)             \
  X(local_bytes_loaded, "of the loads: bytes of local variables, if known at compile time", 0, 0, 0, 0, 0)             \
  X(local_bytes_stored, "of the stores: bytes of local variables, if known at compile time", 0, 0, 0, 0, 0)            \
  X(global_bytes_loaded, "of the loads: bytes of global variables, if known at compile time", 0, 0, 0, 0, 0)           \
  X(global_bytes_stored, "of the stores: bytes of global variables, if known at compile time", 0, 0, 0, 0, 0)

enum pml_byfl {
  PML_BYFL_LOAD_COUNT,
  PML_BYFL_STORE_COUNT,
  PML_BYFL_LOAD_INS_COUNT,
  PML_BYFL_STORE_INS_COUNT,
  PML_BYFL_CALL_INS_COUNT,
  PML_BYFL_FLOP_COUNT,
  PML_BYFL_FP_BITS_COUNT,
  PML_BYFL_OP_COUNT,
  PML_BYFL_OP_BITS_COUNT,
  PML_BYFL_EVENTS
};

#define PML_FP_KIND_ENUM(kind, what, flops, operands) PML_FP_##kind,
enum pml_fp_kind { PML_FP_KINDS(PML_FP_KIND_ENUM) PML_FP_KIND_COUNT };
#undef PML_FP_KIND_ENUM
#define PML_FP_FORM_ENUM(form, what, lanes, bits, prefix) prefix##form,
enum pml_fp_form { PML_FP_FORMS(PML_FP_FORM_ENUM, PML_FP_FORM_) PML_FP_FORM_COUNT };
#undef PML_FP_FORM_ENUM
#define PML_MEMORY_ENUM(form, what, bytes) PML_MEMORY_##form,
enum pml_memory_form { PML_MEMORY_FORMS(PML_MEMORY_ENUM) PML_MEMORY_FORM_COUNT };
#undef PML_MEMORY_ENUM
#define PML_INT_ENUM(kind, what) PML_INT_##kind,
enum pml_int_kind { PML_INT_KINDS(PML_INT_ENUM) PML_INT_KIND_COUNT };
#undef PML_INT_ENUM

/* Numbers of cells. In families: PML_CELL_FP + kind * PML_FP_FORM_COUNT + form, and so on. */
#define PML_OTHER_ENUM(name, what, l, s, c, o, b) PML_CELL_##name,
enum pml_cell {
  PML_CELL_LOAD,
  PML_CELL_STORE = PML_CELL_LOAD + PML_MEMORY_FORM_COUNT,
  PML_CELL_INT = PML_CELL_STORE + PML_MEMORY_FORM_COUNT,
  PML_CELL_INT_VECTOR = PML_CELL_INT + PML_INT_KIND_COUNT,
  PML_CELL_FP = PML_CELL_INT_VECTOR + PML_INT_KIND_COUNT,
  PML_CELL_FP_LAST = PML_CELL_FP + PML_FP_KIND_COUNT * PML_FP_FORM_COUNT - 1,
  PML_OTHER_CELLS(PML_OTHER_ENUM) PML_CELL_COUNT
};
#undef PML_OTHER_ENUM

struct pml_count_cell {
  const char *name, *help; /* such as "fp_add_double_256" */
  uint16_t worth[PML_BYFL_EVENTS];
};

struct pml_byfl_event {
  const char *name, *help; /* such as "flop_count_I" */
};

extern const struct pml_count_cell pml_count_cells[PML_CELL_COUNT];

/*
 * pml_count_place - the index in a thread's memory of @cell, which is below PML_CELL_COUNT, or PML_CELL_UNDERWAY. The
 * most frequent cells have the indices that compiled code reaches by the shortest instructions.
 */
#define PML_CELL_UNDERWAY ((unsigned)PML_CELL_COUNT)
unsigned pml_count_place(unsigned cell);

extern const struct pml_byfl_event pml_byfl_events[PML_BYFL_EVENTS];

#endif
