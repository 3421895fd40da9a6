/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_arch.h - architecture interface of interception: thunks, and return slots.
 *
 * Interception replaces the address of a function by that of a thunk, which puts where the function is described into a
 * scratch register and jumps to the enter stub. The stub saves all general registers that C clobbers, since functions
 * of other conventions than C's preserve some of them, and calls pml__call_enter(). A call that is recorded is made
 * again, with the arguments where they are, from a return slot: 16 bytes of code, one for each return address that was
 * ever seen. At a fixed distance is the address itself: so that one rule of unwinding, the same for all slots, leads
 * from a slot to the caller, for every unwinder (exceptions, cancellation, backtraces, debuggers). When the function
 * has returned to it, the slot jumps to the leave stub, which saves the same registers, calls pml__call_leave() and
 * returns to the caller. Every return therefore matches a call, as return prediction and shadow stacks require.
 *
 * On x86-64 the stubs do themselves what most calls need, with five registers saved: consumers that all have fast
 * functions, with counts or without, a free frame, a return address that was seen before, an innermost call further
 * out.
 * pml__call_enter() and pml__call_leave() take the rest, and are the definition of what the stubs do.
 *
 * Vector registers are saved only when one of the two says so; then the stub calls its _full twin.
 */
#ifndef PML_ARCH_H
#define PML_ARCH_H

#include "base/pml_region.h"
#include "base/stream/pml_stream_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern __attribute__((visibility("hidden"))) char pml__arch_slots[];

#ifdef __x86_64__
#define PML_ARCH_SLOT_RETURN 3u /* from a slot's code to where its function returns to */
#else
#define PML_ARCH_SLOT_RETURN 8u
#endif

static inline bool pml_arch_is_slot(uintptr_t at) {
  return at - (uintptr_t)pml__arch_slots < (uintptr_t)PML_ARCH_SLOTS * PML_ARCH_SLOT_BYTES;
}
/* Of the slot that @at is in the code of. */
static inline const struct pml_arch_slot *pml_arch_slot_of(uintptr_t at) {
  _Static_assert(sizeof(struct pml_arch_slot) == PML_ARCH_SLOT_BYTES, "they are as far from each other");
  return &pml__call_table.slot[(at - (uintptr_t)pml__arch_slots) / PML_ARCH_SLOT_BYTES];
}
static inline uintptr_t pml_arch_code_of(uint32_t slot) {
  return (uintptr_t)pml__arch_slots + (uintptr_t)slot * PML_ARCH_SLOT_BYTES;
}

/*
 * Called by the stubs. @back: the return address of the call; @sp: the stack pointer of the call, the same in both; on
 * x86-64 where the return address stood. The first two use general registers only.
 *
 * Enter returns the code of the slot to call the function from, leave the address to return to. What is no address
 * asks for all registers to be saved and for the _full twin, which gets it as @begun: 0, or PML__CALL_BEGUN: all is
 * done but for the event. From pml__call_enter_full() 0: jump to the function, nothing is recorded.
 */
#define PML__CALL_BEGUN 1u
struct pml__call_function;
uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back, uintptr_t sp);
uintptr_t pml__call_leave(uintptr_t code, uintptr_t sp);
uintptr_t pml__call_enter_full(const struct pml__call_function *f, uintptr_t back, uintptr_t sp, uint32_t begun);
uintptr_t pml__call_leave_full(uintptr_t code, uintptr_t sp, uint32_t begun);

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

/* The relocations that fill a slot for calls, and one for addresses that code loads or calls through; and any without a
 * symbol. */
extern const uint32_t pml__arch_jump_slot, pml__arch_glob_dat, pml__arch_relative;

/*
 * Of the slots of addresses in [@lo, @hi), those that @n bytes of code use, which are at @text and mapped at @at: @seen
 * is called for each use, @operand is where what follows the opcode is mapped, and @call says whether it is a call or a
 * jump. Code in pieces is seen whole if each begins with the last PML_ARCH_SCAN_SHARED bytes of the one before. False:
 * this instruction set does not show it.
 */
#define PML_ARCH_SCAN_SHARED 5u
typedef void pml_arch_seen(void *arg, uintptr_t slot, uintptr_t operand, bool call);
bool pml_arch_scan(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                   void *arg);

/*
 * Code in memory. landing: *@to is where code goes on after an exception in the call that ends at @after, 0: nowhere;
 * *@ends: the function ends there, too, so the call does not return; false: that is not known.
 */
struct pml_arch_code {
  uintptr_t lo, hi;
  bool (*landing)(void *arg, uintptr_t after, uintptr_t *to, bool *ends);
  void *arg;
};

/* Whether @operand, in memory, is of a call or jump through a slot. */
bool pml_arch_is_call(const uint8_t *operand);

/*
 * pml_arch_only_called - whether the address that code loads from a slot, at @operand, is called or jumped to, compared
 * with NULL, and nothing else, whichever way the code goes. False also where that is not known for certain.
 * Cost: some 30 ns for each instruction that may follow, 2048 of them at most. 40 KB of stack.
 */
bool pml_arch_only_called(const struct pml_arch_code *c, uintptr_t operand);

/*
 * pml_arch_lead - make the code at @operand, which must be writable, use the slot @to instead of @from. True also if it
 * did already. False, with nothing changed, if it uses another slot, if @to is too far away, or if other threads may
 * run the code meanwhile (not @alone) and could see it half changed.
 */
bool pml_arch_lead(uintptr_t operand, uintptr_t from, uintptr_t to, bool alone);
/* Whether it uses the slot @to. */
bool pml_arch_leads(uintptr_t operand, uintptr_t to);
#define PML_ARCH_REACH ((uintptr_t)0x7fff0000) /* of code, to slots */

#endif
