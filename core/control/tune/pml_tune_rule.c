/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune_rule.c - rules: from the user's table to files and values, and their match with regions.
 */
#include "base/pml_error.h"
#include "control/tune/pml_tune_private.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pml__tune_rule_free(struct pml__tune_rule *r) {
  for (size_t i = 0; i < PML__TUNE_SETTINGS_MAX; i++) free(r->setting[i].knob);
  free(r->region);
}

static bool sets_files(const struct pml_tune_rule *r) {
  return r->frequency_hz != 0 || r->min_hz != 0 || r->max_hz != 0 || r->governor != NULL || r->nidle > 0;
}

int pml__tune_permission(const struct pml__knobs *k) {
  if (pml__knobs_dry(k) || pml_tune_allowed()) return 0;
  return pml_fail(-EPERM,
                  "tuning is not allowed to write below %s; run pmlua --allow-tuning SCRIPT, or see what "
                  "would be written with dry_run = true",
                  pml__knobs_root(k));
}

static int check_hz(double hz) {
  if (hz == 0 || (isfinite(hz) && hz >= 1e3 && hz < 1e12)) return 0;
  return pml_fail(-EINVAL, "frequency %g Hz; give 1e3 to 1e12", hz);
}

static int check(const struct pml_tune *t, const struct pml_tune_rule *r) {
  if (!sets_files(r) && r->threads == 0 && r->call == NULL) return pml_fail(-EINVAL, "sets nothing");
  int err = check_hz(r->frequency_hz);
  if (err == 0) err = check_hz(r->min_hz);
  if (err == 0) err = check_hz(r->max_hz);
  if (err < 0) return err;
  if (r->frequency_hz != 0 && (r->min_hz != 0 || r->max_hz != 0))
    return pml_fail(-EINVAL, "frequency excludes least and most; give one or the other");
  if (r->min_hz != 0 && r->max_hz != 0 && r->min_hz > r->max_hz)
    return pml_fail(-EINVAL, "the least frequency, %g Hz, is above the most, %g Hz", r->min_hz, r->max_hz);
  if (r->threads > INT_MAX) return pml_fail(-EINVAL, "too many threads (%u)", r->threads);
  if (r->nidle > PML__TUNE_SETTINGS_MAX - 4)
    return pml_fail(-EINVAL, "%zu idle states; at most %u are possible", r->nidle, PML__TUNE_SETTINGS_MAX - 4);
  return sets_files(r) ? pml__tune_permission(t->knobs) : 0;
}

/* The governor comes first: it decides what may be written. */
static int make_settings(struct pml_tune *t, const struct pml_tune_rule *r, struct pml__tune_rule *out) {
  struct pml__knobs *k = t->knobs;
  const struct pml__cpus *c = &t->cpus;
  struct pml__cpu_setting *s = out->setting;
  size_t n = 0;
  int err = 0;
  bool user = r->governor != NULL && strcmp(r->governor, "userspace") == 0;
  if (r->governor == NULL && r->frequency_hz != 0) err = pml__cpu_is_userspace(pml__knobs_root(k), c, &user);
  double most = r->max_hz, least = r->min_hz;
  if (r->frequency_hz != 0 && !user) most = least = r->frequency_hz;
  if (err == 0 && r->governor != NULL) err = pml__cpu_governor(k, c, r->governor, &s[n++]);
  if (err == 0 && r->frequency_hz != 0 && user)
    err = pml__cpu_frequency(k, c, "scaling_setspeed", r->frequency_hz, &s[n++]);
  if (err == 0 && most != 0) err = pml__cpu_frequency(k, c, "scaling_max_freq", most, &s[n++]);
  if (err == 0 && least != 0) err = pml__cpu_frequency(k, c, "scaling_min_freq", least, &s[n++]);
  for (size_t i = 0; err == 0 && i < r->nidle; i++) err = pml__cpu_idle(k, c, r->idle[i].state, r->idle[i].on, &s[n++]);
  out->nsettings = n;
  return err;
}

int pml__tune_rule_make(struct pml_tune *t, const struct pml_tune_rule *r, struct pml__tune_rule *out) {
  if (r->region == NULL || r->region[0] == '\0') return pml_fail(-EINVAL, "a rule needs the name of a region");
  out->region = strdup(r->region);
  if (out->region == NULL) return pml_fail(-ENOMEM, "no memory for a rule");
  out->threads = r->threads;
  out->call = r->call;
  out->arg = r->arg;
  int err = check(t, r);
  if (err == 0 && sets_files(r) && t->cpus.n == 0) err = pml__cpus_find(&t->cpus, pml__knobs_root(t->knobs));
  if (err == 0) err = make_settings(t, r, out);
  if (err == 0) return 0;
  char why[512];
  strncpy(why, pml_error_detail(err), sizeof why - 1);
  why[sizeof why - 1] = '\0';
  return pml_fail(err, "rule '%s': %s", r->region, why);
}
