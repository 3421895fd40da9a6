/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_filter.c - parser and matcher of filter files. */
#include "program/pml_filter.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)

enum { FILES, REGIONS, KINDS };

static const char *const begins[KINDS] = {"SCOREP_FILE_NAMES_BEGIN", "SCOREP_REGION_NAMES_BEGIN"};
static const char *const ends[KINDS] = {"SCOREP_FILE_NAMES_END", "SCOREP_REGION_NAMES_END"};

struct rule {
  const char *pattern;
  bool include, mangled, path; /* path: the pattern contains a '/' */
};

struct rules {
  struct rule *at;
  size_t n, room;
};

struct pml_filter {
  struct rules rules[KINDS];
  char *text; /* contains the terminated patterns */
};

struct parser {
  struct pml_filter *f;
  const char *name, *end;
  char *at;
  unsigned line, begun; /* begun: line of the block's begin */
  int kind;             /* KINDS: outside of blocks */
  bool in_rule, include, mangled, fresh;
  char *word; /* NULL: end of the text */
  bool plain; /* no backslash: may be a keyword */
};

/* ---- words ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_blanks(struct parser *p) {
  bool comment = false;
  for (; p->at < p->end && (comment || is_blank(*p->at) || *p->at == '#'); p->at++) {
    if (*p->at == '\n') p->line++;
    comment = *p->at != '\n' && (comment || *p->at == '#');
  }
}

/* The text ends with a blank, so the byte after a word never belongs to another word. */
static int next_word(struct parser *p) {
  skip_blanks(p);
  p->word = p->at < p->end ? p->at : NULL;
  p->plain = true;
  for (; p->at < p->end && !is_blank(*p->at) && *p->at != '#'; p->at++) {
    if (*p->at == '\0')
      return pml_fail(PML_EFORMAT, "%.200s:%u: a zero byte; filters are text files", p->name, p->line);
    if (*p->at != '\\') continue;
    p->plain = false;
    if (p->at + 2 >= p->end || p->at[1] == '\n')
      return pml_fail(PML_EFORMAT, "%.200s:%u: a backslash at the end; write \\\\ for the character itself", p->name,
                      p->line);
    p->at++;
  }
  return 0;
}

static bool is(const struct parser *p, const char *keyword) {
  size_t n = strlen(keyword);
  return p->plain && (size_t)(p->at - p->word) == n && memcmp(p->word, keyword, n) == 0;
}

/* The word is followed by a blank or a comment; a comment must be skipped before its '#' is overwritten. */
static char *end_word(struct parser *p) {
  char *end = p->at;
  if (*end == '#')
    while (p->at < p->end && *p->at != '\n') p->at++;
  if (p->at < p->end && *p->at == '\n') p->line++;
  if (p->at < p->end) p->at++;
  *end = '\0';
  return p->word;
}

/* ---- blocks and rules ---- */

static int malformed(const struct parser *p, const char *what) {
  int n = (int)(p->at - p->word);
  return pml_fail(PML_EFORMAT, "%.200s:%u: \"%.*s\" %s", p->name, p->line, n < 100 ? n : 100, p->word, what);
}

static int outside(struct parser *p) {
  for (int k = 0; k < KINDS; k++) {
    if (!is(p, begins[k])) continue;
    p->kind = k;
    p->begun = p->line;
    p->in_rule = false;
    return 0;
  }
  return malformed(p, "is outside a block; begin with SCOREP_FILE_NAMES_BEGIN or SCOREP_REGION_NAMES_BEGIN");
}

static int pattern(struct parser *p) {
  struct rules *r = &p->f->rules[p->kind];
  if (!p->in_rule) return malformed(p, "follows no rule; write EXCLUDE or INCLUDE before it");
  if (!PML__ARRAY_ROOM(r->at, r->room, r->n + 1)) return pml_fail(-ENOMEM, "no memory for the filter %.200s", p->name);
  const char *text = end_word(p);
  r->at[r->n++] = (struct rule){text, p->include, p->mangled, strchr(text, '/') != NULL};
  p->fresh = false;
  return 0;
}

static int inside(struct parser *p) {
  if (is(p, "INCLUDE") || is(p, "EXCLUDE")) {
    p->in_rule = p->fresh = true;
    p->include = is(p, "INCLUDE");
    p->mangled = false;
    return 0;
  }
  if (is(p, "MANGLED") && p->fresh) {
    if (p->kind == FILES) return malformed(p, "applies to functions, not to files; remove it");
    p->mangled = true;
    p->fresh = false;
    return 0;
  }
  if (is(p, ends[p->kind])) {
    p->kind = KINDS;
    return 0;
  }
  for (int k = 0; k < KINDS; k++)
    if (is(p, begins[k]) || is(p, ends[k]))
      return malformed(p, p->kind == FILES ? "inside a block of files; end it with SCOREP_FILE_NAMES_END"
                                           : "inside a block of functions; end it with SCOREP_REGION_NAMES_END");
  return pattern(p);
}

static int parse(struct parser *p) {
  for (;;) {
    int err = next_word(p);
    if (err < 0 || p->word == NULL) return err;
    err = p->kind == KINDS ? outside(p) : inside(p);
    if (err < 0) return err;
  }
}

/* ---- open and close ---- */

static struct pml_filter *create(const char *text, size_t n) {
  struct pml_filter *f = calloc(1, sizeof *f);
  if (f == NULL) return NULL;
  f->text = malloc(n + 1);
  if (f->text == NULL) {
    free(f);
    return NULL;
  }
  if (n > 0) memcpy(f->text, text, n);
  f->text[n] = '\n';
  return f;
}

int pml_filter_parse(struct pml_filter **out, const char *text, size_t n, const char *name) {
  *out = NULL;
  struct pml_filter *f = create(text, n);
  if (f == NULL) return pml_fail(-ENOMEM, "no memory for the filter %.200s", name);
  struct parser p = {.f = f, .name = name, .at = f->text, .end = f->text + n + 1, .line = 1, .kind = KINDS};
  int err = parse(&p);
  if (err == 0 && p.kind != KINDS)
    err = pml_fail(PML_EFORMAT, "%.200s:%u: the block does not end; write %s after its rules", name, p.begun,
                   ends[p.kind]);
  if (err < 0)
    pml_filter_close(f);
  else
    *out = f;
  return err;
}

static int read_all(int fd, const char *path, char **text, size_t *n) {
  size_t room = 0;
  ssize_t got = 0;
  *text = NULL;
  for (*n = 0; got >= 0 && *n == room; *n += (size_t)got) {
    if (room >= BYTES_MAX) return pml_fail(-EFBIG, "%.400s: too large for a filter", path);
    if (!PML__ARRAY_ROOM(*text, room, room + 4096)) return pml_fail(-ENOMEM, "no memory for the filter %.200s", path);
    got = pml__file_read(fd, *text + *n, room - *n, -1);
  }
  return got < 0 ? pml_fail((int)got, "%.400s: %s", path, strerror((int)-got)) : 0;
}

int pml_filter_open(struct pml_filter **f, const char *path) {
  char *text;
  size_t n;
  *f = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return pml_fail(-errno, "%.400s: %s", path, strerror(errno));
  int err = read_all(fd, path, &text, &n);
  close(fd);
  if (err == 0) err = pml_filter_parse(f, text, n, path);
  free(text);
  return err;
}

void pml_filter_close(struct pml_filter *f) {
  if (f == NULL) return;
  for (int k = 0; k < KINDS; k++) free(f->rules[k].at);
  free(f->text);
  free(f);
}

/* ---- matching: the last matching rule wins, so the search starts at the end ---- */

bool pml_filter_wants_file(const struct pml_filter *f, const char *file) {
  const struct rules *r = &f->rules[FILES];
  if (file == NULL) return true;
  const char *slash = strrchr(file, '/');
  for (size_t i = r->n; i-- > 0;) {
    const struct rule *x = &r->at[i];
    if (fnmatch(x->pattern, file, 0) == 0) return x->include;
    if (slash != NULL && !x->path && fnmatch(x->pattern, slash + 1, 0) == 0) return x->include;
  }
  return true;
}

bool pml_filter_wants_name(const struct pml_filter *f, const char *name, const char *mangled) {
  const struct rules *r = &f->rules[REGIONS];
  if (name == NULL) name = mangled;
  for (size_t i = r->n; i-- > 0;) {
    const char *told = r->at[i].mangled ? mangled : name;
    if (told != NULL && fnmatch(r->at[i].pattern, told, 0) == 0) return r->at[i].include;
  }
  return true;
}

bool pml_filter_wants(const struct pml_filter *f, const char *file, const char *name, const char *mangled) {
  return pml_filter_wants_file(f, file) && pml_filter_wants_name(f, name, mangled);
}
