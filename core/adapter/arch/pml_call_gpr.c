/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_call_gpr.c - enters and leaves of intercepted calls, with general registers only:
 * the stubs have saved no others. Whatever is rare is left to pml_call.c, for which they save all.
 *
 * errno stays what it is: nothing here makes a system call.
 */
#include "adapter/arch/pml_call.h"
#include "base/pml_clock.h"

static const struct pml_arch_way all_registers = {0, 0}; /* from the beginning */

#ifdef __SANITIZE_THREAD__

/* What ThreadSanitizer calls at each access uses any register. */
__attribute__((no_sanitize_thread)) struct pml_arch_way pml__call_enter(uint32_t function, uintptr_t *address,
                                                                        uintptr_t sp) {
  (void)function, (void)address, (void)sp;
  return all_registers;
}
__attribute__((no_sanitize_thread)) struct pml_arch_way pml__call_leave(uintptr_t address, uintptr_t sp) {
  (void)address, (void)sp;
  return all_registers;
}

#else

/* As the stream's pass begins, this thread's lists are taken, and given back after it. False: all registers, please. */
static inline void begin(struct pml__call_thread *t, struct pml__stream_thread *s, uintptr_t sp) {
  pml__call_set_busy(t, sp - PML__CALL_BELOW);
  pml__stream_begin_plainly(s);
}
static inline bool hand_out(struct pml__call_thread *t, struct pml__stream_thread *s, enum pml_stream_kind kind,
                            pml_region_t region) {
  t->event.ticks = pml__clock_counter();
  t->event.region = region;
  return pml__stream_hand_plainly(s, kind, &t->event);
}
static inline void end(struct pml__call_thread *t, struct pml__stream_thread *s) {
  pml__stream_end_pass(s);
  pml__call_end_busy(t);
}

/* The innermost open call is further out than @sp, or its end is this one: a tail call. */
static inline bool is_inside(const struct pml__call_thread *t, uintptr_t address, uintptr_t sp) {
  uintptr_t innermost = pml__arch_slot[t->open].sp;
  return PML_LIKELY(innermost > sp) || (innermost == sp && address == pml_arch_pad_return(t->open));
}

struct pml_arch_way pml__call_enter(uint32_t function, uintptr_t *address, uintptr_t sp) {
  const struct pml__call_function *f = pml__call_function(function);
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = pml__stream_self;
  uintptr_t back = *address;
  if (PML_UNLIKELY(t->busy != 0 || pml__stream_in_pass(s) || t->free == PML__CALL_NONE || !is_inside(t, back, sp) ||
                   !__atomic_load_n(&pml__call_on, __ATOMIC_RELAXED) || !pml__call_counter))
    return all_registers;
  begin(t, s, sp);
  (void)pml__call_open(t, f->region, back, sp);
  if (PML_UNLIKELY(!hand_out(t, s, PML_STREAM_ENTER, f->region))) return (struct pml_arch_way){0, t->open};
  end(t, s);
  return (struct pml_arch_way){f->target, pml_arch_pad(t->open)};
}

/* The pad is free, and the call not open, before the event: no pads are taken during it. */
struct pml_arch_way pml__call_leave(uintptr_t address, uintptr_t sp) {
  uint32_t i = pml_arch_pad_of(address);
  struct pml__call_pad *p = &pml__call_pad[i];
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = pml__stream_self;
  uintptr_t back = p->back;
  if (PML_UNLIKELY(t->busy != 0 || pml__stream_in_pass(s) || t->open != i || !pml__call_counter)) return all_registers;
  begin(t, s, sp);
  t->open = p->next;
  pml__call_release(t, i);
  if (PML_UNLIKELY(!hand_out(t, s, PML_STREAM_LEAVE, p->region))) return (struct pml_arch_way){0, PML__CALL_BEGUN};
  end(t, s);
  return (struct pml_arch_way){back, back};
}

#endif
