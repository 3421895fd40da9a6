/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/pml_intercept_plain.c - enters and leaves of intercepted calls, with general registers only: the stubs
 * have saved no others. Whatever is rare is left to pml_intercept_call.c, for which they save all.
 *
 * errno stays what it is: nothing here makes a system call.
 */
#include "adapter/pml_intercept_call.h"
#include "base/pml_clock.h"

static const struct pml_arch_way all_registers = {0, 0}; /* from the beginning */

#ifdef __SANITIZE_THREAD__

/* What ThreadSanitizer calls at each access uses any register. */
__attribute__((no_sanitize_thread)) struct pml_arch_way pml__intercept_enter(uint32_t function, uintptr_t *address,
                                                                             uintptr_t sp) {
  (void)function, (void)address, (void)sp;
  return all_registers;
}
__attribute__((no_sanitize_thread)) struct pml_arch_way pml__intercept_leave(uintptr_t address, uintptr_t sp) {
  (void)address, (void)sp;
  return all_registers;
}

#else

/* False: it needs all registers to go on. */
static inline bool raise_plainly(struct pml__intercept_thread *t, struct pml__stream_thread *s,
                                 enum pml_stream_kind kind, pml_region_t region) {
  t->event.ticks = pml__clock_counter();
  t->event.region = region;
  return pml__stream_raise_plainly(s, kind, &t->event);
}

/* The innermost open call is not further in than @sp, or its end is this one: a tail call. */
static inline bool is_inside(const struct pml__intercept_thread *t, uintptr_t address, uintptr_t sp) {
  uintptr_t innermost = pml__arch_slot[t->open].sp;
  return t->open == PML__INTERCEPT_NONE || innermost > sp ||
         (innermost == sp && address == pml_arch_pad_return(t->open));
}

struct pml_arch_way pml__intercept_enter(uint32_t function, uintptr_t *address, uintptr_t sp) {
  const struct pml__intercept_function *f = pml__intercept_function(function);
  struct pml__intercept_thread *t = &pml__intercept_self;
  struct pml__stream_thread *s = pml__stream_self;
  if (!__atomic_load_n(&pml__intercept_on, __ATOMIC_RELAXED)) return (struct pml_arch_way){f->target, 0};
  if (PML_UNLIKELY(t->busy != 0)) {
    if (!pml__intercept_is_busy(t, sp)) return all_registers;
    __atomic_fetch_add(&pml__intercept_nested, 1, __ATOMIC_RELAXED);
    return (struct pml_arch_way){f->target, 0};
  }
  if (PML_UNLIKELY(s == NULL || t->hi == 0 || t->free == PML__INTERCEPT_NONE || !is_inside(t, *address, sp) ||
                   pml__clock.kind != PML_CLOCK_COUNTER))
    return all_registers;
  pml__intercept_set_busy(t, sp - PML__INTERCEPT_BELOW);
  uint32_t i = pml__intercept_open(t, f->region, *address, sp);
  if (PML_UNLIKELY(!raise_plainly(t, s, PML_STREAM_ENTER, f->region))) return (struct pml_arch_way){0, i};
  pml__intercept_end_busy(t);
  return (struct pml_arch_way){f->target, pml_arch_pad(i)};
}

struct pml_arch_way pml__intercept_leave(uintptr_t address, uintptr_t sp) {
  uint32_t i = pml_arch_pad_of(address);
  struct pml__intercept_thread *t = &pml__intercept_self;
  struct pml__stream_thread *s = pml__stream_self;
  uintptr_t back = pml__intercept_pad[i].back;
  if (PML_UNLIKELY(t->busy != 0 || s == NULL || t->open != i || pml__clock.kind != PML_CLOCK_COUNTER))
    return all_registers;
  pml__intercept_set_busy(t, sp - PML__INTERCEPT_BELOW);
  t->open = pml__intercept_pad[i].next;
  if (PML_UNLIKELY(!raise_plainly(t, s, PML_STREAM_LEAVE, pml__intercept_pad[i].region)))
    return (struct pml_arch_way){0, i};
  pml__intercept_release(t, i);
  pml__intercept_end_busy(t);
  return (struct pml_arch_way){back, 0};
}

#endif
