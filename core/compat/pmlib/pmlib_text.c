/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_text.c - tables of a report, and their legend. */
#include "compat/pmlib/pmlib.h"

#include "interface/pmlib/pmVersion.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDEST 64 /* limit of the label column */

double pmlib_speed(double per_second, enum pmlib_type type, const char **unit) {
  static const char *const units[2][4] = {{"MB/sec", "GB/sec", "TB/sec", "PB/sec"},
                                          {"Mflops", "Gflops", "Tflops", "Pflops"}};
  double scaled = per_second / 1e6;
  unsigned i = 0;
  while (i < 3 && scaled > 1000) {
    scaled /= 1000;
    i++;
  }
  *unit = units[type][i];
  return scaled;
}

static double rate(double work, double seconds) {
  return seconds > 0 ? work / seconds : 0;
}

const char *pmlib_mark(const struct pmlib_merged *s) {
  return s->inclusive ? s->parallel ? " (*)(+)" : " (*)" : s->parallel ? " (+)" : "";
}

size_t pmlib_order(const struct pmlib_run *run, bool as_defined, size_t *order) {
  size_t n = 0;
  for (size_t i = 0; i < run->nsections; i++) {
    if (run->section[i].calls == 0) continue;
    size_t at = n++;
    double t = run->section[i].mean.seconds;
    for (; !as_defined && at > 0 && run->section[order[at - 1]].mean.seconds < t; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  return n;
}

/* The sections to print, malloc'd; NULL: nothing to print. */
static size_t *ordered(const struct pmlib_run *run, bool as_defined, size_t *n) {
  size_t *order = calloc(run->nsections == 0 ? 1 : run->nsections, sizeof *order);
  *n = order == NULL ? 0 : pmlib_order(run, as_defined, order);
  return order;
}

/* A label with its mark, in a column; a longer label moves the rest of its line. */
static void text_label(FILE *fp, int width, const struct pmlib_merged *s) {
  size_t n = strlen(s->label);
  fprintf(fp, "%s%-*s:", s->label, n < (size_t)width ? width - (int)n : 0, pmlib_mark(s));
}

static void rule(FILE *fp, int width, const char *columns) {
  for (int i = 0; i < width; i++) fputc('-', fp);
  fprintf(fp, "%s\n", columns);
}

/* ---- header ---- */

static const char *mode_of(const struct pmlib_run *run) {
  bool many = run->nprocs > 1, threads = run->process[0].nthreads > 1;
  if (pmlib.mode != NULL) return pmlib.mode;
  return many ? threads ? "Hybrid" : "FlatMPI" : threads ? "OpenMP" : "Serial";
}

static void text_variables(FILE *fp) {
  static const char *const names[] = {"HWPC_CHOOSER", "PMLUA_CHOOSER_EVENTS", "PMLIB_REPORT", "OTF_TRACING",
                                      "OTF_FILENAME"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *v = secure_getenv(names[i]);
    if (v != NULL) fprintf(fp, "\t%s=%s\n", names[i], v);
  }
  const char *power = secure_getenv("POWER_CHOOSER");
  if (power != NULL && strcmp(power, "OFF") != 0 && strcmp(power, "NO") != 0)
    fprintf(fp, "\tPOWER_CHOOSER=%s: power is not measured: no power API available\n", power);
}

static void text_head(FILE *fp, const struct pmlib_run *run, const char *host, const char *comment) {
  char date[64] = "";
  time_t now = time(NULL);
  struct tm tm;
  if (localtime_r(&now, &tm) != NULL) (void)strftime(date, sizeof date, "%Y/%m/%d : %H:%M:%S", &tm);
  fprintf(fp, "\n# PMlib Basic Report %s\n\n", "------------------------------------------------------------- #");
  fprintf(fp, "\tpmlua %s, with the calls of PMlib %s\n", PML_VERSION, PM_VERSION);
  fprintf(fp, "\tHost name : %s\n", host != NULL && *host != '\0' ? host : run->process[0].host);
  fprintf(fp, "\tDate      : %s\n", date);
  if (comment != NULL && *comment != '\0') fprintf(fp, "\tComment   : %s\n", comment);
  fprintf(fp, "\tParallel mode: %s (%u processes x %u threads)\n", mode_of(run), run->nprocs, run->process[0].nthreads);
  if (run->alone)
    fprintf(fp, "\tThis is rank %d of %d alone: MPI was not initialised when the report was made.\n", pmlib.rank,
            pmlib.nprocs);
  text_variables(fp);
  if (pmlib.why_no_events[0] != '\0')
    fprintf(fp, "\tNothing is counted for HWPC_CHOOSER=%s: %s.\n\tThe work below is what the program states.\n",
            pmlib.chooser->name, pmlib.why_no_events);
  fprintf(fp, "\tTime from initialize to report: %.3e [sec]\n", run->seconds);
}

/* ---- basic ---- */

static void text_basic_row(FILE *fp, int width, const struct pmlib_run *run, const struct pmlib_merged *s) {
  const char *unit, *mark = pmlib_mark(s);
  double speed = pmlib_speed(rate(s->mean.work, s->mean.seconds), s->type, &unit);
  text_label(fp, width, s);
  fprintf(fp, " %8llu   %9.3e %6.2f  %9.3e  %8.2e    %9.3e  %8.2e %6.2f %s%s\n", (unsigned long long)s->mean.count,
          s->mean.seconds, 100 * rate(s->mean.seconds, run->seconds),
          s->calls > 0 ? s->mean.seconds * run->nprocs / (double)s->calls : 0, s->deviation.seconds, s->mean.work,
          s->deviation.work, speed, unit, mark[0] == ' ' ? mark + 1 : mark);
}

/* Sums of the exclusive sections of one type: of the mean process, then of all processes. */
static void text_sums(FILE *fp, int width, const struct pmlib_run *run, enum pmlib_type type) {
  double seconds = 0, work = 0;
  const char *unit, *what = type == PMLIB_COMM ? "Sum of exclusive COMM" : "Sum of exclusive CALC";
  for (size_t i = 0; i < run->nsections; i++) {
    const struct pmlib_merged *s = &run->section[i];
    if (s->inclusive || s->type != type) continue;
    seconds += s->mean.seconds;
    work += s->mean.work;
  }
  if (!(seconds > 0)) return;
  double speed = pmlib_speed(rate(work, seconds), type, &unit);
  fprintf(fp, "%-*s   %9.3e %6.2f %26s%9.3e %9s%6.2f %s\n", width + 10, what, seconds,
          100 * rate(seconds, run->seconds), "", work, "", speed, unit);
  speed = pmlib_speed(rate(work * run->nprocs, seconds), type, &unit);
  fprintf(fp, "%-*s   %16s %26s%9.3e %9s%6.2f %s\n", width + 10, "  of all processes", "", "", work * run->nprocs, "",
          speed, unit);
}

static void text_misuse(FILE *fp, const struct pmlib_run *run) {
  for (size_t i = 0; i < run->nsections; i++)
    for (int m = 0; m < PML_SECTION_MISUSES; m++) {
      uint64_t n = 0;
      const struct pmlib_merged *s = &run->section[i];
      for (uint32_t p = 0; p < run->nprocs; p++) n += s->of[p] == NULL ? 0 : s->of[p]->misuse[m];
      if (n > 0)
        fprintf(fp, "\tSection %s: %llu times %s\n", s->label, (unsigned long long)n,
                pml_section_misuse_text((enum pml_section_misuse)m));
    }
}

static void text_values(FILE *fp, const double *value) {
  for (size_t v = 0; v < pmlib.nevents; v++) fprintf(fp, "  %*.4e", (int)strlen(pmlib.event[v]), value[v]);
}

static void text_value_names(FILE *fp) {
  for (size_t v = 0; v < pmlib.nevents; v++) fprintf(fp, "  %10s", pmlib.event[v]);
}

static void text_basic_values(FILE *fp, int width, const struct pmlib_run *run, const size_t *order, size_t n) {
  if (pmlib.nevents == 0) return;
  fprintf(fp, "\n# Counts of the mean process for HWPC_CHOOSER=%s\n\n%-*s|", pmlib.chooser->name, width, "Section");
  text_value_names(fp);
  fputc('\n', fp);
  rule(fp, width, "+------------------------");
  for (size_t i = 0; i < n; i++) {
    const struct pmlib_merged *s = &run->section[order[i]];
    text_label(fp, width, s);
    text_values(fp, s->mean.value);
    fputc('\n', fp);
  }
}

void pmlib_text_basic(FILE *fp, const struct pmlib_run *run, const char *host, const char *comment, bool as_defined) {
  static const char columns[] =
      "+----------+----------------------------------------+------------------------------------";
  size_t n, *order = ordered(run, as_defined, &n);
  int width = 16;
  for (size_t i = 0; i < n; i++) {
    const struct pmlib_merged *s = &run->section[order[i]];
    int w = (int)(strlen(s->label) + strlen(pmlib_mark(s))) + 1;
    if (w > width && w <= WIDEST) width = w;
  }
  text_head(fp, run, host, comment);
  fprintf(fp, "\n%-*s|  calls   |      time of the mean process [sec]    | work stated by the program\n", width,
          "Section");
  fprintf(fp, "%-*s|          |   total     [%%]    a call     std.dv   |   amount    std.dv  speed\n", width, "Label");
  rule(fp, width, columns);
  for (size_t i = 0; i < n; i++) text_basic_row(fp, width, run, &run->section[order[i]]);
  rule(fp, width, columns);
  text_sums(fp, width, run, PMLIB_COMM);
  text_sums(fp, width, run, PMLIB_CALC);
  text_misuse(fp, run);
  text_basic_values(fp, width, run, order, n);
  free(order);
}

/* ---- by rank, by thread ---- */

static void text_rank(FILE *fp, const struct pmlib_run *run, const struct pmlib_merged *s, int rank, double longest) {
  static const char *const unit[] = {"B/sec", "Flops"};
  struct pmlib_figures f = pmlib_figures_of(s->of[rank]);
  fprintf(fp, "Rank %5d : %8llu  %9.3e  %5.1f  %9.3e  %9.3e  %9.3e  %9.3e %s", rank, (unsigned long long)f.count,
          f.seconds, 100 * rate(f.seconds, run->seconds), longest - f.seconds,
          f.count > 0 ? f.seconds / (double)f.count : 0, f.work, rate(f.work, f.seconds), unit[s->type]);
  text_values(fp, f.value);
  fputc('\n', fp);
}

void pmlib_text_ranks(FILE *fp, const struct pmlib_run *run, const int *ranks, int nranks, bool as_defined) {
  size_t n, *order = ordered(run, as_defined, &n);
  fprintf(fp, "\n## PMlib Process Report --- for individual %s\n\n", run->nprocs > 1 ? "MPI ranks" : "processes");
  for (size_t i = 0; i < n; i++) {
    const struct pmlib_merged *s = &run->section[order[i]];
    double longest = 0;
    fprintf(fp, "Section : %s%s\n", s->label, pmlib_mark(s));
    fprintf(fp, "MPI rankID :     call   time[s] time[%%]  t_wait[s]  t[s]/call       work      speed      ");
    text_value_names(fp);
    fputc('\n', fp);
    for (int r = 0; r < nranks; r++) {
      int rank = ranks == NULL ? r : ranks[r];
      if (rank < 0 || (uint32_t)rank >= run->nprocs) continue;
      double t = pmlib_figures_of(s->of[rank]).seconds;
      longest = t > longest ? t : longest;
    }
    for (int r = 0; r < nranks; r++) {
      int rank = ranks == NULL ? r : ranks[r];
      if (rank >= 0 && (uint32_t)rank < run->nprocs) text_rank(fp, run, s, rank, longest);
    }
  }
  free(order);
}

void pmlib_text_threads(FILE *fp, const struct pmlib_run *run, int rank, bool as_defined) {
  size_t n, *order = ordered(run, as_defined, &n);
  fprintf(fp, "\n## PMlib Thread Report for rank %d\n\n", rank);
  for (size_t i = 0; i < n; i++) {
    const struct pmlib_merged *s = &run->section[order[i]];
    const struct pmlib_section *of = s->of[rank];
    const char *unit = s->type == PMLIB_COMM ? "B/sec" : "Flops";
    fprintf(fp, "Section : %s%s\n", s->label, pmlib_mark(s));
    fprintf(fp, "Thread     call    time[s]  t/tav[%%]       work      speed      ");
    text_value_names(fp);
    fputc('\n', fp);
    for (uint32_t t = 0; of != NULL && t < of->nthreads; t++) {
      const struct pmlib_figures *f = &of->thread[t];
      fprintf(fp, "%6u %8llu  %9.3e  %8.1f  %9.3e  %9.3e %s", f->number, (unsigned long long)f->count, f->seconds,
              100 * rate(f->seconds, s->mean.seconds), f->work, rate(f->work, f->seconds), unit);
      text_values(fp, f->value);
      fputc('\n', fp);
    }
  }
  free(order);
}

/* ---- the legend, and the whole report ---- */

void pmlib_text_legend(FILE *fp) {
  fprintf(fp, "\n# PMlib Legend\n\n"
              "\t(*)     an inclusive section: it contains others, and is in no sum\n"
              "\t(+)     on more than one thread: calls and time are those of the thread with most, work is of all\n"
              "\tstd.dv  standard deviation over the processes\n"
              "\tt_wait  how much longer the slowest of the ranks took\n"
              "\tt/tav   time of the thread over the mean time of the processes\n\n"
              "\tHWPC_CHOOSER, and the events that count for it:\n");
  for (size_t i = 0; i < pmlib_nchoosers; i++) {
    const struct pmlib_chooser *c = &pmlib_choosers[i];
    fprintf(fp, "\t%-10s %s\n", c->name, c->prose);
  }
  if (pmlib.nevents > 0) {
    fprintf(fp, "\tHere, for %s:", pmlib.chooser->name);
    for (size_t v = 0; v < pmlib.nevents; v++) fprintf(fp, " %s", pmlib.event[v]);
    fputc('\n', fp);
  }
}

void pmlib_text_report(FILE *fp, const struct pmlib_run *run) {
  pmlib_text_basic(fp, run, NULL, NULL, false);
  if (pmlib.level != PMLIB_BASIC) pmlib_text_ranks(fp, run, NULL, (int)run->nprocs, false);
  for (uint32_t p = 0; pmlib.level == PMLIB_FULL && p < run->nprocs; p++) pmlib_text_threads(fp, run, (int)p, false);
  if (pmlib.chooser != &pmlib_choosers[0]) pmlib_text_legend(fp);
  fflush(fp);
}
