/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_run.c - interleaved batches, their medians, and the printed table. */
#include "bench.h"

#include "base/pml_clock.h"
#include "source/kernel/pml_counter.h"

#define ROUNDS 401
#define BATCH_NS 250000.0 /* long compared to a clock read, short compared to other activity on this machine */

static unsigned over;

static double batch_ns(const struct bench_op *op) {
  uint64_t t0 = pml_clock_ticks_ordered();
  op->batch(op->arg, op->n);
  uint64_t t1 = pml_clock_ticks_ordered();
  return (double)pml_clock_ticks_to_ns(t1 - t0) / (double)op->n;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *v, size_t n) {
  qsort(v, n, sizeof *v, ascending);
  return v[n / 2];
}

bool bench_plugins(char *path) {
  ssize_t n = readlink("/proc/self/exe", path, 4096 - 16);
  if (n <= 0) return false;
  path[n] = '\0';
  memcpy(strrchr(path, '/'), "/spec/plugins", sizeof "/spec/plugins");
  return access(path, R_OK) == 0;
}

static void find_n(struct bench_op *op) {
  op->n = 16;
  batch_ns(op); /* warm */
  double ns = batch_ns(op);
  op->n = ns > 0 ? (size_t)(BATCH_NS / ns) + 1 : 100000;
}

static double user_instructions(const struct bench_op *op) {
  struct pml_event ev;
  struct pml_counter c;
  struct pml_reading a, b;
  double per = -1;
  if (!pml_event_has_pmu() || pml_event_parse(&ev, "instructions:u") != 0) return per;
  if (pml_counter_open(&c, &ev, 0, NULL, NULL, 0) != 0) return per;
  if (pml_counter_read(&c, &a) == 0) {
    op->batch(op->arg, op->n);
    if (pml_counter_read(&c, &b) == 0) per = (double)(b.raw - a.raw) / (double)op->n;
  }
  pml_counter_close(&c);
  return per;
}

void bench_run(struct bench_op *op, size_t count) {
  double *sample = malloc(count * ROUNDS * sizeof *sample);
  if (sample == NULL) return;
  for (size_t i = 0; i < count; i++)
    if (op[i].batch != NULL) find_n(&op[i]);
  for (size_t r = 0; r < ROUNDS; r++)
    for (size_t i = 0; i < count; i++)
      if (op[i].batch != NULL) sample[i * ROUNDS + r] = batch_ns(&op[i]);
  for (size_t i = 0; i < count; i++) {
    if (op[i].batch == NULL) continue;
    op[i].ns = bench_median(&sample[i * ROUNDS], ROUNDS);
    op[i].instructions = user_instructions(&op[i]);
  }
  free(sample);
}

void bench_head(void) {
  printf("%-34s %9s %6s  %-22s %9s %6s %6s %-5s  %s\n", "figure", "ns", "instr", "against", "ns", "ratio", "limit", "",
         "peer");
}

unsigned bench_rows_over(void) {
  return over;
}

void bench_row(const char *figure, const struct bench_op *op, const char *reference_name,
               const struct bench_op *reference, double limit, const char *peer_name, const struct bench_op *peer) {
  double ratio = op->ns / reference->ns;
  bool has_peer = peer != NULL && peer->batch != NULL;
  bool good = ratio <= limit && (!has_peer || op->ns < peer->ns);
  if (!good) over++;
  printf("%-34s %9.1f ", figure, op->ns);
  if (op->instructions >= 0)
    printf("%6.0f", op->instructions);
  else
    printf("%6s", "-");
  printf("  %-22s %9.1f %6.3f %6.2f %-5s  ", reference_name, reference->ns, ratio, limit, good ? "ok" : "over");
  if (has_peer)
    printf("%s %.1f\n", peer_name, peer->ns);
  else
    printf("-\n");
  fflush(stdout);
}
