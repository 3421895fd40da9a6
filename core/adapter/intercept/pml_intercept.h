/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept.h - interception of calls between libraries at run time, without headers, as
 * events of pml_stream.
 *
 * Loaded objects call each other through slots that the loader fills. Interception fills those of the chosen functions
 * with thunks (adapter/arch/pml_arch.h), which emit an enter, run the function on the caller's own stack frame, so
 * that arguments of any number stay where they are, and emit a leave when it returns. The region is the function, with
 * its library as the file. The program's signal handlers, stack limits and environment are left alone.
 *
 * Handled: every argument and result of the platform's C convention, with variable arguments, vectors of any width that
 * the CPU has, x87, structs in registers and memory; recursion; tail calls; exceptions and cancellation, which unwind
 * through a recorded call by its unwinding rule; longjmp, whose skipped calls get their leave with the thread's next
 * event; threads; forks (the child goes on without consumers, as pml_stream says) and vfork; contexts of
 * makecontext(3), also resumed by another thread, as long as a stack that is given up has no recorded call open on it.
 *
 * Left alone, because a changed return address or a second return would harm: what returns twice or on another stack
 * (setjmp and its kin, contexts, vfork, clone), what throws, unwinds or walks the stack (libgcc's and LLVM's unwinder,
 * libunwind, every function with "backtrace" or "stacktrace" in its name), what looks at its caller (the loader's
 * functions, profilers' hooks), whichever library defines it: pml_intercept_never.c has the list. Also functions with
 * another convention for vector registers; and always libc, the loader, sanitizers and pmlua, as callers and as
 * callees, unless @lib names libc or a sanitizer itself. A function that looks at its own return address for another
 * reason sees that of pmlua, and a backtrace from inside a recorded call has a frame of pmlua for it; the fast
 * backtrace of libunwind, on x86-64, ends there. A function must return its results as C does (or Swift): what else a
 * caller reads after its return may have changed. Calls and returns are paired as a shadow stack wants them, but
 * unwinders take a pad for a signal's frame, which has other entries there: what keeps a shadow stack is refused.
 *
 * Seen through every kind of slot: bound when it is called or when the object is loaded, read-only or not, with a PLT
 * or (x86-64, gcc) without; functions chosen by others (IFUNC), versions of one name (two functions, one region),
 * libraries that are closed and opened again; and, if @dlsym asks for it, through pointers that the program or a
 * library gets from dlsym() or dlvsym(). Without it every address that a program can see is what it was: pointers of
 * dlsym() are equal to the function's address, dladdr() knows them, and look-ups of chosen functions are counted. With
 * it the thunk is what the program gets; one that compares addresses or asks dladdr(), as Ruby does, may then fail.
 *
 * Not seen: calls inside a library that do not go through its slots (-Bsymbolic, hidden functions); pointers in tables
 * that the loader filled (virtual functions, callbacks in static data); calls by an address that code took through a
 * slot, as comparisons must hold: then the code of the calls through the slot is changed to use another slot
 * (pml_intercept_code.h), and pml_intercept_unrecorded() names the function (on arm64 all calls through slots but those
 * of the PLT, which look as loads do); calls of signal handlers that interrupt the recording itself, which are counted.
 * Nor:
 * - objects of dlmopen(), which are counted: another namespace has its own libc, with which nothing here is shared;
 * - with @dlsym, what RTLD_NEXT and RTLD_DEFAULT give to a library, since that depends on its place among the others;
 *   to the program, RTLD_NEXT of what it defines itself, and what may be closed again, which the loader keeps for the
 *   object that asks;
 * - slots of an object of dlopen() that the loader has not bound yet, if the function is found in two places (which
 *   comes first depends on how it was opened) or only in an object that may be closed before: they are looked at
 *   again with the next dlopen() or dlsym() that brings something;
 * - what constructors of an object call while it is opened; and what dlopen() of a bare name brings (where that is
 *   looked for depends on the caller) until the next dlsym(), or dlopen() of a path.
 *
 * Files may be stripped or damaged: of their tables is believed what the loader had to, and no more.
 */
#ifndef PML_INTERCEPT_H
#define PML_INTERCEPT_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stdint.h>

PML_BEGIN_DECLS

/*
 * Patterns of fnmatch(3), several separated by ':'; NULL: all. A library is matched by its file name, with and without
 * ".so" and what follows; by its path if the pattern has a '/'. A program is no library unless a pattern names it.
 */
struct pml_intercept_options {
  const char *lib;    /* whose functions */
  const char *sym;    /* which functions, by their names in the symbol table */
  const char *but;    /* exclude libraries and functions with these names */
  const char *filter; /* a file of rules (pml_filter.h), which may leave out more; libraries are its files */
  const char *scans;  /* a folder, where what takes long to find out of large files is kept for later processes */
  const char *aside;  /* libraries of the tool: neither calls to them nor by them count as the program's */
  bool dlsym;         /* dlsym() gives thunks of chosen functions, which differ from the functions' addresses */
  bool wrapped;       /* wrapped functions (pml_wrap.h) are chosen whatever the others say */
  bool hooks; /* no calls become events: hooks (pml_intercept_hooks.h) alone, until something else is installed, and
                 again after its removal */
};

/*
 * pml_intercept_install - from now on calls are events: those of all objects that are loaded, and of those that are
 * loaded later, through dlopen() or found at a dlsym().
 * @o: copied; NULL: all.
 *
 * Returns 0, -EALREADY (it is), PML_EMODE (a shadow stack), -ENOMEM, -EACCES (no memory may become executable), or what
 * pml_filter_open() says of the filter. A running thread may make a call or two more without an event. Thread-safe; not
 * async-signal-safe; not from a consumer of the stream.
 *
 * Cost, once: about half a microsecond per call slot, some twenty per object; what is read of a file is kept, of 128
 * files and 4 MiB at most, for when it is loaded again. Of a call: the two clock reads and, mostly beside them, some
 * 250 instructions, while every consumer has plain functions (pml_stream.h), and there are four at most; with a profile
 * some 350. With another consumer all vector registers are saved, which is three times that. Without a consumer:
 * some 20 instructions. Memory: 1 MiB for 32768 calls under way in all threads at a time (more are not recorded, and
 * counted), 64 bytes per thread and 48 per function.
 */
PML__SHARED int pml_intercept_install(const struct pml_intercept_options *o);

/*
 * pml_intercept_remove - slots have their functions again. Calls under way return as they came, and their leaves are
 * emitted; thunks that dlsym() gave stay good, and emit no more. Idempotent. Thread-safe.
 */
PML__SHARED void pml_intercept_remove(void);

/*
 * pml_intercept_pause - calls emit nothing until it is called with false; those under way get their leaves. Also for
 * what is installed later. Thread-safe; not async-signal-safe.
 */
PML__SHARED void pml_intercept_pause(bool pause);

struct pml_intercept_stats {
  uint64_t objects;   /* that were looked at */
  uint64_t functions; /* that are intercepted */
  uint64_t slots;     /* filled with thunks */
  uint64_t
      shared; /* slots of chosen functions left alone: their code also takes the address (pml_intercept_unrecorded()) */
  uint64_t deep;      /* calls not recorded: too many under way, or from too many places in the code */
  uint64_t nested;    /* calls not recorded: made by the recording itself, or by a handler that interrupted it */
  uint64_t unseen;    /* look-ups of chosen functions by dlsym(): calls by these pointers are not seen */
  uint64_t elsewhere; /* objects opened by dlmopen() in another namespace: calls there are not seen */
  uint64_t scans;     /* files whose slots were read: one for a file, however often it is loaded */
};
PML__SHARED void pml_intercept_stats(struct pml_intercept_stats *s);

/*
 * pml_intercept_confine - calls of the calling thread are recorded without a system call from now on, as far as
 * consumers make none; @without_clock: its calls are recorded no more, nor the ends of those under way. For good; for a
 * thread that gives up its right to system calls, or to the processor's clock. Not async-signal-safe.
 */
PML__SHARED void pml_intercept_confine(bool without_clock);

/*
 * pml_intercept_callers - take the return slots of recorded calls out of @at: @n return addresses, the innermost one
 * first, as backtrace(3) gives them. The caller behind each of them becomes exact. Returns how many are left.
 * Async-signal-safe.
 */
PML__SHARED int pml_intercept_callers(void **at, int n);

/* A pattern that was given as "lib" or "sym" and matched no library, or no function of the chosen libraries. */
struct pml_intercept_unmatched {
  const char *option, *pattern;
  unsigned n;
  const char *nearest[3]; /* n names that there are, the nearest first */
};
typedef int pml_intercept_unmatched_visit(const struct pml_intercept_unmatched *u, void *arg);

/*
 * pml_intercept_unmatched - patterns of the last installation that have matched nothing so far, also after its removal.
 * What is loaded later may match still: ask at the end. Functions that exist match, whether anybody calls them or not;
 * where no library matches, no function is missed.
 *
 * Returns 0, -ENOMEM, or what @visit returned: not 0 ends it. Strings are the visitor's until it returns.
 * Cost: some microseconds; with functions that are missed, a microsecond per function of the chosen libraries and
 * pattern. Thread-safe; not async-signal-safe.
 */
PML__SHARED int pml_intercept_unmatched(pml_intercept_unmatched_visit *visit, void *arg);

/* A chosen function of which calls may be missing: code also takes its address, so calls by pointer are not seen. */
struct pml_intercept_unrecorded {
  const char *function, *library;
  bool calls; /* some calls through a slot are not seen either: the code that makes them could not be changed */
};
typedef int pml_intercept_unrecorded_visit(const struct pml_intercept_unrecorded *f, void *arg);

/*
 * pml_intercept_unrecorded - such functions of the last installation so far, in the order in which they were found.
 * Returns 0 or what @visit returned: not 0 ends it. Strings are the visitor's until it returns. Thread-safe; not
 * async-signal-safe.
 */
PML__SHARED int pml_intercept_unrecorded(pml_intercept_unrecorded_visit *visit, void *arg);

PML_END_DECLS

#endif
