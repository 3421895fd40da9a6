/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/export/pml_export_perfetto.c - Perfetto traces: Protocol Buffers packets.
 *
 * Field numbers are defined in perfetto's trace_packet.proto, track_event.proto, track_descriptor.proto,
 * thread_descriptor.proto, process_descriptor.proto, counter_descriptor.proto and interned_data.proto. Each location is
 * a sequence of packets with a track and interned names of regions. A metric of a location is a counter track below it,
 * a message a flow between two instants.
 */
#include "read/export/pml_export_private.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
enum { CLEARED = 1, NEEDED = 2 };                                  /* sequence_flags */
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 }; /* TrackEvent.type */
enum { PROCESS_TRACK = 1, THREAD_TRACK = 2, COUNTER_TRACK = 3 };   /* the highest bits of a track's uuid */
#define MESSAGE_MAX ((size_t)160)                                  /* limit of an event's size, without names */

/* A message of a few fields. */
struct message {
  size_t n;
  uint8_t byte[MESSAGE_MAX];
};

/* [nregions] interned names of the sequence, [nmetrics] counters with a track. */
static bool *names_of(struct pml__export *x) {
  return x->own;
}
static bool *counters_of(struct pml__export *x) {
  return names_of(x) + x->about.nregions;
}

/* ---- Protocol Buffers ---- */

static void put_varint(struct message *m, uint64_t v) {
  for (; v > 0x7f; v >>= 7) m->byte[m->n++] = (uint8_t)(v | 0x80);
  m->byte[m->n++] = (uint8_t)v;
}

static void put_key(struct message *m, uint32_t field, unsigned type) {
  put_varint(m, field << 3 | type);
}

static void put_number(struct message *m, uint32_t field, uint64_t v) {
  put_key(m, field, VARINT);
  put_varint(m, v);
}

static void put_fixed(struct message *m, uint32_t field, uint64_t v) {
  put_key(m, field, FIXED64);
  for (int i = 0; i < 8; i++) m->byte[m->n++] = (uint8_t)(v >> 8 * i);
}

static void put_double(struct message *m, uint32_t field, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_fixed(m, field, bits);
}

static void put_message(struct message *m, uint32_t field, const struct message *inner) {
  put_key(m, field, BYTES);
  put_varint(m, inner->n);
  memcpy(m->byte + m->n, inner->byte, inner->n);
  m->n += inner->n;
}

/* The size of the header of a field of @n bytes. */
static size_t head_size(uint32_t field, size_t n) {
  struct message m = {0};
  put_key(&m, field, BYTES);
  put_varint(&m, n);
  return m.n;
}

static size_t field_size(uint32_t field, size_t n) {
  return head_size(field, n) + n;
}

/* ---- packets ---- */

static void write_message(struct pml__text *out, const struct message *m) {
  pml__text_plain(out, (const char *)m->byte, m->n);
}

static void write_head(struct pml__text *out, uint32_t field, size_t n) {
  struct message m = {0};
  put_key(&m, field, BYTES);
  put_varint(&m, n);
  write_message(out, &m);
}

static void write_text(struct pml__text *out, uint32_t field, const char *text, size_t n) {
  write_head(out, field, n);
  pml__export_clean(out, text, n);
}

/* A packet of the location's sequence, followed by @more bytes that the caller writes. */
static void write_packet(struct pml__export *x, const struct message *m, size_t more) {
  write_head(&x->out, 1, m->n + more);
  write_message(&x->out, m);
}

static struct message packet_of(const struct pml__export *x, unsigned flags) {
  struct message m = {0};
  put_number(&m, 10, (uint64_t)x->location + 2);
  put_number(&m, 13, flags);
  return m;
}

static uint64_t uuid(uint64_t kind, uint64_t which) {
  return kind << 60 | which;
}

/* ---- tracks ---- */

static void begin(struct pml__export *x) {
  const struct pml_otf2_read_process *p;
  for (size_t i = 0; (p = pml_otf2_read_process(x->trace, i)) != NULL; i++) {
    struct message m = {0}, track = {0}, process = {0};
    const size_t name = strlen(p->name);
    put_number(&m, 10, 1);
    put_number(&track, 1, uuid(PROCESS_TRACK, i));
    put_number(&process, 1, (uint64_t)x->pid_of[i]);
    const size_t n_process = process.n + field_size(6, name), n_track = track.n + field_size(3, n_process);
    write_packet(x, &m, field_size(60, n_track));
    write_head(&x->out, 60, n_track);
    write_message(&x->out, &track);
    write_head(&x->out, 3, n_process);
    write_message(&x->out, &process);
    write_text(&x->out, 6, p->name, name);
  }
}

static void begin_location(struct pml__export *x) {
  struct message m = packet_of(x, CLEARED), event = {0}, defaults = {0}, track = {0}, thread = {0};
  const size_t name = strlen(x->at->name);
  memset(x->own, 0, x->about.nregions + x->about.nmetrics);
  put_number(&event, 11, uuid(THREAD_TRACK, x->location));
  put_message(&defaults, 11, &event);
  put_message(&m, 59, &defaults);
  put_number(&track, 1, uuid(THREAD_TRACK, x->location));
  put_number(&thread, 1, (uint64_t)x->pid);
  put_number(&thread, 2, (uint64_t)x->tid);
  const size_t n_thread = thread.n + field_size(5, name), n_track = track.n + field_size(4, n_thread);
  write_packet(x, &m, field_size(60, n_track));
  write_head(&x->out, 60, n_track);
  write_message(&x->out, &track);
  write_head(&x->out, 4, n_thread);
  write_message(&x->out, &thread);
  write_text(&x->out, 5, x->at->name, name);
}

static uint64_t counter_uuid(const struct pml__export *x, size_t metric) {
  return uuid(COUNTER_TRACK, (uint64_t)x->location * x->about.nmetrics + metric);
}

static void define_counter(struct pml__export *x, size_t i) {
  const struct pml_otf2_read_metric *metric = pml_otf2_read_metric(x->trace, i);
  struct message m = packet_of(x, NEEDED), track = {0};
  const size_t name = strlen(metric->name), unit = strlen(metric->unit);
  put_number(&track, 1, counter_uuid(x, i));
  put_number(&track, 5, uuid(THREAD_TRACK, x->location));
  const size_t n_counter = unit > 0 ? field_size(6, unit) : 0;
  const size_t n_track = track.n + field_size(2, name) + field_size(8, n_counter);
  write_packet(x, &m, field_size(60, n_track));
  write_head(&x->out, 60, n_track);
  write_message(&x->out, &track);
  write_text(&x->out, 2, metric->name, name);
  write_head(&x->out, 8, n_counter);
  if (unit > 0) write_text(&x->out, 6, metric->unit, unit);
  counters_of(x)[i] = true;
}

/* ---- events ---- */

static struct message event_of(unsigned type) {
  struct message m = {0};
  put_number(&m, 9, type);
  return m;
}

static struct message timed(const struct pml__export *x, uint64_t ns, const struct message *event) {
  struct message m = packet_of(x, NEEDED);
  put_number(&m, 8, ns);
  put_message(&m, 11, event);
  return m;
}

/* The first event with a name defines it: interned_data { event_names { iid name } }. */
static void enter(struct pml__export *x, uint64_t ns, size_t region) {
  struct message event = event_of(SLICE_BEGIN), id = {0};
  put_number(&event, 10, region + 1);
  const struct message m = timed(x, ns, &event);
  if (names_of(x)[region]) {
    write_packet(x, &m, 0);
    return;
  }
  const char *name = pml_otf2_read_region(x->trace, region)->name;
  put_number(&id, 1, region + 1);
  const size_t n = strlen(name), n_name = id.n + field_size(2, n);
  write_packet(x, &m, field_size(12, field_size(2, n_name)));
  write_head(&x->out, 12, field_size(2, n_name));
  write_head(&x->out, 2, n_name);
  write_message(&x->out, &id);
  write_text(&x->out, 2, name, n);
  names_of(x)[region] = true;
}

static void leave(struct pml__export *x, uint64_t ns, size_t region) {
  const struct message event = event_of(SLICE_END), m = timed(x, ns, &event);
  (void)region;
  write_packet(x, &m, 0);
}

/* name is TrackEvent.name, in the event itself; bytes and tag are debug annotations. */
static void annotate(struct message *event, const char *name, uint64_t v) {
  struct message a = {0};
  put_key(&a, 10, BYTES);
  put_varint(&a, strlen(name));
  memcpy(a.byte + a.n, name, strlen(name));
  a.n += strlen(name);
  put_number(&a, 3, v);
  put_message(event, 4, &a);
}

static void message(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e, uint64_t link) {
  static const char *const names[] = {
      [PML_OTF2_SEND] = "send", [PML_OTF2_RECEIVE] = "receive", [PML_OTF2_COLLECTIVE] = ""};
  const char *name = e->kind == PML_OTF2_COLLECTIVE ? pml_otf2_operation(e->operation) : names[e->kind];
  struct message event = event_of(INSTANT);
  put_key(&event, 23, BYTES);
  put_varint(&event, strlen(name));
  memcpy(event.byte + event.n, name, strlen(name));
  event.n += strlen(name);
  if (link != 0) put_fixed(&event, e->kind == PML_OTF2_SEND ? 47 : 48, link);
  annotate(&event, "bytes", e->bytes);
  if (e->kind == PML_OTF2_COLLECTIVE)
    annotate(&event, "received_bytes", e->received_bytes);
  else
    annotate(&event, "tag", e->tag);
  const struct message m = timed(x, ns, &event);
  write_packet(x, &m, 0);
}

static void metric(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e) {
  struct message event = event_of(COUNTER);
  if (e->what == PML_OTF2_NONE) return;
  if (!counters_of(x)[e->what]) define_counter(x, e->what);
  put_number(&event, 11, counter_uuid(x, e->what));
  if (e->is_integer && pml_otf2_read_metric(x->trace, e->what)->scale == 1)
    put_number(&event, 30, (uint64_t)e->value.integer);
  else
    put_double(&event, 44, pml__export_value(x, e));
  const struct message m = timed(x, ns, &event);
  write_packet(x, &m, 0);
}

const struct pml__export_form pml__export_perfetto = {
    .name = "perfetto",
    .begin = begin,
    .begin_location = begin_location,
    .enter = enter,
    .leave = leave,
    .message = message,
    .metric = metric,
};
