/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_system.h - a system call that goes through no function of the C library; system.S of core/adapter/arch.
 */
#ifndef PML_SYSTEM_H
#define PML_SYSTEM_H

/*
 * pml__arch_system - the kernel's answer, which is -errno where it fails: errno stays as it is, and nothing is a
 * cancellation point. Async-signal-safe.
 */
long pml__arch_system(long number, const long argument[6]);

#endif
