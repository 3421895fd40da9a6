/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/mtx.c - read a matrix in Matrix Market coordinates.
 *
 * The file comes from anywhere, so nothing in it is believed: every index is checked, every number must be finite, and
 * no more memory is taken than the bytes that are there can fill.
 */
#include "solver.h"

#include <ctype.h>
#include <zlib.h>

#define BYTES_MAX ((size_t)1 << 32)
#define ROWS_MAX ((size_t)1 << 31)
#define ENTRY_BYTES_MIN 4u /* "1 1\n" */
#define WORD_MAX 64u

enum symmetry { GENERAL, SYMMETRIC, SKEW };

struct reader {
  const char *p, *end; /* the unread text */
  const char *line_end;
  size_t line;
  bool pattern;
  enum symmetry symmetry;
  size_t rows, columns, listed; /* entries in the file */
  struct krylov_error *e;
};

/* The next line that is neither empty nor a comment. */
static bool next_line(struct reader *in) {
  while (in->p < in->end) {
    const char *newline = memchr(in->p, '\n', (size_t)(in->end - in->p));
    in->line_end = newline ? newline : in->end;
    in->line++;
    const char *p = in->p;
    while (p < in->line_end && isspace((unsigned char)*p)) p++;
    if (p < in->line_end && *p != '%') {
      in->p = p;
      return true;
    }
    in->p = newline ? newline + 1 : in->end;
  }
  return false;
}

static void end_line(struct reader *in) {
  in->p = in->line_end < in->end ? in->line_end + 1 : in->end;
}

/* The next word of the line, lower case; false: the line has ended, or the word is too long for anything that is known.
 */
static bool next_word(struct reader *in, char word[WORD_MAX]) {
  size_t n = 0;
  while (in->p < in->line_end && isspace((unsigned char)*in->p)) in->p++;
  for (; in->p < in->line_end && !isspace((unsigned char)*in->p); in->p++) {
    if (n + 1 == WORD_MAX) return false;
    word[n++] = (char)tolower((unsigned char)*in->p);
  }
  word[n] = 0;
  return n > 0;
}

static int read_index(struct reader *in, const char *what, size_t min, size_t max, size_t *out) {
  char word[WORD_MAX];
  size_t v = 0, i = 0;
  if (!next_word(in, word)) return krylov__fail(in->e, -EINVAL, "line %zu: %s is missing", in->line, what);
  for (; word[i] >= '0' && word[i] <= '9' && v <= max; i++) v = v * 10 + (size_t)(word[i] - '0');
  if (v > max || (v < min && word[i] == 0))
    return krylov__fail(in->e, -EINVAL, "line %zu: %s is %.24s, it must be from %zu to %zu", in->line, what, word, min,
                        max);
  if (word[i] != 0 || i == 0)
    return krylov__fail(in->e, -EINVAL, "line %zu: %s is %.24s, it must be a number", in->line, what, word);
  *out = v;
  return 0;
}

/* Fortran writes 1.5D+03; strtod() also accepts hexadecimals and infinities, which are invalid here. */
static int read_value(struct reader *in, double *out) {
  char word[WORD_MAX], *end = NULL;
  if (!next_word(in, word)) return krylov__fail(in->e, -EINVAL, "line %zu: the value is missing", in->line);
  for (char *c = word; *c; c++)
    if (*c == 'd') *c = 'e';
  *out = strtod(word, &end);
  if (word[strspn(word, "0123456789+-.e")] != 0 || end == word || *end != 0 || !isfinite(*out))
    return krylov__fail(in->e, -EINVAL, "line %zu: the value %.24s is not a finite number", in->line, word);
  return 0;
}

static int nothing_more(struct reader *in) {
  char word[WORD_MAX];
  if (next_word(in, word) || in->p < in->line_end)
    return krylov__fail(in->e, -EINVAL, "line %zu has more words than it should", in->line);
  end_line(in);
  return 0;
}

static int one_of(struct reader *in, const char *what, const char *const names[], unsigned *out) {
  char word[WORD_MAX];
  if (!next_word(in, word)) return krylov__fail(in->e, -EINVAL, "the first line lacks the %s", what);
  for (*out = 0; names[*out]; ++*out)
    if (strcmp(word, names[*out]) == 0) return 0;
  return krylov__fail(in->e, -EINVAL,
                      "the %s %.24s is not supported (real or integer or pattern coordinates of "
                      "general, symmetric or skew-symmetric matrices are)",
                      what, word);
}

static int read_banner(struct reader *in) {
  static const char *const object[] = {"matrix", NULL}, *const format[] = {"coordinate", NULL};
  static const char *const field[] = {"real", "double", "integer", "pattern", NULL};
  static const char *const symmetry[] = {"general", "symmetric", "skew-symmetric", NULL};
  static const char banner[] = "%%MatrixMarket";
  unsigned which = 0, kind = 0;
  if ((size_t)(in->end - in->p) < sizeof banner || strncasecmp(in->p, banner, sizeof banner - 1) != 0)
    return krylov__fail(in->e, -EINVAL, "not a Matrix Market file (it must start with %s)", banner);
  const char *newline = memchr(in->p, '\n', (size_t)(in->end - in->p));
  in->line_end = newline ? newline : in->end;
  in->line = 1;
  in->p += sizeof banner - 1;
  int err = one_of(in, "object", object, &which);
  if (!err) err = one_of(in, "format", format, &which);
  if (!err) err = one_of(in, "field", field, &kind);
  if (!err) err = one_of(in, "symmetry", symmetry, &which);
  if (err) return err;
  in->pattern = kind == 3;
  in->symmetry = (enum symmetry)which;
  return nothing_more(in);
}

static int read_size(struct reader *in) {
  if (!next_line(in)) return krylov__fail(in->e, -EINVAL, "the file ends before the size");
  int err = read_index(in, "the number of rows", 1, ROWS_MAX, &in->rows);
  if (!err) err = read_index(in, "the number of columns", 1, ROWS_MAX, &in->columns);
  if (!err) err = read_index(in, "the number of entries", 0, BYTES_MAX, &in->listed);
  if (!err) err = nothing_more(in);
  if (err) return err;
  size_t room = (size_t)(in->end - in->p) / ENTRY_BYTES_MIN + 1, stored = in->listed;
  if (in->listed > room)
    return krylov__fail(in->e, -EINVAL, "%zu entries are announced; the file is too short for more than %zu",
                        in->listed, room);
  if (in->symmetry != GENERAL) stored *= 2;
  if (in->symmetry != GENERAL && in->rows != in->columns)
    return krylov__fail(in->e, -EINVAL, "%zu x %zu: a symmetric matrix is square", in->rows, in->columns);
  if (in->rows > stored || in->columns > stored)
    return krylov__fail(in->e, -EDOM, "%zu x %zu with only %zu entries: some row or column is empty", in->rows,
                        in->columns, stored);
  return 0;
}

static int read_entry(struct reader *in, struct krylov_entry *out) {
  size_t i = 0, j = 0;
  int err = read_index(in, "the row", 1, in->rows, &i);
  if (!err) err = read_index(in, "the column", 1, in->columns, &j);
  *out = (struct krylov_entry){(uint32_t)(i - 1), (uint32_t)(j - 1), 1.0};
  if (!err && !in->pattern) err = read_value(in, &out->value);
  if (!err) err = nothing_more(in);
  if (err || in->symmetry == GENERAL) return err;
  if (j > i || (j == i && in->symmetry == SKEW))
    return krylov__fail(in->e, -EINVAL, "line %zu: of a %ssymmetric matrix only entries below the diagonal are listed",
                        in->line, in->symmetry == SKEW ? "skew-" : "");
  return 0;
}

/* All entries, a symmetric matrix's twice. */
static int read_entries(struct reader *in, struct krylov_entry *entry, size_t *count) {
  size_t n = 0;
  for (size_t k = 0; k < in->listed; k++) {
    if (!next_line(in)) return krylov__fail(in->e, -EINVAL, "the file ends after %zu of %zu entries", k, in->listed);
    int err = read_entry(in, &entry[n]);
    if (err) return err;
    const struct krylov_entry below = entry[n++];
    if (in->symmetry == GENERAL || below.row == below.column) continue;
    entry[n++] = (struct krylov_entry){below.column, below.row, in->symmetry == SKEW ? -below.value : below.value};
  }
  *count = n;
  if (next_line(in)) return krylov__fail(in->e, -EINVAL, "line %zu: more than %zu entries", in->line, in->listed);
  return 0;
}

int krylov_matrix_parse(struct krylov_matrix *a, const char *text, size_t size, struct krylov_error *e) {
  struct reader in = {.p = text, .end = text + size, .e = e};
  size_t n = 0;
  memset(a, 0, sizeof *a);
  int err = read_banner(&in);
  if (!err) err = read_size(&in);
  if (err) return err;
  struct krylov_entry *entry = malloc((2 * in.listed + 1) * sizeof *entry);
  if (!entry) return krylov__fail(e, -ENOMEM, "no memory for %zu entries", in.listed);
  err = read_entries(&in, entry, &n);
  if (!err) err = krylov_matrix_build(a, in.rows, in.columns, entry, n, e);
  free(entry);
  return err;
}

/* zlib also reads uncompressed files. */
static int slurp(gzFile f, char **out, size_t *size, struct krylov_error *e) {
  size_t n = 0, capacity = 1 << 20;
  char *data = NULL;
  for (;;) {
    char *more = capacity <= BYTES_MAX ? realloc(data, capacity) : NULL;
    if (!more) {
      free(data);
      return krylov__fail(e, -ENOMEM, "no memory for more than %zu bytes of text", n);
    }
    data = more;
    int got = gzread(f, data + n, (unsigned)(capacity - n < 1 << 30 ? capacity - n : 1 << 30));
    int state = Z_OK;
    const char *what = gzerror(f, &state);
    if (got < 0 || state == Z_BUF_ERROR) { /* the latter: a compressed file that is cut off */
      free(data);
      return krylov__fail(e, -EIO, "cannot read all of it: %.100s", what);
    }
    n += (size_t)got;
    if (got == 0) break;
    if (n == capacity) capacity *= 2;
  }
  *out = data;
  *size = n;
  return 0;
}

int krylov_matrix_read(struct krylov_matrix *a, const char *path, struct krylov_error *e) {
  struct krylov_error why = {""};
  char *text = NULL;
  size_t size = 0;
  int err;
  memset(a, 0, sizeof *a);
  errno = 0;
  gzFile f = gzopen(path, "rbe");
  if (!f) {
    err = errno ? -errno : -ENOMEM;
    return krylov__fail(e, err, "matrix %.120s: cannot be opened: %.60s", path, strerror(-err));
  }
  err = slurp(f, &text, &size, &why);
  gzclose_r(f);
  if (!err) err = krylov_matrix_parse(a, text, size, &why);
  free(text);
  /* The end of a long path says more than its beginning. */
  size_t length = strlen(path);
  if (err) krylov__fail(e, err, "matrix %s: %.150s", length > 60 ? path + length - 60 : path, why.text);
  return err;
}
