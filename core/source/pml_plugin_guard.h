/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/pml_plugin_guard.h - calls into others' code that exceptions do not get out of.
 *
 * A C++ exception that leaves a plugin would unwind through C, where nobody catches it, and end the process. A guard is
 * a frame that takes any exception; what ends a thread (pthread_exit, cancellation) passes. It needs no C++ run time of
 * its own: unwinding is the platform's. On architectures other than x86-64 and arm64 calls are made without a guard.
 */
#ifndef PML_PLUGIN_GUARD_H
#define PML_PLUGIN_GUARD_H

#include <stddef.h>

/*
 * pml__guard_call - f(arg). NULL, or the exception that came out of it, to be told to pml__guard_end() on the same
 * thread. What @f had under way is abandoned: it must hold no lock and own no memory while it calls others.
 * Cost: some eight instructions.
 */
struct _Unwind_Exception;
struct _Unwind_Exception *pml__guard_call(void (*f)(void *arg), void *arg);

/* pml__guard_end - the exception is over; @text says what it was. @object: a handle of the code that threw, or NULL. */
void pml__guard_end(struct _Unwind_Exception *e, void *object, char *text, size_t size);

#endif
