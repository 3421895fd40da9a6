/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_cells.c - table of the kinds of operation. */
#include "source/compiler/pml_count_cells.h"

#include "source/compiler/pml_count.h"

/* As of what counts them in Lua's and pugixml's sources; then what numerical programs have outside of loops. */
static const uint16_t near[] = {
    PML_CELL_op_bits,
    PML_CELL_call_direct,
    PML_CELL_address,
    PML_CELL_branch,
    PML_CELL_INT + PML_INT_compare,
    PML_CELL_INT + PML_INT_convert,
    PML_CELL_INT + PML_INT_add,
    PML_CELL_INT + PML_INT_logic,
    PML_CELL_INT + PML_INT_shift,
    PML_CELL_INT + PML_INT_mul,
    PML_CELL_LOAD + PML_MEMORY_pointer_8,
    PML_CELL_LOAD + PML_MEMORY_int_1,
    PML_CELL_LOAD + PML_MEMORY_int_4,
    PML_CELL_LOAD + PML_MEMORY_int_8,
    PML_CELL_LOAD + PML_MEMORY_fp_8,
    PML_CELL_STORE + PML_MEMORY_pointer_8,
    PML_CELL_STORE + PML_MEMORY_int_1,
    PML_CELL_STORE + PML_MEMORY_int_4,
    PML_CELL_STORE + PML_MEMORY_int_8,
    PML_CELL_STORE + PML_MEMORY_fp_8,
    PML_CELL_local_bytes_loaded,
    PML_CELL_local_bytes_stored,
    PML_CELL_global_bytes_loaded,
    PML_CELL_copy,
    PML_CELL_copy_bytes_loaded,
    PML_CELL_copy_bytes_stored,
    PML_CELL_call_indirect,
    PML_CELL_branch_switch,
    PML_CELL_select,
    PML_CELL_FP + PML_FP_add *PML_FP_FORM_COUNT + PML_FP_FORM_double,
    PML_CELL_FP + PML_FP_mul *PML_FP_FORM_COUNT + PML_FP_FORM_double,
};
#define NEAR (sizeof near / sizeof near[0])
_Static_assert(NEAR == PML_COUNT_UNDERWAY && NEAR + 1 == 2 * PML_COUNT_ORIGIN,
               "an offset of one byte reaches 32 cells");
_Static_assert(NEAR + 1 + PML_CELL_COUNT <= PML_COUNT_CELLS, "a thread's memory has a place for each cell");

unsigned pml_count_place(unsigned cell) {
  for (unsigned i = 0; i < NEAR; i++)
    if (near[i] == cell) return i;
  return cell == PML_CELL_UNDERWAY ? PML_COUNT_UNDERWAY : (unsigned)NEAR + 1 + cell;
}

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
