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
  PML__HOOKS_LIBRARY, /* contains the functions */
  PML__HOOKS_BINDING, /* calls them from another language: its calls are hooked, its functions are not */
  PML__HOOKS_INSIDE   /* part of such a library; neither its calls nor its functions are hooked */
};

#define PML__HOOKS_NAME 128 /* bytes of a function's name */

/*
 * role: the role of a library, by its file name.
 * load: called when a library with the functions is loaded, @path; under the lock of the scan, at each scan.
 * hook: the function @name at @at is called by a @binding or another object. Returns the name of its region; NULL: the
 * function is not intercepted. *@to: the target of the call instead of @at. Thread-safe.
 * behind: the function behind a hook; 0: @hook is not a hook.
 * second: a function that such a library exports under any file name, and no library unknown to @role exports.
 * second_name: copy to @second the name under which the library's function @name bypasses tools; false: @name belongs
 * to another library.
 * layer: whether an object that calls @name may be a tool between the program and the library: it exports another name
 * of this function, or a name that every such tool exports. @exports: whether it exports a name.
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

/* pml__intercept_hooks - set before pml_intercept_install(), permanently. NULL: no hooks. */
extern const struct pml__hooks *pml__intercept_hooks;

static inline enum pml__hooks_role pml__hooks_role(const char *file) {
  return pml__intercept_hooks != NULL ? pml__intercept_hooks->role(file) : PML__HOOKS_NONE;
}

#endif
