/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/export/pml_export.c - table of export formats, and the iteration over an archive's events. */
#include "read/export/pml_export_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 16)

static const struct pml__export_form *const forms[] = {&pml__export_perfetto, &pml__export_speedscope,
                                                       &pml__export_csv};
enum { FORMS = sizeof forms / sizeof *forms };

/* ---- message channels and their message counts ---- */

#define CHANNELS_MAX ((size_t)1 << 20)

struct channel {
  size_t from, to;
  uint32_t comm, tag;
  uint64_t sends, receives;
};

struct links {
  struct pml__map map; /* by all fields except the counts */
  struct channel *channel;
  uint32_t room;
};

/* The number of the channel, which is added if it is new; PML__MAP_NONE: no room. */
static uint32_t find(struct links *l, const struct channel *c) {
  uint64_t hash = pml__hash_bytes(PML__HASH, c, offsetof(struct channel, sends));
  uint32_t at = 0, i;
  while ((i = pml__map_next(&l->map, hash, &at)) != PML__MAP_NONE)
    if (memcmp(&l->channel[i], c, offsetof(struct channel, sends)) == 0) return i;
  if (l->map.n == CHANNELS_MAX || !PML__ARRAY_ROOM(l->channel, l->room, l->map.n + 1)) return PML__MAP_NONE;
  i = pml__map_add(&l->map, hash);
  if (i != PML__MAP_NONE) l->channel[i] = *c;
  return i;
}

/*
 * A number that a send or receive @e of @process has in common with its other end: MPI messages with the same sender,
 * receiver, communicator and tag do not overtake each other, so the n-th send belongs to the n-th receive. 0: the other
 * end is unknown, or there are more than 2^20 such channels.
 */
static uint64_t link_of(struct links *l, const struct pml_otf2_event *e, size_t process) {
  bool sends = e->kind == PML_OTF2_SEND;
  if (e->what == PML_OTF2_NONE) return 0;
  const struct channel key = {
      .from = sends ? process : e->what, .to = sends ? e->what : process, .comm = e->comm, .tag = e->tag};
  uint32_t i = find(l, &key);
  if (i == PML__MAP_NONE) return 0;
  return (uint64_t)(i + 1) << 40 | (sends ? ++l->channel[i].sends : ++l->channel[i].receives);
}

/* ---- locations ---- */

/* The open calls of a location; @first to @last is the window in ns. */
struct walk {
  struct pml__export x;
  struct links links;
  uint64_t first, last, now; /* now: time of the location's latest event */
  size_t *stack, depth, capacity;
  uint64_t *open;   /* [nregions] open calls */
  bool began, over; /* the location's part in the window has begun; has ended */
};

const char *pml_export_form(size_t i) {
  return i < FORMS ? forms[i]->name : NULL;
}

/* ---- output ---- */

static void flush(struct pml__export *x) {
  if (x->failed == 0 && x->out.n > 0) x->failed = x->sink(x->user, x->out.at, x->out.n);
  x->out.n = 0;
}

/* A process has the number of its first location, which viewers then treat as its main thread. */
static bool number_processes(struct pml__export *x) {
  x->pid_of = calloc(x->about.nprocesses + 1, sizeof *x->pid_of);
  if (x->pid_of == NULL) return false;
  for (size_t i = x->about.nlocations; i-- > 0;) {
    size_t process = pml_otf2_read_location(x->trace, i)->process;
    if (process < x->about.nprocesses) x->pid_of[process] = (int64_t)i + 1;
  }
  for (size_t i = 0; i < x->about.nprocesses; i++)
    if (x->pid_of[i] == 0) x->pid_of[i] = (int64_t)(x->about.nlocations + i) + 1;
  return true;
}

double pml__export_value(const struct pml__export *x, const struct pml_otf2_event *e) {
  double v = e->is_integer ? (double)e->value.integer : e->value.number;
  return e->what != PML_OTF2_NONE ? v * pml_otf2_read_metric(x->trace, e->what)->scale : v;
}

/* ---- a location ---- */

static uint64_t ns_of(const struct pml_otf2_read *t, uint64_t time) {
  double ns = nearbyint(1e9 * pml_otf2_read_seconds(t, time));
  return ns > 0 ? (uint64_t)ns : 0;
}

static uint64_t window_ns(double s) {
  return s <= 0 ? 0 : s >= 1.8e10 ? UINT64_MAX : (uint64_t)nearbyint(1e9 * s);
}

static void begin_location(struct walk *w, size_t location) {
  struct pml__export *x = &w->x;
  x->location = location;
  x->at = pml_otf2_read_location(x->trace, location);
  x->pid = x->pid_of[x->at->process];
  x->tid = (int64_t)location + 1;
  w->began = w->over = false;
  w->now = 0;
}

static void put_enter(struct walk *w, uint64_t ns, size_t region) {
  if (w->x.form->enter != NULL) w->x.form->enter(&w->x, ns, region);
  w->x.counts->calls++;
}

static void put_leave(struct walk *w, uint64_t ns, size_t region) {
  if (w->x.form->leave != NULL) w->x.form->leave(&w->x, ns, region);
}

/* The window begins: open calls began before it. */
static void begin_window(struct walk *w) {
  w->began = true;
  if (w->x.form->begin_location != NULL) w->x.form->begin_location(&w->x);
  for (size_t i = 0; i < w->depth; i++) put_enter(w, w->first, w->stack[i]);
}

/* End all open calls. */
static void end_window(struct walk *w, uint64_t ns) {
  for (size_t i = w->depth; w->began && i-- > 0;) put_leave(w, ns, w->stack[i]);
  if (w->began && w->x.form->end_location != NULL) w->x.form->end_location(&w->x, ns);
  w->over = true;
}

static void end_location(struct walk *w) {
  if (w->x.location == PML_OTF2_NONE) return;
  if (!w->over && !w->began && w->depth > 0 && w->now >= w->first) begin_window(w);
  if (!w->over) end_window(w, w->now);
  while (w->depth > 0) w->open[w->stack[--w->depth]]--;
  if (w->x.out.n >= CHUNK) flush(&w->x);
}

/* ---- events ---- */

static bool push(struct walk *w, size_t region) {
  if (!PML__ARRAY_ROOM(w->stack, w->capacity, w->depth + 1)) return false;
  w->stack[w->depth++] = region;
  w->open[region]++;
  return true;
}

/* A leave of an outer call ends the calls inside it. */
static void leave(struct walk *w, uint64_t ns, size_t region) {
  w->x.counts->unmatched += w->open[region] == 0;
  while (w->open[region] > 0) {
    size_t innermost = w->stack[--w->depth];
    w->open[innermost]--;
    if (w->began && !w->over) put_leave(w, ns, innermost);
    if (innermost == region) return;
    w->x.counts->unmatched++;
  }
}

static void message(struct walk *w, uint64_t ns, const struct pml_otf2_event *e) {
  struct pml__export *x = &w->x;
  uint64_t link = 0;
  if (e->kind != PML_OTF2_COLLECTIVE) {
    link = link_of(&w->links, e, x->at->process);
    x->counts->unlinked += link == 0;
    x->counts->messages += e->kind == PML_OTF2_SEND;
  }
  if (x->form->message != NULL) x->form->message(x, ns, e, link);
}

static void put_event(struct walk *w, uint64_t ns, const struct pml_otf2_event *e, bool inside) {
  struct pml__export *x = &w->x;
  if (inside && e->kind == PML_OTF2_METRIC) {
    x->counts->metrics++;
    if (x->form->metric != NULL) x->form->metric(x, ns, e);
  } else if (inside && e->kind > PML_OTF2_METRIC) {
    if (x->form->other != NULL) x->form->other(x, ns, e);
  } else if (inside) {
    message(w, ns, e);
  } else if (e->kind == PML_OTF2_SEND || e->kind == PML_OTF2_RECEIVE) {
    (void)link_of(&w->links, e, x->at->process);
  }
}

static bool take(struct walk *w, const struct pml_otf2_event *e) {
  uint64_t ns = ns_of(w->x.trace, e->time);
  if (ns < w->now) ns = w->now;
  w->now = ns < w->last ? ns : w->last;
  if (ns > w->last && !w->over) {
    if (!w->began && w->depth > 0) begin_window(w);
    end_window(w, w->last);
  }
  bool inside = ns >= w->first && !w->over;
  if (inside && !w->began) begin_window(w);
  if (e->kind == PML_OTF2_ENTER) {
    if (inside) put_enter(w, ns, e->what);
    return push(w, e->what);
  }
  if (e->kind == PML_OTF2_LEAVE)
    leave(w, ns, e->what);
  else
    put_event(w, ns, e, inside);
  return true;
}

static int walk_all(struct walk *w, struct pml_otf2_events *events) {
  const struct pml_otf2_event *e;
  int more;
  while ((more = pml_otf2_events_next(events, &e)) > 0) {
    if (e->location != w->x.location) {
      end_location(w);
      begin_location(w, e->location);
    }
    if (!take(w, e)) return -ENOMEM;
    if (w->x.out.n >= CHUNK) flush(&w->x);
    if (w->x.failed < 0 || w->x.out.failed) return w->x.failed < 0 ? w->x.failed : -ENOMEM;
  }
  if (more == 0) end_location(w);
  return more;
}

/* ---- an export ---- */

static int run(struct walk *w, const struct pml_otf2_question *q) {
  struct pml_otf2_question all = *q;
  struct pml_otf2_events *events;
  struct pml__export *x = &w->x;
  all.from_s =
      -INFINITY; /* calls that began before the window belong to it, and messages are counted from the first one */
  all.to_s = INFINITY;
  all.kinds = x->form->other != NULL ? 0 : (1u << PML_OTF2_TEAM_BEGIN) - 1;
  int err = pml_otf2_events_open(&events, x->trace, &all, false);
  if (err < 0) return err;
  if (x->form->begin != NULL) x->form->begin(x);
  err = walk_all(w, events);
  pml_otf2_events_close(events);
  if (err == 0 && x->form->end != NULL) x->form->end(x);
  if (err == 0) flush(x);
  if (err == 0 && (x->out.failed || x->name.failed || x->place.failed)) err = -ENOMEM;
  return err < 0 ? err : x->failed;
}

static const struct pml__export_form *form_of(const char *name) {
  for (size_t i = 0; i < FORMS; i++)
    if (strcmp(forms[i]->name, name) == 0) return forms[i];
  return NULL;
}

int pml_export_events(struct pml_otf2_read *t, const struct pml_otf2_question *q, const char *form,
                      pml_export_sink *sink, void *user, struct pml_export_counts *counts) {
  struct walk w = {.first = window_ns(q->from_s), .last = window_ns(q->to_s)};
  w.x = (struct pml__export){.form = form_of(form), .trace = t, .counts = counts, .sink = sink, .user = user};
  w.x.location = PML_OTF2_NONE;
  *counts = (struct pml_export_counts){0};
  if (w.x.form == NULL) return pml_fail(-EINVAL, "'%.40s' is not a form of an export", form);
  pml_otf2_read_about(t, &w.x.about);
  w.open = calloc(w.x.about.nregions + 1, sizeof *w.open);
  w.x.own = calloc(1, w.x.form->own + w.x.about.nregions + w.x.about.nmetrics + 1);
  w.x.name_of = calloc(w.x.about.nregions + 1, sizeof *w.x.name_of);
  bool ready = w.open != NULL && w.x.name_of != NULL && w.x.own != NULL && number_processes(&w.x);
  int err = ready ? run(&w, q) : -ENOMEM;
  pml__map_free(&w.links.map);
  free(w.links.channel);
  free(w.x.own);
  free(w.x.pid_of);
  free(w.x.out.at);
  free(w.x.name.at);
  free(w.x.place.at);
  free(w.x.names.at);
  free(w.x.name_of);
  free(w.stack);
  free(w.open);
  return err == -ENOMEM ? pml_fail(err, "no memory for the export") : err;
}
