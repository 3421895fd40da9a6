/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/pnm.h - read a netpbm image (P1 to P6) as grey levels.
 *
 * The input is a file from anywhere, so nothing in it is believed: sizes are checked against the bytes that are there
 * before memory is taken, every sample against the maxval.
 */
#ifndef PMLUA_PNM_H
#define PMLUA_PNM_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PNM_MAX_PIXELS ((size_t)1 << 28)
#define PNM_MAX_BYTES ((size_t)1 << 31)

struct pnm_image {
  size_t width, height;
  unsigned maxval;
  uint16_t *grey; /* [height][width], 0 black to maxval white; owned, free() */
};

struct pnm_reader {
  const uint8_t *p, *end;
  char *error;
  size_t error_size;
};

__attribute__((format(printf, 2, 3))) static inline int pnm_fail(struct pnm_reader *in, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(in->error, in->error_size, fmt, ap);
  va_end(ap);
  return -EINVAL;
}

static inline bool pnm_is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Blanks, and comments from # to the end of the line. */
static inline void pnm_skip(struct pnm_reader *in) {
  for (; in->p < in->end; in->p++) {
    if (*in->p == '#')
      while (in->p < in->end && *in->p != '\n' && *in->p != '\r') in->p++;
    if (in->p == in->end) return;
    if (!pnm_is_space(*in->p)) return;
  }
}

static inline int pnm_number(struct pnm_reader *in, const char *what, unsigned max, unsigned *out) {
  pnm_skip(in);
  if (in->p == in->end) return pnm_fail(in, "the file ends before %s", what);
  if (*in->p < '0' || *in->p > '9') return pnm_fail(in, "%s is not a number (byte 0x%02x)", what, *in->p);
  unsigned long v = 0;
  for (; in->p < in->end && *in->p >= '0' && *in->p <= '9'; in->p++) {
    v = v * 10 + (unsigned long)(*in->p - '0');
    if (v > max) return pnm_fail(in, "%s is above %u", what, max);
  }
  *out = (unsigned)v;
  return 0;
}

/* ITU-R BT.601 luma, rounded: as in ppmtopgm, in integers. */
static inline uint16_t pnm_luma(const unsigned rgb[3]) {
  return (uint16_t)((299ul * rgb[0] + 587ul * rgb[1] + 114ul * rgb[2] + 500ul) / 1000ul);
}

static inline int pnm_plain_bits(struct pnm_reader *in, struct pnm_image *img) {
  for (size_t i = 0, n = img->width * img->height; i < n; i++) {
    pnm_skip(in); /* the digits of P1 need no blanks between them */
    if (in->p == in->end) return pnm_fail(in, "the file ends at pixel %zu of %zu", i, n);
    if (*in->p != '0' && *in->p != '1') return pnm_fail(in, "pixel %zu is neither 0 nor 1", i);
    img->grey[i] = *in->p++ == '0';
  }
  return 0;
}

static inline int pnm_raw_bits(struct pnm_reader *in, struct pnm_image *img) {
  for (size_t y = 0, i = 0; y < img->height; y++) { /* each row starts on a byte */
    for (size_t x = 0; x < img->width; x++) img->grey[i++] = !(in->p[x / 8] >> (7 - x % 8) & 1);
    in->p += (img->width + 7) / 8;
  }
  return 0;
}

static inline int pnm_sample(struct pnm_reader *in, const struct pnm_image *img, bool plain, unsigned *v) {
  if (plain) return pnm_number(in, "a sample", img->maxval, v);
  *v = *in->p++;
  if (img->maxval > 255) *v = *v << 8 | *in->p++;
  return *v <= img->maxval ? 0 : pnm_fail(in, "a sample is %u, above the maxval %u", *v, img->maxval);
}

static inline int pnm_samples(struct pnm_reader *in, struct pnm_image *img, bool plain, unsigned channels) {
  for (size_t i = 0, n = img->width * img->height; i < n; i++) {
    unsigned v[3] = {0};
    for (unsigned c = 0; c < channels; c++) {
      int err = pnm_sample(in, img, plain, &v[c]);
      if (err) return err;
    }
    img->grey[i] = channels == 3 ? pnm_luma(v) : (uint16_t)v[0];
  }
  return 0;
}

/* Width, height, maxval and the one blank before a raw raster. @bits: P1 and P4 have no maxval. */
static inline int pnm_header(struct pnm_reader *in, struct pnm_image *img, bool bits) {
  unsigned w = 0, h = 0;
  int err = pnm_number(in, "the width", PNM_MAX_PIXELS, &w);
  if (!err) err = pnm_number(in, "the height", PNM_MAX_PIXELS, &h);
  img->maxval = 1;
  if (!err && !bits) err = pnm_number(in, "the maxval", 65535, &img->maxval);
  if (err) return err;
  if (w == 0 || h == 0) return pnm_fail(in, "the image is %u x %u, it has no pixels", w, h);
  if (img->maxval == 0) return pnm_fail(in, "the maxval is 0");
  img->width = w;
  img->height = h;
  if (img->width > PNM_MAX_PIXELS / img->height) return pnm_fail(in, "%u x %u pixels are too many", w, h);
  if (in->p < in->end && *in->p == '#')
    while (in->p < in->end && *in->p != '\n') in->p++;
  if (in->p == in->end || !pnm_is_space(*in->p)) return pnm_fail(in, "the file ends after its header");
  in->p++;
  return 0;
}

/* The fewest bytes a raster of this kind can have. */
static inline size_t pnm_raster_bytes(const struct pnm_image *img, char kind) {
  size_t pixels = img->width * img->height, samples = kind == '3' || kind == '6' ? 3 * pixels : pixels;
  switch (kind) {
  case '1':
    return pixels;
  case '4':
    return (img->width + 7) / 8 * img->height;
  case '2':
  case '3':
    return 2 * samples - 1;
  default:
    return img->maxval > 255 ? 2 * samples : samples;
  }
}

/*
 * pnm_parse - the first image in @data. On failure returns -EINVAL or -ENOMEM with a sentence in @error, img->grey
 * NULL.
 */
static inline int pnm_parse(const uint8_t *data, size_t size, struct pnm_image *img, char *error, size_t error_size) {
  struct pnm_reader in = {data, data + size, error, error_size};
  img->grey = NULL;
  if (size < 3 || data[0] != 'P' || data[1] < '1' || data[1] > '6' || !(pnm_is_space(data[2]) || data[2] == '#'))
    return pnm_fail(&in, "not a PNM file (it must start with P1 to P6)");
  char kind = (char)data[1];
  bool bits = kind == '1' || kind == '4', plain = kind <= '3';
  in.p += 2;
  int err = pnm_header(&in, img, bits);
  if (err) return err;
  size_t need = pnm_raster_bytes(img, kind), have = (size_t)(in.end - in.p);
  if (have < need)
    return pnm_fail(&in, "%zu x %zu pixels need %zu bytes or more, the file has %zu", img->width, img->height, need,
                    have);
  img->grey = malloc(img->width * img->height * sizeof *img->grey);
  if (!img->grey) {
    pnm_fail(&in, "no memory for %zu x %zu pixels", img->width, img->height);
    return -ENOMEM;
  }
  if (bits)
    err = plain ? pnm_plain_bits(&in, img) : pnm_raw_bits(&in, img);
  else
    err = pnm_samples(&in, img, plain, kind == '3' || kind == '6' ? 3 : 1);
  if (err) {
    free(img->grey);
    img->grey = NULL;
  }
  return err;
}

/* The whole file in memory, *@out owned by the caller. Returns 0 or a negative code with a sentence. */
static inline int pnm_slurp(const char *path, uint8_t **out, size_t *size, char *error, size_t error_size) {
  size_t n = 0, capacity = 1 << 16;
  int err = 0;
  uint8_t *data = NULL;
  FILE *f = fopen(path, "rbe");
  if (!f) goto fail;
  for (;;) {
    uint8_t *more = n < PNM_MAX_BYTES ? realloc(data, capacity) : NULL;
    if (!more) {
      errno = n < PNM_MAX_BYTES ? ENOMEM : EFBIG;
      goto fail;
    }
    data = more;
    errno = 0;
    n += fread(data + n, 1, capacity - n, f);
    if (ferror(f)) goto fail;
    if (n < capacity) break;
    capacity *= 2;
  }
  *out = data;
  *size = n;
  fclose(f);
  return 0;
fail:
  err = errno ? -errno : -EIO;
  snprintf(error, error_size, "cannot read: %s", strerror(-err));
  if (f) fclose(f);
  free(data);
  return err;
}

#endif
