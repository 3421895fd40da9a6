/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_sobel.c - the Sobel filter against known images, every PNM kind, and files that lie. */
#include "workload.h"

static char image[] = "/tmp/pmlua_sobel_XXXXXX";

static bool put(const void *data, size_t size) {
  FILE *f = fopen(image, "wb");
  bool good = f && fwrite(data, 1, size, f) == size;
  if (f) good = fclose(f) == 0 && good;
  return good;
}

#define PUT(literal) put(literal, sizeof literal - 1)

static void is_step(struct workload *l, const char *kind) {
  l->text[0] = image;
  int err = workload_go(l, NULL);
  CHECK(err == 0 && workload_value(l, "checksum") == 2400 && workload_value(l, "mean_gradient") == 200 &&
            workload_value(l, "width") == 4 && workload_value(l, "height") == 3 && l->samples[0].n == 12,
        "a step edge in %s has gradients 0 400 400 0 in each row (%s)", kind, err ? l->run.error : "ok");
}

static void kinds(struct workload *l) {
  CHECK(PUT("P2\n4 3\n255\n0 0 100 100\n0 0 100 100\n0 0 100 100\n"), "write P2");
  is_step(l, "P2");
  CHECK(workload_value(l, "edge_pixels") == 6, "and six of its pixels saturate");
  CHECK(PUT("P2 # plain\n# a comment\r\n4# w\n3\t255#m\n0 0 100 #inside\n100\n0 0 100 100 0 0 100 100"),
        "write P2 full of comments");
  is_step(l, "P2 with comments");
  CHECK(PUT("P3 4 3 255 0 0 0 0 0 0 100 100 100 100 100 100 0 0 0 0 0 0 100 100 100 100 100 100 "
            "0 0 0 0 0 0 100 100 100 100 100 100"),
        "write P3");
  is_step(l, "P3");
  CHECK(PUT("P5\n4 3\n255\n\0\0dd\0\0dd\0\0dd"), "write P5");
  is_step(l, "P5");
  CHECK(PUT("P5\n4 3 1000\n\0\0\0\0\0d\0d\0\0\0\0\0d\0d\0\0\0\0\0d\0d"), "write P5 with 16 bits");
  is_step(l, "P5 with 16 bits");
  CHECK(PUT("P5#c\n4 3 255# c\n\0\0dd\0\0dd\0\0dd and more"), "write P5 with comments and a tail");
  is_step(l, "P5 with comments and a tail");
  CHECK(PUT("P6 4 3 255\n\0\0\0\0\0\0dddddd\0\0\0\0\0\0dddddd\0\0\0\0\0\0dddddd"), "write P6");
  is_step(l, "P6");
  CHECK(PUT("P1\n4 3\n1100 11 00\n1100"), "write P1");
  CHECK(workload_go(l, NULL) == 0 && workload_value(l, "checksum") == 24, "P1 has black and white: %s", l->run.error);
  CHECK(PUT("P4\n4 3\n\xc0\xcf\xc0"), "write P4");
  CHECK(workload_go(l, NULL) == 0 && workload_value(l, "checksum") == 24, "P4 has, too: %s", l->run.error);
}

/* A lone bright pixel shows both kernels: 1 2 1 around it, sqrt(1 + 1) in the corners, 0 in its own place. */
static void both_directions(struct workload *l) {
  CHECK(PUT("P2 5 5 9 0 0 0 0 0 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0 0 0 0 0 0"), "write a dot");
  l->text[0] = image;
  CHECK(workload_go(l, NULL) == 0, "a dot: %s", l->run.error);
  double expected = 9 * (4 * 2 + 4 * sqrt(2)) / 25;
  CHECK(fabs(workload_value(l, "mean_gradient") - expected) < 1e-12, "has the gradients of both kernels (%g, %g)",
        workload_value(l, "mean_gradient"), expected);
}

/* spec/fuzz/fuzz_pnm.c has any bytes. */
static void liars(struct workload *l) {
  l->text[0] = image;
  CHECK(PUT("P5 2 2 255\nabc") && workload_go(l, NULL) == -EINVAL && strstr(l->run.error, "need") &&
            strstr(l->run.error, image),
        "a malformed image is refused: %s", l->run.error);
  l->text[0] = "/nowhere/image.pgm";
  CHECK(workload_go(l, NULL) == -ENOENT && strstr(l->run.error, "/nowhere"), "an absent file: %s", l->run.error);
  workload_defaults(l);
}

static void generated(struct workload *l) {
  CHECK(workload_go(l, NULL) == 0, "the generated picture: %s", l->run.error);
  double sum = workload_value(l, "checksum"), pixels = 1920 * 1200;
  CHECK(workload_value(l, "width") * workload_value(l, "height") == pixels, "is 1920 x 1200");
  CHECK(l->samples[0].n == 3000 && (double)l->probe[0].skipped == pixels - 3000, "is probed at every pixel");
  CHECK(workload_value(l, "edge_pixels") > 1e4 && workload_value(l, "edge_pixels") < pixels / 2, "has edges");
  CHECK(fabs(sum / pixels - workload_value(l, "mean_gradient")) < 0.5, "its sums agree");
  workload_set(l, "every", 1000);
  CHECK(workload_go(l, NULL) == 0 && l->samples[0].n == 2304 && l->probe[0].skipped == 0,
        "is probed at every 1000th pixel when asked");
  CHECK(workload_value(l, "checksum") == sum, "is the same each time");
  CHECK(sum == 89359089.0, "and everywhere (%.0f)", sum);
  workload_phases_in_order(l, 1);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "sobel", 3000)) return check_done();
  int fd = mkstemp(image);
  if (!CHECK(fd >= 0, "a temporary file")) return check_done();
  close(fd);
  kinds(&l);
  both_directions(&l);
  liars(&l);
  generated(&l);
  workload_defaults(&l);
  workload_set(&l, "width", 1);
  workload_set(&l, "height", 1);
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "checksum") == 0, "a single pixel has no edge");
  unlink(image);
  workload_close(&l);
  return check_done();
}
