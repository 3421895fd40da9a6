/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_cpuid.h - CPUID of this processor, on x86-64. Internal.
 *
 * The instruction leaves a virtual machine, which takes 5 us and more. glibc 2.33 and later hand out what the loader
 * found.
 */
#ifndef PML_CPUID_H
#define PML_CPUID_H

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdbool.h>

/* Leaf, subleaf, which of eax, ebx, ecx and edx, and the bit. */
#define PML__CPUID_OSXSAVE 1, 0, 2, 27
#define PML__CPUID_XSAVEC 13, 1, 0, 1
#define PML__CPUID_XGETBV_ECX_1 13, 1, 0, 2
#define PML__CPUID_AVX512BW 7, 0, 1, 30
#define PML__CPUID_INVARIANT_TSC 0x80000007, 0, 3, 8

static inline bool pml__cpuid_has(unsigned leaf, unsigned subleaf, unsigned word, unsigned bit) {
  unsigned w[4];
  return __get_cpuid_count(leaf, subleaf, &w[0], &w[1], &w[2], &w[3]) != 0 && (w[word] >> bit & 1) != 0;
}

/* Whether the processor has a feature of those above, as PML__CPU_HAS(OSXSAVE). */
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define PML__CPU_HAS(feature) x86_cpu_present(x86_cpu_##feature)
#else
#define PML__CPU_HAS(feature) pml__cpuid_has(PML__CPUID_##feature)
#endif

#endif
#endif
