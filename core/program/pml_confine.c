/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_confine.c - a sandbox that forbids starting programs. */
#include "program/pml_confine.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE
#define ARGUMENT_LOW(i) ((uint32_t)offsetof(struct seccomp_data, args[i]))
#define ARGUMENT_HIGH(i) (ARGUMENT_LOW(i) + 4) /* both machines are little-endian */

static void put(struct pml_confine *rules, struct sock_filter one) {
  rules->code[rules->n++] = one;
}

static void load(struct pml_confine *rules, uint32_t offset) {
  put(rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void answer(struct pml_confine *rules, uint32_t what) {
  put(rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Go on if the loaded word is @k, else pass over @otherwise instructions. */
static void only_if(struct pml_confine *rules, uint32_t k, uint8_t otherwise) {
  put(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, otherwise));
}

static void refuse(struct pml_confine *rules, uint32_t call, int err) {
  only_if(rules, call, 1);
  answer(rules, SECCOMP_RET_ERRNO | (uint32_t)err);
}

void pml_confine_make(struct pml_confine *rules, const char *path) {
  uint64_t pointer = (uint64_t)(uintptr_t)path;
  rules->n = 0;
  load(rules, offsetof(struct seccomp_data, arch));
  put(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
  answer(rules, SECCOMP_RET_KILL_PROCESS);
  load(rules, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  put(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32's numbers */
  answer(rules, SECCOMP_RET_ERRNO | ENOSYS);
  refuse(rules, SYS_fork, EPERM);
  refuse(rules, SYS_vfork, EPERM);
#endif
  refuse(rules, SYS_execveat, EPERM);
  refuse(rules, SYS_socket, EPERM);
  refuse(rules, SYS_clone3, ENOSYS); /* its flags cannot be seen; libc then asks for clone */
  only_if(rules, SYS_clone, 4);
  load(rules, ARGUMENT_LOW(0));
  put(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  answer(rules, SECCOMP_RET_ALLOW);
  answer(rules, SECCOMP_RET_ERRNO | EPERM);
  only_if(rules, SYS_execve, 5);
  load(rules, ARGUMENT_LOW(0));
  only_if(rules, (uint32_t)pointer, 2);
  load(rules, ARGUMENT_HIGH(0));
  put(rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(pointer >> 32), 1, 0));
  answer(rules, SECCOMP_RET_ERRNO | EPERM);
  answer(rules, SECCOMP_RET_ALLOW);
}
#else
void pml_confine_make(struct pml_confine *rules, const char *path) {
  (void)path;
  rules->n = 0;
}
#endif

int pml_confine_apply(const struct pml_confine *rules) {
  struct sock_fprog program = {.len = rules->n, .filter = (struct sock_filter *)(uintptr_t)rules->code};
  if (rules->n == 0) return 0;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno == EINVAL ? 0 : -errno;
}

bool pml_confine_here(void) {
#ifdef MACHINE
  /* EFAULT: the kernel would have read the rules; EINVAL: it knows no filters. */
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
#else
  return false;
#endif
}
