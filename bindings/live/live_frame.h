/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_frame.h - message framing on the socket of a running application.
 *
 *     question   pmlua1 KIND LENGTH\n  and LENGTH bytes      KIND: info, values, series, sections, stop, complete, eval
 *     answer     ok LENGTH\n           and LENGTH bytes
 *                error LENGTH\n        and LENGTH bytes: one line
 *
 * Received bytes are fed to a frame piece by piece, as they arrive. Nothing here reads or writes a socket.
 */
#ifndef LIVE_FRAME_H
#define LIVE_FRAME_H

#include <stddef.h>

#define LIVE_HEADER_MAX 64
#define LIVE_QUESTION_MAX 65536
#define LIVE_ANSWER_MAX (16u << 20)

enum live_kind {
  LIVE_INFO,
  LIVE_VALUES,
  LIVE_SERIES,
  LIVE_SECTIONS,
  LIVE_STOP,
  LIVE_COMPLETE,
  LIVE_EVAL,
  LIVE_OK,
  LIVE_ERROR
};

struct live_frame {
  size_t max; /* bytes of payload: LIVE_QUESTION_MAX or LIVE_ANSWER_MAX, which also selects the expected header */
  char header[LIVE_HEADER_MAX]; /* the received part */
  size_t header_length;
  enum live_kind kind; /* once the header is complete */
  char *payload;       /* owned, zero-terminated; NULL before the header is complete */
  size_t length, received;
};

/* live_frame_question, live_frame_answer - an empty frame that waits for one. reset: ready for the next; frees. */
void live_frame_question(struct live_frame *f);
void live_frame_answer(struct live_frame *f);
void live_frame_reset(struct live_frame *f);

/*
 * live_frame_feed - take what belongs to this frame from @n bytes; *@taken says how many those were.
 * Returns 1 when the frame is complete, 0 when more is needed, PML_EFORMAT for an invalid header
 * (pml_error_detail() says why), -EMSGSIZE for a length beyond the maximum, -ENOMEM. After a failure only reset and
 * free make sense.
 */
int live_frame_feed(struct live_frame *f, const char *bytes, size_t n, size_t *taken);

/* live_frame_header - the header of a frame of that kind and length, zero-terminated. Returns its length. */
size_t live_frame_header(char out[LIVE_HEADER_MAX], enum live_kind kind, size_t length);

/* live_kind_name - "info", ..., "ok", "error". */
const char *live_kind_name(enum live_kind kind);

#endif
