/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/export/pml_export_rows.c - a row of CSV for each event. */
#include "base/text/pml_cells.h"
#include "read/export/pml_export_private.h"

#include <string.h>

/* The columns, in the order of lua/pmlua/internal/export/columns.lua. */
#define COLUMNS(X)                                                                                                     \
  X(TIME, "time_ns")                                                                                                   \
  X(PROCESS, "process")                                                                                                \
  X(RANK, "rank")                                                                                                      \
  X(LOCATION, "location")                                                                                              \
  X(KIND, "kind")                                                                                                      \
  X(NAME, "name")                                                                                                      \
  X(PEER, "peer")                                                                                                      \
  X(COMM, "communicator")                                                                                              \
  X(TAG, "tag")                                                                                                        \
  X(SENT, "sent_bytes")                                                                                                \
  X(RECEIVED, "received_bytes")                                                                                        \
  X(VALUE, "value")
#define COLUMN(id, name) id,
enum column { COLUMNS(COLUMN) NCOLUMNS };
#undef COLUMN

struct own {
  struct pml__cells_writer writer; /* shares the text of the export */
  struct pml__cell cell[NCOLUMNS];
};

static void set_whole(struct own *own, enum column c, int64_t v) {
  own->cell[c] = (struct pml__cell){.kind = PML__CELL_WHOLE, .whole = v};
}

static void set_text(struct own *own, enum column c, const char *text) {
  own->cell[c] = (struct pml__cell){.kind = PML__CELL_TEXT, .text = text};
}

/* RFC 4180: a cell with a comma, a quote or a line break is quoted. */
static void put_csv(struct pml__text *out, const char *text) {
  if (strpbrk(text, "\",\r\n") == NULL) {
    pml__export_plain(out, text);
    return;
  }
  pml__text_plain(out, "\"", 1);
  for (; *text != '\0'; text++) pml__text_plain(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  pml__text_plain(out, "\"", 1);
}

/* The comma makes an empty name a non-empty text. */
static void put_csv_region(struct pml__text *out, const char *text) {
  put_csv(out, text);
  pml__export_plain(out, ",");
}

static void set_name(struct pml__export *x, const char *text) {
  x->name.n = 0;
  put_csv(&x->name, text);
  pml__text_plain(&x->name, "", 1);
  if (!x->name.failed) set_text(x->own, NAME, x->name.at);
}

static void set_place(const struct pml__export *x, uint64_t ns, const char *kind) {
  struct own *own = x->own;
  const int64_t rank = pml_otf2_read_process(x->trace, x->at->process)->rank;
  memset(own->cell, 0, sizeof own->cell);
  set_whole(own, TIME, (int64_t)ns);
  set_whole(own, PROCESS, (int64_t)x->at->process + 1);
  if (rank >= 0) set_whole(own, RANK, rank);
  set_whole(own, LOCATION, (int64_t)x->location + 1);
  set_text(own, KIND, kind);
}

static void write_row(struct pml__export *x) {
#define COLUMN(id, name) "\"" name "\"",
  static const char *const names[] = {COLUMNS(COLUMN)};
#undef COLUMN
  struct own *own = x->own;
  const struct pml__cells row = {NCOLUMNS, names, own->cell};
  own->writer.text = x->out;
  pml__cells_write(&own->writer, &row);
  x->out = own->writer.text;
}

static void begin_csv(struct pml__export *x) {
  ((struct own *)x->own)->writer.form = PML__CELLS_CSV;
}

/* Most rows are enters and leaves: their common part is written once for a location, and a name once for a region. */
static void begin_csv_location(struct pml__export *x) {
  const int64_t rank = pml_otf2_read_process(x->trace, x->at->process)->rank;
  x->place.n = 0;
  pml__export_plain(&x->place, ",");
  pml__export_whole(&x->place, (int64_t)x->at->process + 1);
  pml__export_plain(&x->place, ",");
  if (rank >= 0) pml__export_whole(&x->place, rank);
  pml__export_plain(&x->place, ",");
  pml__export_whole(&x->place, (int64_t)x->location + 1);
}

static void put_csv_edge(struct pml__export *x, uint64_t ns, const char *kind, size_t region) {
  pml__export_whole(&x->out, (int64_t)ns);
  pml__text_plain(&x->out, x->place.at, x->place.n);
  pml__export_plain(&x->out, kind);
  pml__export_region(x, region);
  pml__export_plain(&x->out, ",,,,,\n");
}

static void csv_enter(struct pml__export *x, uint64_t ns, size_t region) {
  put_csv_edge(x, ns, ",enter,", region);
}

static void csv_leave(struct pml__export *x, uint64_t ns, size_t region) {
  put_csv_edge(x, ns, ",leave,", region);
}

static void message(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e, uint64_t link) {
  static const char *const kinds[] = {
      [PML_OTF2_SEND] = "send", [PML_OTF2_RECEIVE] = "receive", [PML_OTF2_COLLECTIVE] = "collective"};
  struct own *own = x->own;
  (void)link;
  set_place(x, ns, kinds[e->kind]);
  set_whole(own, COMM, e->comm);
  if (e->what != PML_OTF2_NONE) set_whole(own, PEER, (int64_t)e->what + 1);
  if (e->kind == PML_OTF2_COLLECTIVE)
    set_name(x, pml_otf2_operation(e->operation));
  else
    set_whole(own, TAG, e->tag);
  if (e->kind != PML_OTF2_RECEIVE) set_whole(own, SENT, (int64_t)e->bytes);
  if (e->kind == PML_OTF2_RECEIVE) set_whole(own, RECEIVED, (int64_t)e->bytes);
  if (e->kind == PML_OTF2_COLLECTIVE) set_whole(own, RECEIVED, (int64_t)e->received_bytes);
  write_row(x);
}

static void metric(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e) {
  struct own *own = x->own;
  set_place(x, ns, "metric");
  if (e->what != PML_OTF2_NONE) set_name(x, pml_otf2_read_metric(x->trace, e->what)->name);
  own->cell[VALUE] = (struct pml__cell){.kind = PML__CELL_REAL, .real = pml__export_value(x, e)};
  write_row(x);
}

static void csv_other(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e) {
#define WORD(id, name) name,
  static const char *const kinds[] = {PML_OTF2_KINDS(WORD)};
#undef WORD
  struct own *own = x->own;
  set_place(x, ns, kinds[e->kind]);
  if (e->kind == PML_OTF2_OTHER) set_text(own, NAME, pml_otf2_record(e));
  if (e->kind == PML_OTF2_REQUEST) set_text(own, NAME, pml_otf2_happened((enum pml_otf2_request)e->operation));
  if (e->kind == PML_OTF2_NOTIFY) set_text(own, NAME, e->out ? "out" : "in");
  if (e->kind == PML_OTF2_LOCK) set_text(own, NAME, pml_otf2_locked((enum pml_otf2_lock)e->operation));
  if (e->kind != PML_OTF2_REQUEST && e->kind != PML_OTF2_OTHER) set_whole(own, COMM, e->comm);
  if (e->what != PML_OTF2_NONE) set_whole(own, PEER, (int64_t)e->what + 1);
  write_row(x);
}

const struct pml__export_form pml__export_csv = {
    .name = "csv",
    .own = sizeof(struct own),
    .begin = begin_csv,
    .begin_location = begin_csv_location,
    .put_region = put_csv_region,
    .enter = csv_enter,
    .leave = csv_leave,
    .message = message,
    .metric = metric,
    .other = csv_other,
};
