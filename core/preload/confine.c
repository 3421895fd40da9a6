/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/confine.c - wrappers of prctl(), syscall() and clone(). */
#include "preload/confine.h"

#include "base/pml_api.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern long (*pml__preload_syscall)(long number, ...) HIDDEN;
void pml__preload_asked(long number, unsigned long first, unsigned long second) HIDDEN;

long (*pml__preload_syscall)(long number, ...); /* libc's function; NULL: not looked up yet */

static void look(unsigned long option, unsigned long value) {
  if (option == PR_SET_SECCOMP) pml__preload_confined(value == SECCOMP_MODE_STRICT);
  if (option == PR_SET_NO_NEW_PRIVS) pml__preload_begin(); /* a sandbox follows, such as Landlock's */
  if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV) pml__preload_clockless();
}

/* Called before any system call that may confine the process, and before the first call of syscall(). */
void pml__preload_asked(long number, unsigned long first, unsigned long second) {
  if (pml__preload_syscall == NULL) *(void **)&pml__preload_syscall = dlsym(RTLD_NEXT, "syscall");
  if (number == SYS_prctl) look(first, second);
  if (number == SYS_seccomp && first == SECCOMP_SET_MODE_STRICT) pml__preload_confined(true);
  if (number == SYS_seccomp && first == SECCOMP_SET_MODE_FILTER) pml__preload_confined(false);
}

PML_API int prctl(int option, ...);

int prctl(int option, ...) {
  unsigned long value[4];
  va_list args;
  va_start(args, option);
  for (int i = 0; i < 4; i++) value[i] = va_arg(args, unsigned long);
  va_end(args);
  return (int)syscall(SYS_prctl, option, value[0], value[1], value[2], value[3]);
}

/*
 * A child of clone() with CLONE_VM runs on the thread-local data of its parent, unless it gets its own (CLONE_SETTLS)
 * or the parent waits (CLONE_VFORK). Then two threads use the lists, streams and buffers that belong to one, and the
 * processor does not show which of the two runs.
 */
PML_API int clone(int (*function)(void *), void *stack, int flags, void *arg, ...) {
  int (*real)(int (*)(void *), void *, int, void *, ...) = NULL;
  void *more[3]; /* not read by the C library unless a flag requires it */
  va_list args;
  va_start(args, arg);
  for (int i = 0; i < 3; i++) more[i] = va_arg(args, void *);
  va_end(args);
  if ((flags & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS)) == CLONE_VM) pml__preload_twinned();
  *(void **)&real = dlsym(RTLD_NEXT, "clone");
  return real(function, stack, flags, arg, more[0], more[1], more[2]);
}

/* A system call may return twice, on another stack (clone), so this function must leave no stack frame below it: it
 * jumps to libc's function except for the numbers of prctl and seccomp. */
#if defined(__x86_64__)
_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "the code knows the numbers");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        ".balign 16\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "  endbr64\n"
        "  movq pml__preload_syscall(%rip), %r11\n"
        "  testq %r11, %r11\n"
        "  je 1f\n"
        "  cmpq $157, %rdi\n"
        "  je 1f\n"
        "  cmpq $317, %rdi\n"
        "  je 1f\n"
        "  jmp *%r11\n"
        "1:\n"
        "  pushq %rdi\n"
        "  pushq %rsi\n"
        "  pushq %rdx\n"
        "  pushq %rcx\n"
        "  pushq %r8\n"
        "  pushq %r9\n"
        "  subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 56\n"
        "  call pml__preload_asked\n"
        "  addq $8, %rsp\n"
        "  popq %r9\n"
        "  popq %r8\n"
        "  popq %rcx\n"
        "  popq %rdx\n"
        "  popq %rsi\n"
        "  popq %rdi\n"
        ".cfi_adjust_cfa_offset -56\n"
        "  jmp *pml__preload_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n");
#elif defined(__aarch64__)
_Static_assert(SYS_prctl == 167 && SYS_seccomp == 277, "the code knows the numbers");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        ".balign 16\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "  hint 34\n" /* bti c */
        "  adrp x16, pml__preload_syscall\n"
        "  ldr x16, [x16, :lo12:pml__preload_syscall]\n"
        "  cbz x16, 1f\n"
        "  cmp x0, 167\n"
        "  b.eq 1f\n"
        "  cmp x0, 277\n"
        "  b.eq 1f\n"
        "  br x16\n"
        "1:\n"
        "  stp x29, x30, [sp, -80]!\n"
        ".cfi_adjust_cfa_offset 80\n"
        ".cfi_rel_offset x29, 0\n"
        ".cfi_rel_offset x30, 8\n"
        "  stp x0, x1, [sp, 16]\n"
        "  stp x2, x3, [sp, 32]\n"
        "  stp x4, x5, [sp, 48]\n"
        "  stp x6, x7, [sp, 64]\n"
        "  bl pml__preload_asked\n"
        "  ldp x0, x1, [sp, 16]\n"
        "  ldp x2, x3, [sp, 32]\n"
        "  ldp x4, x5, [sp, 48]\n"
        "  ldp x6, x7, [sp, 64]\n"
        "  ldp x29, x30, [sp], 80\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        ".cfi_adjust_cfa_offset -80\n"
        "  adrp x16, pml__preload_syscall\n"
        "  ldr x16, [x16, :lo12:pml__preload_syscall]\n"
        "  br x16\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n");
#endif
