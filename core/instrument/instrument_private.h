/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_private.h - declarations shared by the files of the instrumenter. */
#ifndef PML_INSTRUMENT_PRIVATE_H
#define PML_INSTRUMENT_PRIVATE_H

#include "instrument/instrument.h"
#include "source/compiler/pml_count.h"
#include "source/compiler/pml_count_cells.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stddef.h>
#include <stdint.h>

_Static_assert(PML_LLVM_MAJOR >= 14 && PML_LLVM_MAJOR <= 19, "the instrumenter knows LLVM 14 to 19");

/* The amounts that a stretch of instructions adds to cells; a list, because few kinds make it faster than a table. */
struct pml_counts {
  struct pml_counts_at {
    uint16_t cell;
    int64_t n;
  } * at;
  uint32_t used, room;
};

int pml_counts_add(struct pml_counts *c, unsigned cell, int64_t n); /* 0 or -ENOMEM */

/* Numbers of attributes. */
enum pml_attribute {
  PML_ATTR_NOUNWIND,
  PML_ATTR_WILLRETURN,
  PML_ATTR_NOBUILTIN,
  PML_ATTR_NOPROFILE,
  PML_ATTR_NAKED,
  PML_ATTRIBUTES
};

struct pml_functions; /* data about the module's functions */
struct pml_adders;    /* functions that add to cells */

struct pml_module {
  struct pml_instrument *o;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetDataRef data;
  LLVMBuilderRef builder;
  LLVMTypeRef i64, i64_pointer;
  LLVMValueRef self, begin;        /* the thread's cells, and the runtime's function that returns them */
  LLVMValueRef look_up;            /* the module's function that returns them, or NULL */
  LLVMValueRef touch;              /* called at each access; NULL: accesses are not reported */
  LLVMValueRef mark, mark_dynamic; /* placeholders of counts until functions are inlined; NULL: no inlining */
  struct pml_counts *marked;       /* the counts of each mark */
  uint32_t marks, mark_room;
  bool marking;   /* operations are marked, not counted yet */
  bool assembles; /* the target has additions in assembly */
  struct pml_functions *functions;
  struct pml_adders *adders;
  unsigned attribute[PML_ATTRIBUTES];
  uint64_t used[PML_COUNT_CELLS / 64];
  uint64_t uncounted;
};

/* Whether the code is optimised already, so that speed matters more than size. */
static inline bool pml_is_quick(const struct pml_module *m) {
  return m->o->final && m->o->optimised;
}

/* The class of an instruction. */
struct pml_class {
  const char *uncounted; /* the kind of code that cannot be counted; NULL: all is counted */
  const char *name;      /* its name, if it has one */
  unsigned dynamic_cell; /* cell of a dynamic amount, if dynamic is not NULL */
  unsigned dynamic_also; /* a second cell of the amount, or PML_CELL_COUNT */
  LLVMValueRef dynamic;  /* a length in bytes, or a mask with lanes of lane_bytes */
  unsigned lane_bytes;
  unsigned lanes; /* number of valid lanes, from the first; 0: all */
};

/* pml_classify - add the operations of @instruction to @counts. Returns 0 or -ENOMEM. */
int pml_classify(const struct pml_module *m, LLVMValueRef instruction, struct pml_counts *counts, struct pml_class *c);

/* pml_classify_intrinsic - the same for a call of an LLVM intrinsic, by its @name without "llvm.". */
int pml_classify_intrinsic(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                           struct pml_class *c);

/* pml_classify_machine - the same for a target-specific intrinsic; 1: it is unknown, and not counted. */
int pml_classify_machine(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                         struct pml_class *c);
bool pml_is_machine(const char *name);

bool pml_is_fp(LLVMTypeRef type);
/* pml_fp_type - the type that counts for an instruction: the operands' type for comparisons, the wider type for
 * conversions. */
LLVMTypeRef pml_fp_type(const struct pml_module *m, LLVMValueRef call);

/* pml_classify_copy - the same for a call of a C library function that copies or sets memory; 1: another function. */
int pml_classify_copy(LLVMValueRef call, const char *name, struct pml_counts *counts, struct pml_class *c);

/* pml_classify_math - the same for a call of a libm function that is an operation; 1: another function. */
int pml_classify_math(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts);

/* pml_counts_fp, _int - @times operations of a kind on @type, a scalar or a vector. 0, -ENOMEM; 1: no such type. */
int pml_counts_fp(struct pml_counts *c, enum pml_fp_kind kind, LLVMTypeRef type, int64_t times);
int pml_counts_int(struct pml_counts *c, enum pml_int_kind kind, LLVMTypeRef type, int64_t times);
int pml_counts_memory(const struct pml_module *m, struct pml_counts *c, bool store, LLVMTypeRef type);
/* pml_counts_region - count a load or store of @bytes at @address as local or global if its region is known:
 * instrument_region.c. Returns 0 or -ENOMEM. */
int pml_counts_region(struct pml_counts *c, bool store, LLVMValueRef address, uint64_t bytes);
/* pml_is_private - before optimisation: whether @address belongs to a local that is in memory only because of OpenMP's
 * runtime. */
bool pml_is_private(const struct pml_module *m, LLVMValueRef address);
int pml_counts_op_bits(LLVMValueRef instruction, struct pml_counts *counts); /* bits of its operands and its result */
int64_t pml_lanes(LLVMTypeRef type); /* 1: a scalar; 0: a vector with a length determined at run time */

/* pml_calls_intrinsic - the name of the called intrinsic without "llvm."; NULL: another callee. */
const char *pml_calls_intrinsic(LLVMValueRef call);

bool pml_has_attribute(const struct pml_module *m, LLVMValueRef function, enum pml_attribute a);
bool pml_call_has_attribute(const struct pml_module *m, LLVMValueRef call, enum pml_attribute a);

/* pml_functions_open - find the functions of the module that always return. Returns 0 or -ENOMEM. */
int pml_functions_open(struct pml_module *m);
void pml_functions_close(struct pml_module *m);

/* pml_functions_forget_memory - remove attributes from functions that will access counters, because they declare that a
 * function does not access memory. */
void pml_functions_forget_memory(struct pml_module *m);

/* pml_may_leave - whether a call may continue elsewhere than after the call: by an exception, a longjmp, the end of the
 * thread or the process; or whether the callee may read the counts. */
bool pml_may_leave(const struct pml_module *m, LLVMValueRef call);

/* pml_instrument_function - 0, or -ENOMEM. */
int pml_instrument_function(struct pml_module *m, LLVMValueRef function);

/* pml_marks_open, _close - begin and end the use of marks. */
void pml_marks_open(struct pml_module *m);
void pml_marks_close(struct pml_module *m);

/*
 * pml_mark_read - add the counts of mark @i to @counts, or store them in @c. Returns 1, 0 if @i is no mark, or -ENOMEM.
 */
int pml_mark_read(const struct pml_module *m, LLVMValueRef i, struct pml_counts *counts, struct pml_class *c);
void pml_marks_erase(const struct pml_module *m, LLVMValueRef function);

/* pml_one_more - append a zeroed element to a list; NULL: no memory. */
void *pml_one_more(void **list, uint32_t *used, uint32_t *room, size_t size);

/* pml_give - add the attribute @name, which has no value, to @function. */
void pml_give(const struct pml_module *m, LLVMValueRef function, const char *name);

/* pml_promise - declare that every call of @called returns, and accesses no memory, or no memory that the program
 * accesses. */
enum pml_promise { PML_TOUCHES_NOTHING, PML_TOUCHES_CELLS };
void pml_promise(const struct pml_module *m, LLVMValueRef called, enum pml_promise what);

/*
 * Additions in assembly, at the builder's position: instrument_assembly.c. pml_assembles - whether the target is
 * supported. pml_assemble_look_up - the thread's cells. pml_assemble_counts - add @c to @cells; returns 0 or -ENOMEM.
 * pml_assemble_one - add @n to a @cell. pml_assembled_bytes - the size of the code of pml_assemble_counts().
 */
bool pml_assembles(const char *target);
LLVMValueRef pml_assemble_look_up(struct pml_module *m);
int pml_assemble_counts(const struct pml_module *m, LLVMValueRef cells, const struct pml_counts *c);
void pml_assemble_one(const struct pml_module *m, LLVMValueRef cells, unsigned cell, LLVMValueRef n);
uint32_t pml_assembled_bytes(const struct pml_counts *c);
bool pml_is_short(LLVMValueRef n); /* a constant that fits into an immediate operand */

int pml_offset_of(unsigned cell); /* in bytes, relative to pml_count_self */

/* pml_adders_settle - give each adder a body, or inline it into its callers. Returns 0 or -ENOMEM. Call
 * pml_adders_close() also after a failure. */
int pml_adders_settle(struct pml_module *m);
void pml_adders_close(struct pml_module *m);

/* pml_instrument_table - make the module's table, its constructor and its destructor. */
void pml_instrument_table(struct pml_module *m);

#endif
