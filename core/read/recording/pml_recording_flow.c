/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_flow.c - event flow graphs of a recording. */
#include "base/pml_error.h"
#include "read/recording/pml_recording_read_private.h"
#include "substrate/flow/pml_flow_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One thread. Values follow an enter and precede a leave, with the same ticks. */
struct lane {
  struct pml__flow_lane *flow;
  struct pml_stream_event entered; /* an enter that waits for its values; region 0: no enter */
  uint64_t ticks;                  /* ticks of @value; 0: no value */
  uint64_t value[PML_FLOW_METRICS_MAX];
};

struct making {
  struct pml_flow *flow;
  const struct pml_stream_metrics *metrics; /* NULL: events have no values for the flow */
};

static int begin_thread(void *arg, int64_t tid, void **lane) {
  struct making *m = arg;
  struct lane *t = calloc(1, sizeof *t);
  (void)tid;
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for a thread of a flow");
  t->flow = pml__flow_lane(m->flow);
  *lane = t;
  return 0;
}

static void enter_at_last(struct lane *t) {
  if (t->entered.region != 0) pml__flow_enter(t->flow, &t->entered);
  t->entered.region = 0;
}

static void take_values(const struct making *m, struct lane *t, const struct pml__recording_event *e) {
  if (m->metrics == NULL) return;
  memcpy(t->value, e->values, m->metrics->n * sizeof *t->value);
  t->ticks = e->ticks;
  if (t->entered.region == 0 || t->entered.ticks != e->ticks) return;
  t->entered.metrics = m->metrics;
  t->entered.values = t->value;
  enter_at_last(t);
}

static int take_event(void *arg, void *lane, const struct pml__recording_event *e) {
  const struct making *m = arg;
  struct lane *t = lane;
  if (t->flow == NULL) return 0; /* counted as refused */
  if (e->kind == PML_STREAM_METRIC) {
    if (e->region == 0 && e->list == NULL) take_values(m, t, e);
    return 0;
  }
  if (e->kind != PML_STREAM_ENTER && e->kind != PML_STREAM_LEAVE) return 0;
  enter_at_last(t);
  struct pml_stream_event event = {.ticks = e->ticks, .region = e->region};
  if (e->kind == PML_STREAM_ENTER) {
    t->entered = event;
  } else {
    if (m->metrics != NULL && t->ticks == e->ticks) {
      event.metrics = m->metrics;
      event.values = t->value;
    }
    pml__flow_leave(t->flow, &event);
  }
  return 0;
}

static int end_thread(void *arg, void *lane) {
  struct lane *t = lane;
  (void)arg;
  if (t->flow != NULL) enter_at_last(t);
  return 0;
}

/* If there are more metrics than a flow can have, all are omitted. */
static int open_flow(const struct pml_recording_reader *r, struct making *m, uint32_t *nmetrics) {
  char name[PML_STREAM_METRICS_MAX][PML__RECORDING_METRIC_BYTES];
  const char *names[PML_FLOW_METRICS_MAX];
  struct pml_stream_metrics *metrics = NULL;
  uint32_t n = *nmetrics = pml__recording_metrics(r, name);
  if (n > PML_FLOW_METRICS_MAX) n = 0;
  for (uint32_t i = 0; i < n; i++) names[i] = name[i];
  int err = n > 0 ? pml_stream_metrics(names, n, &metrics) : 0;
  for (uint32_t i = 0; i < n && err == 0; i++)
    if (r->head.real[i / 64] >> i % 64 & 1) pml_stream_metrics_set_real(metrics, i);
  m->metrics = metrics;
  const struct pml_flow_options o = {.metrics = names, .nmetrics = n};
  return err == 0 ? pml__flow_new(&m->flow, &o, pml_recording_tick_ns(r)) : err;
}

int pml_recording_read_flow(struct pml_recording_reader *r, struct pml_flow **f,
                            int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg) {
  struct making m = {0};
  uint32_t nmetrics;
  *f = NULL;
  int err = open_flow(r, &m, &nmetrics);
  if (err < 0) return err;
  const struct pml__recording_listener l = {begin_thread, take_event, NULL,     end_thread, free,
                                            progress,     arg,        nmetrics, &m};
  err = pml__recording_listen(r, &l);
  if (err == 0) err = pml_flow_stop(m.flow);
  if (err == 0)
    *f = m.flow;
  else
    pml_flow_close(m.flow);
  return err;
}
