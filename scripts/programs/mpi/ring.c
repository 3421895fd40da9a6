/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/mpi/ring.c - how long a message takes: to and fro between each two ranks, or around all of them.
 *
 *     mpirun -n RANKS ring pairs|around BYTES REPEATS MESSAGES
 *
 * "pairs": two ranks at a time send MESSAGES messages to and fro while the others sleep. "around": each rank sends to
 * the next rank and receives from the previous one, MESSAGES times, all at once. Rank 0 prints a line for each pair, or
 * one line:
 *
 *     pair FROM TO NS ...     REPEATS numbers: mean time of a message, in nanoseconds
 *     around NS ...           of a step, on the slowest rank
 *     rank RANK HOST CPU      where each rank ran in the end
 *
 * Each received byte is compared with the sent one.
 */
#include "program.h"

#include <sched.h>
#include <stdint.h>
#include <time.h>

#define NAP_NS 100000
#define REPETITION_NS 1e7

struct ring {
  int rank, ranks, bytes, repeats;
  int most, messages; /* messages of a repetition: given, chosen */
  unsigned char *out, *in;
  double *ns; /* [repeats] */
  double wrong;
  part part;
};

/* The data that rank @from sends in this repetition; consecutive repetitions differ in every byte. */
static void fill(unsigned char *buffer, int bytes, int from, int repeat) {
  for (int i = 0; i < bytes; i++) buffer[i] = (unsigned char)(i * 7 + from * 31 + repeat);
}

static void compare(struct ring *g, int from, int repeat) {
  fill(g->out, g->bytes, from, repeat);
  if (g->bytes > 0 && memcmp(g->in, g->out, (size_t)g->bytes) != 0) g->wrong++;
}

/* How many messages a repetition has: one before the first, then by the time of that one. */
static int messages_of(const struct ring *g, int repeat) {
  if (repeat < 0) return 1;
  return repeat > 0 ? g->messages : (int)fmin(g->most, ceil(REPETITION_NS / g->ns[0]));
}

/* To @other and back. @first has the message to begin with and says how many; the other one returns what it got. */
static void to_and_fro(struct ring *g, int other, bool first, int repeat) {
  unsigned char *out = first ? g->out : g->in;
  int sender = first ? g->rank : other, at = repeat > 0 ? repeat : 0, told;
  g->messages = messages_of(g, repeat);
  if (first) fill(g->out, g->bytes, sender, repeat);
  fill(g->in, g->bytes, sender, repeat + 1); /* differs from the expected data */
  MPI_Sendrecv(&g->messages, 1, MPI_INT, other, 1, &told, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!first) g->messages = told;
  part_begin(g->part);
  double from = MPI_Wtime();
  for (int i = 0; i < g->messages; i++) {
    if (first) MPI_Send(out, g->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(g->in, g->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(out, g->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
  }
  g->ns[at] = (MPI_Wtime() - from) / (2.0 * g->messages) * 1e9;
  part_end(g->part, (double)g->bytes * g->messages);
  compare(g, sender, repeat);
}

/* Wait for all without keeping a cpu busy, which the two that measure may need. */
static void rest(void) {
  MPI_Request all;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (MPI_Test(&all, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&all, &done, MPI_STATUS_IGNORE))
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static void print_line(const struct ring *g, const char *what) {
  printf("%s", what);
  for (int i = 0; i < g->repeats; i++) printf(" %.1f", g->ns[i]);
  printf("\n");
}

/* Rank 0 prints what the first of a pair measured. */
static void report_pair(struct ring *g, int a, int b) {
  char what[64];
  if (g->rank == a && a != 0) MPI_Send(g->ns, g->repeats, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
  if (g->rank != 0) return;
  if (a != 0) MPI_Recv(g->ns, g->repeats, MPI_DOUBLE, a, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  (void)snprintf(what, sizeof what, "pair %d %d", a, b);
  print_line(g, what);
}

static void pairs(struct ring *g) {
  for (int a = 0; a < g->ranks; a++)
    for (int b = a + 1; b < g->ranks; b++) {
      for (int i = -1; i < g->repeats && (g->rank == a || g->rank == b); i++)
        to_and_fro(g, g->rank == a ? b : a, g->rank == a, i);
      rest();
      report_pair(g, a, b);
      rest();
    }
}

/* Each sends on what it got, so that after so many steps a rank has what the rank so many places before it began with.
 */
static void around(struct ring *g, int repeat) {
  int next = (g->rank + 1) % g->ranks, before = (g->rank + g->ranks - 1) % g->ranks;
  int at = repeat > 0 ? repeat : 0;
  g->messages = messages_of(g, repeat);
  MPI_Bcast(&g->messages, 1, MPI_INT, 0, MPI_COMM_WORLD);
  fill(g->in, g->bytes, g->rank, repeat);
  MPI_Barrier(MPI_COMM_WORLD);
  part_begin(g->part);
  double from = MPI_Wtime();
  for (int i = 0; i < g->messages; i++) {
    unsigned char *got = g->out;
    MPI_Sendrecv(g->in, g->bytes, MPI_BYTE, next, 0, got, g->bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    g->out = g->in;
    g->in = got;
  }
  g->ns[at] = (MPI_Wtime() - from) / g->messages * 1e9;
  part_end(g->part, (double)g->bytes * g->messages);
  int origin = (g->rank - g->messages % g->ranks + g->ranks) % g->ranks;
  compare(g, origin, repeat);
}

static void all_around(struct ring *g) {
  for (int i = -1; i < g->repeats; i++) around(g, i);
  MPI_Reduce(g->rank == 0 ? MPI_IN_PLACE : g->ns, g->ns, g->repeats, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (g->rank == 0) print_line(g, "around");
}

static void print_places(const struct ring *g) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "";
  int length, cpu = sched_getcpu(), *cpus = program_memory((size_t)g->ranks, sizeof *cpus);
  char *hosts = program_memory((size_t)g->ranks, sizeof mine);
  MPI_Get_processor_name(mine, &length);
  MPI_Gather(mine, sizeof mine, MPI_CHAR, hosts, sizeof mine, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Gather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 0; r < g->ranks && g->rank == 0; r++)
    printf("rank %d %s %d\n", r, hosts + (size_t)r * sizeof mine, cpus[r]);
  free(hosts);
  free(cpus);
}

int main(int argc, char **argv) {
  struct ring g = {0};
  long value[3]; /* bytes, repeats, messages */
  bool weak, in_pairs = argc > 1 && strcmp(argv[1], "pairs") == 0;
  MPI_Init(&argc, &argv);
  if (argc < 2 || (!in_pairs && strcmp(argv[1], "around") != 0) ||
      !program_options(argc - 1, argv + 1, 3, value, &weak) || weak || value[0] > 1L << 30)
    return program_refuse("usage: ring pairs|around BYTES REPEATS MESSAGES, with at most 2^30 bytes");
  MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g.ranks);
  if (g.ranks < 2) return program_refuse("ring: at least 2 ranks are needed");
  g.bytes = (int)value[0];
  g.repeats = (int)value[1];
  g.most = (int)value[2];
  g.out = program_memory((size_t)g.bytes, 1);
  g.in = program_memory((size_t)g.bytes, 1);
  g.ns = program_memory((size_t)g.repeats, sizeof *g.ns);
  g.part = part_named(in_pairs ? "pair" : "around", PART_COMMUNICATES);
  double from = MPI_Wtime();
  if (in_pairs)
    pairs(&g);
  else
    all_around(&g);
  print_places(&g);
  free(g.out);
  free(g.in);
  free(g.ns);
  return program_end("ring", MPI_Wtime() - from, g.wrong, 0);
}
