/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument.h - instrumentation of an LLVM module with counters.
 *
 * Compiled for each version of LLVM, from 14 on, as each reads its own IR. Bitcode in, bitcode out, or a module in the
 * compiler's memory. Each stretch of instructions that runs as a whole adds what it holds to the cells of
 * pml_count.h as it begins. It ends with the instruction that may not come back: a call, or the end of the block. Where
 * nothing may leave between blocks, one counts for others. Loops that nothing leaves but their own exits count their
 * turns in registers and add once, at the exit.
 *
 * A signal handler therefore sees old counts of a loop under way, and a loop that ends in its middle (exit or
 * siglongjmp of a handler, a fault) is not counted; for other code, a handler sees a few blocks too many or too few. A
 * cell's addition is one instruction on x86-64; elsewhere a handler's additions between its load and its store are
 * lost.
 *
 * On x86-64 additions are assembly, and those that several places make are functions of the module.
 *
 * A function of another library whose body a header offers counts where the compiler inlines it, and not where it calls
 * the library's.
 *
 * Not thread-safe: LLVM's options are the process's.
 */
#ifndef PML_INSTRUMENT_H
#define PML_INSTRUMENT_H

#include <llvm-c/Types.h>
#include <stdbool.h>

struct pml_instrument {
  bool final;       /* the IR is optimised: count it unchanged; else local scalars are first promoted to registers */
  bool optimised;   /* it will be optimised: functions may be inlined before loops are counted */
  bool lines;       /* also report each access to the runtime: pml_count_touch() */
  const char *name; /* name of the module in its table */
  /* Called for a function with code that cannot be counted; @where is "file:line", or the module's name. */
  void (*uncounted)(void *user, const char *where, const char *function, unsigned places, const char *what);
  void *user;
  char error[300]; /* why it failed */
};

/*
 * pml_instrument_file - read the bitcode at @in, add counters, write bitcode to @out. Both may be the same.
 *
 * Returns 0, or a negative errno with a line in @o->error: -ENOEXEC if the file is no bitcode of this version of LLVM.
 */
int pml_instrument_file(struct pml_instrument *o, const char *in, const char *out);

/*
 * pml_instrument_module - add counters to a compiler's @module, as the compiler's first pass, or (final) its last. The
 * caller owns the module.
 *
 * Returns 0, or a negative errno with a line in @o->error; the module is then of no use.
 */
int pml_instrument_module(struct pml_instrument *o, LLVMModuleRef module);

/* pml_instrument_llvm - the version of LLVM whose bitcode is read, such as "14.0.6". */
const char *pml_instrument_llvm(void);

#endif
