/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/tamm/tensor.c - orbitals in tiles, tensors in blocks, and the terms. */
#include "tamm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The terms of the doubles residual by their usual names, in the order of the equations. */
const struct tamm_term tamm_term[TAMM_TERMS] = {
    {1, "t2_2_5", "kaij", "acil", "lkjc", -1.0}, {2, "t2_6", "abij", "abkl", "klij", -0.5},
    {3, "t2_7", "abij", "acik", "kbjc", -1.0},   {4, "t2_7_3", "kaic", "adil", "klcd", 0.5},
    {5, "t2_8", "abij", "cdij", "abcd", 0.5},
};

const struct tamm_term *tamm_term_by_name(const char *name) {
  for (unsigned i = 0; i < TAMM_TERMS; i++)
    if (strcmp(tamm_term[i].name, name) == 0) return &tamm_term[i];
  return NULL;
}

int tamm__fail(struct tamm_error *e, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->text, sizeof e->text, fmt, ap);
  va_end(ap);
  return code;
}

/* --- orbitals --- */

/* @n orbitals of a spin in as few tiles as may be, of sizes as even as may be, the larger ones first. */
static void add_tiles(struct tamm_space *s, size_t n, size_t most, int spin) {
  size_t tiles = (n + most - 1) / most;
  for (size_t i = 0; i < tiles; i++) {
    struct tamm_tile t = {.first = s->n, .size = n / tiles + (i < n % tiles), .spin = spin};
    for (size_t k = 0; k < t.size; k++) s->tile_of[s->n++] = (uint16_t)s->tiles;
    s->tile[s->tiles++] = t;
  }
}

int tamm_orbitals_open(struct tamm_orbitals *o, const struct tamm_shape *shape, struct tamm_error *e) {
  if (shape->tile < 1 || shape->tile > TAMM_TILE_MAX)
    return tamm__fail(e, -EINVAL, "a tile of %zu orbitals: it must have 1 to %u", shape->tile, TAMM_TILE_MAX);
  if (shape->occupied <= shape->unpaired || shape->virtuals < 1)
    return tamm__fail(e, -EINVAL,
                      "%zu occupied, %zu virtual, %zu unpaired: each spin needs an occupied and a virtual "
                      "orbital",
                      shape->occupied, shape->virtuals, shape->unpaired);
  if (shape->occupied > TAMM_SPIN_MAX || shape->virtuals > TAMM_SPIN_MAX ||
      2 * shape->virtuals + shape->unpaired > TAMM_ORBITALS_MAX)
    return tamm__fail(e, -EINVAL, "%zu occupied, %zu virtual, %zu unpaired: more than %u spin orbitals of a kind",
                      shape->occupied, shape->virtuals, shape->unpaired, TAMM_ORBITALS_MAX);
  memset(o, 0, sizeof *o);
  add_tiles(&o->space[TAMM_OCCUPIED], shape->occupied, shape->tile, 1);
  add_tiles(&o->space[TAMM_OCCUPIED], shape->occupied - shape->unpaired, shape->tile, 2);
  add_tiles(&o->space[TAMM_VIRTUAL], shape->virtuals, shape->tile, 1);
  add_tiles(&o->space[TAMM_VIRTUAL], shape->virtuals + shape->unpaired, shape->tile, 2);
  return 0;
}

/* --- tensors --- */

size_t tamm_tensor_block(const struct tamm_tensor *t, const size_t tile[TAMM_RANK]) {
  size_t b = 0;
  for (int d = 0; d < TAMM_RANK; d++) b = b * t->space[d]->tiles + tile[d];
  return b;
}

static void tiles_of(const struct tamm_tensor *t, size_t block, const struct tamm_tile *tile[TAMM_RANK]) {
  for (int d = TAMM_RANK - 1; d >= 0; d--) {
    tile[d] = &t->space[d]->tile[block % t->space[d]->tiles];
    block /= t->space[d]->tiles;
  }
}

static void place_blocks(struct tamm_tensor *t) {
  const struct tamm_tile *tile[TAMM_RANK];
  for (size_t b = 0; b < t->blocks; b++) {
    tiles_of(t, b, tile);
    size_t n = tile[0]->size * tile[1]->size * tile[2]->size * tile[3]->size;
    bool there = tile[0]->spin + tile[1]->spin == tile[2]->spin + tile[3]->spin;
    t->start[b] = there ? t->elements : SIZE_MAX;
    if (!there) continue;
    t->elements += n;
    if (n > t->largest) t->largest = n;
  }
}

int tamm_tensor_open(struct tamm_tensor *t, const struct tamm_orbitals *o, const char *label, struct tamm_error *e) {
  memset(t, 0, sizeof *t);
  if (strlen(label) != TAMM_RANK || strspn(label, "abcdefghijklmn") != TAMM_RANK)
    return tamm__fail(e, -EINVAL, "a tensor has %d indices of the letters a to n, not %.20s", TAMM_RANK, label);
  t->orbitals = o;
  t->blocks = 1;
  memcpy(t->label, label, sizeof t->label);
  for (int d = 0; d < TAMM_RANK; d++) {
    t->space[d] = &o->space[label[d] >= 'i' ? TAMM_OCCUPIED : TAMM_VIRTUAL];
    t->blocks *= t->space[d]->tiles; /* at most 1024^4 = 2^40 */
  }
  t->start = calloc(t->blocks, sizeof *t->start);
  if (t->start) place_blocks(t);
  t->data = t->start ? calloc(t->elements, sizeof *t->data) : NULL;
  if (t->data) return 0;
  int err = tamm__fail(e, -ENOMEM, "no memory for tensor %s of %zu blocks, %.1f MB", label, t->blocks,
                       (double)(t->blocks + t->elements) * sizeof(double) / 1e6);
  tamm_tensor_close(t);
  return err;
}

void tamm_tensor_close(struct tamm_tensor *t) {
  free(t->start);
  free(t->data);
  memset(t, 0, sizeof *t);
}

/* S. Vigna's splitmix64, one step: neighbours get unlike numbers. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double value_of(uint64_t seed, size_t p, size_t q, size_t r, size_t s) {
  uint64_t key = (((uint64_t)p * TAMM_ORBITALS_MAX + q) * TAMM_ORBITALS_MAX + r) * TAMM_ORBITALS_MAX + s;
  return (double)(mix(mix(seed) ^ key) >> 11) * 0x1p-53 - 0.5;
}

void tamm_tensor_fill(struct tamm_tensor *t, uint64_t seed) {
  const struct tamm_tile *x[TAMM_RANK];
  for (size_t b = 0; b < t->blocks; b++) {
    if (t->start[b] == SIZE_MAX) continue;
    tiles_of(t, b, x);
    double *v = t->data + t->start[b];
    for (size_t p = 0; p < x[0]->size; p++)
      for (size_t q = 0; q < x[1]->size; q++)
        for (size_t r = 0; r < x[2]->size; r++)
          for (size_t s = 0; s < x[3]->size; s++)
            *v++ = value_of(seed, x[0]->first + p, x[1]->first + q, x[2]->first + r, x[3]->first + s);
  }
}

double tamm_tensor_at(const struct tamm_tensor *t, const size_t orbital[TAMM_RANK]) {
  size_t block = 0, inside = 0;
  for (int d = 0; d < TAMM_RANK; d++) {
    const struct tamm_space *s = t->space[d];
    size_t tile = s->tile_of[orbital[d]];
    block = block * s->tiles + tile;
    inside = inside * s->tile[tile].size + orbital[d] - s->tile[tile].first;
  }
  return t->start[block] == SIZE_MAX ? 0 : t->data[t->start[block] + inside];
}
