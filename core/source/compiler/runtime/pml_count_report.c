/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/runtime/pml_count_report.c - counts as a table on stderr: PMLUA_COUNT=report. */
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/runtime/pml_count_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(const char *text, size_t n) {
  while (n > 0) {
    ssize_t done = write(STDERR_FILENO, text, n);
    if (done <= 0) return;
    text += done;
    n -= (size_t)done;
  }
}

static void line(const char *format, va_list ap) {
  char text[512];
  int n = vsnprintf(text, sizeof text - 1, format, ap);
  if (n < 0) return;
  size_t length = (size_t)n < sizeof text - 2 ? (size_t)n : sizeof text - 2;
  text[length] = '\n';
  put(text, length + 1);
}

static __attribute__((format(printf, 1, 2))) void row(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  line(format, ap);
  va_end(ap);
}

void pml__count_say(const char *format, ...) {
  va_list ap;
  put("pmlua count: ", 13);
  va_start(ap, format);
  line(format, ap);
  va_end(ap);
}

static const char *stage_of(const struct pml_count_header *h) {
  if (h->stages == 1u << PML_COUNT_SOURCE) return "at source, before optimisation";
  if (h->stages == 1u << PML_COUNT_FINAL) return "at final, after optimisation";
  return h->stages == 0 ? "no module" : "some modules at source, some at final: the sums mix both";
}

static uint64_t event(const struct pml_count_area *a, unsigned e) {
  uint64_t sum = 0;
  for (unsigned c = 0; c < PML_CELL_COUNT; c++) {
    uint64_t worth = pml_count_cells[c].worth[e];
    if (worth > 0) sum += worth * pml__count_total(a, c);
  }
  return sum;
}

void pml__count_report(const struct pml_count_area *a) {
  const struct pml_count_header *h = &a->header;
  if (h->modules == 0 && h->refused == 0) return;
  pml__count_say("%.100s (%d): counted by the compiler, %s; %llu thread%s", pml__count_head(a)->command,
                 (int)pml__count_head(a)->pid, stage_of(h), (unsigned long long)h->threads, h->threads == 1 ? "" : "s");
  for (unsigned e = 0; e < PML_BYFL_EVENTS; e++)
    row("%22llu  %-18s %s", (unsigned long long)event(a, e), pml_byfl_events[e].name, pml_byfl_events[e].help);
  for (unsigned c = 0; c < PML_CELL_COUNT; c++) {
    uint64_t n = pml__count_total(a, c);
    if (n > 0) row("%22llu  %-18s %s", (unsigned long long)n, pml_count_cells[c].name, pml_count_cells[c].help);
  }
  if (h->uncounted > 0)
    row("not counted: %llu place%s of the program, such as inline assembly", (unsigned long long)h->uncounted,
        h->uncounted == 1 ? "" : "s");
  if (h->others[0] != '\0') row("not counted: the work of %s, which was not compiled with counts", h->others);
  if (h->refused > 0) row("wrong: %llu modules were compiled by another pmlua", (unsigned long long)h->refused);
  uint64_t underway = pml__count_underway(a);
  if (underway > 0)
    row("at least: %llu thread%s inside a loop that counts in registers; its newest iterations are missing",
        (unsigned long long)underway, underway == 1 ? " was" : "s were");
  if (h->sharing > 0) row("low: %llu threads shared their cells", (unsigned long long)h->sharing);
}
