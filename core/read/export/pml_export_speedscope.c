/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/export/pml_export_speedscope.c - speedscope's file format: a list of frames, and one evented
 * profile per location. Its schema is https://www.speedscope.app/file-format-schema.json.
 */
#include "read/export/pml_export_private.h"

struct own {
  bool profiles, events; /* the file has a profile, the profile has an event */
};

static void begin(struct pml__export *x) {
  const struct pml_otf2_read_region *r;
  struct pml__text *out = &x->out;
  pml__export_plain(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"pmlua\",\n"
                         "\"shared\":{\"frames\":[");
  for (size_t i = 0; (r = pml_otf2_read_region(x->trace, i)) != NULL; i++) {
    pml__export_plain(out, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
    pml__export_string(out, r->name);
    if (r->file[0] != '\0') pml__export_plain(out, ",\"file\":");
    if (r->file[0] != '\0') pml__export_string(out, r->file);
    if (r->line > 0) pml__export_plain(out, ",\"line\":");
    if (r->line > 0) pml__export_whole(out, r->line);
    pml__export_plain(out, "}");
  }
  pml__export_plain(out, "]},\n\"profiles\":[");
}

/* A profile begins with its first call: a location without calls has no profile. */
static void begin_profile(struct pml__export *x, uint64_t ns) {
  struct own *own = x->own;
  struct pml__text *out = &x->out;
  const char *process = pml_otf2_read_process(x->trace, x->at->process)->name;
  pml__export_plain(out, own->profiles ? ",\n" : "\n");
  own->profiles = true;
  pml__export_plain(out, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
  x->name.n = 0;
  pml__export_plain(&x->name, process);
  pml__export_plain(&x->name, ", ");
  pml__export_plain(&x->name, x->at->name);
  pml__text_plain(&x->name, "", 1);
  pml__export_string(out, x->name.failed ? "" : x->name.at);
  pml__export_plain(out, ",\"startValue\":");
  pml__export_whole(out, (int64_t)ns);
  pml__export_plain(out, ",\"events\":[");
}

static void put_event(struct pml__export *x, const char *what, uint64_t ns, size_t region) {
  struct own *own = x->own;
  pml__export_plain(&x->out, own->events ? ",\n{\"type\":\"" : "\n{\"type\":\"");
  own->events = true;
  pml__export_plain(&x->out, what);
  pml__export_plain(&x->out, "\",\"frame\":");
  pml__export_whole(&x->out, (int64_t)region);
  pml__export_plain(&x->out, ",\"at\":");
  pml__export_whole(&x->out, (int64_t)ns);
  pml__export_plain(&x->out, "}");
}

static void begin_location(struct pml__export *x) {
  ((struct own *)x->own)->events = false;
}

static void enter(struct pml__export *x, uint64_t ns, size_t region) {
  if (!((struct own *)x->own)->events) begin_profile(x, ns);
  put_event(x, "O", ns, region);
}

static void leave(struct pml__export *x, uint64_t ns, size_t region) {
  put_event(x, "C", ns, region);
}

static void end_location(struct pml__export *x, uint64_t ns) {
  if (!((struct own *)x->own)->events) return;
  pml__export_plain(&x->out, "],\"endValue\":");
  pml__export_whole(&x->out, (int64_t)ns);
  pml__export_plain(&x->out, "}");
}

static void end(struct pml__export *x) {
  pml__export_plain(&x->out, "]}\n");
}

const struct pml__export_form pml__export_speedscope = {
    .name = "speedscope",
    .own = sizeof(struct own),
    .begin = begin,
    .begin_location = begin_location,
    .enter = enter,
    .leave = leave,
    .end_location = end_location,
    .end = end,
};
