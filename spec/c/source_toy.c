/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/source_toy.c - a source that is added in one file: its names parse, are listed, and are found when misspelt.
 */
#include "source/pml_source.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const toys[] = {"toy::ball", "toy::kite"};

static int parse_toy(struct pml_event *ev, const char *name);

static int walk_toys(const struct pml__walk *w) {
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < 2; i++) {
    struct pml_event_info row = {.name = toys[i], .description = "a toy", .source = "toy", .pmu = "box"};
    row.available = true;
    row.reason = "";
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

static const struct pml__source toy = {.name = "toy", .prefix = "toy::", .parse = parse_toy, .walk = walk_toys};

static int parse_toy(struct pml_event *ev, const char *name) {
  char near[256];
  for (size_t i = 0; i < 2; i++) {
    if (strcmp(name, toys[i]) != 0) continue;
    pml__copy(ev->unit, sizeof ev->unit, "toys");
    return 0;
  }
  return pml_fail(PML_ENOEVENT, "no toy \"%s\"%s", name, pml__source_nearest(&toy, name, near, sizeof near));
}

static int count_row(const struct pml_event_info *info, void *n) {
  if (strcmp(info->source, "toy") == 0) ++*(int *)n;
  return 0;
}

int main(void) {
  struct pml_event ev;
  static const struct pml__source within = {.name = "w", .prefix = "toy::b", .parse = parse_toy, .walk = walk_toys};
  static const struct pml__source nameless = {.prefix = "x::", .parse = parse_toy, .walk = walk_toys};
  static const struct pml__source clock = {.name = "c", .prefix = "clock::", .parse = parse_toy, .walk = walk_toys};
  int n = 0;
  CHECK(pml_event_parse(&ev, "toy::ball") == PML_ENOEVENT, "before there is such a source its names are nothing");
  CHECK(pml__source_add(&toy) == 0, "a source is added");
  CHECK(pml__source_add(&within) == -EEXIST && pml__source_add(&toy) == -EEXIST, "not twice, nor one within another");
  CHECK(pml__source_add(&clock) == -EEXIST, "nor in the place of one that is built in");
  CHECK(pml__source_add(&nameless) == -EINVAL, "nor without a name");
  CHECK(pml_event_parse(&ev, "toy::kite") == 0 && strcmp(ev.unit, "toys") == 0 && ev.nparts == 0, "its names parse");
  CHECK(strcmp(pml_event_source("toy::kite"), "toy") == 0 && strcmp(pml_event_source("cycles"), "perf") == 0,
        "and are told from others'");
  CHECK(pml_event_parse(&ev, "toy::bal") == PML_ENOEVENT && strstr(pml_error_detail(PML_ENOEVENT), "toy::ball") != NULL,
        "a misspelt one finds it");
  CHECK(pml_event_parse(&ev, "tyo::ball") == PML_ENOEVENT && strstr(pml_error_detail(PML_ENOEVENT), "toy::") != NULL,
        "and so does a misspelt source");
  CHECK(pml_event_list("toy", false, count_row, &n) == 0 && n == 2, "they are in the list");
  return check_done();
}
