/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_cpu.c - available settings in the kernel's folders. */
#include "control/tune/pml_tune_cpu.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/text/pml_locale.h"
#include "base/text/pml_nearest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATES_MAX 64u
#define LINE 1024

/* --- cpus --- */

static int ascending(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return (x > y) - (x < y);
}

static bool is_cpu(const char *name, unsigned *number) {
  int end = 0;
  return sscanf(name, "cpu%5u%n", number, &end) == 1 && name[end] == '\0' && name[3] >= '0' && name[3] <= '9';
}

int pml__cpus_find(struct pml__cpus *c, const char *root) {
  *c = (struct pml__cpus){0};
  DIR *d = opendir(root);
  int err = 0;
  if (d == NULL) return pml_fail(-errno, "%s: %s; name a folder like /sys/devices/system/cpu", root, strerror(errno));
  for (struct dirent *e; err == 0 && (e = readdir(d)) != NULL;) {
    unsigned number;
    if (!is_cpu(e->d_name, &number)) continue;
    if (!PML__ARRAY_ROOM(c->number, c->room, c->n + 1))
      err = pml_fail(-ENOMEM, "no memory for the cpus of %s", root);
    else
      c->number[c->n++] = number;
  }
  closedir(d);
  if (err == 0 && c->n == 0)
    return pml_fail(-ENOENT, "%s has no folder cpu0; name a folder like /sys/devices/system/cpu", root);
  if (err == 0) qsort(c->number, c->n, sizeof *c->number, ascending);
  return err;
}

void pml__cpus_free(struct pml__cpus *c) {
  free(c->number);
  *c = (struct pml__cpus){0};
}

/* --- reading --- */

/* The first line; -ENOENT: there is no such file. */
static int read_line(const char *root, unsigned cpu, const char *file, char text[LINE]) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/cpu%u/%s", root, cpu, file) >= (int)sizeof path) return -ENOENT;
  FILE *f = fopen(path, "re");
  if (f == NULL)
    return errno == ENOTDIR || errno == ENOENT ? -ENOENT : pml_fail(-errno, "%s: %s", path, pml_error_text(-errno));
  errno = 0;
  bool got = fgets(text, LINE, f) != NULL;
  int err = got ? 0 : errno != 0 ? pml_fail(-errno, "%s: %s", path, pml_error_text(-errno)) : -ENOENT;
  (void)fclose(f);
  if (got) text[strcspn(text, "\n")] = '\0';
  return err;
}

static int read_khz(const char *root, unsigned cpu, const char *file, double *hz) {
  char text[LINE];
  int err = read_line(root, cpu, file, text);
  *hz = err == 0 ? pml__strtod(text, NULL) * 1e3 : 0;
  return err == -ENOENT ? 0 : err;
}

int pml__cpu_range_hz(const char *root, const struct pml__cpus *c, double *min, double *max) {
  *min = *max = 0;
  for (size_t i = 0; i < c->n; i++) {
    double low = 0, high = 0;
    int err = read_khz(root, c->number[i], "cpufreq/cpuinfo_min_freq", &low);
    if (err == 0) err = read_khz(root, c->number[i], "cpufreq/cpuinfo_max_freq", &high);
    if (err < 0) return err;
    if (low > 0 && (*min <= 0 || low < *min)) *min = low;
    if (high > *max) *max = high;
  }
  return *min > 0 && *max >= *min ? 0 : -ENOENT;
}

int pml__cpu_is_userspace(const char *root, const struct pml__cpus *c, bool *is) {
  char text[LINE];
  int err = -ENOENT;
  *is = false;
  for (size_t i = 0; err == -ENOENT && i < c->n; i++)
    err = read_line(root, c->number[i], "cpufreq/scaling_governor", text);
  if (err == 0) *is = strcmp(text, "userspace") == 0;
  return err == -ENOENT ? 0 : err;
}

void pml__cpu_text(double hz, char text[PML__CONTROL_TEXT]) {
  snprintf(text, PML__CONTROL_TEXT, "%.0f", hz / 1e3);
}

/* --- opening --- */

static int make_controls(const struct pml__cpus *c, struct pml__cpu_setting *out) {
  out->control = calloc(c->n, sizeof(struct pml__control *));
  return out->control != NULL ? 0 : pml_fail(-ENOMEM, "no memory for the files of %zu cpus", c->n);
}

/* A cpu that is offline has no such file. */
static int open_one(struct pml__controls *k, unsigned cpu, const char *file, struct pml__control **control) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "cpu%u/%s", cpu, file);
  int err = pml__controls_control(k, path, control);
  return err == -ENOENT || err == -ENOTDIR ? 0 : err;
}

static bool has_any(const struct pml__cpus *c, const struct pml__cpu_setting *s) {
  for (size_t i = 0; i < c->n; i++)
    if (s->control[i] != NULL) return true;
  return false;
}

static int open_all(struct pml__controls *k, const struct pml__cpus *c, const char *file,
                    struct pml__cpu_setting *out) {
  int err = make_controls(c, out);
  for (size_t i = 0; err == 0 && i < c->n; i++) err = open_one(k, c->number[i], file, &out->control[i]);
  if (err < 0 || has_any(c, out)) return err;
  return pml_fail(-ENOENT,
                  "%s/cpu%u/%s: no cpu has this file: the kernel does not set frequencies, as in most virtual "
                  "machines; leave it out, or name another root",
                  pml__controls_root(k), c->number[0], file);
}

int pml__cpu_frequency(struct pml__controls *k, const struct pml__cpus *c, const char *file, double hz,
                       struct pml__cpu_setting *out) {
  char path[NAME_MAX];
  double min, max;
  snprintf(path, sizeof path, "cpufreq/%s", file);
  int err = open_all(k, c, path, out);
  if (err < 0) return err;
  err = pml__cpu_range_hz(pml__controls_root(k), c, &min, &max);
  if (err < 0 && err != -ENOENT) return err;
  if (err == 0 && (hz < min || hz > max))
    return pml_fail(-EINVAL, "%.4g GHz is outside the %.4g to %.4g GHz of these cpus", hz / 1e9, min / 1e9, max / 1e9);
  pml__cpu_text(hz, out->text);
  return 0;
}

/* The kernel's available values, if it lists them. */
static int check_governor(const char *root, const struct pml__cpus *c, const char *name) {
  char text[LINE], list[LINE], near[LINE], *rest = NULL;
  struct pml__nearest nearest = {.want = name};
  for (size_t i = 0; i < c->n; i++) {
    int err = read_line(root, c->number[i], "cpufreq/scaling_available_governors", text);
    if (err == -ENOENT) continue;
    if (err < 0) return err;
    memcpy(list, text, sizeof list);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
      if (strcmp(word, name) == 0) return 0;
      pml__nearest_offer(&nearest, word);
    }
    return pml_fail(-EINVAL, "unknown governor '%s'%s; this kernel has %s", name,
                    pml__nearest_text(&nearest, near, sizeof near), list);
  }
  return 0;
}

int pml__cpu_governor(struct pml__controls *k, const struct pml__cpus *c, const char *name,
                      struct pml__cpu_setting *out) {
  int err = open_all(k, c, "cpufreq/scaling_governor", out);
  if (err == 0) err = check_governor(pml__controls_root(k), c, name);
  if (err == 0 && strlen(name) >= sizeof out->text)
    err = pml_fail(-EINVAL, "'%.20s...' is not the name of a governor", name);
  if (err == 0) snprintf(out->text, sizeof out->text, "%s", name);
  return err;
}

/* The number of the state, or -1; @names: the states that exist. */
static int find_state(const char *root, unsigned cpu, const char *state, char names[LINE], int *number) {
  char file[64], text[LINE];
  int err = 0;
  names[0] = '\0';
  *number = -1;
  for (unsigned i = 0; err == 0 && *number < 0 && i < STATES_MAX; i++) {
    snprintf(file, sizeof file, "cpuidle/state%u/name", i);
    err = read_line(root, cpu, file, text);
    if (err < 0) break;
    size_t n = strlen(names);
    snprintf(names + n, LINE - n, "%s%.16s", n > 0 ? ", " : "", text); /* CPUIDLE_NAME_LEN */
    snprintf(file, sizeof file, "state%u", i);
    if (strcasecmp(text, state) == 0 || strcmp(file, state) == 0) *number = (int)i;
  }
  return err == -ENOENT ? 0 : err;
}

int pml__cpu_idle(struct pml__controls *k, const struct pml__cpus *c, const char *state, bool on,
                  struct pml__cpu_setting *out) {
  char file[64], names[LINE], known[LINE] = "";
  snprintf(out->text, sizeof out->text, "%d", !on); /* the file says "disable" */
  int err = make_controls(c, out);
  for (size_t i = 0; err == 0 && i < c->n; i++) {
    int number;
    err = find_state(pml__controls_root(k), c->number[i], state, names, &number);
    if (known[0] == '\0') memcpy(known, names, sizeof known);
    if (err < 0 || number < 0) continue;
    snprintf(file, sizeof file, "cpuidle/state%d/disable", number);
    err = open_one(k, c->number[i], file, &out->control[i]);
  }
  if (err < 0 || has_any(c, out)) return err;
  if (known[0] == '\0')
    return pml_fail(-ENOENT, "%s/cpu%u/cpuidle: no cpu has idle states to set", pml__controls_root(k), c->number[0]);
  return pml_fail(-EINVAL, "unknown idle state '%s'; these cpus have %s", state, known);
}
