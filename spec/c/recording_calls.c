/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/recording_calls.c - communications and results without a time: they get the time of the call around them,
 * however the extent ends. */
#include "recording.h"

enum { REGION = 5, INSIDE, TID = 77, MOST = 32 };
#define WORLD (UINT64_C(1) << 32)
#define OF(what, n, code) PML__LOG_WORD(PML__LOG_CALL_COMMUNICATION, PML__LOG_COMMUNICATED(what, n, code))
#define ENTERS(region) PML__LOG_WORD(PML__LOG_ENTER, region)
#define LEAVES(region) PML__LOG_WORD(PML__LOG_LEAVE, region)
#define VALUES(results, n) PML__LOG_WORD(PML__LOG_VALUES_OF_CALL, PML__LOG_OF_CALL(results, n, REGION))

/* Received events: calls as 'e' and 'l', their values as 'v', communications by their number. */
struct one {
  unsigned what;
  uint64_t ticks;
  uint32_t nvalues, code;
  uint64_t value[4];
};
#define CALLED(at)                                                                                                     \
  {                                                                                                                    \
    'e', at, 0, 0, {                                                                                                   \
      0                                                                                                                \
    }                                                                                                                  \
  }
#define LEFT(at)                                                                                                       \
  {                                                                                                                    \
    'l', at, 0, 0, {                                                                                                   \
      0                                                                                                                \
    }                                                                                                                  \
  }
#define VALUED(at, n, value)                                                                                           \
  {                                                                                                                    \
    'v', at, n, 0, {                                                                                                   \
      value                                                                                                            \
    }                                                                                                                  \
  }
#define SAID(what, at, n, code, ...)                                                                                   \
  {                                                                                                                    \
    PML__LOG_##what, at, n, code, {                                                                                    \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
struct heard {
  size_t n;
  struct one at[MOST];
};

static int hear_call(void *arg, void *lane, const struct pml__recording_event *e) {
  struct heard *h = arg;
  (void)lane;
  if (h->n == MOST) return -1;
  h->at[h->n++] = (struct one){.what = e->kind == PML_STREAM_METRIC  ? 'v'
                                       : e->kind == PML_STREAM_ENTER ? 'e'
                                                                     : 'l',
                               .ticks = e->ticks,
                               .nvalues = e->nvalues,
                               .value = {e->nvalues > 0 ? e->values[0] : 0}};
  return 0;
}
static int hear(void *arg, void *lane, const struct pml__recording_communicated *e) {
  struct heard *h = arg;
  (void)lane;
  if (h->n == MOST || e->nvalues > 4) return -1;
  struct one *to = &h->at[h->n++];
  *to = (struct one){.what = e->what, .ticks = e->ticks, .nvalues = e->nvalues, .code = e->code};
  memcpy(to->value, e->values, e->nvalues * sizeof *e->values);
  return 0;
}

static void listen(const struct pml__log_event *event, size_t n, struct heard *h) {
  static const char *const send[] = {"MPI_Call", ""}, *const inside[] = {"inside", ""};
  const struct pml__log_process p = {"calls", 0, 1, 1000, 1};
  const struct pml__log_region a = {REGION, 0}, b = {INSIDE, 0};
  struct pml__log_entry *recording, *lane;
  struct pml__log *log;
  memset(h, 0, sizeof *h);
  if (!CHECK(pml__log_open(&log, dir, &p) == 0, "a log is made")) exit(1);
  struct pml__log_recording *is = pml__log_extent(log, PML__LOG_RECORDING, 0, 0, 4096, 0, &recording);
  char *events =
      pml__log_extent(log, PML__LOG_EVENTS, TID, 1, sizeof(struct pml__log_buffer) + n * sizeof *event, 0, &lane);
  if (!CHECK(is != NULL && events != NULL, "it has room")) exit(1);
  CHECK(pml__log_define(log, PML__LOG_REGION, &a, sizeof a, send, 2) == 0 &&
            pml__log_define(log, PML__LOG_REGION, &b, sizeof b, inside, 2) == 0,
        "and names");
  is->traced = 1;
  memcpy(events + sizeof(struct pml__log_buffer), event, n * sizeof *event);
  pml__log_end(log);
  CHECK(recording_listen(
            log->file.path,
            (struct pml__recording_listener){.event = hear_call, .communication = hear, .nmetrics = 1, .arg = h}) == 0,
        "it is read");
  (void)unlink(log->file.path);
  pml__log_close(log);
}

static const struct {
  const char *what;
  struct pml__log_event event[MOST];
  struct one heard[MOST];
} row[] = {{"a send and a receive begin with their calls, completions come with the leave, before it",
            {{100, ENTERS(REGION)},
             {40, OF(PML__LOG_ISEND, 2, 1)},
             {UINT64_C(9) << 32 | 3, 8},
             {130, LEAVES(REGION)},
             {200, ENTERS(REGION)},
             {11, OF(PML__LOG_IRECV, 0, 1)},
             {230, LEAVES(REGION)},
             {300, ENTERS(REGION)},
             {8, OF(PML__LOG_ISEND_COMPLETE, 0, 1)},
             {80, OF(PML__LOG_IRECV_COMPLETE, 2, 4)},
             {UINT64_C(0xffffffff) << 32 | 2, 11},
             {400, LEAVES(REGION)}},
            {CALLED(100), SAID(ISEND, 100, 4, 0, WORLD | 3, 9, 40, 8), LEFT(130), CALLED(200),
             SAID(IRECV, 200, 1, 0, 11), LEFT(230), CALLED(300), SAID(ISEND_COMPLETE, 400, 1, 0, 8),
             SAID(IRECV_COMPLETE, 400, 4, 0, 4 * WORLD | 2, 0xffffffff, 80, 11), LEFT(400)}},
           {"without a leave it has the time of the last event",
            {{100, ENTERS(REGION)}, {40, OF(PML__LOG_RECEIVE, 1, 1)}, {3, 0}},
            {CALLED(100), SAID(RECEIVE, 100, 3, 0, WORLD | 3, 0, 40)}},
           {"an operation begins and ends with its call, unless that does not return, or the process was killed in it",
            {{100, ENTERS(REGION)},
             {WORLD | 2, OF(PML__LOG_COLLECTIVE_END, 2, PML__LOG_BCAST)},
             {7, 6},
             {110, ENTERS(INSIDE)},
             {120, LEAVES(INSIDE)},
             {150, LEAVES(REGION)},
             {200, ENTERS(REGION)},
             {WORLD | PML__LOG_NO_RANK, OF(PML__LOG_COLLECTIVE_END, 0, PML__LOG_BARRIER)},
             {260, PML__LOG_WORD(PML__LOG_LEFT, REGION)},
             {300, ENTERS(REGION)},
             {WORLD | PML__LOG_NO_RANK, OF(PML__LOG_COLLECTIVE_END, 0, PML__LOG_BARRIER)}},
            {CALLED(100), SAID(COLLECTIVE_BEGIN, 100, 1, PML__LOG_BCAST, 0), CALLED(110), LEFT(120),
             SAID(COLLECTIVE_END, 150, 4, PML__LOG_BCAST, WORLD | 2, 7, 6), LEFT(150), CALLED(200),
             SAID(COLLECTIVE_BEGIN, 200, 1, 0, 0), LEFT(260), CALLED(300), SAID(COLLECTIVE_BEGIN, 300, 1, 0, 0)}},
           {"events before the first call, with too few values or of no such kind are left out",
            {{40, OF(PML__LOG_SEND, 1, 1)},
             {3, 0},
             {100, ENTERS(REGION)},
             {40, OF(PML__LOG_SEND, 0, 1)},
             {40, OF(PML__LOG_RMA, 0, 1)},
             {40, OF(PML__LOG_REQUEST_CANCELLED, 0, 1)},
             {40, OF(PML__LOG_IRECV_COMPLETE, 1, 1)},
             {3, 0},
             {130, LEAVES(REGION)}},
            {CALLED(100), LEFT(130)}},
           {"arguments have the time of the enter, results that of the leave, or of the values before it",
            {{100, ENTERS(REGION)},
             {100, VALUES(0, 1)},
             {6, 0},
             {100, VALUES(1, 1)},
             {7, 0},
             {130, LEAVES(REGION)},
             {200, ENTERS(REGION)},
             {200, VALUES(1, 1)},
             {8, 0},
             {260, PML__LOG_WORD(PML__LOG_LEFT, REGION)},
             {300, ENTERS(REGION)},
             {300, VALUES(1, 1)},
             {9, 0},
             {330, PML__LOG_WORD(PML__LOG_METRIC, PML__LOG_OF_LIST(0, 1))},
             {5, 0},
             {330, LEAVES(REGION)},
             {400, ENTERS(REGION)},
             {400, VALUES(1, 1)},
             {10, 0},
             {410, ENTERS(INSIDE)},
             {420, LEAVES(INSIDE)},
             {430, LEAVES(REGION)}},
            {CALLED(100), VALUED(100, 1, 6), VALUED(130, 1, 7), LEFT(130), CALLED(200), VALUED(260, 1, 8), LEFT(260),
             CALLED(300), VALUED(330, 1, 9), VALUED(330, 0, 0), LEFT(330), CALLED(400), VALUED(400, 1, 10), CALLED(410),
             LEFT(420), LEFT(430)}},
           {"behind results at the end of the extent there is nothing", /* AddressSanitizer sees what reads it */
            {{100, ENTERS(REGION)}, {100, VALUES(1, 1)}, {7, 0}},
            {CALLED(100), VALUED(100, 1, 7)}}};

int main(void) {
  if (!recording_begin()) return 1;
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    struct heard h;
    bool same = true;
    size_t n = MOST;
    while (row[k].event[n - 1].ticks == 0) n--;
    listen(row[k].event, n, &h);
    for (size_t i = 0; i < MOST; i++) {
      const struct one *a = &h.at[i], *b = &row[k].heard[i];
      bool is = a->what == b->what && a->ticks == b->ticks && a->nvalues == b->nvalues && a->code == b->code &&
                memcmp(a->value, b->value, sizeof a->value) == 0;
      if (!is) printf("# heard %zu is %u at %llu\n", i, a->what, (unsigned long long)a->ticks);
      same &= is;
    }
    CHECK(same, "%s", row[k].what);
  }
  return recording_done();
}
