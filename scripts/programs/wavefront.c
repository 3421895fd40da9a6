/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/wavefront.c - a Poisson equation by symmetric successive over-relaxation, its planes in a pipeline
 * of ranks, which are threads; it does not know its observer.
 *
 *     wavefront RANKS STEPS       1 to 16 ranks
 *
 * The cube is cut along y, a slab for each rank. A step relaxes the planes forwards, each as soon as the previous rank
 * has done its part of it, then backwards, and exchanges the sides of the slabs; every NORM steps the residual is
 * summed. The program prints the first and the last of these sums.
 */
#include "messages.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 18 /* points of an edge of the cube, without the border; in y that many of each rank */
#define NORM 5
#define OMEGA 1.2

struct slab {
  int rank, ranks, steps;
  double first, last;
  double u[SIDE + 2][SIDE + 2][SIDE + 2]; /* z, y, x */
};

static double rest(struct slab *s, int z, int y, int x) {
  double around = s->u[z - 1][y][x] + s->u[z + 1][y][x] + s->u[z][y - 1][x] + s->u[z][y + 1][x] + s->u[z][y][x - 1] +
                  s->u[z][y][x + 1];
  return 1 + around - 6 * s->u[z][y][x];
}

static void relax(struct slab *s, int z, int from, int step) {
  for (int y = from; y >= 1 && y <= SIDE; y += step)
    for (int x = from; x >= 1 && x <= SIDE; x += step) s->u[z][y][x] += OMEGA / 6 * rest(s, z, y, x);
}

static void forwards(struct slab *s) {
  for (int z = 1; z <= SIDE; z++) {
    if (s->rank > 0) message_receive(s->rank - 1, s->rank, s->u[z][0], SIDE + 2);
    relax(s, z, 1, 1);
    if (s->rank < s->ranks - 1) message_send(s->rank, s->rank + 1, s->u[z][SIDE], SIDE + 2);
  }
}

static void backwards(struct slab *s) {
  for (int z = SIDE; z >= 1; z--) {
    if (s->rank < s->ranks - 1) message_receive(s->rank + 1, s->rank, s->u[z][SIDE + 1], SIDE + 2);
    relax(s, z, SIDE, -1);
    if (s->rank > 0) message_send(s->rank, s->rank - 1, s->u[z][1], SIDE + 2);
  }
}

/* Sides are gathered from all planes: the last rows of a slab are the rows before the first of the next one. */
static void exchange(struct slab *s) {
  double out[SIDE * SIDE], in[SIDE * SIDE];
  if (s->rank > 0) message_post(s->rank - 1, s->rank, in, SIDE * SIDE);
  for (int z = 0; z < SIDE; z++)
    for (int x = 0; x < SIDE; x++) out[z * SIDE + x] = s->u[z + 1][SIDE][x + 1];
  if (s->rank < s->ranks - 1) message_send(s->rank, s->rank + 1, out, SIDE * SIDE);
  if (s->rank == 0) return;
  message_wait(s->rank);
  for (int z = 0; z < SIDE; z++)
    for (int x = 0; x < SIDE; x++) s->u[z + 1][0][x + 1] = in[z * SIDE + x];
}

static double norm(struct slab *s) {
  double sum = 0;
  for (int z = 1; z <= SIDE; z++)
    for (int y = 1; y <= SIDE; y++)
      for (int x = 1; x <= SIDE; x++) sum += rest(s, z, y, x) * rest(s, z, y, x);
  return sqrt(message_sum(s->ranks, sum));
}

static void *solve(void *arg) {
  struct slab *s = arg;
  for (int step = 1; step <= s->steps; step++) {
    forwards(s);
    backwards(s);
    exchange(s);
    if (step % NORM == 0) {
      s->last = norm(s);
      if (step == NORM) s->first = s->last;
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  static struct slab slab[MESSAGE_RANKS];
  pthread_t thread[MESSAGE_RANKS];
  int ranks = argc == 3 ? atoi(argv[1]) : 0, steps = argc == 3 ? atoi(argv[2]) : 0;
  if (ranks < 1 || ranks > MESSAGE_RANKS || steps < 1) {
    fprintf(stderr, "usage: wavefront RANKS STEPS, with 1 to %d ranks\n", MESSAGE_RANKS);
    return 2;
  }
  for (int r = 0; r < ranks; r++) {
    slab[r].rank = r;
    slab[r].ranks = ranks;
    slab[r].steps = steps;
    if (r > 0 && pthread_create(&thread[r], NULL, solve, &slab[r]) != 0) return 1;
  }
  (void)solve(&slab[0]);
  for (int r = 1; r < ranks; r++) (void)pthread_join(thread[r], NULL);
  printf("%.6g %.6g\n", slab[0].first, slab[0].last);
  return 0;
}
