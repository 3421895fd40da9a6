/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/export/pml_export_private.h - state of an export, and the interface of a format. Internal. */
#ifndef PML_EXPORT_PRIVATE_H
#define PML_EXPORT_PRIVATE_H

#include "base/text/pml_text.h"
#include "read/export/pml_export.h"

struct pml__export_form;

/* A part of a text; n is 0 until it exists. */
struct pml__export_name {
  size_t at, n;
};

struct pml__export {
  const struct pml__export_form *form;
  struct pml_otf2_read *trace;
  struct pml_otf2_read_about about;
  struct pml_export_counts *counts;
  pml_export_sink *sink;
  void *user;
  struct pml__text out;             /* written to @sink when it is large, and at the end */
  struct pml__text name;            /* scratch text of the form */
  struct pml__text place;           /* for the current location, used by the format */
  struct pml__text names;           /* names of regions in the format: pml__export_region() */
  struct pml__export_name *name_of; /* [nregions] */
  int failed;                       /* the result of @sink */
  void *own;                        /* data of the format */
  int64_t *pid_of;                  /* [nprocesses] */

  size_t location;                         /* the current location */
  const struct pml_otf2_read_location *at; /* the current location */
  int64_t pid, tid;                        /* numbers of the process and the location for viewers */
};

/* An export format. For each location with events begin_location() is called first and end_location() last; in between,
 * times do not decrease, and enters and leaves are properly nested. NULL: the format ignores it. */
struct pml__export_form {
  const char *name;
  size_t own; /* bytes of x->own, zeroed; [nregions] and [nmetrics] bytes more */
  void (*begin)(struct pml__export *x);
  void (*begin_location)(struct pml__export *x);
  void (*put_region)(struct pml__text *out, const char *name); /* for pml__export_region(), writes at least one byte */
  void (*enter)(struct pml__export *x, uint64_t ns, size_t region);
  void (*leave)(struct pml__export *x, uint64_t ns, size_t region);
  /* A send, receive or collective operation. @link: the same for a send and its receive; 0: none. */
  void (*message)(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e, uint64_t link);
  void (*metric)(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e);
  void (*other)(struct pml__export *x, uint64_t ns, const struct pml_otf2_event *e); /* all further kinds */
  void (*end_location)(struct pml__export *x, uint64_t ns);
  void (*end)(struct pml__export *x);
};

extern const struct pml__export_form pml__export_perfetto, pml__export_speedscope, pml__export_csv;

/* pml__export_region - append the name of a region as written by the format's put_region(), which is called once per
 * region. */
void pml__export_region(struct pml__export *x, size_t region);

/* pml__export_value - a metric's value in its unit. */
double pml__export_value(const struct pml__export *x, const struct pml_otf2_event *e);

/*
 * pml__export_clean - @n bytes of a name as UTF-8 of the same length. pml__export_string - a JSON string.
 * pml__export_plain - unchanged text. pml__export_whole - a number.
 */
void pml__export_clean(struct pml__text *out, const char *text, size_t n);
void pml__export_string(struct pml__text *out, const char *text);
void pml__export_plain(struct pml__text *out, const char *text);
void pml__export_whole(struct pml__text *out, int64_t v);

#endif
