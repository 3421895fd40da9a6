/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_frame.c - arbitrary bytes on the socket, in pieces of any size: valid frames, or a failure with a
 * reason. */
#include "base/pml_error.h"
#include "fuzz.h"
#include "live/live_frame.h"

static void check_whole(const struct live_frame *f, bool question) {
  char header[LIVE_HEADER_MAX];
  PROMISE(f->received == f->length && f->length <= f->max, "a whole frame is as long as it says");
  PROMISE(f->payload != NULL && f->payload[f->length] == '\0', "its payload ends in a zero");
  PROMISE((f->kind <= LIVE_EVAL) == question, "a question is a question");
  size_t n = live_frame_header(header, f->kind, f->length);
  PROMISE(n == f->header_length && memcmp(header, f->header, n - 1) == 0, "its header is written unchanged");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct live_frame f;
  uint8_t how = fuzz_byte(&in);
  size_t piece = 1u + (how >> 1), whole = 0;
  bool question = how & 1;
  question ? live_frame_question(&f) : live_frame_answer(&f);
  while (in.at < in.end) {
    size_t left = (size_t)(in.end - in.at), taken;
    size_t n = left < piece ? left : piece;
    char *copy = malloc(n); /* so that reading behind it is seen */
    memcpy(copy, in.at, n);
    int rc = live_frame_feed(&f, copy, n, &taken);
    free(copy);
    PROMISE(taken <= n, "no more is taken than was given");
    PROMISE(rc != 0 || taken == n, "while more is needed, all is taken");
    PROMISE(rc >= 0 || rc == PML_EFORMAT || rc == -EMSGSIZE || rc == -ENOMEM, "a refusal has one of three codes");
    PROMISE(rc >= 0 || (*pml_error_detail(rc) && !strchr(pml_error_detail(rc), '\n')), "and a reason of one line");
    in.at += taken;
    if (rc < 0) break;
    if (rc == 0) continue;
    check_whole(&f, question);
    PLANTED(++whole == 2 && f.length == 3);
    live_frame_reset(&f);
  }
  live_frame_reset(&f);
  return 0;
}
