/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_sysfs.c - arbitrary bytes as the files of a PMU in sysfs, and a name that is looked up in them. */
#include "fuzz.h"
#include "pml.h"
#include "source/kernel/event/pml_event_parsers.h"

#include <sys/stat.h>

static char pmu[128];

static void make_machine(void) {
  char path[160];
  const char *part[] = {"/bus",
                        "/bus/event_source",
                        "/bus/event_source/devices",
                        "/bus/event_source/devices/f",
                        "/bus/event_source/devices/f/events",
                        "/bus/event_source/devices/f/format"};
  const char *root = fuzz_folder();
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    snprintf(path, sizeof path, "%s%s", root, part[i]);
    if (mkdir(path, 0700) != 0) abort();
  }
  snprintf(pmu, sizeof pmu, "%s/bus/event_source/devices/f", root);
  if (pml_event_set_sysfs(root) != 0) abort();
}

/* Four cpus of two packages; the first has two dies. */
static void make_topology(void) {
  static const char *const places[][2] = {{"0\n", "0\n"}, {"0\n", "1\n"}, {"1\n", "0\n"}, {"1\n", "0\n"}};
  const char *const above[] = {"/devices", "/devices/system", "/devices/system/cpu"};
  char path[160];
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", fuzz_folder(), above[i]);
    if (mkdir(path, 0700) != 0) abort();
  }
  for (size_t i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%zu", fuzz_folder(), i);
    if (mkdir(path, 0700) != 0) abort();
    strcat(path, "/topology");
    if (mkdir(path, 0700) != 0) abort();
    fuzz_write(path, "physical_package_id", places[i][0], 2);
    fuzz_write(path, "die_id", places[i][1], 2);
  }
}

/* The event's name with the place of a part appended is the name of that part alone. */
static void check_places(const struct pml_event *ev) {
  struct pml_event one;
  char name[PML_EVENT_NAME_MAX + PML_EVENT_PLACE_MAX + 1];
  for (unsigned i = 0; i < ev->nparts && i < 4 && ev->first.place[0]; i++) {
    struct pml_event_part part = pml_event_part(ev, i);
    snprintf(name, sizeof name, "%s:%s", ev->name, part.place);
    if (strlen(name) >= PML_EVENT_NAME_MAX) return;
    PROMISE(pml_event_parse(&one, name) == 0 && one.nparts == 1 && one.first.cpu_any == part.cpu_any,
            "a place is a name");
  }
}

static int visit(const struct pml_event_info *info, void *arg) {
  (void)arg;
  PROMISE(strlen(info->name) < PML_EVENT_NAME_MAX, "a row's name has room");
  return 0;
}

/* type | cpumask | format/a | format/b | events/e | its scale | its unit | the user's terms */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const files[] = {"type",     "cpumask",        "format/a",     "format/b",
                                      "events/e", "events/e.scale", "events/e.unit"};
  struct fuzz_input in = {data, data + size};
  struct pml_event ev;
  size_t n;
  if (pmu[0] == '\0') {
    make_machine();
    make_topology();
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *text = fuzz_text(&in, '|', &n);
    fuzz_write(pmu, files[i], text, n);
    free(text);
  }
  char *terms = fuzz_text(&in, 0, &n), *name = malloc(n + 8);
  snprintf(name, n + 8, "f/%s/", terms);
  int err = pml_event_parse(&ev, name);
  PROMISE(err <= 0, "success, or a code");
  if (err < 0) PROMISE(*pml_error_detail(err), "a failure has a sentence");
  if (err == 0) {
    PROMISE(ev.nparts >= 1 && ev.nparts <= PML_EVENT_PARTS_MAX, "a part, or one for each place");
    PROMISE(ev.scale != 0 && ev.scale - ev.scale == 0, "a finite scale");
    for (unsigned i = 0; i < ev.nparts; i++) {
      struct pml_event_part part = pml_event_part(&ev, i);
      PROMISE(part.cpu_any >= (ev.nparts > 1 ? 0 : -1) && memchr(part.place, 0, PML_EVENT_PLACE_MAX),
              "a cpu with its place, or none");
    }
    check_places(&ev);
    PROMISE(memchr(ev.unit, 0, sizeof ev.unit) != NULL, "the unit ends");
  }
  struct pml__walk w = {.visit = visit, .probe = true};
  PROMISE(pml__event_walk_sysfs(&w) == 0, "the list goes through");
  PLANTED(err == 0 && ev.first.attr.config1 >> 60 > 1 && ev.scale == 2);
  free(name);
  free(terms);
  return 0;
}
