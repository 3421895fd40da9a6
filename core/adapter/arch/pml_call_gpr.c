/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call_gpr.c - enters and leaves of intercepted calls, with general registers only:
 * the stubs have saved no others. Whatever is rare is left to pml_call.c, for which they save all.
 *
 * errno stays what it is: nothing here makes a system call.
 */
#include "adapter/arch/pml_call.h"
#include "base/pml_clock.h"

#define ALL_REGISTERS 0 /* from the beginning */

#ifdef __SANITIZE_THREAD__

/* What ThreadSanitizer calls at each access uses any register. */
__attribute__((no_sanitize_thread)) uintptr_t pml__call_enter(const struct pml__call_function *f, uintptr_t back,
                                                              uintptr_t sp) {
  (void)f, (void)back, (void)sp;
  return ALL_REGISTERS;
}
__attribute__((no_sanitize_thread)) uintptr_t pml__call_leave(uintptr_t at, uintptr_t sp) {
  (void)at, (void)sp;
  return ALL_REGISTERS;
}

#else

/* The innermost open call is further out than @sp, or its end is this one: a tail call. */
static inline bool is_inside(struct pml__call_pad *open, uintptr_t back, uintptr_t sp) {
  uintptr_t innermost = pml_arch_slot(open)->sp;
  return PML_LIKELY(innermost > sp) || (innermost == sp && back == pml_arch_pad_return(open));
}

static inline bool is_plain(void) {
  return __atomic_load_n(&pml__call_plain, __ATOMIC_RELAXED);
}

/*
 * The mark says that this thread is at its lists, too. What is known of consumers is known of enters and leaves alike.
 * Where that is not so, or a pass is under way already, nothing has changed.
 */
static inline bool begin(struct pml__stream_thread *s, enum pml_stream_kind kind, uintptr_t sp) {
  uint64_t was = pml__stream_begin_plainly(s, sp - PML__CALL_BELOW);
  if (PML_LIKELY(pml__stream_knows(kind, was))) return true;
  pml__stream_put_back(s, was);
  return false;
}

/* The ticks are kept for the _full twin. */
static inline bool hand_out(struct pml__call_thread *t, struct pml__stream_thread *s, enum pml_stream_kind kind,
                            pml_region_t region) {
  uint64_t ticks = pml__stream_hand_call(s, kind, region, pml__clock_counter());
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
  struct pml__stream_thread *s = own->self;
  if (PML_UNLIKELY(!begin(s, PML_STREAM_ENTER, sp))) return ALL_REGISTERS;
  struct pml__call_pad *open = t->open, *p = open->inner;
  if (PML_UNLIKELY(p == NULL || !is_inside(open, back, sp) || !is_plain())) {
    pml__stream_end_pass(s);
    return ALL_REGISTERS;
  }
  pml__call_open(t, p, f->region, back, sp);
  if (PML_UNLIKELY(!hand_out(t, s, PML_STREAM_ENTER, f->region))) return PML__CALL_BEGUN;
  pml__stream_end_pass(own->self);
  return pml_arch_pad_return(t->open) - PML_ARCH_PAD_RETURN;
}

uintptr_t pml__call_leave(uintptr_t at, uintptr_t sp) {
  struct pml__stream_own *own = own_of_thread();
  struct pml__call_thread *t = &own->call;
  struct pml__stream_thread *s = own->self;
  if (PML_UNLIKELY(!begin(s, PML_STREAM_LEAVE, sp))) return ALL_REGISTERS;
  struct pml__call_pad *p = t->open;
  if (PML_UNLIKELY(p != pml_arch_pad_of(at) || !is_plain())) {
    pml__stream_end_pass(s);
    return ALL_REGISTERS;
  }
  if (PML_UNLIKELY(!hand_out(t, s, PML_STREAM_LEAVE, pml_arch_what(p)->region))) return PML__CALL_BEGUN;
  p = t->open; /* what it was, but in no register meanwhile */
  uintptr_t back = pml__call_back(p);
  pml__call_close(t, p);
  pml__stream_end_pass(own->self);
  return back;
}

#endif
