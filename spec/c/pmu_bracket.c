/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_bracket.c - what a page says lies between what read(2) says right before and right after. */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "pmu.h"

#define TRIES 20000u

static struct pml_event insns;
static size_t fits; /* events that one group takes */

static void one_event(void) {
  struct pml_counter c;
  struct pmu_brackets b = {0};
  if (!CHECK(pml_counter_open(&c, &insns, 0, NULL, NULL, 0) == 0, "instructions:u opens")) return;
  for (unsigned i = 0; i < TRIES; i++) pmu_bracket(&c, &b);
  CHECK(b.right == TRIES, "one event: %u of %u reads bracketed", b.right, TRIES);
  CHECK(b.paged == TRIES || !pmu_is_exact(), "one event: %u read by page", b.paged);
  CHECK(b.paged > TRIES / 2, "one event is read by page, as a rule");
  const char *why = NULL;
  enum pml_path path = pml_counter_path(&c, &why);
  CHECK(path == PML_PATH_PAGE && why == NULL, "and its path shows that");
  pml_counter_close(&c);
}

static bool group_runs(struct pml_group *g) {
  struct pml_reading r[PMU_MOST];
  pmu_spin(1000000);
  return pml_group_read(g, r) >= 0 && r[0].running_ns > 0;
}

static int open_group(struct pml_group *g, size_t n) {
  const struct pml_event *ev[PMU_MOST];
  for (size_t i = 0; i < n; i++) ev[i] = &insns;
  return pml_group_open(g, ev, NULL, n, NULL, 0, NULL);
}

static void count_counters(void) {
  struct pml_group g;
  int rc = 0;
  for (size_t n = 1; n <= PMU_MOST; n++) {
    rc = open_group(&g, n);
    if (rc < 0) break;
    if (group_runs(&g)) fits = n;
    pml_group_close(&g);
  }
  CHECK(fits >= 1, "a group of %zu works", fits);
  if (rc == 0)
    SKIP("more counters than are looked for");
  else
    CHECK(rc == PML_ETOOMANY && g.n == 0, "a set that is too large is refused: %s", pml_error_detail(rc));
}

static bool kernel_group_read(const struct pml_group *g, struct pml_reading *out) {
  uint64_t b[PML__WORD_GROUP_VALUES + PMU_MOST];
  if (g->n == 1) return pmu_kernel_read(&g->member[0], out);
  size_t bytes = (PML__WORD_GROUP_VALUES + g->n) * sizeof *b;
  if (read(g->member[0].fd, b, bytes) != (ssize_t)bytes || b[0] != g->n) return false;
  for (size_t i = 0; i < g->n; i++)
    out[i] = (struct pml_reading){b[PML__WORD_GROUP_VALUES + i], b[PML__WORD_ENABLED], b[PML__WORD_RUNNING]};
  return true;
}

static void full_group(void) {
  struct pml_group g;
  struct pml_reading before[PMU_MOST], now[PMU_MOST], after[PMU_MOST];
  unsigned right = 0, paged = 0;
  if (fits == 0 || open_group(&g, fits) != 0) return;
  for (unsigned i = 0; i < TRIES; i++) {
    bool all = kernel_group_read(&g, before);
    for (size_t m = 0; m < g.n; m++) paged += g.member[m].page->index != 0;
    all = pml_group_read(&g, now) >= 0 && all;
    all = kernel_group_read(&g, after) && all;
    for (size_t m = 0; m < g.n; m++) all = all && pmu_is_between(&before[m], &now[m], &after[m]);
    right += all;
  }
  CHECK(right == TRIES, "a group of %zu: %u of %u reads bracketed", g.n, right, TRIES);
  CHECK(paged > TRIES / 2 * g.n, "a group of %zu: %u of %zu member reads by page", g.n, paged, TRIES * g.n);
  pml_group_close(&g);
}

static bool kernel_set_read(const struct pml_eventset *s, uint64_t *values) {
  uint64_t snapshot[4 * PML_EVENTSET_MAX] = {0};
  const struct pml__kernel_backend *k = pml__kernel_backend_of(s);
  for (uint32_t i = 0; i < k->ngroups; i++)
    if (pml__kernel_read_block(&k->group[i], snapshot + k->group[i].offset) < 0) return false;
  for (uint32_t i = 0; i < s->n; i++) values[i] = snapshot[s->word[i]] - s->base[s->word[i]];
  return true;
}

static void multiplexed_set(void) {
  const struct pml_eventset_options options = {.flags = PML_EVENTSET_MULTIPLEX};
  struct pml_event ev[2 * PMU_MOST];
  struct pml_eventset *s;
  unsigned right = 0, on = 0, off = 0;
  size_t n = 2 * fits;
  for (size_t i = 0; i < n; i++) ev[i] = insns;
  int rc = pml__eventset_open_events(&s, ev, n, &options);
  if (!CHECK(rc == 0 && pml__kernel_backend_of(s)->ngroups > 1, "%zu events make a multiplexed set: %s", n,
             pml_error_detail(rc)))
    return;
  for (unsigned i = 0; i < TRIES; i++) {
    uint64_t before[2 * PMU_MOST], now[2 * PMU_MOST], after[2 * PMU_MOST];
    bool all = kernel_set_read(s, before);
    for (size_t e = 0; e < n; e++) pml__kernel_backend_of(s)->page[e]->index != 0 ? on++ : off++;
    all = pml_eventset_read(s, now) >= 0 && all;
    all = kernel_set_read(s, after) && all;
    for (size_t e = 0; e < n; e++) all = all && before[e] <= now[e] && now[e] <= after[e];
    right += all;
  }
  CHECK(right == TRIES, "a multiplexed set of %zu: %u of %u reads bracketed", n, right, TRIES);
  CHECK(on > 0 && off > 0, "while its events were scheduled %u times and waited %u times", on, off);
  pml_eventset_close(s);
}

int main(void) {
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  one_event();
  count_counters();
  full_group();
  multiplexed_set();
  return check_done();
}
