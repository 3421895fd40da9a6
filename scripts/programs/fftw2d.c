/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/fftw2d.c - smooths pictures of several sizes by 2-D Fourier transforms of FFTW 3.
 *
 * fftw2d [SIZE...]: for each size n, makes a picture of n x n complex numbers, and transforms it, damps it and
 * transforms it back until it has processed 2^23 numbers. Prints the share of the energy that is left. Functions are
 * not static, so that instrumentation can name them.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS (1L << 23)
#define SIZE_MAX_2D 4096

struct picture {
  long n;
  fftw_complex *value;
  double *weight; /* [n], of a row or column of the spectrum */
  fftw_plan forth, back;
};

int picture_open(struct picture *p, long n);
void picture_close(struct picture *p);
void fill(struct picture *p);
void damp(struct picture *p);
double energy(const struct picture *p);
void smooth(struct picture *p);
int smooth_size(long n);

int picture_open(struct picture *p, long n) {
  *p = (struct picture){.n = n};
  p->value = fftw_malloc((size_t)(n * n) * sizeof *p->value);
  p->weight = fftw_malloc((size_t)n * sizeof *p->weight);
  if (p->value == NULL || p->weight == NULL) return -1;
  p->forth = fftw_plan_dft_2d((int)n, (int)n, p->value, p->value, FFTW_FORWARD, FFTW_ESTIMATE);
  p->back = fftw_plan_dft_2d((int)n, (int)n, p->value, p->value, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (long i = 0; i < n; i++) {
    double frequency = (double)(i <= n / 2 ? i : n - i) / (double)n;
    p->weight[i] = exp(-40 * frequency * frequency) / (double)n;
  }
  return p->forth != NULL && p->back != NULL ? 0 : -1;
}

void picture_close(struct picture *p) {
  if (p->forth != NULL) fftw_destroy_plan(p->forth);
  if (p->back != NULL) fftw_destroy_plan(p->back);
  fftw_free(p->value);
  fftw_free(p->weight);
}

void fill(struct picture *p) {
  for (long i = 0; i < p->n; i++) {
    double row = sin(0.1 * (double)i);
    for (long j = 0; j < p->n; j++) p->value[i * p->n + j] = row + (double)((i ^ j) & 1);
  }
}

void damp(struct picture *p) {
  for (long i = 0; i < p->n; i++)
    for (long j = 0; j < p->n; j++) p->value[i * p->n + j] *= p->weight[i] * p->weight[j];
}

double energy(const struct picture *p) {
  double sum = 0;
  for (long i = 0; i < p->n * p->n; i++) sum += creal(p->value[i] * conj(p->value[i]));
  return sum;
}

void smooth(struct picture *p) {
  fftw_execute(p->forth);
  damp(p);
  fftw_execute(p->back);
}

int smooth_size(long n) {
  struct picture p;
  double before = 0, after = 0;
  int err = picture_open(&p, n);
  for (long left = NUMBERS; err == 0 && left > 0; left -= n * n) {
    fill(&p);
    before += energy(&p);
    smooth(&p);
    after += energy(&p);
  }
  picture_close(&p);
  if (err == 0) printf("%4ld x %-4ld %5.1f %% of the energy left\n", n, n, 100 * after / before);
  return err;
}

int main(int argc, char **argv) {
  static const long usual[] = {32, 64, 128, 256, 512, 1024};
  int count = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual);
  for (int i = 0; i < count; i++) {
    long n = argc > 1 ? strtol(argv[i + 1], NULL, 10) : usual[i];
    if (n < 2 || n > SIZE_MAX_2D) return fprintf(stderr, "usage: fftw2d [SIZE...], sizes from 2 to 4096\n"), 2;
    if (smooth_size(n) != 0) return fprintf(stderr, "fftw2d: no memory or no plan for size %ld\n", n), 1;
  }
  return 0;
}
