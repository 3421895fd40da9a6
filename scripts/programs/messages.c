/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/messages.c - boxes of one message, with a lock each. */
#include "messages.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

struct box {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool full;
  double value[MESSAGE_VALUES];
};

static struct box box[MESSAGE_RANKS][MESSAGE_RANKS]; /* from, to; zero bytes are a lock and a condition, in glibc */

static struct {
  int from, n;
  double *value;
} posted[MESSAGE_RANKS];

static struct {
  pthread_mutex_t lock;
  pthread_cond_t all;
  int arrived;
  unsigned round;
  double sum, result;
} sum = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = PTHREAD_COND_INITIALIZER};

static void take(struct box *b, double *value, int n) {
  pthread_mutex_lock(&b->lock);
  while (!b->full) pthread_cond_wait(&b->changed, &b->lock);
  memcpy(value, b->value, (size_t)n * sizeof *value);
  b->full = false;
  pthread_cond_signal(&b->changed);
  pthread_mutex_unlock(&b->lock);
}

void message_send(int from, int to, const double *value, int n) {
  struct box *b = &box[from][to];
  pthread_mutex_lock(&b->lock);
  while (b->full) pthread_cond_wait(&b->changed, &b->lock);
  memcpy(b->value, value, (size_t)n * sizeof *value);
  b->full = true;
  pthread_cond_signal(&b->changed);
  pthread_mutex_unlock(&b->lock);
}

void message_receive(int from, int to, double *value, int n) {
  take(&box[from][to], value, n);
}

void message_post(int from, int to, double *value, int n) {
  posted[to].from = from;
  posted[to].value = value;
  posted[to].n = n;
}

void message_wait(int to) {
  take(&box[posted[to].from][to], posted[to].value, posted[to].n);
}

double message_sum(int ranks, double value) {
  pthread_mutex_lock(&sum.lock);
  unsigned round = sum.round;
  sum.sum += value;
  if (++sum.arrived == ranks) {
    sum.result = sum.sum;
    sum.sum = 0;
    sum.arrived = 0;
    sum.round++;
    pthread_cond_broadcast(&sum.all);
  }
  while (sum.round == round) pthread_cond_wait(&sum.all, &sum.lock);
  double result = sum.result;
  pthread_mutex_unlock(&sum.lock);
  return result;
}
