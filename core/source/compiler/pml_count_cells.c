/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_cells.c - the table of the kinds of operation, made from the lists in its header. */
#include "source/compiler/pml_count_cells.h"

#include "source/compiler/pml_count.h"

_Static_assert(PML_CELL_COUNT <= PML_COUNT_CELLS, "a thread's memory has a place for each cell");

#define LOAD(form, what, bytes)                                                                                        \
  {"load_" #form,                                                                                                      \
   "loads of " what,                                                                                                   \
   {[PML_BYFL_LOAD_COUNT] = (bytes), [PML_BYFL_LOAD_INS_COUNT] = 1, [PML_BYFL_OP_COUNT] = 1}},
#define STORE(form, what, bytes)                                                                                       \
  {"store_" #form,                                                                                                     \
   "stores of " what,                                                                                                  \
   {[PML_BYFL_STORE_COUNT] = (bytes), [PML_BYFL_STORE_INS_COUNT] = 1, [PML_BYFL_OP_COUNT] = 1}},
#define INT(kind, what) {"int_" #kind, what, {[PML_BYFL_OP_COUNT] = 1}},
#define INT_VECTOR(kind, what) {"int_" #kind "_vector", what ", lanes of vectors", {[PML_BYFL_OP_COUNT] = 1}},
#define OTHER(name, what, l, s, c, o, b)                                                                               \
  {#name,                                                                                                              \
   what,                                                                                                               \
   {[PML_BYFL_LOAD_COUNT] = (l),                                                                                       \
    [PML_BYFL_STORE_COUNT] = (s),                                                                                      \
    [PML_BYFL_CALL_INS_COUNT] = (c),                                                                                   \
    [PML_BYFL_OP_COUNT] = (o),                                                                                         \
    [PML_BYFL_OP_BITS_COUNT] = (b)}},

#define FP(form, things, lanes, bits, kind, of, flops, operands)                                                       \
  {"fp_" #kind "_" #form,                                                                                              \
   of " of " things,                                                                                                   \
   {[PML_BYFL_FLOP_COUNT] = (flops) * (lanes),                                                                         \
    [PML_BYFL_FP_BITS_COUNT] = (operands) * (lanes) * (bits),                                                          \
    [PML_BYFL_OP_COUNT] = (lanes)}},
#define FP_KIND(kind, of, flops, operands) PML_FP_FORMS(FP, kind, of, flops, operands)

const struct pml_count_cell pml_count_cells[PML_CELL_COUNT] = {PML_MEMORY_FORMS(LOAD) PML_MEMORY_FORMS(
    STORE) PML_INT_KINDS(INT) PML_INT_KINDS(INT_VECTOR) PML_FP_KINDS(FP_KIND) PML_OTHER_CELLS(OTHER)};

const struct pml_byfl_event pml_byfl_events[PML_BYFL_EVENTS] = {
    {"load_count_I", "Number of bytes loaded"},
    {"store_count_I", "Number of bytes stored"},
    {"load_ins_count_I", "Number of load instructions performed"},
    {"store_ins_count_I", "Number of store instructions performed"},
    {"call_ins_count_I", "Number of function-call instructions performed"},
    {"flop_count_I", "Number of FP operations performed"},
    {"fp_bits_count_I", "Number of bits used by all FP operations"},
    {"op_count_I", "Number of operations performed"},
    {"op_bits_count_I", "Number of bits used by all operations except loads/stores"},
};
