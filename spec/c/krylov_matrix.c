/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov_matrix.c - matrices that are read, generated, or refused, and the sentence of each refusal. */
#include "check.h"
#include "krylov/krylov.h"

#include <math.h>
#include <zlib.h>

#define HEAD "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"

static double at(const struct krylov_matrix *a, size_t i, size_t j) {
  for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
    if (a->column[k] == j) return a->value[k];
  return 0;
}

static void reads(void) {
  static const char *const text[] = {
      HEAD "% a comment\n\n2 3 4\n2 3 -1.5D+01\n1 1 2\n 1 3 1e0\r\n2 2 +.5\n",
      "%%matrixmarket MATRIX Coordinate Integer General\n2 3 4\n1 1 2\n1 3 1\n2 3 -15\n2 2 0\n",
      HEAD "2 3 5\n1 1 1\n1 1 1\n1 3 1\n2 3 -15\n2 2 .5", /* doubles add up; no newline at the end */
  };
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    struct krylov_matrix a;
    struct krylov_error e = {""};
    int err = krylov_matrix_parse(&a, text[i], strlen(text[i]), &e);
    if (!CHECK(err == 0, "general matrix %zu is read %s", i + 1, e.text)) continue;
    CHECK(a.rows == 2 && a.columns == 3 && a.nonzeros == 4 && at(&a, 0, 0) == 2 && at(&a, 0, 2) == 1 &&
              at(&a, 1, 2) == -15 && at(&a, 0, 1) == 0,
          "its entries are where they belong");
    krylov_matrix_free(&a);
    krylov_matrix_free(&a); /* twice is fine */
  }
}

static void reads_halves(void) {
  struct krylov_matrix a;
  struct krylov_error e = {""};
  const char *text = SYMMETRIC "3 3 4\n1 1 4\n2 2 5\n3 3 6\n3 1 -1\n";
  if (CHECK(krylov_matrix_parse(&a, text, strlen(text), &e) == 0, "a symmetric matrix is read %s", e.text)) {
    CHECK(a.nonzeros == 5 && at(&a, 0, 2) == -1 && at(&a, 2, 0) == -1, "both halves are there");
    krylov_matrix_free(&a);
  }
  text = "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n";
  if (CHECK(krylov_matrix_parse(&a, text, strlen(text), &e) == 0, "a skew one of ones is read %s", e.text)) {
    CHECK(a.nonzeros == 2 && at(&a, 1, 0) == 1 && at(&a, 0, 1) == -1, "above the diagonal it has the other sign");
    krylov_matrix_free(&a);
  }
}

/* spec/fuzz/fuzz_mtx.c has any bytes. */
static void refuses(void) {
  static const struct {
    const char *text, *says;
  } bad[] = {{HEAD "1 1 1\n2 1 1\n", "line 3"},
             {HEAD "1 1 1\n1 1 1e999\n", "finite number"},
             {HEAD "2 2 4\n1 1 1\n", "too short"},
             {HEAD "1 1 1\n1 1 1\n1 1 1\n", "more than 1"},
             {SYMMETRIC "2 3 2\n1 1 1\n2 2 1\n", "square"},
             {SYMMETRIC "2 2 2\n1 1 1\n1 2 1\n", "below the diagonal"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct krylov_matrix a;
    struct krylov_error e = {""};
    int err = krylov_matrix_parse(&a, bad[i].text, strlen(bad[i].text), &e);
    CHECK(err < 0 && !a.start && strstr(e.text, bad[i].says), "refused with \"%s\": %s", bad[i].says, e.text);
    krylov_matrix_free(&a);
  }
}

static void generates(void) {
  static const char *const bad[] = {"poisson2d:",
                                    "poisson2d:0",
                                    "poisson2d:-4",
                                    "poisson2d:4:1",
                                    "poisson3d:4x",
                                    "convdiff2d:4:",
                                    "convdiff2d:4:nan",
                                    "convdiff3d:4:1e300",
                                    "poisson3d:407",
                                    "poisson2d:8193",
                                    "poisson2d:99999999999999999999999"};
  struct krylov_matrix a;
  struct krylov_error e = {""};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(krylov_matrix_open(&a, bad[i], &e) == -EINVAL && strstr(e.text, bad[i]), "%s", e.text);
  if (CHECK(krylov_matrix_open(&a, "convdiff3d:3:8", &e) == 0, "a cube of 3 points a side")) {
    /* the wind is 8 / 4 / 2 = 1 here: upstream counts twice, downstream not at all */
    CHECK(a.rows == 27 && a.nonzeros == 27 + 2 * 54 && at(&a, 13, 13) == 6 && at(&a, 13, 12) == -2 &&
              at(&a, 13, 14) == 0 && at(&a, 13, 4) == -2 && at(&a, 2, 3) == 0 && krylov_matrix_norm(&a) == 12,
          "its middle point sees all six neighbours, its edges do not wrap");
    double x[27], y[27], z[27], left = 0, right = 0;
    for (size_t i = 0; i < 27; i++) x[i] = (double)(i * i % 7) - 3;
    krylov_matrix_multiply(&a, x, y);
    krylov_matrix_multiply_transposed(&a, y, z);
    for (size_t i = 0; i < 27; i++) left += y[i] * y[i], right += x[i] * z[i];
    CHECK(left > 0 && fabs(left - right) < 1e-9 * left, "(A x) (A x) = x (A' A x): %g", left);
    krylov_matrix_free(&a);
  }
}

static void reads_files(void) {
  static const char text[] = HEAD "2 2 2\n1 1 3\n2 2 4\n";
  char path[] = "/tmp/krylov_matrix_XXXXXX";
  struct krylov_matrix a;
  struct krylov_error e = {""};
  int fd = mkstemp(path);
  if (!CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "a file")) return;
  CHECK(krylov_matrix_open(&a, path, &e) == 0 && at(&a, 1, 1) == 4, "a plain file is read %s", e.text);
  krylov_matrix_free(&a);
  gzFile z = gzopen(path, "wb");
  gzwrite(z, text, sizeof text - 1);
  gzclose(z);
  CHECK(krylov_matrix_open(&a, path, &e) == 0 && at(&a, 1, 1) == 4, "a gzipped one, too %s", e.text);
  krylov_matrix_free(&a);
  off_t size = lseek(fd, 0, SEEK_END);
  CHECK(ftruncate(fd, size - 12) == 0 && krylov_matrix_open(&a, path, &e) < 0 && strstr(e.text, path),
        "a file that is cut off is refused: %s", e.text);
  close(fd);
  unlink(path);
  CHECK(krylov_matrix_open(&a, path, &e) == -ENOENT && strstr(e.text, path), "a file that is absent: %s", e.text);
  CHECK(krylov_matrix_open(&a, "/tmp", &e) < 0, "a folder is refused: %s", e.text);
}

int main(void) {
  CHECK_EACH(reads, reads_halves, refuses, generates, reads_files);
  return check_done();
}
