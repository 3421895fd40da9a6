/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/export/pml_export_metrics.c - the values of running programs as lines of text. */
#include "read/export/pml_export_metrics.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/text/pml_number.h"
#include "source/sde/pml_sde_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int malformed(void) {
  return pml_fail(PML_EFORMAT, "a program's values are not in the form of this version");
}

int pml__metrics_parse(struct pml__metrics_answer *a, const void *bytes, size_t n) {
  struct pml__sde_values_head head;
  if (n < sizeof head) return malformed();
  memcpy(&head, bytes, sizeof head);
  uint64_t whole = sizeof head + UINT64_C(9) * head.words + head.names_bytes + head.text_bytes;
  if (head.magic != PML__SDE_VALUES_MAGIC || whole != n || head.words < head.events || head.generation == 0)
    return malformed();
  const unsigned char *at = (const unsigned char *)bytes + sizeof head;
  *a = (struct pml__metrics_answer){
      .generation = head.generation, .missing = head.missing, .events = head.events, .words = head.words, .value = at};
  a->what = at + (size_t)8 * head.words;
  a->names = (struct pml__unpack){a->what + head.words, head.names_bytes, false};
  a->text = (const char *)a->what + head.words + head.names_bytes;
  a->text_bytes = head.text_bytes;
  return 0;
}

bool pml__metrics_value(const struct pml__metrics_answer *a, uint32_t word, struct pml_value *v) {
  if (word >= a->words || (a->what[word] & PML__SDE_HAS) == 0) return false;
  v->type = (a->what[word] & PML__SDE_DOUBLE) != 0 ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
  memcpy(&v->i, a->value + (size_t)8 * word, sizeof v->i);
  return true;
}

int pml__metrics_next(struct pml__metrics_answer *a, struct pml__metrics_event *e) {
  uint32_t word = e->word + e->words;
  if (a->events == 0) return a->names.left == 0 && word == a->words ? 0 : malformed();
  a->events--;
  e->kind = (enum pml_sde_kind)pml__unpack_whole(&a->names, PML_SDE_PER_THREAD);
  e->type = (enum pml_type)pml__unpack_whole(&a->names, PML_TYPE_OTHER);
  e->mode = (unsigned)pml__unpack_whole(&a->names, UINT8_MAX);
  e->name = pml__unpack_text(&a->names);
  e->description = pml__unpack_text(&a->names);
  e->word = word;
  e->words = e->kind == PML_SDE_RECORDER ? PML__SDE_WIDE : 1;
  return a->names.failed || e->words > a->words - word ? malformed() : 1;
}

/* --- lines --- */

int pml__metrics_add(struct pml__metrics_lines *l, const char *text, size_t n, uint32_t program, uint32_t word,
                     bool rising) {
  if (!PML__ARRAY_ROOM(l->text, l->text_room, l->text_bytes + n) || !PML__ARRAY_ROOM(l->line, l->room, l->n + 1))
    return pml_fail(-ENOMEM, "out of memory for lines of metrics");
  if (n > 0) memcpy(l->text + l->text_bytes, text, n);
  l->text_bytes += n;
  l->line[l->n++] = (struct pml__metrics_line){l->text_bytes, program, word, rising};
  return 0;
}

void pml__metrics_free(struct pml__metrics_lines *l) {
  free(l->text);
  free(l->line);
  *l = (struct pml__metrics_lines){0};
}

size_t pml__metrics_room(const struct pml__metrics_lines *l) {
  return l->text_bytes + l->n * (PML__NUMBER_MAX + 1);
}

static size_t put_value(char *to, const struct pml_value *v) {
  if (v->type == PML_TYPE_INT64) return pml__number_whole(to, v->i);
  if (PML_LIKELY(isfinite(v->d))) return pml__number_text(to, v->d, PML__NUMBER_EXACT);
  const char *text = isnan(v->d) ? "NaN" : v->d > 0 ? "+Inf" : "-Inf";
  size_t n = strlen(text);
  memcpy(to, text, n);
  return n;
}

static bool value_of(const struct pml__metrics_line *line, const struct pml__metrics_answer *answer, uint32_t programs,
                     struct pml_value *v) {
  return line->program < programs && pml__metrics_value(&answer[line->program], line->word, v);
}

size_t pml__metrics_write(const struct pml__metrics_lines *l, const struct pml__metrics_answer *answer,
                          uint32_t programs, char *to) {
  char *at = to;
  size_t from = 0;
  for (size_t i = 0; i < l->n; i++) {
    const struct pml__metrics_line *line = &l->line[i];
    struct pml_value v = {0};
    bool constant = line->program == PML__METRICS_CONSTANT;
    if (constant || value_of(line, answer, programs, &v)) {
      if (line->end > from) memcpy(at, l->text + from, line->end - from);
      at += line->end - from;
      if (!constant) {
        at += put_value(at, &v);
        *at++ = '\n';
      }
    }
    from = line->end;
  }
  return (size_t)(at - to);
}

size_t pml__metrics_fallen(const struct pml__metrics_lines *l, const struct pml__metrics_answer *answer,
                           uint32_t programs, size_t from) {
  struct pml_value v = {0};
  while (from < l->n &&
         !(l->line[from].rising && value_of(&l->line[from], answer, programs, &v) && !(pml_value_number(&v) >= 0)))
    from++;
  return from;
}
