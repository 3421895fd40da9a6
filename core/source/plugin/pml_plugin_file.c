/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_file.c - series of plugins are written to a file and read back. */
#include "source/plugin/pml_plugin_file.h"

#include "base/pml_error.h"
#include "base/pml_file.h"
#include "source/pml_event.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "pmlua-series 1"
enum {
  WORD,
  PLUGIN,
  METRIC,
  THREAD,
  TID,
  VALUE,
  MODE,
  BINARY,
  EXPONENT,
  OUTSIDE,
  BACKWARDS,
  N,
  UNIT,
  DESCRIPTION,
  FIELDS
};

/* ---- writing ---- */

struct saving {
  const char *path, *plugin;
  FILE *f; /* NULL: there was no value yet */
  size_t series;
};

/* What would break a line is a blank. */
static void put_text(FILE *f, const char *text) {
  for (; *text != '\0'; text++) (void)fputc(iscntrl((unsigned char)*text) ? ' ' : *text, f);
}

PML_PRINTF(2, 3) static void put(FILE *f, const char *fmt, ...) {
  char line[2 * PML_EVENT_NAME_MAX + 256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  (void)fputs(line, f);
}

static int save_series(const struct pml_plugin_series *s, void *arg) {
  struct saving *to = arg;
  const struct pml_plugin_metric *m = s->metric;
  if (s->n == 0) return 0;
  if (to->f == NULL) to->f = fopen(to->path, "wxe");
  if (to->f == NULL) return pml_fail(-errno, "%s: %s", to->path, strerror(errno));
  if (to->series++ == 0) put(to->f, HEAD "\n");
  put(to->f, "series\t%s\t%s\t%" PRIu64 "\t%d\t", to->plugin, m->name, s->thread, s->tid);
  put(to->f, "%d\t%d\t%d\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%zu\t", (int)m->value, (int)m->mode, m->binary,
      m->exponent, s->outside, s->backwards, s->n);
  put_text(to->f, m->unit);
  (void)fputc('\t', to->f);
  put_text(to->f, m->description);
  (void)fputc('\n', to->f);
  for (size_t i = 0; i < s->n; i++) put(to->f, "%" PRIu64 " %" PRIx64 "\n", s->pair[i].ticks, s->pair[i].value);
  return 0;
}

static int save_plugin(struct pml_plugin *p, void *arg) {
  struct pml_plugin_info info;
  struct saving *to = arg;
  pml_plugin_describe(p, &info);
  if (info.sync != PML_PLUGIN_ASYNC && info.sync != PML_PLUGIN_ASYNC_EVENT) return 0;
  to->plugin = info.name;
  return pml_plugin_series(p, save_series, to);
}

int pml_plugin_save(const char *path, size_t *series) {
  struct saving to = {.path = path};
  int err = pml_plugin_list(save_plugin, &to);
  *series = err == 0 ? to.series : 0;
  if (to.f == NULL) return err;
  (void)fputs("end\n", to.f);
  bool whole = ferror(to.f) == 0;
  if (fclose(to.f) != 0) whole = false;
  if (whole && err == 0) return 0;
  *series = 0;
  (void)unlink(path);
  return err < 0 ? err : pml_fail(-EIO, "%s: cannot write the series of plugins", path);
}

/* ---- reading ---- */

struct loading {
  const char *path;
  FILE *f;
  char *line;
  size_t room;
  uint64_t number; /* of the line */
  struct pml_plugin_pair *pair;
  size_t npairs;
};

static int malformed(const struct loading *l, const char *what) {
  return pml_fail(PML_EFORMAT, "%s:%llu: %s", l->path, (unsigned long long)l->number, what);
}

/* The next line without its end; false: there is none. */
static bool next_line(struct loading *l) {
  ssize_t n = getline(&l->line, &l->room, l->f);
  l->number++;
  if (n <= 0 || l->line[n - 1] != '\n' || strlen(l->line) != (size_t)n) return false;
  l->line[n - 1] = '\0';
  return true;
}

static bool unsigned_of(const char *text, int base, uint64_t most, uint64_t *v) {
  char *end;
  if (!isxdigit((unsigned char)*text)) return false;
  errno = 0;
  *v = strtoull(text, &end, base);
  return *end == '\0' && errno == 0 && *v <= most;
}

static bool is_exponent(const char *text, int64_t *v) {
  uint64_t u;
  if (!unsigned_of(text + (*text == '-'), 10, 1000, &u)) return false;
  *v = *text == '-' ? -(int64_t)u : (int64_t)u;
  return true;
}

/* Fields of the line; false: not as many as there must be. */
static bool cut(char *line, char **field) {
  size_t n = 0;
  for (char *p; n < FIELDS && (p = strsep(&line, "\t")) != NULL;) field[n++] = p;
  return n == FIELDS && line == NULL;
}

static bool read_head(struct loading *l, char **field, struct pml_plugin_metric *m, struct pml_plugin_series *s) {
  uint64_t tid, value, mode, binary, n;
  if (!cut(l->line, field) || strcmp(field[WORD], "series") != 0 || *field[PLUGIN] == '\0' || *field[METRIC] == '\0')
    return false;
  if (!unsigned_of(field[THREAD], 10, UINT64_MAX, &s->thread) || !unsigned_of(field[TID], 10, INT32_MAX, &tid) ||
      !unsigned_of(field[VALUE], 10, PML_PLUGIN_VALUES - 1, &value) ||
      !unsigned_of(field[MODE], 10, PML_MODES - 1, &mode) || !unsigned_of(field[BINARY], 10, 1, &binary) ||
      !is_exponent(field[EXPONENT], &m->exponent) || !unsigned_of(field[OUTSIDE], 10, UINT64_MAX, &s->outside) ||
      !unsigned_of(field[BACKWARDS], 10, UINT64_MAX, &s->backwards) || !unsigned_of(field[N], 10, SIZE_MAX / 64, &n))
    return false;
  m->name = field[METRIC];
  m->unit = field[UNIT];
  m->description = field[DESCRIPTION];
  m->value = (enum pml_plugin_value)value;
  m->mode = (enum pml_mode)mode;
  m->binary = binary != 0;
  s->metric = m;
  s->tid = (int)tid;
  s->n = (size_t)n;
  return true;
}

/* Room for one more; the number in the file is not trusted. */
static bool make_room(struct loading *l, size_t n) {
  if (n < l->npairs) return true;
  size_t more = l->npairs == 0 ? 1024 : 2 * l->npairs;
  struct pml_plugin_pair *grown = realloc(l->pair, more * sizeof *grown);
  if (grown == NULL) return false;
  l->pair = grown;
  l->npairs = more;
  return true;
}

static int read_pairs(struct loading *l, const char *name, size_t n) {
  uint64_t last = 0;
  for (size_t i = 0; i < n; i++) {
    char *rest = next_line(l) ? l->line : NULL;
    const char *ticks = rest != NULL ? strsep(&rest, " ") : NULL;
    if (!make_room(l, i)) return pml_fail(-ENOMEM, "no memory for %zu values of %s", n, name);
    struct pml_plugin_pair *at = &l->pair[i];
    if (rest == NULL || !unsigned_of(ticks, 10, UINT64_MAX, &at->ticks) ||
        !unsigned_of(rest, 16, UINT64_MAX, &at->value))
      return malformed(l, "not a time and a value");
    if (at->ticks < last) return malformed(l, "the times go back");
    last = at->ticks;
  }
  return 0;
}

static int load_one(struct loading *l, pml_plugin_file_visit *visit, void *arg) {
  struct pml_plugin_series s = {0};
  struct pml_plugin_metric m = {0};
  char *field[FIELDS], *head = l->line;
  l->line = NULL; /* the names are in it: what comes goes elsewhere */
  size_t room = l->room;
  l->room = 0;
  struct loading first = {.path = l->path, .line = head, .number = l->number};
  int err = read_head(&first, field, &m, &s) ? 0 : malformed(l, "no series");
  if (err == 0) err = read_pairs(l, m.name, s.n);
  s.pair = l->pair;
  if (err == 0) err = visit(field[PLUGIN], &s, arg);
  free(l->line);
  l->line = head;
  l->room = room;
  return err;
}

int pml_plugin_load_series(const char *path, pml_plugin_file_visit *visit, void *arg) {
  int fd = pml_file_open(path, UINT64_MAX, NULL);
  if (fd < 0) return fd;
  struct loading l = {.path = path, .f = fdopen(fd, "r")};
  if (l.f == NULL) {
    close(fd);
    return pml_fail(-errno, "%s: %s", path, strerror(errno));
  }
  int err = next_line(&l) && strcmp(l.line, HEAD) == 0
                ? 0
                : malformed(&l, "not a plugin data file of pmlua (its first line is wrong)");
  bool ended = false;
  while (err == 0 && !ended) {
    bool more = next_line(&l);
    ended = more && strcmp(l.line, "end") == 0;
    if (!ended) err = more ? load_one(&l, visit, arg) : malformed(&l, "cut short: the end is missing");
  }
  free(l.pair);
  free(l.line);
  (void)fclose(l.f);
  return err;
}
