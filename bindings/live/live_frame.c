/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_frame.c - message framing on the socket of a running application. */
#include "live/live_frame.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GREETING "pmlua1 "

static const char *const names[] = {"info", "values", "series", "sections", "stop", "complete", "eval", "ok", "error"};

const char *live_kind_name(enum live_kind kind) {
  return names[kind];
}

static void begin(struct live_frame *f, size_t max) {
  *f = (struct live_frame){.max = max};
}

void live_frame_question(struct live_frame *f) {
  begin(f, LIVE_QUESTION_MAX);
}

void live_frame_answer(struct live_frame *f) {
  begin(f, LIVE_ANSWER_MAX);
}

void live_frame_reset(struct live_frame *f) {
  free(f->payload);
  begin(f, f->max);
}

static bool is_question(enum live_kind kind) {
  return kind <= LIVE_EVAL;
}

size_t live_frame_header(char out[LIVE_HEADER_MAX], enum live_kind kind, size_t length) {
  const char *greeting = is_question(kind) ? GREETING : "";
  return (size_t)snprintf(out, LIVE_HEADER_MAX, "%s%s %zu\n", greeting, names[kind], length);
}

/* --- what comes in --- */

static bool find_kind(const char *name, size_t n, bool question, enum live_kind *kind) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0 && is_question((enum live_kind)i) == question) {
      *kind = (enum live_kind)i;
      return true;
    }
  return false;
}

/* Digits only, no sign, no leading zero, not above @max. */
static int parse_length(const char *digits, size_t max, size_t *length) {
  size_t v = 0, n = strspn(digits, "0123456789");
  if (n == 0 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
    return pml_fail(PML_EFORMAT, "the header of a frame ends in its length, in digits");
  for (; *digits != '\0' && v <= max; digits++) v = v * 10 + (size_t)(*digits - '0');
  if (v > max) return pml_fail(-EMSGSIZE, "a frame is at most %zu bytes long", max);
  *length = v;
  return 0;
}

/* The header is there, its newline replaced by the end of a string. */
static int parse_header(struct live_frame *f) {
  bool question = f->max == LIVE_QUESTION_MAX;
  const char *at = f->header;
  if (strlen(f->header) + 1 != f->header_length)
    return pml_fail(PML_EFORMAT, "the header of a frame contains a zero byte");
  if (question && strncmp(at, GREETING, strlen(GREETING)) != 0)
    return pml_fail(PML_EFORMAT,
                    "a question begins with \"" GREETING "\"; the other side is not pmlua, or of another version");
  if (question) at += strlen(GREETING);
  size_t n = strcspn(at, " ");
  if (at[n] != ' ' || !find_kind(at, n, question, &f->kind))
    return pml_fail(PML_EFORMAT, question
                                     ? "a question's kind is info, values, series, sections, stop, complete or eval"
                                     : "an answer begins with ok or error");
  int err = parse_length(at + n + 1, f->max, &f->length);
  if (err < 0) return err;
  f->payload = malloc(f->length + 1);
  if (f->payload == NULL) return pml_fail(-ENOMEM, "out of memory for a frame of %zu bytes", f->length);
  f->payload[f->length] = '\0';
  return 0;
}

static int feed_header(struct live_frame *f, const char *bytes, size_t n, size_t *taken) {
  while (*taken < n) {
    char c = bytes[(*taken)++];
    f->header[f->header_length++] = c == '\n' ? '\0' : c;
    if (c == '\n') return parse_header(f);
    if (f->header_length == LIVE_HEADER_MAX)
      return pml_fail(PML_EFORMAT, "the header of a frame is longer than %d bytes", LIVE_HEADER_MAX);
  }
  return 0;
}

int live_frame_feed(struct live_frame *f, const char *bytes, size_t n, size_t *taken) {
  *taken = 0;
  if (f->payload == NULL) {
    int err = feed_header(f, bytes, n, taken);
    if (err < 0) return err;
    if (f->payload == NULL) return 0;
  }
  size_t more = f->length - f->received;
  if (more > n - *taken) more = n - *taken;
  if (more > 0) memcpy(f->payload + f->received, bytes + *taken, more);
  f->received += more;
  *taken += more;
  return f->received == f->length;
}
