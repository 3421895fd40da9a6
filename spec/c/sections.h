/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sections.h - common functions for specs of sections: a definition, the merged row, a forked child. */
#ifndef SPEC_SECTIONS_H
#define SPEC_SECTIONS_H

#include "check.h"

static inline struct pml_section *defined(const char *label, const struct pml_section_options *o) {
  struct pml_section *s = NULL;
  int err = pml_section_define(label, o, &s);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return s;
}

/* The row of @s in the merged report, all zero if it is missing. */
static inline struct pml_section_row row_of(const struct pml_section *s) {
  struct pml_section_report r;
  struct pml_section_row found = {0};
  if (pml_section_report(false, &r) != 0) return found;
  for (size_t i = 0; i < r.n; i++)
    if (r.row[i].section == s) found = r.row[i];
  pml_section_report_free(&r);
  found.value = NULL;
  return found;
}

static inline uint64_t misuse_of(const struct pml_section_row *row) {
  uint64_t n = 0;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) n += row->misuse[m];
  return n;
}

static inline bool child_finds(bool (*is)(void)) {
  int status = 1;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    _exit(is() ? 0 : 1);
  }
  return waitpid(pid, &status, 0) == pid && status == 0;
}

#endif
