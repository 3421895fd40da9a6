/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_collect.c - figures of every section of this process and of all ranks. */
#include "base/pml_clock.h"

#include "base/pml_error.h"
#include "compat/pmlib/pmlib.h"
#include "record/pml_sums.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pmlib_run last;
static bool have_last;

/* ---- this process ---- */

static double no_less(double now, double was) {
  return now > was ? now - was : 0;
}

/* A row as figures, minus the section's values at its reset. */
static struct pmlib_figures figures_of(const struct pml_section_row *row, const struct pmlib_known *k) {
  static const struct pmlib_figures nothing;
  struct pmlib_figures f = {.count = row->count, .seconds = row->total_ns * 1e-9, .work = row->work};
  for (uint32_t v = 0; row->value != NULL && v < pmlib.nevents; v++)
    f.value[v] = row->value[v].real ? row->value[v].d : (double)row->value[v].i;
  const struct pmlib_figures *was = &nothing;
  for (size_t i = 0; k != NULL && i < k->nbases; i++)
    if (k->base[i].thread == row->thread) was = &k->base[i].was;
  f.count = f.count > was->count ? f.count - was->count : 0;
  f.seconds = no_less(f.seconds, was->seconds);
  f.work = no_less(f.work, was->work);
  for (size_t v = 0; v < pmlib.nevents; v++) f.value[v] = no_less(f.value[v], was->value[v]);
  return f;
}

static void insert(struct pmlib_section *s, const struct pmlib_figures *f) {
  uint32_t at = s->nthreads++;
  for (; at > 0 && s->thread[at - 1].number > f->number; at--) s->thread[at] = s->thread[at - 1];
  s->thread[at] = *f;
}

/* The rows of one section, [n] of them. */
static bool take_section(struct pmlib_section *s, const struct pml_section_row *row, uint32_t n) {
  struct pml_section_info info;
  pml_section_describe(row->section, &info);
  pmlib_lock();
  const struct pmlib_known *k = pmlib_known_of(row->section);
  s->label = strdup(info.label);
  s->type = k != NULL ? k->type : info.type == PML_SECTION_COMMUNICATION ? PMLIB_COMM : PMLIB_CALC;
  s->inclusive = k != NULL ? !k->exclusive : !info.exclusive;
  s->thread = calloc(n, sizeof *s->thread);
  for (uint32_t i = 0; s->thread != NULL && i < n; i++) {
    struct pmlib_figures f = figures_of(&row[i], k);
    for (int m = 0; m < PML_SECTION_MISUSES; m++) s->misuse[m] += row[i].misuse[m];
    f.number = pmlib_number_of(row[i].thread);
    if (f.count > 0) insert(s, &f);
  }
  pmlib_unlock();
  if (s->misuse[PML_SECTION_OVERLAP] > 0) s->inclusive = true;
  s->misuse[PML_SECTION_OVERLAP] = 0; /* this is how PMlib finds inclusive sections */
  s->parallel = s->nthreads > 1;
  return s->label != NULL && s->thread != NULL;
}

bool pmlib_take(struct pmlib_process *p) {
  struct pml_section_report r;
  memset(p, 0, sizeof *p);
  if (gethostname(p->host, sizeof p->host - 1) != 0) memcpy(p->host, "unknown", sizeof "unknown");
  uint64_t end = pmlib.end_ticks != 0 ? pmlib.end_ticks : pml_clock_ticks();
  p->seconds = (double)pml_clock_ticks_to_ns(end - pmlib.begin_ticks) * 1e-9;
  p->nthreads = (uint32_t)pmlib_max_threads();
  int err = pml_section_report(true, &r);
  if (err < 0) {
    pmlib_warn("report: %s", pml_error_detail(err));
    return false;
  }
  bool ok = (p->section = calloc(r.n == 0 ? 1 : r.n, sizeof *p->section)) != NULL;
  for (size_t i = 0, n; ok && i < r.n; i += n) {
    for (n = 1; i + n < r.n && r.row[i + n].section == r.row[i].section; n++) {
    }
    ok = take_section(&p->section[p->nsections++], &r.row[i], (uint32_t)n);
  }
  pml_section_report_free(&r);
  if (!ok) pmlib_free_process(p);
  return ok;
}

struct pmlib_figures pmlib_figures_of(const struct pmlib_section *s) {
  struct pmlib_figures f = {0};
  for (uint32_t i = 0; s != NULL && i < s->nthreads; i++) {
    const struct pmlib_figures *t = &s->thread[i];
    if (t->count > f.count) f.count = t->count;
    if (t->seconds > f.seconds) f.seconds = t->seconds;
    f.work += t->work;
    for (size_t v = 0; v < PMLIB_EVENTS_MAX; v++) f.value[v] += t->value[v];
  }
  return f;
}

/*
 * ---- serialization, for ranks on machines of the same kind ----
 *
 * The process without its pointers, then for each section: the structure, its label with the 0, its threads. Pointers
 * are included unchanged, and are meaningless to the receiver.
 */

static size_t bytes_of(const struct pmlib_section *s) {
  return sizeof *s + sizeof(uint64_t) + strlen(s->label) + 1 + s->nthreads * sizeof *s->thread;
}

static char *put(char *at, const void *from, size_t n) {
  memcpy(at, from, n);
  return at + n;
}

static char *pack(const struct pmlib_process *p, size_t *bytes) {
  *bytes = sizeof *p;
  for (uint32_t i = 0; i < p->nsections; i++) *bytes += bytes_of(&p->section[i]);
  char *all = malloc(*bytes), *at = all;
  if (all == NULL) return NULL;
  at = put(at, p, sizeof *p);
  for (uint32_t i = 0; i < p->nsections; i++) {
    const struct pmlib_section *s = &p->section[i];
    uint64_t label = strlen(s->label) + 1;
    at = put(at, s, sizeof *s);
    at = put(at, &label, sizeof label);
    at = put(at, s->label, label);
    if (s->nthreads > 0) at = put(at, s->thread, s->nthreads * sizeof *s->thread);
  }
  return all;
}

/* Copy the next @n of the *@left bytes at *@from; returns false if there are fewer. */
static bool get(const char **from, size_t *left, void *to, size_t n) {
  if (n > *left) return false;
  memcpy(to, *from, n);
  *from += n;
  *left -= n;
  return true;
}

static bool get_section(const char **from, size_t *left, struct pmlib_section *s) {
  uint64_t label;
  if (!get(from, left, s, sizeof *s)) {
    memset(s, 0, sizeof *s);
    return false;
  }
  s->label = NULL;
  s->thread = NULL;
  if (!get(from, left, &label, sizeof label) || label == 0 || label > *left) return false;
  if (s->nthreads > *left / sizeof *s->thread) return false;
  s->label = malloc(label);
  s->thread = calloc(s->nthreads == 0 ? 1 : s->nthreads, sizeof *s->thread);
  if (s->label == NULL || s->thread == NULL) return false;
  if (!get(from, left, s->label, label) || s->label[label - 1] != '\0') return false;
  return get(from, left, s->thread, s->nthreads * sizeof *s->thread);
}

void pmlib_free_process(struct pmlib_process *p) {
  for (uint32_t i = 0; p->section != NULL && i < p->nsections; i++) {
    free(p->section[i].label);
    free(p->section[i].thread);
  }
  free(p->section);
  memset(p, 0, sizeof *p);
}

static bool unpack(const char *bytes, size_t n, struct pmlib_process *p) {
  if (!get(&bytes, &n, p, sizeof *p)) {
    memset(p, 0, sizeof *p);
    return false;
  }
  uint32_t sections = p->nsections;
  p->nsections = 0;
  p->section = sections <= n / sizeof *p->section ? calloc(sections == 0 ? 1 : sections, sizeof *p->section) : NULL;
  bool ok = p->section != NULL;
  for (uint32_t i = 0; ok && i < sections; i++) ok = get_section(&bytes, &n, &p->section[p->nsections++]);
  if (!ok) pmlib_free_process(p);
  return ok;
}

/* ---- all ranks ---- */

static void free_run(void) {
  for (uint32_t i = 0; i < last.nprocs; i++) pmlib_free_process(&last.process[i]);
  for (size_t i = 0; i < last.nsections; i++) free(last.section[i].of);
  free(last.process);
  free(last.section);
  memset(&last, 0, sizeof last);
  have_last = false;
}

/* The mean of a figure over the processes, and the sample standard deviation. */
static void spread(const struct pmlib_merged *s, size_t offset, double *mean, double *deviation) {
  struct pml_sums all = {0};
  for (uint32_t p = 0; p < last.nprocs; p++) {
    struct pmlib_figures f = pmlib_figures_of(s->of[p]);
    double x;
    memcpy(&x, (const char *)&f + offset, sizeof x);
    pml_sums_add(&all, x);
  }
  *mean = all.mean;
  *deviation = pml_sums_deviation(&all);
}

static void summarise(struct pmlib_merged *s) {
  if (last.nprocs == 0) return;
  for (uint32_t p = 0; p < last.nprocs; p++) s->calls += pmlib_figures_of(s->of[p]).count;
  s->mean.count = (s->calls + last.nprocs / 2) / last.nprocs;
  spread(s, offsetof(struct pmlib_figures, seconds), &s->mean.seconds, &s->deviation.seconds);
  spread(s, offsetof(struct pmlib_figures, work), &s->mean.work, &s->deviation.work);
  for (size_t v = 0; v < pmlib.nevents; v++)
    spread(s, offsetof(struct pmlib_figures, value) + v * sizeof(double), &s->mean.value[v], &s->deviation.value[v]);
}

static struct pmlib_merged *merged_of(const struct pmlib_section *s) {
  for (size_t i = 0; i < last.nsections; i++)
    if (strcmp(last.section[i].label, s->label) == 0) return &last.section[i];
  struct pmlib_merged *m = &last.section[last.nsections];
  memset(m, 0, sizeof *m);
  m->label = s->label;
  m->type = s->type;
  m->of = calloc(last.nprocs, sizeof *m->of);
  if (m->of == NULL) return NULL;
  last.nsections++;
  return m;
}

static bool merge(void) {
  size_t most = 1;
  last.nsections = 0;
  for (uint32_t p = 0; p < last.nprocs; p++) most += last.process[p].nsections;
  last.section = calloc(most, sizeof *last.section);
  if (last.section == NULL) return false;
  for (uint32_t p = 0; p < last.nprocs; p++) {
    last.seconds += last.process[p].seconds / last.nprocs;
    for (uint32_t i = 0; i < last.process[p].nsections; i++) {
      const struct pmlib_section *s = &last.process[p].section[i];
      struct pmlib_merged *m = merged_of(s);
      if (m == NULL) return false;
      m->of[p] = s;
      m->inclusive |= s->inclusive;
      m->parallel |= s->parallel;
    }
  }
  for (size_t i = 0; i < last.nsections; i++) summarise(&last.section[i]);
  return true;
}

/* Gather all processes on rank 0. */
static bool gather(const struct pmlib_process *mine, int rank, int nprocs) {
  size_t n = 0, at = 0;
  char *bytes = pack(mine, &n), *all = NULL;
  uint64_t *size = NULL;
  int err = pmlib_mpi_gather(bytes, bytes == NULL ? 0 : n, &all, &size); /* all ranks must take part */
  bool ok = err == 0 && rank == 0;
  if (err < 0) pmlib_warn("rank %d: gathering the report: %s", rank, pml_error_text(err));
  if (ok) ok = (last.process = calloc((size_t)nprocs, sizeof *last.process)) != NULL;
  for (int p = 0; ok && p < nprocs; p++) {
    last.nprocs = (uint32_t)p + 1;
    if (!unpack(all + at, size[p], &last.process[p])) pmlib_warn("rank %d sent no figures", p);
    at += size[p];
  }
  free(bytes);
  free(all);
  free(size);
  return ok;
}

void pmlib_collect(bool collective) {
  int rank, nprocs;
  struct pmlib_process mine;
  free_run();
  bool up = collective && pmlib_mpi(&rank, &nprocs) && nprocs > 1;
  bool have = pmlib_take(&mine);
  if (up) { /* MPI may not have been initialised when PMlib was */
    pmlib.rank = rank;
    pmlib.nprocs = nprocs;
    have = gather(&mine, rank, nprocs);
    pmlib_free_process(&mine);
  } else if (have) {
    have = (last.process = malloc(sizeof *last.process)) != NULL;
    if (have)
      last.process[0] = mine;
    else
      pmlib_free_process(&mine);
    last.nprocs = have ? 1 : 0;
    last.alone = pmlib.nprocs > 1;
  }
  if (have) have = merge();
  if (!have) free_run();
  have_last = have;
}

const struct pmlib_run *pmlib_last(void) {
  return have_last ? &last : NULL;
}
