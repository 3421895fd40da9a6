/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_wrap.c - registers of both widths, and counts across their wraps. */
#include "source/kernel/pml_group.h"

#include "pmu.h"

#define ROUNDS 2000u
#define WINDOW 10000u

static struct pml_event insns;

/* The register is set to -period and wraps after this number of events, repeatedly: the kernel moves its value into the
 * page's offset. Every read must continue from the previous one, and all counts must add up. */
static void wraps(const char *how, const struct pml_event *like, uint64_t period) {
  struct pml_event ev = *like;
  struct pml_counter c;
  struct pmu_brackets b = {0};
  struct pml_reading first = {0}, before = {0}, after = {0};
  uint64_t least = UINT64_MAX, most = 0;
  unsigned backwards = 0;
  ev.first.attr.sample_period = period;
  int rc = pml_counter_open(&c, &ev, 0, NULL, NULL, 0);
  if (!CHECK(rc == 0, "%s: a wrap every %llu: %s", how, (unsigned long long)period, pml_error_detail(rc))) return;
  pml_counter_read(&c, &first);
  for (unsigned i = 0; i < ROUNDS; i++) {
    pml_counter_read(&c, &before);
    pmu_spin(WINDOW);
    pml_counter_read(&c, &after);
    uint64_t n = after.raw - before.raw;
    backwards += after.raw < before.raw;
    if (n < least) least = n;
    if (n > most) most = n;
    pmu_bracket(&c, &b);
  }
  /* An interrupt may add some instructions; half a period, either way, would be a wrap lost or taken twice. */
  CHECK(backwards == 0 && least >= WINDOW && most < WINDOW + period / 2,
        "%s: none goes back; a window is +%llu to +%llu", how, (unsigned long long)(least - WINDOW),
        (unsigned long long)(most - WINDOW));
  CHECK(b.right == ROUNDS && b.paged > ROUNDS / 2, "%s: %u of %u bracketed, %u by page", how, b.right, ROUNDS, b.paged);
  CHECK(after.raw - first.raw >= (uint64_t)ROUNDS * WINDOW, "%s: %llu wraps lost nothing", how,
        (unsigned long long)((after.raw - first.raw) / period));
  pml_counter_close(&c);
}

/* Counting freely, the register starts half its range below 0: only the right width makes a count of it. */
static void counts_freely(const char *how, const struct pml_event *ev) {
  struct pml_counter c;
  struct pmu_brackets b = {0};
  if (pml_counter_open(&c, ev, 0, NULL, NULL, 0) != 0) return;
  for (unsigned i = 0; i < ROUNDS; i++) pmu_bracket(&c, &b);
  CHECK(b.right == ROUNDS && b.paged > ROUNDS / 2, "%s: %u of %u bracketed, %u by page", how, b.right, ROUNDS, b.paged);
  pml_counter_close(&c);
}

/* arm64's config1 bit 0 requests a 64-bit counter; without it, and without support, it has 32 bits. */
static unsigned width_of(struct pml_event *ev, bool wide) {
  struct pml_counter c;
#if defined(__aarch64__)
  ev->first.attr.config1 = wide ? 1 : 0;
#else
  (void)wide;
#endif
  if (pml_counter_open(&c, ev, 0, NULL, NULL, 0) != 0) return 0;
  unsigned width = c.page != NULL ? c.page->pmc_width : 0;
  pml_counter_close(&c);
  return width;
}

static void both_widths(const char *name) {
  struct pml_event ev;
  char how[64];
  if (!pmu_event(&ev, name)) return;
  for (int wide = 0; wide <= 1; wide++) {
    unsigned width = width_of(&ev, wide == 1);
    if (width == 0) {
      SKIP("this PMU gives user space no 64-bit counter of that event");
      continue;
    }
    snprintf(how, sizeof how, "%s, %s asked for, %u bits", name, wide ? "wide" : "nothing", width);
#if defined(__aarch64__)
    CHECK(width == (wide ? 64u : 32u), "%s", how);
#else
    CHECK(width >= 32 && width <= 64, "%s", how);
    if (wide) continue;
#endif
    counts_freely(how, &ev);
    if (strncmp(name, "instructions", 12) != 0) continue; /* only they are known to the last one */
    wraps(how, &ev, 100000);
    wraps(how, &ev, 7919);
  }
}

/* Without a period the register starts half its range below the wrap: the first is at 2^31, and the count must pass
 * 2^32 where a 32-bit count would start over. */
static void past_32_bits(const char *name) {
  struct pml_event ev;
  struct pml_counter page, kernel;
  struct pml_reading p = {0}, k = {0}, last = {0};
  const uint64_t end = UINT64_C(1) << 32, step = UINT64_C(1) << 24;
  unsigned backwards = 0, apart = 0;
  const char *quick = getenv("PMU_QUICK");
  if (quick != NULL && strcmp(quick, "1") == 0) {
    SKIP("PMU_QUICK=1 skips 2^32 events, which take long");
    return;
  }
  if (!pmu_event(&ev, name)) return;
  if (pml_counter_open(&page, &ev, 0, NULL, NULL, 0) != 0) return;
  bool both = pml_counter_open(&kernel, &ev, 0, NULL, NULL, PML_OPEN_NO_PAGE) == 0;
  unsigned rounds = 0;
  for (; both && rounds < 1000 && k.raw < end + step; rounds++) {
    pmu_spin(step);
    bool read = pml_counter_read(&page, &p) == 0 && pml_counter_read(&kernel, &k) == 0;
    apart += !read || p.raw + step / 16 < k.raw || p.raw > k.raw + step / 16;
    backwards += p.raw < last.raw;
    last = p;
  }
  unsigned width = page.page != NULL ? page.page->pmc_width : 0;
  CHECK(p.raw > end && k.raw > end, "%s, %u bits: counts on past 2^32: %llu", name, width, (unsigned long long)p.raw);
  CHECK(backwards == 0 && apart == 0, "%s: never back, always beside what read(2) says", name);
  pml_counter_close(&page);
  if (both) pml_counter_close(&kernel);
}

int main(void) {
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  both_widths("instructions:u");
  both_widths("cycles:u");
  past_32_bits("cycles:u");
  return check_done();
}
