/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_report.c - PMlib's printing and query calls: gathering, and the writing rank. */
#include "compat/pmlib/pmlib.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool printed;

bool pmlib_printed(void) {
  return printed;
}

/* The figures to print on rank 0; NULL on other ranks, or without figures. */
static const struct pmlib_run *gathered(FILE **fp) {
  if (!pmlib_on()) return NULL;
  pmlib_collect(true);
  if (*fp == NULL) *fp = stdout;
  printed = true;
  return pmlib.rank == 0 ? pmlib_last() : NULL;
}

void pmlib_report(FILE *fp) {
  pmlib_stop_root();
  const struct pmlib_run *run = gathered(&fp);
  if (run != NULL) pmlib_text_report(fp, run);
}

void pmlib_print(FILE *fp, const char *host, const char *comment, bool as_defined) {
  const struct pmlib_run *run = gathered(&fp);
  if (run == NULL) return;
  pmlib_text_basic(fp, run, host, comment, as_defined);
  fflush(fp);
}

void pmlib_print_detail(FILE *fp, bool legend, bool as_defined) {
  const struct pmlib_run *run = gathered(&fp);
  if (run == NULL) return;
  pmlib_text_ranks(fp, run, NULL, (int)run->nprocs, as_defined);
  if (legend) pmlib_text_legend(fp);
  fflush(fp);
}

void pmlib_print_threads(FILE *fp, int rank, bool as_defined) {
  const struct pmlib_run *run = gathered(&fp);
  if (run == NULL) return;
  if (rank < 0 || (uint32_t)rank >= run->nprocs)
    pmlib_warn("printThreads: no rank %d; the last is %u", rank, run->nprocs - 1);
  else
    pmlib_text_threads(fp, run, rank, as_defined);
  fflush(fp);
}

void pmlib_print_legend(FILE *fp) {
  if (!pmlib_on() || pmlib.rank != 0) return;
  if (fp == NULL) fp = stdout;
  pmlib_text_legend(fp);
  fflush(fp);
}

static void print_ranks(FILE *fp, const struct pmlib_run *run, const int *ranks, int n, int number, bool as_defined) {
  fprintf(fp, "\n## Process group %d: %d of %u ranks\n", number, n, run->nprocs);
  pmlib_text_ranks(fp, run, ranks, n, as_defined);
}

void pmlib_print_group(FILE *fp, uintptr_t group, const int *ranks, int number, bool legend, bool as_defined) {
  if (!pmlib_on() || pmlib.rank != 0) return;
  const struct pmlib_run *run = pmlib_last();
  int n = pmlib.nprocs == 1 ? 1 : pmlib_mpi_group_size(group);
  if (run == NULL || n < 0 || ranks == NULL) {
    pmlib_warn("printGroup %d: %s", number,
               n < 0 ? "MPI is not initialised" : "nothing was gathered; call report() before");
    return;
  }
  if (fp == NULL) fp = stdout;
  print_ranks(fp, run, ranks, n, number, as_defined);
  if (legend) pmlib_text_legend(fp);
  fflush(fp);
}

static int by_value(const void *a, const void *b) {
  int x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* @color[nprocs]: print a group for each colour, in the order of colours, numbered from 0. */
static void print_each_color(FILE *fp, const struct pmlib_run *run, const int *color, bool as_defined) {
  size_t nprocs = run->nprocs;
  int *sorted = calloc(2 * nprocs, sizeof *sorted), number = 0;
  if (sorted == NULL) return;
  int *ranks = sorted + nprocs;
  memcpy(sorted, color, nprocs * sizeof *sorted);
  qsort(sorted, nprocs, sizeof *sorted, by_value);
  for (size_t i = 0; i < nprocs; i++) {
    int n = 0;
    if (i > 0 && sorted[i] == sorted[i - 1]) continue;
    for (size_t p = 0; p < nprocs; p++)
      if (color[p] == sorted[i]) ranks[n++] = (int)p;
    print_ranks(fp, run, ranks, n, number++, as_defined);
  }
  free(sorted);
}

/* The colours of all ranks, malloc'd, on rank 0 as many as @run has; NULL with the reason. */
static int *gather_colors(int color, const struct pmlib_run *run, const char **why) {
  char *all = NULL;
  uint64_t *size = NULL;
  size_t n = run == NULL ? 1 : run->nprocs;
  int *colors = calloc(n, sizeof *colors);
  int err = colors == NULL ? -ENOMEM : 0;
  if (pmlib.nprocs > 1) err = pmlib_mpi_gather((const char *)&color, sizeof color, &all, &size);
  *why = err == -EIO ? "MPI is not initialised"
         : err < 0   ? pml_error_text(err)
                     : "nothing was gathered; call report() before";
  if (err == 0 && colors != NULL)
    memcpy(colors, all == NULL || n == 1 ? (const char *)&color : all, n * sizeof *colors);
  free(all);
  free(size);
  if (err == 0 && run != NULL) return colors;
  free(colors);
  return NULL;
}

void pmlib_print_colors(FILE *fp, int color, bool legend, bool as_defined) {
  const char *why;
  if (!pmlib_on()) return;
  const struct pmlib_run *run = pmlib_last();
  int *colors = gather_colors(color, run, &why);
  if (colors == NULL && pmlib.rank == 0) pmlib_warn("printComm: %s", why);
  if (colors == NULL || pmlib.rank != 0) {
    free(colors);
    return;
  }
  if (fp == NULL) fp = stdout;
  print_each_color(fp, run, colors, as_defined);
  if (legend) pmlib_text_legend(fp);
  fflush(fp);
  free(colors);
}

/* ---- queries ---- */

void pmlib_gather(void) {
  if (pmlib_on()) pmlib_collect(true);
}

int pmlib_sections(void) {
  struct pmlib_process p;
  if (!pmlib_on()) return 0;
  if (!pmlib_take(&p)) return 1;
  int n = (int)p.nsections + 1;
  pmlib_free_process(&p);
  return n;
}

bool pmlib_in_parallel(int id) {
  struct pmlib_process p;
  if (id <= 0 || !pmlib_on() || !pmlib_take(&p)) return false;
  bool parallel = (uint32_t)id <= p.nsections && p.section[id - 1].parallel;
  pmlib_free_process(&p);
  return parallel;
}
