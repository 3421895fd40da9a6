/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_arch.h - what interception needs of an instruction set: thunks, and pads that calls return to.
 *
 * Interception replaces the address of a function by that of a thunk, which puts where the function is described into a
 * scratch register and jumps to the enter stub. The stub saves the general registers that may carry an argument and
 * calls pml__call_enter(). A call that is recorded is made again, with the arguments where they are, from a pad: there
 * is one for each call under way, and for each pad a slot at a fixed distance, which has the true return address: so
 * that one rule of unwinding, the same for all pads, leads from a pad to the caller, for every unwinder (exceptions,
 * cancellation, backtraces, debuggers). When the function has returned to it, the pad jumps to the leave stub, which
 * saves the registers that may carry a result, calls pml__call_leave() and returns to the caller. So every return
 * is that of a call, as the CPU predicts it and as a shadow stack wants it.
 *
 * Vector registers are saved only when one of the two says so; then the stub calls its _full twin.
 */
#ifndef PML_ARCH_H
#define PML_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PML_ARCH_PADS 32768u /* calls under way at a time, in all threads; pads.S has the same number */
#define PML_ARCH_PAD_BYTES 16u

/* A slot has the size of a pad: the rule of unwinding counts on it. */
struct pml_arch_slot {
  uintptr_t address; /* the code that made the call; the rule of unwinding reads it */
  uintptr_t sp;      /* of the call */
};
extern __attribute__((visibility("hidden"))) struct pml_arch_slot pml__arch_slot[PML_ARCH_PADS];
extern __attribute__((visibility("hidden"))) char pml__arch_pads[];

#ifdef __x86_64__
#define PML_ARCH_PAD_RETURN 3u
#else
#define PML_ARCH_PAD_RETURN 8u
#endif

static inline uintptr_t pml_arch_pad(uint32_t i) {
  return (uintptr_t)pml__arch_pads + (uintptr_t)i * PML_ARCH_PAD_BYTES;
}
/* What the function of a call from pad @i returns to, and which pad that is in. */
static inline uintptr_t pml_arch_pad_return(uint32_t i) {
  return pml_arch_pad(i) + PML_ARCH_PAD_RETURN;
}
static inline uint32_t pml_arch_pad_of(uintptr_t address) {
  return (uint32_t)((address - (uintptr_t)pml__arch_pads) / PML_ARCH_PAD_BYTES);
}

/*
 * Called by the stubs. @back: the return address of the call; @sp: the stack pointer at the call, before and after it.
 * The first two use general registers only.
 *
 * Enter returns the address of the pad to call the function from, leave the address to return to. What is no address
 * (below PML_ARCH_PADS, and below 2) asks for all registers to be saved and for the _full twin, which gets it. From
 * pml__call_enter_full() 0: jump to the function, nothing is recorded.
 */
struct pml__call_function;
uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back, uintptr_t sp);
uintptr_t pml__call_leave(uintptr_t pad, uintptr_t sp);
uintptr_t pml__call_enter_full(const struct pml__call_function *f, uintptr_t back, uintptr_t sp, uint32_t i);
uintptr_t pml__call_leave_full(uintptr_t pad, uintptr_t sp, uint32_t i);

/* What this CPU has of registers to save. Returns 0 or PML_EMODE: a shadow stack is on (pml_intercept.h). */
int pml_arch_prepare(void);

/*
 * The bytes of @n thunks; the block begins with them. The functions are described in the 16 bytes of each from
 * @functions on, less than a MiB away.
 */
#define PML_ARCH_FUNCTION_BYTES 16u
size_t pml_arch_thunks_bytes(uint32_t n);
void pml_arch_thunks_write(void *block, const void *functions, uint32_t n);
uintptr_t pml_arch_thunk(uintptr_t block, uint32_t i);

/* The relocations that fill a slot for calls, and one for addresses that code loads or calls through. */
extern const uint32_t pml__arch_jump_slot, pml__arch_glob_dat;

/*
 * Of the slots of addresses in [@lo, @hi), those that the code in [@text, @end) calls or jumps through, and those that
 * it uses in any other way: @seen is called for each; @call says which. False if this instruction set does not show it.
 */
bool pml_arch_scan(const uint8_t *text, const uint8_t *end, uintptr_t lo, uintptr_t hi,
                   void (*seen)(void *arg, uintptr_t slot, bool call), void *arg);

#endif
