/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/sobel.c - the Sobel edge filter over an image, with the probe after each pixel. */
#include "pnm.h"
#include "workload.h"

#include <math.h>

enum { IMAGE, WIDTH, HEIGHT, EVERY };

/*
 * A picture of what an edge filter meets: flat areas, a smooth ramp, disks, straight edges in all directions, and noise
 * from a fixed generator. It depends only on its size.
 */
static unsigned picture(size_t x, size_t y, size_t w, size_t h, uint32_t *noise) {
  *noise = *noise * 1664525u + 1013904223u;
  size_t cell = h / 6 + 1, cx = x % cell, cy = y % cell, r = cell / 3;
  size_t dx = cx > cell / 2 ? cx - cell / 2 : cell / 2 - cx, dy = cy > cell / 2 ? cy - cell / 2 : cell / 2 - cy;
  unsigned v = (unsigned)(x * 96 / w + y * 64 / h);
  if (dx * dx + dy * dy < r * r) v += 80;
  if ((x / cell + y / cell) % 3 == 0 && cx + cy < cell) v += 48;
  if (x % 160 < 2 || y % 120 < 2) v = 16;
  v += *noise >> 29;
  return v > 255 ? 255 : v;
}

static int generate(struct pml_workload_run *r, struct pnm_image *img) {
  int err = workload_size(r, WIDTH, "width", 1, 16384, &img->width);
  if (!err) err = workload_size(r, HEIGHT, "height", 1, 16384, &img->height);
  if (err) return err;
  img->maxval = 255;
  img->grey = malloc(img->width * img->height * sizeof *img->grey);
  if (!img->grey) return workload_out_of_memory(r, (double)img->width * (double)img->height * 2);
  uint32_t noise = 1;
  for (size_t y = 0, i = 0; y < img->height; y++)
    for (size_t x = 0; x < img->width; x++) img->grey[i++] = (uint16_t)picture(x, y, img->width, img->height, &noise);
  return 0;
}

static int load(struct pml_workload_run *r, const char *path, struct pnm_image *img) {
  char why[160];
  uint8_t *data = NULL;
  size_t size = 0;
  int err = pnm_slurp(path, &data, &size, why, sizeof why);
  if (!err) err = pnm_parse(data, size, img, why, sizeof why);
  free(data);
  return err ? workload_fail(r, err, "image %.80s: %s", path, why) : 0;
}

/* Gx and Gy of the pixel in the middle of three rows; @l and @r are its neighbour columns, clamped at the border. */
static inline double gradient(const uint16_t *up, const uint16_t *row, const uint16_t *down, size_t l, size_t x,
                              size_t r) {
  int gx = (up[r] + 2 * row[r] + down[r]) - (up[l] + 2 * row[l] + down[l]);
  int gy = (down[l] + 2 * down[x] + down[r]) - (up[l] + 2 * up[x] + up[r]);
  return sqrt((double)gx * gx + (double)gy * gy);
}

struct edges {
  uint16_t *out;     /* the edge image, saturated at maxval */
  double sum;        /* of the gradients */
  uint64_t checksum; /* of the gradients rounded to whole grey levels */
};

static int filter(struct pml_workload_run *r, const struct pnm_image *img, size_t every, struct edges *e) {
  size_t w = img->width, h = img->height, next = every;
  for (size_t y = 0; y < h; y++) {
    const uint16_t *row = img->grey + y * w, *up = y ? row - w : row, *down = y + 1 < h ? row + w : row;
    int err = workload_stopped(r, 1);
    if (err) return err;
    for (size_t x = 0; x < w; x++) {
      double g = gradient(up, row, down, x ? x - 1 : 0, x, x + 1 < w ? x + 1 : x);
      e->out[y * w + x] = (uint16_t)(g < img->maxval ? g : img->maxval);
      e->sum += g;
      e->checksum += (uint64_t)(g + 0.5);
      if (--next == 0) {
        pml_probe_hit(&r->probe[0]);
        next = every;
      }
    }
  }
  return workload_stopped(r, 1);
}

static int run(struct pml_workload_run *r) {
  struct pnm_image img = {0};
  struct edges e = {0};
  size_t every = 1;
  pml_region_t region;
  const char *path = r->text[IMAGE];

  int err = workload_size(r, EVERY, "every", 1, 1e9, &every);
  if (!err) err = workload_region(r, "sobel", &region);
  if (!err) err = path && *path ? load(r, path, &img) : generate(r, &img);
  if (err) return err;

  size_t pixels = img.width * img.height;
  e.out = calloc(pixels, sizeof *e.out);
  if (!e.out) {
    err = workload_out_of_memory(r, (double)pixels * sizeof *e.out);
    goto out;
  }
  uint64_t enter = pml_clock_ticks();
  err = filter(r, &img, every, &e);
  workload_phase(r, region, enter, pml_clock_ticks());
  if (err) goto out;
  size_t saturated = 0;
  for (size_t i = 0; i < pixels; i++) saturated += e.out[i] == img.maxval;
  workload_result(r, "width", "pixels", (double)img.width);
  workload_result(r, "height", "pixels", (double)img.height);
  workload_result(r, "mean_gradient", "grey levels", e.sum / (double)pixels);
  workload_result(r, "edge_pixels", "pixels", (double)saturated);
  workload_result(r, "checksum", "", (double)e.checksum);
out:
  free(e.out);
  free(img.grey);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "sobel",
    .help = "Sobel edge filter on a PNM image or a generated one, probed after each pixel",
    .site = {"pixel"},
    .option = {[IMAGE] = {"image", "PNM file (P1 to P6); empty: a generated picture", 0, ""},
               [WIDTH] = {"width", "width of the generated image", 1920, NULL},
               [HEIGHT] = {"height", "height of the generated image", 1200, NULL},
               [EVERY] = {"every", "probe after every N-th pixel", 1, NULL}},
    .run = run,
};
