/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/export/pml_export_chrome.c - Chrome's trace event JSON, for chrome://tracing, Perfetto and
 * speedscope.
 *
 * The format is that of Google's "Trace Event Format": B and E are the ends of a call, s and f of an arrow, C is a
 * counter, M metadata. Times are microseconds with three decimals.
 */
#include "substrate/trace/export/pml_export_private.h"

#include <string.h>

static void put_time(struct pml__text *out, uint64_t ns) {
  const unsigned part = (unsigned)(ns % 1000);
  const char decimals[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
  pml__export_whole(out, (int64_t)(ns / 1000));
  pml__text_plain(out, decimals, sizeof decimals);
}

static void put_place(struct pml__text *out, int64_t pid, int64_t tid) {
  pml__export_plain(out, ",\"pid\":");
  pml__export_whole(out, pid);
  pml__export_plain(out, ",\"tid\":");
  pml__export_whole(out, tid);
}

/* Up to its time; the caller closes it. @phase: one letter. */
static void put_event(struct pml__export *x, const char *phase, uint64_t ns) {
  struct pml__text *out = &x->out;
  pml__export_plain(out, ",\n{\"ph\":\"");
  pml__text_plain(out, phase, 1);
  pml__text_plain(out, x->place.at, x->place.n);
  put_time(out, ns);
}

static void put_named(struct pml__text *out, const char *what, int64_t pid, int64_t tid, const char *name) {
  pml__export_plain(out, "{\"ph\":\"M\",\"name\":\"");
  pml__export_plain(out, what);
  pml__export_plain(out, "\"");
  put_place(out, pid, tid);
  pml__export_plain(out, ",\"args\":{\"name\":");
  pml__export_string(out, name);
  pml__export_plain(out, "}}");
}

static void begin(struct pml__export *x) {
  const struct pml_otf2_read_process *p;
  pml__export_plain(&x->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (size_t i = 0; (p = pml_otf2_read_process(x->trace, i)) != NULL; i++) {
    if (i > 0) pml__export_plain(&x->out, ",\n");
    put_named(&x->out, "process_name", x->pid_of[i], x->pid_of[i], p->name);
  }
}

static void begin_location(struct pml__export *x) {
  pml__export_plain(&x->out, ",\n");
  put_named(&x->out, "thread_name", x->pid, x->tid, x->at->name);
  x->place.n = 0;
  pml__export_plain(&x->place, "\"");
  put_place(&x->place, x->pid, x->tid);
  pml__export_plain(&x->place, ",\"ts\":");
}

/* The format does not ask for a name at the end of a call; speedscope does. */
static void put_edge(struct pml__export *x, const char *phase, uint64_t ns, size_t region) {
  put_event(x, phase, ns);
  pml__export_plain(&x->out, ",\"name\":");
  pml__export_region(x, region);
  pml__export_plain(&x->out, "}");
}

static void enter(struct pml__export *x, uint64_t ns, size_t region) {
  put_edge(x, "B", ns, region);
}

static void leave(struct pml__export *x, uint64_t ns, size_t region) {
  put_edge(x, "E", ns, region);
}

/* An arrow is bound to the calls around its ends, also at the end ("bp"). */
static void message(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e, uint64_t link) {
  if (link == 0) return;
  put_event(x, e->kind == PML_OTF2_SEND ? "s" : "f", ns);
  pml__export_plain(&x->out, e->kind == PML_OTF2_SEND ? "" : ",\"bp\":\"e\"");
  pml__export_plain(&x->out, ",\"cat\":\"message\",\"name\":\"message\",\"id\":\"");
  pml__export_whole(&x->out, (int64_t)link);
  pml__export_plain(&x->out, "\",\"args\":{\"bytes\":");
  pml__export_whole(&x->out, (int64_t)e->bytes);
  pml__export_plain(&x->out, ",\"tag\":");
  pml__export_whole(&x->out, e->tag);
  pml__export_plain(&x->out, "}}");
}

/* The format keeps counters by process: the number of the location in the name keeps them apart. */
static void metric(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e) {
  struct pml__text *out = &x->out;
  if (e->what == PML_OTF2_NONE) return;
  const struct pml_otf2_read_metric *m = pml_otf2_read_metric(x->trace, e->what);
  put_event(x, "C", ns);
  pml__export_plain(out, ",\"id\":\"");
  pml__export_whole(out, x->tid);
  pml__export_plain(out, "\",\"name\":");
  pml__export_string(out, m->name);
  pml__export_plain(out, ",\"args\":{");
  pml__export_string(out, m->unit[0] != '\0' ? m->unit : "value");
  pml__export_plain(out, ":");
  if (e->is_integer && m->scale == 1)
    pml__export_whole(out, e->value.integer);
  else
    pml__export_real(out, pml__export_value(x, e));
  pml__export_plain(out, "}}");
}

static void end(struct pml__export *x) {
  pml__export_plain(&x->out, "\n]}\n");
}

const struct pml__export_form pml__export_chrome = {
    .name = "chrome",
    .begin = begin,
    .begin_location = begin_location,
    .put_region = pml__export_string,
    .enter = enter,
    .leave = leave,
    .message = message,
    .metric = metric,
    .end = end,
};
