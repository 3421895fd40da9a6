/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept.h - interception of calls between libraries at run time, without headers, as
 * events of pml_stream.
 *
 * Loaded objects call each other through slots that the loader fills. Interception stores thunks
 * (adapter/arch/pml_arch.h) in the slots of the selected functions. A thunk emits an enter, runs the function on the
 * caller's stack frame, so that any number of arguments stay in place, and emits a leave when the function returns. The
 * region is the function, with its library as the file. The program's signal handlers, stack limits and environment are
 * left alone.
 *
 * Handled: every argument and result of the platform's C convention, with variable arguments, vectors of any width that
 * the CPU has, x87, structs in registers and memory; recursion; tail calls; exceptions and cancellation, which unwind
 * through a recorded call by its unwinding rule; longjmp, whose skipped calls get their leave with the thread's next
 * event; threads; forks (the child continues without consumers, see pml_stream.h) and vfork; contexts of
 * makecontext(3), also resumed by another thread, as long as an abandoned stack has no recorded call open on it.
 *
 * Left alone, because a changed return address or a second return would do harm: functions that return twice or on
 * another stack (setjmp() and similar, contexts, vfork, clone); functions that throw, unwind or walk the stack
 * (libgcc's and LLVM's unwinder, libunwind, every function with "backtrace" or "stacktrace" in its name); functions
 * that look at their caller (the loader's functions, profilers' hooks), in any library: pml_intercept_never.c has the
 * list. Also functions with another convention for vector registers; and always libc, the loader, sanitizers and pmlua,
 * as callers and as callees, unless @lib names libc or a sanitizer itself. A function that looks at its return address
 * for another reason sees an address of pmlua, and a backtrace from inside a recorded call has a frame of pmlua for it;
 * the fast backtrace of libunwind, on x86-64, ends there. A function must return its results as C (or Swift) does:
 * other registers that a caller reads after the return may have changed. Calls and returns are paired as a shadow stack
 * requires, but unwinders treat a return slot as a signal frame, which has other entries on a shadow stack: a process
 * with a shadow stack is refused.
 *
 * Calls are seen through every kind of slot: bound at the call or when the object is loaded, read-only or not, with a
 * PLT or (x86-64, gcc) without; of functions chosen by others (IFUNC), of versions of one name (two functions, one
 * region), of libraries that are closed and opened again; and, with @dlsym, through pointers that the program or a
 * library gets from dlsym() or dlvsym(). Without @dlsym every address visible to a program is unchanged: pointers from
 * dlsym() equal the function's address, dladdr() recognises them, and look-ups of selected functions are counted. With
 * @dlsym the program gets the thunk; a program that compares addresses or calls dladdr(), as Ruby does, may then fail.
 *
 * Not seen: calls inside a library that do not go through its slots (-Bsymbolic, hidden functions); calls by pointers.
 * pml_intercept_unrecorded() names functions with an address in data that the loader filled (virtual functions, tables
 * of functions), and functions of a library whose address its own code computes (callbacks, with -Bsymbolic). An
 * object's own functions are named only if @lib or @sym selects them, or if another object calls them by name. On arm64
 * code is not examined; packed relocations (DT_RELR) are not either. Calls by an address that code took through a slot
 * are not seen because comparisons of addresses must still hold: the code of calls through that slot is changed to use
 * another slot (pml_intercept_code.h), and pml_intercept_unrecorded() names the function. On arm64 this affects all
 * calls through slots outside of the PLT, because they look like loads. Calls of signal handlers that interrupt the
 * recording itself are counted. Also not seen:
 * - objects of dlmopen(), which are counted: another namespace has a separate libc, which shares no data with this one;
 * - with @dlsym, results of RTLD_NEXT and RTLD_DEFAULT in a library, because they depend on its position among the
 *   others; in the program, RTLD_NEXT of the program's functions, and functions of libraries that may be closed again,
 *   which the loader keeps loaded for the object that calls it;
 * - slots of an object of dlopen() that the loader has not bound yet, if the function is found in two places (which
 *   comes first depends on how it was opened) or only in an object that may be closed before: they are scanned again
 *   with the next dlopen() or dlsym() that loads an object;
 * - calls by constructors of an object while it is opened; and calls of objects from dlopen() of a bare name (its
 *   search path depends on the caller) until the next dlsym(), or dlopen() of a path.
 *
 * Files may be stripped or damaged: only the parts of their tables that the loader used are trusted.
 */
#ifndef PML_INTERCEPT_H
#define PML_INTERCEPT_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stdint.h>

PML_BEGIN_DECLS

/*
 * Patterns of fnmatch(3), several separated by ':'; "::" is part of a C++ name. NULL: all. A library is matched by its
 * file name, with and without
 * ".so" and the rest; by its path if the pattern contains a '/'. The program is not a library unless a pattern names
 * it.
 */
struct pml_intercept_options {
  const char *lib;    /* libraries whose functions are recorded */
  const char *sym;    /* functions, by their names in the symbol table */
  const char *but;    /* exclude libraries and functions with these names */
  const char *filter; /* a file of rules (pml_filter.h), which may exclude more; libraries are its files */
  const char *scans;  /* folder of cached scan results of large files, for later processes */
  const char *aside;  /* libraries of the tool: calls to or from them are not calls of the program */
  const char *func;   /* functions of the program and of libraries that are compiled to report their calls, as in
                       * pml_intercept_instrumented.h; NULL: those that the other patterns leave. NAME@PLACE: in the
                       * library or program PLACE, or compiled from the source file PLACE */
  uint64_t least;     /* bytes of code that such a function must have */
  bool dlsym;         /* dlsym() returns thunks of chosen functions, which differ from the functions' addresses */
  bool wrapped;       /* select all wrapped functions (pml_wrap.h), ignoring the other options */
  bool hooks;         /*
                       * record no calls as events: install only hooks (pml_intercept_hooks.h), until something else is
                       * installed, and again         after its removal         again after its removal
                       */
};

/*
 * pml_intercept_install - record calls as events: from all loaded objects, and from objects that are loaded later,
 * through dlopen() or found at a dlsym().
 * @o: copied; NULL: all.
 *
 * Returns 0, -EALREADY (already installed), PML_EMODE (a shadow stack), -ENOMEM, -EACCES (no memory may become
 * executable), or an error of pml_filter_open(). A running thread may make a call or two more without an event.
 * Thread-safe; not async-signal-safe; must not be called by a consumer of the stream.
 *
 * Cost, once: about half a microsecond per call slot, some twenty per object; data read from a file is cached, for at
 * most 128 files and 4 MiB, in case the file is loaded again. Cost of a call: two clock reads and, mostly overlapping
 * with them, some 250 instructions, if every consumer has fast functions (pml_stream.h) and there are at most four;
 * with a profile some 350. With any other consumer all vector registers are saved, which triples the cost. Without a
 * consumer: some 20 instructions. Memory: 1 MiB for 32768 open calls in all threads, 10 MiB more for up to 262144
 * (others are not recorded, and counted), 64 bytes per thread and 56 per function.
 */
PML__SHARED int pml_intercept_install(const struct pml_intercept_options *o);

/* pml_intercept_remove - restore the functions in the slots. Open calls return normally, and their leaves are emitted;
 * thunks returned by dlsym() stay valid, and emit no more events. Idempotent. Thread-safe. */
PML__SHARED void pml_intercept_remove(void);

/* pml_intercept_pause - stop emitting events for calls, until it is called with false; open calls get their leaves.
 * Also affects later installations. Thread-safe; not async-signal-safe. */
PML__SHARED void pml_intercept_pause(bool pause);

struct pml_intercept_stats {
  uint64_t objects;   /* inspected objects */
  uint64_t functions; /* intercepted functions */
  uint64_t slots;     /* filled with thunks */
  uint64_t shared;    /* addresses left alone because code may read them (pml_intercept_unrecorded()) */
  uint64_t deep;      /* calls not recorded: too many open calls, or calls from too many places in the code */
  uint64_t nested;    /* calls not recorded: made by the recording itself, or by a handler that interrupted it */
  uint64_t unseen;    /* look-ups of chosen functions by dlsym(): calls through these pointers are not recorded */
  uint64_t elsewhere; /* objects opened by dlmopen() in another namespace: calls there are not recorded */
  uint64_t scans;     /* files whose slots were read: one for a file, however often it is loaded */
};
PML__SHARED void pml_intercept_stats(struct pml_intercept_stats *s);

/*
 * pml_intercept_confine - record calls of the calling thread without system calls, except for consumers' system calls;
 * @without_clock: stop recording its calls, including the ends of open calls. This is final; for a thread that is about
 * to forbid itself system calls, or the processor's clock. Not async-signal-safe.
 */
PML__SHARED void pml_intercept_confine(bool without_clock);

/*
 * pml_intercept_callers - remove the return slots of recorded calls from @at: @n return addresses, innermost first, as
 * returned by backtrace(3). The caller behind each of them becomes exact. Returns the remaining number.
 * Async-signal-safe.
 */
PML__SHARED int pml_intercept_callers(void **at, int n);

/* A pattern of option "lib" or "sym" that matched no library, or no function of the chosen libraries. */
struct pml_intercept_unmatched {
  const char *option, *pattern;
  unsigned n;
  const char *nearest[3]; /* n existing names, the nearest first */
};
typedef int pml_intercept_unmatched_visit(const struct pml_intercept_unmatched *u, void *arg);

/*
 * pml_intercept_unmatched - patterns of the last installation that have matched nothing so far, also after its removal.
 * Objects that are loaded later may still match, so call this at the end. Existing functions match even if they are
 * never called; if no library matches, functions are not reported as missing.
 *
 * Returns 0, -ENOMEM, or the value of @visit; a value other than 0 ends the iteration. Strings are valid until @visit
 * returns. Cost: some microseconds; with missing functions, a microsecond per function of the chosen libraries and
 * pattern. Thread-safe; not async-signal-safe.
 */
PML__SHARED int pml_intercept_unmatched(pml_intercept_unmatched_visit *visit, void *arg);

/* A chosen function some of whose calls may be missing: code takes its address, or data contain it, so calls by pointer
 * are not recorded. */
struct pml_intercept_unrecorded {
  const char *function, *library;
  bool calls; /* some calls through a slot are not recorded either, because their code could not be changed */
};
typedef int pml_intercept_unrecorded_visit(const struct pml_intercept_unrecorded *f, void *arg);

/*
 * pml_intercept_unrecorded - visit these functions of the last installation, in the order in which they were found.
 * Returns 0 or the value of @visit; a value other than 0 ends the iteration. Strings are valid until @visit returns.
 * Thread-safe; not async-signal-safe.
 */
PML__SHARED int pml_intercept_unrecorded(pml_intercept_unrecorded_visit *visit, void *arg);

PML_END_DECLS

#endif
