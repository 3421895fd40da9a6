/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/flow.c - event flow graphs: labels, and replay of the recorded events. */
#include "flow.h"
#include "check.h"
#include "sanitized.h"

#include <math.h>

#define ROUNDS (SANITIZED ? 60 : 400)

static struct told told;

static struct pml_flow *begin(const struct pml_flow_options *o) {
  struct pml_flow *f;
  memset(&told, 0, sizeof told);
  return pml_flow_open(&f, o) == 0 ? f : NULL;
}

static const struct pml_flow_graph *only_graph(struct pml_flow *f) {
  size_t n;
  int err = pml_flow_stop(f);
  const struct pml_flow_graph *const *g = pml_flow_graphs(f, &n);
  return err == 0 && n == 1 ? g[0] : NULL;
}

/* Edges as text: "ab 1,9,2; bc 4". Nodes are innermost regions, "." the begin. */
static const char *edges_of(const struct pml_flow_graph *g) {
  static char text[4096];
  size_t n = 0;
  text[0] = '\0';
  for (uint32_t e = 0; e < g->nedges && n < 3900; e++) {
    char from[DEEPEST + 2] = ".", to[DEEPEST + 2] = ".";
    path_of(g, g->edge[e].from, from + 1);
    path_of(g, g->edge[e].to, to + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%c%c", e > 0 ? "; " : "", from[strlen(from) - 1],
                          to[strlen(to) - 1]);
    for (uint32_t l = 0; l < g->edge[e].nlabels && n < 3900; l++) {
      const struct pml_flow_label *a = &g->edge[e].label[l];
      n += (size_t)snprintf(text + n, sizeof text - n, " %llu", (unsigned long long)a->i);
      if (a->k > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, ",%llu,%llu", (unsigned long long)a->j,
                              (unsigned long long)a->k);
      if (a->m > 1)
        n += (size_t)snprintf(text + n, sizeof text - n, ",%llu,%llu", (unsigned long long)a->l,
                              (unsigned long long)a->m);
    }
  }
  return text;
}

static void flow_of(const char *calls, int turns, const char *edges, const char *sentence) {
  struct pml_flow *f = begin(NULL);
  for (int i = 0; i < turns; i++) run(&told, calls);
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && strcmp(edges_of(g), edges) == 0 && gives_back(g, &told, told.n) && adds_up(g), "%s: %s", sentence,
        g != NULL ? edges_of(g) : "no graph");
  pml_flow_close(f);
}

static void patterns(void) {
  flow_of("ab", 1, ".a 1; ab 1", "an edge that is taken once has its visit");
  flow_of("ab", 9, ".a 1; ab 1,9,1; ba 1,8,1", "a loop bears first, last and stride");
  flow_of("abac", 5, ".a 1; ab 1,9,2; ba 1,5,1; ac 2,10,2; ca 1,4,1", "every second visit is a stride of two");
  flow_of("abbbbc", 6, ".a 1; ab 1,6,1; bb 1,3,1,4,6; bc 4,24,4; ca 1,5,1",
          "a loop that is left at regular intervals bears the stride and the turns of the outer one");
  flow_of("abbc", 7, ".a 1; ab 1,7,1; bb 1,13,2; bc 2,14,2; ca 1,6,1", "an inner loop of two needs no nest");
  flow_of("b(aac)", 3, ".b 1; ba 1,3,1; aa 1,5,2; ac 2,6,2; cb 1,2,1", "a nested call is another path");
  flow_of("aba(b)a", 1, ".a 1; ab 1; ba 1; ab 2; ba 1", "the same region inside another is another node");
  flow_of("aaabaaabac", 6, ".a 1; aa 1,2,1,7,6 4,5,1,7,6; ab 3,6,3,7,6; ba 1,12,1; ac 7,42,7; ca 1,5,1",
          "a loop around a nest takes as many labels as the nest has turns");
  flow_of("aaabaabab", 1, ".a 1; aa 1,2,1 4; ab 3 5,6,1; ba 1,2,1", "a sequence without a pattern has several labels");
  flow_of("baaacaaadaaab", 1, ".b 1; ba 1; aa 1,2,1,3,3; ac 3; ca 1; ad 6; da 1; ab 9",
          "and no label more than it takes");
}

static void irregular(void) {
  struct pml_flow *f = begin(NULL);
  run(&told, "a");
  for (int turn = 0; turn < 20; turn++) run(&told, "baabbaaabac"); /* a is left at 2, 5 and 6 of every 6 visits */
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && gives_back(g, &told, told.n) && adds_up(g), "loops that interleave give back the flow");
  uint32_t labels = 0;
  for (uint32_t e = 0; g != NULL && e < g->nedges; e++) labels += g->edge[e].nlabels;
  CHECK(labels > 0 && labels <= 40, "with a bounded number of labels, however often they turn (%u)", labels);
  pml_flow_close(f);
}

static uint64_t seed = 42;
static uint64_t below(uint64_t n) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (seed >> 33) % n;
}

static void wander(unsigned regions) {
  size_t deepest = 1 + below(DEEPEST - 1), n = 1 + below(2000);
  while (told.n < n) {
    if (told.depth > 0 && (told.depth == deepest || below(2) == 0))
      back(&told);
    else
      call(&told, (int)below(regions));
  }
  while (told.depth > 0) back(&told);
}

/* Loops in loops, some of them with a length that depends on the turn, some now and then broken. */
static void nest(unsigned depth, unsigned turns, bool uneven) {
  for (unsigned i = 0; i < turns && told.n < LONGEST / 2; i++) {
    call(&told, (int)(4 * depth));
    if (depth < 3) nest(depth + 1, uneven ? 1 + i % 3 : 1 + turns / 2, uneven);
    if (uneven && below(20) == 0) run(&told, "z");
    back(&told);
    if (i % 2 == 0) run(&told, depth % 2 == 0 ? "xy" : "x");
  }
}

static void at_random(void) {
  unsigned good = 0, loops = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    struct pml_flow *f = begin(NULL);
    wander(1 + (unsigned)below(REGIONS));
    const struct pml_flow_graph *g = only_graph(f);
    good += g != NULL && gives_back(g, &told, told.n) && adds_up(g);
    pml_flow_close(f);
    f = begin(NULL);
    nest(0, 2 + (unsigned)below(9), round % 2 == 0);
    g = only_graph(f);
    loops += g != NULL && gives_back(g, &told, told.n) && adds_up(g);
    pml_flow_close(f);
  }
  CHECK(good == ROUNDS, "random calls are reproduced (%u of %u)", good, ROUNDS);
  CHECK(loops == ROUNDS, "so are loops in loops (%u of %u)", loops, ROUNDS);
}

static void raise_with(enum pml_stream_kind kind, int r, const struct pml_stream_metrics *m, const uint64_t *values) {
  struct pml_stream_event e = {.ticks = told.ticks += 10, .region = region[r], .metrics = m, .values = values};
  pml_stream_emit(kind, &e);
}

static uint64_t bits_of(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static void metrics(void) {
  static const char *const carried[] = {"misses", "other", "joules"}, *const alone[] = {"joules"};
  static const char *const wanted[] = {"joules", "absent", "misses"};
  struct pml_stream_metrics *all = NULL, *one = NULL;
  struct pml_flow *f = begin(&(struct pml_flow_options){.metrics = wanted, .nmetrics = 3});
  CHECK(pml_stream_metrics(carried, 3, &all) == 0 && pml_stream_metrics(alone, 1, &one) == 0, "metrics are interned");
  pml_stream_metrics_set_real(all, 2);
  pml_stream_metrics_set_real(one, 0);
  raise_with(PML_STREAM_ENTER, 0, all, (const uint64_t[]){5, 100, bits_of(0.5)});
  raise_with(PML_STREAM_ENTER, 1, one, (const uint64_t[]){bits_of(1.0)});
  raise_with(PML_STREAM_LEAVE, 1, one, (const uint64_t[]){bits_of(1.25)});
  raise_with(PML_STREAM_ENTER, 1, NULL, NULL);
  raise_with(PML_STREAM_LEAVE, 1, all, (const uint64_t[]){9, 100, bits_of(1.75)});
  raise_with(PML_STREAM_LEAVE, 0, all, (const uint64_t[]){12, 100, bits_of(2.0)});
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && g->nnodes == 3 && g->nmetrics == 3, "a graph has the metrics that were asked for");
  const struct pml_flow_node *a = &g->node[1], *b = &g->node[2];
  CHECK(a->metric[2] == 7 && fabs(a->metric[0] - 1.5) < 1e-12 && a->metric[1] == 0,
        "a node has what its calls added, whole or real, and 0 of what no event carries");
  CHECK(fabs(b->metric[0] - 0.25) < 1e-12 && b->metric[2] == 0, "of calls with values at both ends");
  CHECK(a->inclusive_ns > 0 && a->exclusive_ns < a->inclusive_ns && b->count == 2 && b->visits == 2,
        "and its time, inclusive and exclusive");
  pml_flow_close(f);
}

static void odd_ends(void) {
  struct pml_flow *f = begin(NULL);
  raise_call(PML_STREAM_LEAVE, 3, 1);
  call(&told, 0);
  call(&told, 1);
  raise_call(PML_STREAM_LEAVE, 0, 50); /* not innermost */
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && g->unmatched == 2, "leaves without an enter are counted");
  CHECK(g != NULL && g->node[2].visits == 1 && g->node[2].count == 0 && g->last == 2,
        "an open call was visited, but has no time");
  CHECK(pml_flow_stop(f) == 0 && only_graph(f) == g, "a second stop does nothing");
  raise_call(PML_STREAM_ENTER, 5, 60);
  CHECK(!pml_stream_wanted(PML_STREAM_ENTER) && g->nnodes == 3, "and nothing comes after the first");
  pml_flow_close(f);
  size_t n = 7;
  f = begin(NULL);
  CHECK(pml_flow_graphs(f, &n) != (void *)1 && n == 0, "there are no graphs before the end");
  CHECK(pml_flow_stop(f) == 0 && pml_flow_graphs(f, &n) != NULL && n == 0, "nor of threads that raised nothing");
  pml_flow_close(f);
  pml_flow_close(NULL);
}

static void limits(void) {
  struct pml_flow *f = begin(&(struct pml_flow_options){.labels = 40});
  while (told.n < 1000) {
    call(&told, (int)below(5));
    back(&told);
  }
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && g->missing > 0 && g->missing < told.n && gives_back(g, &told, told.n - g->missing),
        "without room for labels the graph ends early, reports that (%llu of %zu), and is right until there",
        g != NULL ? (unsigned long long)g->missing : 0, told.n);
  pml_flow_close(f);
  f = begin(NULL);
  for (uint32_t i = 0; i < PML_FLOW_DEPTH_MAX + 10; i++) raise_call(PML_STREAM_ENTER, 1, i + 1);
  for (uint32_t i = 0; i < PML_FLOW_DEPTH_MAX + 10; i++) raise_call(PML_STREAM_LEAVE, 1, PML_FLOW_DEPTH_MAX + i + 1);
  g = only_graph(f);
  CHECK(g != NULL && g->missing == 11 && g->nnodes == PML_FLOW_DEPTH_MAX, "calls that are too deep end it, too");
  pml_flow_close(f);
  static const char *const many[PML_FLOW_METRICS_MAX + 1] = {"m"}, *const nameless[] = {""};
  CHECK(pml_flow_open(&f, &(struct pml_flow_options){.metrics = many, .nmetrics = PML_FLOW_METRICS_MAX + 1}) ==
                -EINVAL &&
            f == NULL && strstr(pml_error_detail(-EINVAL), "17") != NULL,
        "too many metrics are refused");
  CHECK(pml_flow_open(&f, &(struct pml_flow_options){.metrics = nameless, .nmetrics = 1}) == -EINVAL && f == NULL,
        "so is one without a name");
  CHECK(pml_flow_open(&f, &(struct pml_flow_options){.labels = UINT32_MAX}) == -EINVAL && f == NULL,
        "and an invalid limit");
}

static void in_a_child(void) {
  struct pml_flow *f = begin(NULL);
  run(&told, "ab");
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    int refused = pml_flow_stop(f);
    raise_call(PML_STREAM_ENTER, 2, 1);
    pml_flow_close(f);
    _exit(refused == -ENOENT ? 0 : 1);
  }
  CHECK(exit_of(pid) == 0, "after a fork the flow is the parent's");
  const struct pml_flow_graph *g = only_graph(f);
  CHECK(g != NULL && gives_back(g, &told, 2), "who goes on");
  pml_flow_close(f);
}

int main(void) {
  CHECK_EACH(intern_regions, patterns, irregular, at_random, metrics, odd_ends, limits, in_a_child);
  return check_done();
}
