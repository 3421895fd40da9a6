/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_rows.c - recorded calls of a process as rows of text. */
#include "read/recording/pml_recording_rows.h"

static const char *const name[] = {"\"rank\"",         "\"host\"",         "\"pid\"",    "\"thread\"",
                                   "\"path\"",         "\"parent\"",       "\"depth\"",  "\"library\"",
                                   "\"function\"",     "\"outermost\"",    "\"calls\"",  "\"unreturned\"",
                                   "\"inclusive_ns\"", "\"exclusive_ns\"", "\"min_ns\"", "\"max_ns\""};
#define CELLS (sizeof name / sizeof name[0])

static struct pml__cell whole(uint64_t v) {
  return (struct pml__cell){.kind = PML__CELL_WHOLE, .whole = (int64_t)v};
}

static struct pml__cell text(const char *of) {
  return (struct pml__cell){.kind = of != NULL ? PML__CELL_TEXT : PML__CELL_ABSENT, .text = of};
}

static struct pml__cell real(double v, bool present) {
  return (struct pml__cell){.kind = present ? PML__CELL_REAL : PML__CELL_ABSENT, .real = v};
}

static void write_call(const struct pml__recording_rows *rows, const struct pml_recording_call *c,
                       struct pml__cells_writer *out) {
  const struct pml_profile_node *n = &c->node;
  const struct pml__recording_names *of = &rows->name[n->region];
  const struct pml__cell cell[CELLS] = {text(rows->process[0]),
                                        text(rows->process[1]),
                                        text(rows->process[2]),
                                        whole(c->thread),
                                        whole(c->path),
                                        c->parent != 0 ? whole(c->parent) : text(NULL),
                                        whole(n->depth),
                                        text(of->library),
                                        text(of->function),
                                        {.kind = PML__CELL_TRUTH, .truth = c->outermost},
                                        whole(n->count + n->running),
                                        whole(n->running),
                                        real(n->inclusive_ns, true),
                                        real(n->exclusive_ns, true),
                                        real(n->min_ns, n->count > 0),
                                        real(n->max_ns, n->count > 0)};
  pml__cells_write(out, &(struct pml__cells){CELLS, name, cell});
}

void pml__recording_rows_write(const struct pml__recording_rows *rows, struct pml__cells_writer *out) {
  for (size_t i = 0; i < rows->n; i++) write_call(rows, &rows->call[i], out);
}
