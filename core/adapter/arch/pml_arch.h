/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_arch.h - architecture interface of interception: thunks, and return slots.
 *
 * Interception replaces the address of a function by the address of a thunk, which loads the address of the function's
 * description into a scratch register and jumps to the enter stub. The stub saves all general registers that C
 * clobbers, because functions of other conventions than C's preserve some of them, and calls pml__call_enter(). A
 * recorded call is made again, with its arguments in place, from a return slot: 16 bytes of code, one slot for each
 * return address seen so far. The return address itself is stored at a fixed distance from the slot, so a single
 * unwinding rule leads every unwinder (exceptions, cancellation, backtraces, debuggers) from any slot to the caller.
 * When the function returns to the slot, the slot jumps to the leave stub, which saves the same registers, calls
 * pml__call_leave() and returns to the caller. Every return therefore matches a call, as return prediction and shadow
 * stacks require.
 *
 * On x86-64 the stubs handle most calls themselves, with five registers saved: all consumers have fast functions, with
 * counts or without, a frame is free, the return address was seen before, and the innermost call is further out.
 * pml__call_enter() and pml__call_leave() handle the other calls, and define the stubs' behaviour.
 *
 * Vector registers are saved only if one of the two functions requests it; then the stub calls its _full variant.
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
/* The slot whose code contains @at. */
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
 * Enter returns the code of the slot to call the function from, leave returns the address to return to. Either may
 * instead return 0, or PML__CALL_BEGUN (only the event is missing), to have all registers saved and its _full variant
 * called with this value as @begun. pml__call_enter_full() returns 0 to jump to the function without recording.
 */
#define PML__CALL_BEGUN 1u
struct pml__call_function;
uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back, uintptr_t sp);
uintptr_t pml__call_leave(uintptr_t code, uintptr_t sp);
uintptr_t pml__call_enter_full(const struct pml__call_function *f, uintptr_t back, uintptr_t sp, uint32_t begun);
uintptr_t pml__call_leave_full(uintptr_t code, uintptr_t sp, uint32_t begun);

/* Find out which registers of this CPU must be saved. Returns 0, or PML_EMODE if a shadow stack is on
 * (pml_intercept.h). */
int pml_arch_prepare(void);

/*
 * The bytes of @n thunks; the block begins with them. The functions are described from @functions on, less than a MiB
 * away. A thunk jumps to the address in its function's description: of the stub, or of the function.
 */
#define PML_ARCH_FUNCTION_BYTES 24u
#define PML_ARCH_FUNCTION_ENTER 16u /* where that address is */
void pml__arch_enter(void);
size_t pml_arch_thunks_bytes(uint32_t n);
void pml_arch_thunks_write(void *block, const void *functions, uint32_t n);
uintptr_t pml_arch_thunk(uintptr_t block, uint32_t i);

/* The relocations that fill a slot for calls, one for addresses that code loads or calls through, and a pointer in
 * data; and any without a symbol. */
extern const uint32_t pml__arch_jump_slot, pml__arch_glob_dat, pml__arch_abs64, pml__arch_relative;

/*
 * Find uses of the address slots in [@lo, @hi) in @n bytes of code at @text, mapped at @at. @seen is called for each
 * use: @operand is the mapped address behind the opcode, and @call is true for a call or a jump. Code scanned in pieces
 * is scanned completely if each piece begins with the last PML_ARCH_SCAN_SHARED bytes of the previous piece. False: not
 * supported for this instruction set.
 */
#define PML_ARCH_SCAN_SHARED 5u
typedef void pml_arch_seen(void *arg, uintptr_t slot, uintptr_t operand, bool call);
bool pml_arch_scan(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi, pml_arch_seen *seen,
                   void *arg);
/* The same for instructions that compute an address in [@lo, @hi) without reading there. */
bool pml_arch_scan_addresses(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi,
                             pml_arch_seen *seen, void *arg);

/*
 * Code in memory. landing: *@to is where code continues after an exception in the call that ends at @after, 0: nowhere;
 * *@ends: the function also ends at @after, so the call does not return; false: not known.
 */
struct pml_arch_code {
  uintptr_t lo, hi;
  bool (*landing)(void *arg, uintptr_t after, uintptr_t *to, bool *ends);
  void *arg;
};

/* Whether @operand, in memory, is of a call or jump through a slot. */
bool pml_arch_is_call(const uint8_t *operand);

/*
 * pml_arch_only_called - whether the address that code loads from a slot, at @operand, is only called, jumped to, or
 * compared with NULL, on every path of the code. False also if that is not certain. Cost: some 30 ns for each
 * instruction that may follow, 2048 of them at most. 40 KB of stack.
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
#define PML_ARCH_REACH ((uintptr_t)0x7fff0000) /* distance of code to its slots */

/*
 * Functions that the compiler left room in at their entry.
 *
 * pml_arch_entry - the number of bytes at @at that a jump can replace: they do nothing or, for PML_ARCH_PROFILER, call
 * a profiler. 0: none. @n bytes can be read. pml_arch_entry_marked - the size of an instruction at @at that marks a
 * function's entry. pml_arch_island_write - code at @island, near a function, that jumps to @to. pml_arch_entry_patch -
 * replace the first bytes at @at, which are writable, by a jump to @island, and copy them to
 * @saved; @island 0: write @saved back. False, with nothing changed: the island is too far away, or other threads may
 * run the code meanwhile (not @alone) and could see it half changed.
 */
enum pml_arch_entry { PML_ARCH_NOPS, PML_ARCH_PROFILER, PML_ARCH_SLED };
#define PML_ARCH_ENTRY_BYTES 5u /* room for the bytes of a jump, on every machine */
#ifdef __x86_64__
#define PML_ARCH_PATCH_BYTES 5u
#define PML_ARCH_ENTRY_REACH PML_ARCH_REACH
#else
#define PML_ARCH_PATCH_BYTES 4u
#define PML_ARCH_ENTRY_REACH ((uintptr_t)0x7ff0000)
#endif
#define PML_ARCH_ISLAND_BYTES 16u
size_t pml_arch_entry(const uint8_t *at, size_t n, enum pml_arch_entry kind);
size_t pml_arch_entry_marked(const uint8_t *at, size_t n);
void pml_arch_island_write(void *island, uintptr_t to);
bool pml_arch_entry_patch(uintptr_t at, uintptr_t island, uint8_t saved[PML_ARCH_ENTRY_BYTES], bool alone);

#endif
