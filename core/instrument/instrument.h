/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument.h - instrumentation of an LLVM module with counters.
 *
 * Compiled for each version of LLVM, from 14 on, because each reads only its own IR. The input is bitcode, or a module
 * in the compiler's memory. Each stretch of instructions that always runs as a whole adds its counts to the cells of
 * pml_count.h when it begins. A stretch ends with an instruction that may not return, a call, or with its block. If
 * nothing may leave between blocks, one block counts for several. Loops that control leaves through their own exits
 * only count iterations in registers, and add once, at the exit.
 *
 * Therefore a signal handler reads outdated counts of a running loop, and a loop that ends early (exit or siglongjmp in
 * a handler, a fault) is not counted; elsewhere a handler's counts are a few blocks too high or too low. A cell's
 * addition is one instruction on x86-64; on other processors, a handler's additions between its load and its store are
 * lost.
 *
 * On x86-64 additions are assembly, and common sequences of additions become functions of the module.
 *
 * A function of another library whose body is in a header is counted where the compiler inlines it, but not where the
 * program calls the library's copy.
 *
 * Not thread-safe, because LLVM's options are global.
 */
#ifndef PML_INSTRUMENT_H
#define PML_INSTRUMENT_H

#include <llvm-c/Types.h>
#include <stdbool.h>

struct pml_instrument {
  bool final;     /* the IR is optimised: count it unchanged; otherwise local scalars are first promoted to registers */
  bool optimised; /* the compiler will optimise the IR: functions may be inlined before loops are counted */
  bool lines;     /* also report each access to the runtime: pml_count_touch() */
  const char *name; /* name of the module in its table */
  /* Called for a function with code that cannot be counted; @where is "file:line", or the module's name. */
  void (*uncounted)(void *user, const char *where, const char *function, unsigned places, const char *what);
  void *user;
  char error[300]; /* the reason of a failure */
};

/*
 * pml_instrument_file - read the bitcode at @in, add counters, write bitcode to @out. Both may be the same.
 *
 * Returns 0, or a negative errno with a line in @o->error: -ENOEXEC if the file is not bitcode of this LLVM version.
 */
int pml_instrument_file(struct pml_instrument *o, const char *in, const char *out);

/*
 * pml_instrument_module - add counters to a compiler's @module, as the compiler's first pass, or (final) its last. The
 * caller owns the module.
 *
 * Returns 0, or a negative errno with a line in @o->error; the module is then unusable.
 */
int pml_instrument_module(struct pml_instrument *o, LLVMModuleRef module);

/* pml_instrument_llvm - the version of LLVM whose bitcode is read, such as "14.0.6". */
const char *pml_instrument_llvm(void);

#endif
