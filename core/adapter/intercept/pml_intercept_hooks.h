/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_hooks.h - hooks for an interface with known function names, such as MPI; calls
 * inside its libraries are not hooked. Internal.
 */
#ifndef PML_INTERCEPT_HOOKS_H
#define PML_INTERCEPT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

enum pml__hooks_role {
  PML__HOOKS_NONE,    /* any other library */
  PML__HOOKS_LIBRARY, /* has the functions */
  PML__HOOKS_BINDING, /* leads to them from another language: its calls count, its own functions do not */
  PML__HOOKS_INSIDE   /* belongs to such a library; neither its calls nor its functions count */
};

#define PML__HOOKS_NAME 128 /* bytes of a function's name */

/*
 * role:   of a library by its file's name.
 * load:   a library that has the functions is loaded, @path; called under the lock of the scan, for each scan.
 * hook:   the function @name at @at is called by a @binding or another object. Returns the name of its region; NULL:
 *         the function is not intercepted. *@to: where the call goes instead of @at. Thread-safe.
 * behind: the function that a hook stands before; 0: @hook is not one.
 * second: a function that such a library exports under any file name, and @role knows no other library with it.
 * second_name: to @second, under which no tool stands before the library's function @name; false: it is of another one.
 * layer:  whether an object that calls @name may stand between the program and the library, as tools do: it exports
 *         another name of that function, or a name that every such tool has. @exports: whether it exports a name.
 */
struct pml__hooks {
  enum pml__hooks_role (*role)(const char *file);
  void (*load)(const char *path);
  const char *(*hook)(const char *name, uintptr_t at, bool binding, uintptr_t *to);
  uintptr_t (*behind)(uintptr_t hook);
  const char *second;
  bool (*second_name)(const char *name, char second[PML__HOOKS_NAME]);
  bool (*layer)(const char *name, bool (*exports)(const void *object, const char *name), const void *object);
};

/* pml__intercept_hooks - set before pml_intercept_install(), for good. NULL: no hooks. */
extern const struct pml__hooks *pml__intercept_hooks;

static inline enum pml__hooks_role pml__hooks_role(const char *file) {
  return pml__intercept_hooks != NULL ? pml__intercept_hooks->role(file) : PML__HOOKS_NONE;
}

#endif
