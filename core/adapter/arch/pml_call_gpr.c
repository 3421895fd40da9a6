/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call_gpr.c - fast path of intercepted calls, in general registers only: the stubs save no
 * others. Rare cases are left to pml_call.c, for which the stubs save all registers.
 *
 * errno is preserved, because no function here makes a system call.
 */
#include "adapter/arch/pml_call.h"
#include "base/pml_clock.h"

#define ALL_REGISTERS 0 /* from the beginning */

/* ---- return slots ---- */

#define NO_CODE 1u    /* code of the entry without an address */
#define TAIL_MAX 256u /* limit of a chain of tail calls, because a recursion would otherwise take all slots */

static uint32_t used; /* atomic: slots */

/* PML_ARCH_SLOTS: none is left. */
static uint32_t take_number(void) {
  uint32_t n = __atomic_load_n(&used, __ATOMIC_RELAXED);
  do
    if (n == PML_ARCH_SLOTS) return n;
  while (!__atomic_compare_exchange_n(&used, &n, n + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return n;
}

/*
 * The caller that an unwinder shall find. Unwinding leads from a slot to the code that made the call at once, also
 * where a tail call returns to a slot: two slots at one stack pointer would be one to libgcc. 0: too many.
 */
static uintptr_t caller_of(uintptr_t back) {
  uintptr_t at = back;
  for (uint32_t n = 0; pml_arch_is_slot(at); n++) {
    if (n == TAIL_MAX) return 0;
    at = pml_arch_slot_of(at)->back;
  }
  return at;
}

/* The code of a new slot; 0: all are taken. A handler that comes now, and leaves by longjmp, loses it. */
static uintptr_t make_slot(uintptr_t address, uintptr_t back) {
  uint32_t n = take_number();
  if (n == PML_ARCH_SLOTS) return 0;
  pml__call_table.slot[n] = (struct pml_arch_slot){address, back};
  return pml_arch_code_of(n);
}

/*
 * A slot is complete before an entry gets its code, and the entry then belongs to the slot. A thread or a handler that
 * finds an entry without its return address, as after a longjmp, completes it. If two threads add the same address at
 * once, both slots are valid.
 */
__attribute__((noinline, cold)) static const struct pml__call_known *add_slot(uintptr_t back) {
  uintptr_t address = caller_of(back), code = 0;
  uint32_t i = pml__call_hash(back);
  if (address == 0) return NULL;
  for (uint32_t probe = 0; probe < PML__CALL_PROBES; probe++, i = (i + 1) % PML__CALL_KNOWN) {
    struct pml__call_known *k = &pml__call_table.known[i];
    uintptr_t has = __atomic_load_n(&k->code, __ATOMIC_ACQUIRE);
    if (has == 0 && code == 0 && (code = make_slot(address, back)) == 0) return NULL;
    if (has == 0 && __atomic_compare_exchange_n(&k->code, &has, code, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      has = code;
    if (has == NO_CODE) continue;
    uintptr_t its = pml_arch_slot_of(has)->back;
    __atomic_store_n(&k->back, its, __ATOMIC_RELEASE);
    if (its == back) return k;
  }
  return NULL;
}

const struct pml__call_known *pml__call_take_slot(uintptr_t back) {
  const struct pml__call_known *k = pml__call_find_slot(back);
  return PML_LIKELY(k != NULL) ? k : add_slot(back);
}

/* The hash of 0, which is no return address but may stand where one is looked for, is 0. */
void pml__call_prepare_slots(void) {
  struct pml__call_known *none = &pml__call_table.known[0];
  __atomic_store_n(&none->code, NO_CODE, __ATOMIC_RELAXED);
  __atomic_store_n(&none->back, NO_CODE, __ATOMIC_RELAXED);
}

/* ---- calls ---- */

#ifdef __SANITIZE_THREAD__

/* ThreadSanitizer's function for each access uses any register. */
__attribute__((no_sanitize_thread)) uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back,
                                                              uintptr_t sp) {
  (void)f, (void)back, (void)sp;
  return ALL_REGISTERS;
}
__attribute__((no_sanitize_thread)) uintptr_t pml__call_leave(uintptr_t code, uintptr_t sp) {
  (void)code, (void)sp;
  return ALL_REGISTERS;
}

#else

/* On the stack in use; the innermost open call is further out than @sp, or its end is this one: a tail call. */
static inline bool is_inside(const struct pml__call_thread *t, const struct pml__call_frame *open, uintptr_t back,
                             uintptr_t sp) {
  if (PML_UNLIKELY(sp < t->from)) return false;
  return PML_LIKELY(open->sp > sp) || (open->sp == sp && back == open->known->code + PML_ARCH_SLOT_RETURN);
}

static inline bool is_plain(void) {
  return __atomic_load_n(&pml__call_plain, __ATOMIC_RELAXED);
}

/*
 * The guard also marks the lists of this thread as in use. Consumers of enters and leaves are learnt together. If they
 * are not learnt, or a delivery is under way already, nothing is changed.
 */
static inline bool begin(struct pml__stream_thread *s, enum pml_stream_kind kind, uintptr_t sp) {
  uint64_t was = pml__stream_guard(s, sp - PML__CALL_BELOW);
  if (PML_LIKELY(pml__stream_knows(kind, was))) return true;
  pml__stream_restore(s, was);
  return false;
}

/* The ticks are kept for the _full twin. */
static inline bool deliver(struct pml__call_thread *t, struct pml__stream_thread *s, enum pml_stream_kind kind,
                           pml_region_t region) {
  uint64_t ticks = s->called[kind].call(s->called[kind].data, region, pml__clock_counter());
  if (PML_LIKELY(ticks == 0)) return true;
  t->event.ticks = ticks;
  return false;
}

/* One register, where compilers would keep several parts of the address for later. */
static inline struct pml__stream_own *own_of_thread(void) {
  struct pml__stream_own *own = &pml__stream_own;
  __asm__("" : "+r"(own));
  return own;
}

uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back, uintptr_t sp) {
  struct pml__stream_own *own = own_of_thread();
  struct pml__call_thread *t = &own->call;
  struct pml__stream_thread *s = t->stream;
  if (PML_UNLIKELY(!begin(s, PML_STREAM_ENTER, sp))) return ALL_REGISTERS;
  struct pml__call_frame *open = t->open, *p = open->inner;
  const struct pml__call_known *known = pml__call_take_slot(back);
  if (PML_UNLIKELY(p == NULL || known == NULL || !is_inside(t, open, back, sp) || !is_plain())) {
    pml__stream_unguard(s);
    return ALL_REGISTERS;
  }
  pml__call_open(t, p, f->region, known, sp);
  if (PML_UNLIKELY(!deliver(t, s, PML_STREAM_ENTER, f->region))) return PML__CALL_BEGUN;
  pml__stream_unguard(own->call.stream);
  return known->code; /* the delivery is over, so a handler's call on another stack may have changed @t->open */
}

uintptr_t pml__call_leave(uintptr_t code, uintptr_t sp) {
  struct pml__stream_own *own = own_of_thread();
  struct pml__call_thread *t = &own->call;
  struct pml__stream_thread *s = t->stream;
  if (PML_UNLIKELY(!begin(s, PML_STREAM_LEAVE, sp))) return ALL_REGISTERS;
  struct pml__call_frame *p = t->open;
  if (PML_UNLIKELY(!pml__call_is_at(p, code, sp) || !is_plain())) {
    pml__stream_unguard(s);
    return ALL_REGISTERS;
  }
  if (PML_UNLIKELY(!deliver(t, s, PML_STREAM_LEAVE, p->region))) return PML__CALL_BEGUN;
  uintptr_t back = __atomic_load_n(&p->known->back, __ATOMIC_RELAXED);
  pml__call_close(t, p);
  pml__stream_unguard(own->call.stream);
  return back;
}

#endif
