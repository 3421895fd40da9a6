/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_sysfs_parse.c - names of the form pmu/event,param=x/modifiers. */
#include "source/kernel/event/pml_event_sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One or two digits of a bit number at *s; *s moves behind them. */
static bool parse_bit(const char **s, unsigned *bit) {
  if (!isdigit((unsigned char)**s)) return false;
  unsigned v = 0;
  for (unsigned n = 0; isdigit((unsigned char)**s); n++, (*s)++) {
    if (n == 2) return false;
    v = v * 10 + (unsigned)(**s - '0');
  }
  *bit = v;
  return v < 64;
}

bool pml__format_parse(struct pml__format *f, const char *text) {
  memset(f, 0, sizeof *f);
  if (strncmp(text, "config", 6) != 0) return false;
  const char *s = text + 6;
  if (*s >= '1' && *s <= '3') f->word = (unsigned)(*s++ - '0');
  if (*s++ != ':') return false;
  for (;;) {
    unsigned low, high;
    if (f->nranges == PML__FORMAT_RANGES || !parse_bit(&s, &low)) return false;
    high = low;
    if (*s == '-') {
      s++;
      if (!parse_bit(&s, &high) || high < low) return false;
    }
    f->range[f->nranges].low = low;
    f->range[f->nranges++].high = high;
    f->bits += high - low + 1;
    if (f->bits > 64) return false;
    if (*s == '\0') return true;
    if (*s++ != ',') return false;
  }
}

static uint64_t low_mask(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool pml__format_put(const struct pml__format *f, uint64_t *word, uint64_t value) {
  if (value & ~low_mask(f->bits)) return false;
  for (unsigned i = 0; i < f->nranges; i++) {
    unsigned bits = f->range[i].high - f->range[i].low + 1;
    uint64_t mask = low_mask(bits);
    *word = (*word & ~(mask << f->range[i].low)) | (value & mask) << f->range[i].low;
    value = bits >= 64 ? 0 : value >> bits;
  }
  return true;
}

/* State of a parse; @terms is the user's text between the slashes. */
struct parse {
  struct pml_event *ev;
  char pmu[64];
  char terms[PML_EVENT_NAME_MAX];
  uint64_t word[4];
};

/* One of "key", "key=value", "key=?". */
struct term {
  char key[PML_EVENT_NAME_MAX];
  char value[PML_EVENT_NAME_MAX]; /* "" without '=' */
  bool has_value;
};

/* Take the next term off *s. Returns 1, 0 at the end, PML_ESYNTAX. */
static int next_term(const char **s, struct term *t) {
  if (!**s) return 0;
  size_t n = strcspn(*s, ","), key = strcspn(*s, ",=");
  if (key == 0 || key >= sizeof t->key || n - key >= sizeof t->value)
    return pml_fail(PML_ESYNTAX, "an empty or unterminated parameter in \"%.100s\"", *s);
  pml__copy(t->key, key + 1, *s);
  t->has_value = n > key;
  t->value[0] = '\0';
  if (t->has_value) pml__copy(t->value, n - key, *s + key + 1);
  if (t->has_value && !t->value[0]) return pml_fail(PML_ESYNTAX, "parameter \"%.100s\" has no value", t->key);
  *s += n;
  if (**s == ',') ++*s;
  return 1;
}

/* The text of FOLDER/NAME of the PMU; -errno. */
static int read_attribute(const struct parse *p, const char *folder, const char *name, const char *suffix, char *text) {
  char file[PML_EVENT_NAME_MAX + 32];
  if (strchr(name, '/') || name[0] == '.') return -ENOENT;
  (void)snprintf(file, sizeof file, "%s/%s%s", folder, name, suffix);
  return pml__sysfs_file(p->pmu, file, text, PML__ALIAS_MAX);
}

static void offer_folder(const struct parse *p, const char *folder, struct pml__nearest *near) {
  struct dirent **names = NULL;
  int n = pml__sysfs_names(p->pmu, folder, &names);
  for (int i = 0; i < n; i++)
    if (!strchr(names[i]->d_name, '.')) pml__nearest_offer(near, names[i]->d_name);
  pml__sysfs_names_free(names, n);
}

static int fail_term(const struct parse *p, const char *key) {
  char text[300];
  struct pml__nearest near = {.want = key};
  offer_folder(p, "events", &near);
  offer_folder(p, "format", &near);
  return pml_fail(PML_ENOEVENT, "PMU %s has no event or parameter \"%.100s\"%s", p->pmu, key,
                  pml__nearest_text(&near, text, sizeof text));
}

static int apply_value(struct parse *p, const struct term *t, uint64_t value) {
  char text[PML__ALIAS_MAX] = "";
  struct pml__format f;
  static const char *const words[4] = {"config", "config1", "config2", "config3"};
  for (unsigned i = 0; i < 4; i++)
    if (strcmp(t->key, words[i]) == 0) {
      p->word[i] = value;
      return 0;
    }
  if (read_attribute(p, "format", t->key, "", text) < 0) return fail_term(p, t->key);
  if (!pml__format_parse(&f, text))
    return pml_fail(PML_EFORMAT, "PMU %s: its format \"%.64s\" reads \"%.64s\", which is not bits of a config", p->pmu,
                    t->key, text);
  if (!pml__format_put(&f, &p->word[f.word], value))
    return pml_fail(PML_ESYNTAX, "PMU %s: %.64s=%.64s does not fit its %u bits", p->pmu, t->key, t->value, f.bits);
  return 0;
}

static int apply_term(struct parse *p, const struct term *t) {
  uint64_t value = 1;
  if (t->has_value && !pml__parse_u64(t->value, strlen(t->value), &value))
    return pml_fail(PML_ESYNTAX, "PMU %s: %.64s=%.64s is not a number", p->pmu, t->key, t->value);
  return apply_value(p, t, value);
}

static bool user_gives(const struct parse *p, const char *key) {
  struct term t = {0};
  const char *s = p->terms;
  while (next_term(&s, &t) == 1)
    if (t.has_value && strcmp(t.key, key) == 0) return true;
  return false;
}

static int apply_alias(struct parse *p, const char *event, const char *text) {
  struct term t = {0};
  int more, err = 0;
  while (err == 0 && (more = next_term(&text, &t)) != 0) {
    if (more < 0) return pml_fail(PML_EFORMAT, "PMU %s: its event \"%.64s\" is malformed", p->pmu, event);
    if (strcmp(t.value, "?") != 0)
      err = apply_term(p, &t);
    else if (!user_gives(p, t.key))
      err = pml_fail(PML_ESYNTAX, "event %s/%.64s/ needs a value for %.64s: write %s/%.64s,%.64s=.../", p->pmu, event,
                     t.key, p->pmu, event, t.key);
  }
  return err;
}

/* strtod() in the C locale, because the kernel writes a decimal point. */
static bool parse_scale(const char *text, double *scale) {
  locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (!c) {
    pml__event_note_shortage(-ENOMEM);
    return false;
  }
  char *end;
  double v = strtod_l(text, &end, c);
  freelocale(c);
  if (end == text || *end || !isfinite(v) || v == 0) return false;
  *scale = v;
  return true;
}

static int read_unit(struct parse *p, const char *event) {
  char text[PML__ALIAS_MAX] = "";
  if (read_attribute(p, "events", event, ".unit", text) == 0) pml__copy(p->ev->unit, sizeof p->ev->unit, text);
  if (read_attribute(p, "events", event, ".scale", text) == 0 && !parse_scale(text, &p->ev->scale))
    return pml_fail(PML_EFORMAT, "PMU %s: the scale of event \"%.64s\" is \"%.64s\", not a number", p->pmu, event,
                    text);
  return 0;
}

/* The named event first, then the user's own parameters: they win. */
static int apply_user_terms(struct parse *p) {
  char text[PML__ALIAS_MAX] = "";
  struct term t = {0};
  for (int pass = 0; pass < 2; pass++) {
    const char *s = p->terms;
    int more;
    while ((more = next_term(&s, &t)) != 0) {
      if (more < 0) return more;
      bool alias = !t.has_value && !strchr(t.key, '.') && read_attribute(p, "events", t.key, "", text) == 0;
      int err = 0;
      if (pass == 0 && alias) {
        err = apply_alias(p, t.key, text);
        if (err == 0) err = read_unit(p, t.key);
      } else if (pass == 1 && !alias) {
        err = apply_term(p, &t);
      }
      if (err < 0) return err;
    }
  }
  return 0;
}

static int fail_pmu(const char *pmu, int err) {
  char text[300] = "";
  struct dirent **names = NULL;
  if (err != -ENOENT && err != -ENOTDIR)
    return pml_fail(err == -EINVAL ? PML_EFORMAT : err, "PMU %s: cannot read its type", pmu);
  int n = pml__sysfs_names("", "", &names);
  for (int i = 0; i < n; i++) {
    size_t used = strlen(text);
    if (used + strlen(names[i]->d_name) + 3 > sizeof text) break;
    (void)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", names[i]->d_name);
  }
  pml__sysfs_names_free(names, n);
  return pml_fail(PML_ENOEVENT, "no PMU \"%s\" in /sys/bus/event_source/devices; this machine has %s", pmu,
                  n ? text : "none");
}

static int fill(struct parse *p, uint32_t type, const struct pml__mods *m) {
  struct pml_event_part *part = pml__event_first(p->ev, pml__keep_text(p->pmu));
  part->attr.type = type;
  part->attr.config = p->word[0];
  part->attr.config1 = p->word[1];
  part->attr.config2 = p->word[2];
#ifdef PERF_ATTR_SIZE_VER8
  part->attr.config3 = p->word[3];
#else
  if (p->word[3])
    return pml_fail(PML_ESYNTAX, "event \"%.200s\" needs config3, which this build of pmlua lacks", p->ev->name);
#endif
  pml__mods_apply(m, &part->attr, pml__sysfs_is_core(p->pmu));
  return 0;
}

/* The members after the first, which @p holds: each must encode the event as the first does. */
static int check_family(const struct parse *p, const struct pml__family *family) {
  for (unsigned i = 1; i < family->n && i < PML_EVENT_PARTS_MAX; i++) {
    struct parse other = {.ev = p->ev};
    pml__sysfs_member(family, i, other.pmu);
    pml__copy(other.terms, sizeof other.terms, p->terms);
    int err = apply_user_terms(&other);
    if (err < 0) return err;
    if (memcmp(other.word, p->word, sizeof other.word) != 0)
      return pml_fail(PML_EFORMAT, "%.60s* are not alike: %s encodes \"%.100s\" otherwise than %s; name each by itself",
                      family->stem, other.pmu, p->terms, p->pmu);
  }
  return 0;
}

/* STEM_*: parse for the first of these PMUs; pml__event_place() adds the others. */
static int parse_family(struct parse *p, const struct pml__mods *m) {
  struct pml__family family;
  uint32_t type;
  int err = pml__sysfs_family(p->pmu, &family);
  if (err < 0) return fail_pmu(p->pmu, err);
  pml__sysfs_member(&family, 0, p->pmu);
  err = pml__sysfs_type(p->pmu, &type);
  if (err < 0) return fail_pmu(p->pmu, err);
  err = apply_user_terms(p);
  if (err == 0) err = check_family(p, &family);
  return err < 0 ? err : fill(p, type, m);
}

int pml__event_parse_sysfs(struct pml_event *ev, const char *name) {
  struct parse p = {.ev = ev};
  struct pml__mods m = {0};
  uint32_t type;
  const char *first = strchr(name, '/'), *last = strrchr(name, '/'), *mods = last + 1;
  size_t npmu = (size_t)(first - name);
  if (first == last || npmu == 0 || last == first + 1)
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": write a PMU's event as pmu/event/ or pmu/param=value,.../", name);
  if (*mods == ':') mods++;
  if (last[1] && !pml__mods_parse(&m, mods))
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": \"%.32s\" is not a modifier; use u, k, h, or p up to three times",
                    name, mods);
  if (npmu >= sizeof p.pmu) return pml_fail(PML_ENOEVENT, "the name of the PMU is too long in \"%.200s\"", name);
  pml__copy(p.pmu, npmu + 1, name);
  pml__copy(p.terms, (size_t)(last - first), first + 1);

  if (pml__sysfs_is_family(p.pmu)) return parse_family(&p, &m);
  int err = pml__sysfs_type(p.pmu, &type);
  if (err < 0) return fail_pmu(p.pmu, err);
  err = apply_user_terms(&p);
  return err < 0 ? err : fill(&p, type, &m);
}
