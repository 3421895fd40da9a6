/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/tamm/tamm.h - a small library of tiled tensor contractions that tells how its work is cut up.
 *
 *     struct tamm_shape shape = {.occupied = 14, .virtuals = 30, .tile = 8};
 *     if (tamm_orbitals_open(&o, &shape, &e) < 0) puts(e.text);
 *     tamm_tensor_open(&c, &o, term->c, &e); ...
 *     tamm_contract(&o, term, &a, &b, &c, &options, &report, &e);
 *
 * Five terms of the doubles equations of coupled cluster, as tensor contraction engines write them: C += factor A B
 * over tensors of four indices, the first two upper, the last two lower. Spin orbitals are cut into tiles of one spin
 * each, tensors into blocks of a tile per index; a block is there only if the spins of its upper and lower tiles add up
 * to the same. A task makes one block of C by a chain of DGEMMs, one for each pair of blocks of A and B that meet. The
 * antisymmetry of the real tensors is not made use of, and the terms' permutations are left out.
 *
 * Functions return 0 or a negative code (-EINVAL, -ENOMEM, -EAGAIN no thread, -EINTR) with a sentence in the error.
 * Events are under sde:::TAMM::, see telemetry.c; they belong to the process, so only one contraction at a time.
 */
#ifndef TAMM_H
#define TAMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAMM_RANK 4
#define TAMM_TILE_MAX 64u
#define TAMM_SPIN_MAX 512u /* orbitals of a kind and spin */
#define TAMM_ORBITALS_MAX (2 * TAMM_SPIN_MAX)
#define TAMM_THREADS_MAX 256u

struct tamm_error {
  char text[224];
};

/* Closed shell if none is unpaired; else alpha has @unpaired more occupied orbitals, and fewer virtual ones, than beta.
 */
struct tamm_shape {
  size_t occupied, virtuals; /* orbitals of alpha spin */
  size_t unpaired;
  size_t tile; /* at most this many orbitals in a tile; tiles of one spin differ by one at most */
};

struct tamm_tile {
  size_t first, size;
  int spin; /* 1 alpha, 2 beta */
};

enum tamm_kind { TAMM_OCCUPIED, TAMM_VIRTUAL, TAMM_KINDS };

struct tamm_space {
  size_t n, tiles;
  struct tamm_tile tile[TAMM_ORBITALS_MAX];
  uint16_t tile_of[TAMM_ORBITALS_MAX];
};

struct tamm_orbitals {
  struct tamm_space space[TAMM_KINDS];
};

int tamm_orbitals_open(struct tamm_orbitals *o, const struct tamm_shape *shape, struct tamm_error *e);

/* Indices are letters: i to n are occupied, a to h virtual. */
struct tamm_tensor {
  const struct tamm_orbitals *orbitals; /* borrowed */
  char label[TAMM_RANK + 1];
  const struct tamm_space *space[TAMM_RANK];
  size_t blocks, elements, largest; /* largest block, in elements */
  size_t *start;                    /* [blocks] of a block in data; SIZE_MAX: spin says that it is zero */
  double *data;
};

/* All zero. A closed or zeroed one may be closed again. */
int tamm_tensor_open(struct tamm_tensor *t, const struct tamm_orbitals *o, const char *label, struct tamm_error *e);
void tamm_tensor_close(struct tamm_tensor *t);
/* Numbers in [-0.5, 0.5) that depend on the seed and an element's indices, not on the tiling. */
void tamm_tensor_fill(struct tamm_tensor *t, uint64_t seed);
/* By tiles: the block's number; its start may be SIZE_MAX. By spin orbitals: the element, 0 where there is no block. */
size_t tamm_tensor_block(const struct tamm_tensor *t, const size_t tile[TAMM_RANK]);
double tamm_tensor_at(const struct tamm_tensor *t, const size_t orbital[TAMM_RANK]);

/* A term; each of A and B shares two indices with C, and two with the other, over which is summed. */
struct tamm_term {
  int id; /* ContrID of the events */
  const char *name, *c, *a, *b;
  double factor;
};

#define TAMM_TERMS 5u
extern const struct tamm_term tamm_term[TAMM_TERMS];
const struct tamm_term *tamm_term_by_name(const char *name); /* or NULL */

/* Row-major c[m][n] += a[m][k] b[k][n]. */
typedef void tamm_dgemm(size_t m, size_t n, size_t k, const double *a, const double *b, double *c);
tamm_dgemm tamm_dgemm_own;
/* The dgemm_ of a BLAS (32-bit integers) that is found at run time and stays loaded; @path "": OpenBLAS or any other.
 */
int tamm_dgemm_load(const char *path, tamm_dgemm **f, struct tamm_error *e);

struct tamm_options {
  size_t threads;                /* 1 to TAMM_THREADS_MAX */
  tamm_dgemm *dgemm;             /* called by all threads at once */
  const volatile int *interrupt; /* may be NULL; non-zero ends the contraction after the tasks under way */
};

struct tamm_report {
  size_t tasks, dgemms, longest; /* longest: DGEMMs of a task */
  uint64_t flops;                /* of DGEMMs; a multiplication and an addition are two */
  double runtime_s, busy_s;      /* of the contraction; of all threads in tasks */
};

/* C += factor A B; @term is one of tamm_term. The result does not depend on the threads: a task is one thread's. */
int tamm_contract(const struct tamm_term *term, const struct tamm_tensor *a, const struct tamm_tensor *b,
                  struct tamm_tensor *c, const struct tamm_options *options, struct tamm_report *report,
                  struct tamm_error *e);

/*
 * tamm_check - is C = factor A B? Both sides, untiled, times the same vector of random numbers (R. Freivalds, 1977): a
 * wrong element of C shows, at the cost of one matrix-vector product per matrix. @error: 2-norm of the difference
 * relative to factor A B times the vector. Also published as CheckError_D.
 */
int tamm_check(const struct tamm_term *term, const struct tamm_tensor *a, const struct tamm_tensor *b,
               const struct tamm_tensor *c, double *error, struct tamm_error *e);

__attribute__((format(printf, 3, 4))) int tamm__fail(struct tamm_error *e, int code, const char *fmt, ...);

#endif
