/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/export/pml_export_metrics.h - the values of running programs as lines of text. Internal.
 *
 * A program's answer (source/sde/pml_sde_values.h) has its values in the order of its names. Lines that are prepared
 * once for these names are then written again and again: a constant text, or a text and the value of one word of an
 * answer.
 */
#ifndef PML_EXPORT_METRICS_H
#define PML_EXPORT_METRICS_H

#include "base/pml_pack.h"
#include "base/pml_value.h"
#include "source/sde/pml_sde.h"

PML_BEGIN_DECLS

/* An answer; all points into its bytes, which need not be aligned. */
struct pml__metrics_answer {
  uint64_t generation, missing;
  uint32_t events, words;
  const unsigned char *value, *what;
  struct pml__unpack names; /* nothing left: the answer has none */
  const char *text;
  size_t text_bytes;
};

/* pml__metrics_parse - 0, or PML_EFORMAT: the bytes are no answer. Names are checked by pml__metrics_next(). */
PML__SHARED int pml__metrics_parse(struct pml__metrics_answer *a, const void *bytes, size_t n);

/* pml__metrics_value - the value of word @word from 0; false: it has none. */
PML__SHARED bool pml__metrics_value(const struct pml__metrics_answer *a, uint32_t word, struct pml_value *v);

struct pml__metrics_event {
  const char *name, *description;
  enum pml_sde_kind kind;
  enum pml_type type;
  unsigned mode;
  uint32_t word, words; /* the first from 0, and how many */
};

/* pml__metrics_next - the next event of @a: 1; 0 after the last; PML_EFORMAT. @e is all 0 for the first. */
PML__SHARED int pml__metrics_next(struct pml__metrics_answer *a, struct pml__metrics_event *e);

#define PML__METRICS_CONSTANT UINT32_MAX

struct pml__metrics_line {
  size_t end;             /* offset behind the text of the line */
  uint32_t program, word; /* PML__METRICS_CONSTANT: the line has no value */
  uint32_t rising;        /* the value is a counter: not negative, not NaN */
};

struct pml__metrics_lines {
  char *text; /* the texts of all lines, concatenated */
  size_t text_bytes, text_room;
  struct pml__metrics_line *line;
  size_t n, room;
};

/* pml__metrics_add - append a line with a copy of @n bytes of @text. 0 or -ENOMEM. free - also of lines that are all 0.
 */
PML__SHARED int pml__metrics_add(struct pml__metrics_lines *l, const char *text, size_t n, uint32_t program,
                                 uint32_t word, bool rising);
PML__SHARED void pml__metrics_free(struct pml__metrics_lines *l);

/*
 * pml__metrics_room - an upper bound of the size of the lines in bytes.
 * pml__metrics_write - write the lines with the values of @programs programs, and omit lines without a value. Returns
 *   the number of bytes at @to. Cost: some 30 ns for a line with an integer, 60 ns with a double.
 * pml__metrics_fallen - the first line from @from on whose counter is negative or NaN, or l->n.
 */
PML__SHARED size_t pml__metrics_room(const struct pml__metrics_lines *l);
PML__SHARED size_t pml__metrics_write(const struct pml__metrics_lines *l, const struct pml__metrics_answer *answer,
                                      uint32_t programs, char *to);
PML__SHARED size_t pml__metrics_fallen(const struct pml__metrics_lines *l, const struct pml__metrics_answer *answer,
                                       uint32_t programs, size_t from);

PML_END_DECLS

#endif
