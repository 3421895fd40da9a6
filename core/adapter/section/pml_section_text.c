/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_text.c - the lines of a section file. */
#include "adapter/section/pml_section_text.h"
#include "adapter/section/pml_section_file.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/counted/pml_count_file.h"
#include "source/pml_event.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_MAX 4096

/* ---- the process ---- */

static void add_command(struct pml__text *t) {
  char command[COMMAND_MAX];
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, command, sizeof command) : 0;
  if (fd >= 0) close(fd);
  while (n > 0 && command[n - 1] == '\0') n--;
  for (ssize_t i = 0; i < n; i++)
    if (command[i] == '\0') command[i] = ' ';
  pml__text_add(t, "command");
  pml__text_bytes(t, command, n > 0 ? (size_t)n : 0);
  pml__text_end(t);
}

/* What the compiler counts, and what it does not. */
static void add_counted(struct pml__text *t) {
  char libraries[512];
  pml__text_add(t, "counted\t%s", pml_count_at_name(pml_count_here()));
  pml__text_end(t);
  uint64_t places = pml_count_left_out(libraries, sizeof libraries);
  if (places == 0 && libraries[0] == '\0') return;
  pml__text_add(t, "uncounted\t%llu", (unsigned long long)places);
  pml__text_field(t, libraries);
  pml__text_end(t);
}

static void add_process(struct pml__text *t) {
  const struct pml__section_origin *o = pml__section_origin();
  char host[256] = "";
  struct pml_clock_info clock;
  (void)gethostname(host, sizeof host - 1);
  (void)pml_clock_describe(&clock);
  pml__text_add(t, "pmlua-sections\t1");
  pml__text_end(t);
  pml__text_add(t, "pid\t%d", (int)getpid());
  pml__text_end(t);
  if (o->rank >= 0 && getpid() == o->pid) {
    pml__text_add(t, "rank\t%ld\t%ld", o->rank, o->size);
    pml__text_end(t);
  }
  pml__text_add(t, "host");
  pml__text_field(t, host);
  pml__text_end(t);
  add_command(t);
  pml__text_add(t, "started\t%llu", (unsigned long long)o->started_ns);
  pml__text_end(t);
  pml__text_add(t, "written\t%llu", (unsigned long long)pml_clock_realtime_ns());
  pml__text_end(t);
  pml__text_add(t, "clock\t%s\t%.17g", clock.name, clock.ticks_per_second);
  pml__text_end(t);
  if (pml_count_active()) add_counted(t);
  const char *user_only = pml_event_user_only_reason();
  if (user_only == NULL) return;
  pml__text_add(t, "permission");
  pml__text_field(t, user_only);
  pml__text_end(t);
}

/* ---- sections ---- */

static void add_quantiles(struct pml__text *t, const struct pml_section *s) {
  static const unsigned percent[] = {0, 25, 50, 75, 95, 99, 100};
  double ns[sizeof percent / sizeof percent[0]];
  for (size_t i = 0; i < sizeof percent / sizeof percent[0]; i++)
    if (pml_section_quantile(s, percent[i], &ns[i]) < 0) return; /* none was recorded, or no memory to sort them */
  pml__text_add(t, "quantiles");
  for (size_t i = 0; i < sizeof percent / sizeof percent[0]; i++) pml__text_add(t, "\t%.17g", ns[i]);
  pml__text_end(t);
}

static void add_section(struct pml__text *t, const struct pml_section *s, const struct pml_section_info *info) {
  static const char *const record[] = {"none", "all", "sketch"};
  pml__text_add(t, "section");
  pml__text_field(t, info->label);
  pml__text_add(t, "\t%s\t%s\t%s", info->type == PML_SECTION_COMMUNICATION ? "communication" : "calculation",
                info->exclusive ? "exclusive" : "inclusive", record[info->record]);
  pml__text_end(t);
  for (uint32_t i = 0; info->events != NULL && i < info->events->n; i++) {
    pml__text_add(t, "event");
    pml__text_field(t, info->events->name[i]);
    pml__text_add(t, "\t%s", pml_stream_metrics_real(info->events, i) ? "real" : "integer");
    pml__text_end(t);
  }
  if (info->record != PML_SECTION_NO_RECORD) add_quantiles(t, s);
}

static void add_row(struct pml__text *t, const struct pml_section_row *row, const struct pml_section_info *info) {
  pml__text_add(t, "row\t%llu\t%u\t%llu\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%llu",
                (unsigned long long)row->thread, row->running, (unsigned long long)row->count, row->total_ns,
                row->self_ns, row->min_ns, row->max_ns, row->mean_ns, row->stddev_ns, row->work,
                (unsigned long long)row->iterations);
  pml__text_end(t);
  if (row->value != NULL && info->events != NULL) {
    pml__text_add(t, "values");
    for (uint32_t i = 0; i < info->events->n; i++) {
      if (row->value[i].real)
        pml__text_add(t, "\t%.17g", row->value[i].d);
      else
        pml__text_add(t, "\t%lld", (long long)row->value[i].i);
    }
    pml__text_end(t);
  }
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) {
    if (row->misuse[m] == 0) continue;
    pml__text_add(t, "misuse\t%s\t%llu", pml_section_misuse_name((enum pml_section_misuse)m),
                  (unsigned long long)row->misuse[m]);
    pml__text_field(t, pml_section_misuse_text((enum pml_section_misuse)m));
    pml__text_end(t);
  }
}

static void add_rows(struct pml__text *t, const struct pml_section_report *r) {
  const struct pml_section *last = NULL;
  struct pml_section_info info = {.label = ""};
  for (size_t i = 0; i < r->n && !t->failed; i++) {
    const struct pml_section *s = r->row[i].section;
    if (s != last) {
      pml_section_describe(s, &info);
      add_section(t, s, &info);
      last = s;
    }
    add_row(t, &r->row[i], &info);
  }
}

/* Numbers have a decimal point, whatever the application's locale. */
static int in_plain_locale(struct pml__text *t, const struct pml_section_report *r, bool timeline) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return -ENOMEM;
  locale_t before = uselocale(plain);
  add_process(t);
  add_rows(t, r);
  if (timeline) pml__section_timeline_text(t);
  pml__text_add(t, "end\t%zu\n", t->lines);
  uselocale(before);
  freelocale(plain);
  return t->failed ? -ENOMEM : 0;
}

int pml__section_text(struct pml__text *t, bool timeline, size_t *rows) {
  struct pml_section_report report;
  *t = (struct pml__text){0};
  int err = pml__section_prepare_file();
  if (err != 0) return err;
  err = pml_section_report(true, &report);
  if (err < 0) return err;
  err = in_plain_locale(t, &report, timeline);
  *rows = report.n;
  pml_section_report_free(&report);
  if (err < 0) free(t->at);
  return err < 0 ? pml_fail(err, "no memory for the text of %zu sections", *rows) : 0;
}

int pml_section_text(bool timeline, char **text, size_t *length) {
  struct pml__text t;
  size_t rows = 0;
  *text = NULL;
  *length = 0;
  int err = pml__section_text(&t, timeline, &rows);
  if (err < 0) return err;
  /* By the C library: the caller frees it with the program's free(), and what is built here may be memory of pmlua's.
   */
  err = asprintf(text, "%s", t.at) < 0 ? -ENOMEM : 0;
  free(t.at);
  if (err < 0) {
    *text = NULL;
    return pml_fail(err, "no memory for the text of %zu sections", rows);
  }
  *length = t.n;
  return 0;
}
