/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_plugin_guard.c - a frame that catches any exception, in a few lines of assembly and its personality.
 */
#include "source/pml_plugin_guard.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#if defined(__x86_64__) || defined(__aarch64__)

/*
 * pml__guard_call has one call in it, so that its personality needs no table: whatever comes by is caught, and lands
 * behind the call with the exception where results are, which is what the function then returns.
 */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl pml__guard_call\n"
        ".hidden pml__guard_call\n"
        ".hidden pml__guard_landing\n"
        ".hidden pml__guard_personality\n"
        ".type pml__guard_call, @function\n"
        "pml__guard_call:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, pml__guard_personality\n"
        "  endbr64\n"
        "  pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rdi\n"
        "  call *%rax\n"
        "  xorl %eax, %eax\n"
        ".globl pml__guard_landing\n"
        "pml__guard_landing:\n"
        "  popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size pml__guard_call, .-pml__guard_call\n");
#else
__asm__(".text\n"
        ".globl pml__guard_call\n"
        ".hidden pml__guard_call\n"
        ".hidden pml__guard_landing\n"
        ".hidden pml__guard_personality\n"
        ".type pml__guard_call, %function\n"
        "pml__guard_call:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, pml__guard_personality\n"
        "  stp x29, x30, [sp, -16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "  mov x29, sp\n"
        "  mov x2, x0\n"
        "  mov x0, x1\n"
        "  blr x2\n"
        "  mov x0, 0\n"
        ".globl pml__guard_landing\n"
        "pml__guard_landing:\n"
        "  ldp x29, x30, [sp], 16\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        ".cfi_def_cfa_offset 0\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size pml__guard_call, .-pml__guard_call\n");
#endif

extern const char pml__guard_landing[];
_Unwind_Reason_Code pml__guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *e, struct _Unwind_Context *context);

__attribute__((used)) _Unwind_Reason_Code pml__guard_personality(int version, _Unwind_Action actions,
                                                                 _Unwind_Exception_Class class,
                                                                 struct _Unwind_Exception *e,
                                                                 struct _Unwind_Context *context) {
  (void)class;
  if (version != 1) return _URC_FATAL_PHASE1_ERROR;
  if ((actions & _UA_FORCE_UNWIND) != 0) return _URC_CONTINUE_UNWIND;
  if ((actions & _UA_SEARCH_PHASE) != 0) return _URC_HANDLER_FOUND;
  if ((actions & _UA_HANDLER_FRAME) == 0) return _URC_CONTINUE_UNWIND;
  _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (uintptr_t)e);
  _Unwind_SetIP(context, (uintptr_t)pml__guard_landing);
  return _URC_INSTALL_CONTEXT;
}

#else

struct _Unwind_Exception *pml__guard_call(void (*f)(void *arg), void *arg) {
  f(arg);
  return NULL;
}

#endif

/* What the C++ run time of the code that threw offers, whichever that is. */
struct runtime {
  void *(*begin)(void *);
  void (*end)(void);
  const void *(*type)(void);
  char *(*demangle)(const char *, char *, size_t *, int *);
};

static void find(void *object, const char *name, void *function) {
  void *at = dlsym(object != NULL ? object : RTLD_DEFAULT, name);
  memcpy(function, &at, sizeof at);
}

/* A class of exceptions is eight characters, the most significant first: the vendor, then the language. */
static int is_cxx(const struct _Unwind_Exception *e) {
  return (e->exception_class >> 8 & 0xffffff) == 0x432b2b; /* "C++" */
}

void pml__guard_end(struct _Unwind_Exception *e, void *object, char *text, size_t size) {
  struct runtime cxx = {0};
  (void)snprintf(text, size, "an exception");
  if (is_cxx(e)) {
    find(object, "__cxa_begin_catch", &cxx.begin);
    find(object, "__cxa_end_catch", &cxx.end);
    find(object, "__cxa_current_exception_type", &cxx.type);
    find(object, "__cxa_demangle", &cxx.demangle);
  }
  if (cxx.begin == NULL || cxx.end == NULL) {
    _Unwind_DeleteException(e);
    return;
  }
  (void)cxx.begin(e);
  const void *type = cxx.type != NULL ? cxx.type() : NULL;
  if (type != NULL) { /* a type_info: its name is behind the pointer to its virtual functions */
    const char *name;
    memcpy(&name, (const char *)type + sizeof(void *), sizeof name);
    char *plain = cxx.demangle != NULL ? cxx.demangle(name, NULL, NULL, &(int){0}) : NULL;
    (void)snprintf(text, size, "a C++ exception (%s)", plain != NULL ? plain : name);
    free(plain);
  }
  cxx.end();
}
