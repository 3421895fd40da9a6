/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_guard.h - calls into foreign code that stop C++ exceptions.
 *
 * A C++ exception that leaves a plugin would unwind through C, which cannot catch it, and end the process. A guard is a
 * frame that catches every exception, except the unwinding that ends a thread (pthread_exit, cancellation). It needs no
 * C++ run time, because the platform does the unwinding. On architectures other than x86-64 and arm64 calls are made
 * without a guard.
 */
#ifndef PML_PLUGIN_GUARD_H
#define PML_PLUGIN_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct _Unwind_Exception;

/* pml__guard_prepare - once before the first call; idempotent, thread-safe. Loads the unwinder's library. */
void pml__guard_prepare(void);

/*
 * pml__guard_get - call f(arg) and return its value, or the exception that it threw, which must be passed to
 * pml__guard_end() on the same thread; then the value is undefined. An exception abandons the frames of @f: it must
 * hold no lock and own no memory while it calls foreign code. Cost: five instructions. pml__guard_call - the same for a
 * function without a value: returns NULL or the exception.
 */
struct pml__guarded {
  uint64_t value;
  struct _Unwind_Exception *e;
};
struct pml__guarded pml__guard_get(uint64_t arg, uint64_t (*f)(uint64_t));
struct _Unwind_Exception *pml__guard_call(void (*f)(void *arg), void *arg);

/* pml__guard_flatten - turn a plugin's text into one line. */
void pml__guard_flatten(char *text);

/* pml__guard_end - end the exception; @text gets its description, in one line. @object: a handle of the code that
 * threw, or NULL. */
void pml__guard_end(struct _Unwind_Exception *e, void *object, char *text, size_t size);

#endif
