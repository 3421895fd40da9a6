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
  LLVMValueRef self, begin;        /* the thread's cells, and the function that returns them */
  LLVMValueRef look_up;            /* the module's function for that, or NULL */
  LLVMValueRef touch;              /* called at accesses; NULL: none */
  LLVMValueRef mark, mark_dynamic; /* placeholders of counts until functions are inlined; NULL: no inlining */
  struct pml_counts *marked;       /* the counts of each mark */
  uint32_t marks, mark_room;
  bool marking;   /* not counted yet */
  bool assembles; /* cells are added to by assembly */
  struct pml_functions *functions;
  struct pml_adders *adders;
  unsigned attribute[PML_ATTRIBUTES];
  uint64_t used[PML_COUNT_CELLS / 64];
  uint64_t uncounted;
};

/* The code is optimised already: it is to stay quick, before it is to be small. */
static inline bool pml_is_quick(const struct pml_module *m) {
  return m->o->final && m->o->optimised;
}

/* The class of an instruction. */
struct pml_class {
  const char *uncounted; /* the kind of code that cannot be counted; NULL: all is counted */
  const char *name;      /* its name, if it has one */
  unsigned dynamic_cell; /* adds this to the cell as well, where dynamic is not NULL: */
  unsigned dynamic_also; /* and to this one, unless it is PML_CELL_COUNT */
  LLVMValueRef dynamic;  /* a length, or a mask of lanes of lane_bytes each */
  unsigned lane_bytes;
  unsigned lanes; /* that the mask is of, from the first; 0: all of its */
};

/* pml_classify - adds what @instruction does to @counts. 0 or -ENOMEM. */
int pml_classify(const struct pml_module *m, LLVMValueRef instruction, struct pml_counts *counts, struct pml_class *c);

/* pml_classify_intrinsic - the same for a call of an intrinsic of LLVM's, by its @name without "llvm.". */
int pml_classify_intrinsic(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                           struct pml_class *c);

/* pml_classify_machine - the same for an intrinsic of a processor's; 1: not known, and not counted. */
int pml_classify_machine(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts,
                         struct pml_class *c);
bool pml_is_machine(const char *name);

bool pml_is_fp(LLVMTypeRef type);
/* pml_fp_type - of the operands and the result, as an instruction has it: a comparison's operands, a conversion's wider
 * side. */
LLVMTypeRef pml_fp_type(const struct pml_module *m, LLVMValueRef call);

/* pml_classify_copy - the same for a call of a C library function that copies or sets memory; 1: it does not. */
int pml_classify_copy(LLVMValueRef call, const char *name, struct pml_counts *counts, struct pml_class *c);

/* pml_classify_math - the same for a call of a function of libm's that is an operation; 1: it is not. */
int pml_classify_math(const struct pml_module *m, LLVMValueRef call, const char *name, struct pml_counts *counts);

/* pml_counts_fp, _int - @times operations of a kind on @type, a scalar or a vector. 0, -ENOMEM; 1: no such type. */
int pml_counts_fp(struct pml_counts *c, enum pml_fp_kind kind, LLVMTypeRef type, int64_t times);
int pml_counts_int(struct pml_counts *c, enum pml_int_kind kind, LLVMTypeRef type, int64_t times);
int pml_counts_memory(const struct pml_module *m, struct pml_counts *c, bool store, LLVMTypeRef type);
/* pml_counts_region - of a load or a store of @bytes at @address, those that are known to be a local or global
 * variable's: instrument_region.c. 0 or -ENOMEM. */
int pml_counts_region(struct pml_counts *c, bool store, LLVMValueRef address, uint64_t bytes);
/* pml_is_private - before optimisation: whether @address is a local's that only OpenMP's runtime keeps out of a
 * register.
 */
bool pml_is_private(const struct pml_module *m, LLVMValueRef address);
int pml_counts_op_bits(LLVMValueRef instruction, struct pml_counts *counts); /* bits of its operands and its result */
int64_t pml_lanes(LLVMTypeRef type); /* 1: a scalar; 0: a vector whose length is the machine's */

/* pml_calls_intrinsic - the name behind "llvm." of the intrinsic that is called, or NULL. */
const char *pml_calls_intrinsic(LLVMValueRef call);

bool pml_has_attribute(const struct pml_module *m, LLVMValueRef function, enum pml_attribute a);
bool pml_call_has_attribute(const struct pml_module *m, LLVMValueRef call, enum pml_attribute a);

/* pml_functions_open - which functions of the module always come back to their callers. 0 or -ENOMEM. */
int pml_functions_open(struct pml_module *m);
void pml_functions_close(struct pml_module *m);

/* pml_functions_forget_memory - functions that will count are no longer said to leave memory alone. */
void pml_functions_forget_memory(struct pml_module *m);

/* pml_may_leave - whether control may go elsewhere from a call than to what follows it: by an exception, a longjmp, the
 * end of the thread or the process; or whether the callee may look at the counts. */
bool pml_may_leave(const struct pml_module *m, LLVMValueRef call);

/* pml_instrument_function - 0, or -ENOMEM. */
int pml_instrument_function(struct pml_module *m, LLVMValueRef function);

/* pml_marks_open, _close - from the first mark to the last. */
void pml_marks_open(struct pml_module *m);
void pml_marks_close(struct pml_module *m);

/* pml_mark_read - add the counts of mark @i to @counts, or store them in @c. 1; 0: @i is no mark; -ENOMEM. */
int pml_mark_read(const struct pml_module *m, LLVMValueRef i, struct pml_counts *counts, struct pml_class *c);
void pml_marks_erase(const struct pml_module *m, LLVMValueRef function);

/* pml_one_more - one more of a list, zeroed; NULL: no memory. */
void *pml_one_more(void **list, uint32_t *used, uint32_t *room, size_t size);

/* pml_give - the attribute that is called @name, without a value, to @function. */
void pml_give(const struct pml_module *m, LLVMValueRef function, const char *name);

/* pml_promise - declare that every call of @called returns, and accesses no memory, or no memory that the program
 * accesses. */
enum pml_promise { PML_TOUCHES_NOTHING, PML_TOUCHES_CELLS };
void pml_promise(const struct pml_module *m, LLVMValueRef called, enum pml_promise what);

/*
 * Additions in assembly, at the builder's place: instrument_assembly.c. pml_assembles - whether there is any for a
 * target. pml_assemble_look_up - the thread's cells. pml_assemble_counts - add @c to @cells; 0 or -ENOMEM.
 * pml_assemble_one - add @n to a @cell. pml_assembled_bytes - that pml_assemble_counts() makes.
 */
bool pml_assembles(const char *target);
LLVMValueRef pml_assemble_look_up(struct pml_module *m);
int pml_assemble_counts(const struct pml_module *m, LLVMValueRef cells, const struct pml_counts *c);
void pml_assemble_one(const struct pml_module *m, LLVMValueRef cells, unsigned cell, LLVMValueRef n);
uint32_t pml_assembled_bytes(const struct pml_counts *c);
bool pml_is_short(LLVMValueRef n); /* a constant that an instruction has room for */

int pml_offset_of(unsigned cell); /* from where pml_count_self points, in bytes */

/* pml_adders_settle - give each adder a body, or inline it where it is called. Returns 0 or -ENOMEM. Close also after a
 * failure. */
int pml_adders_settle(struct pml_module *m);
void pml_adders_close(struct pml_module *m);

/* pml_instrument_table - make the module's table, its constructor and its destructor. */
void pml_instrument_table(struct pml_module *m);

#endif
