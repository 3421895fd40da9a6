/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live_frame.c - questions and answers on the socket: whole, in pieces, and broken. */
#include "live/live_frame.h"

#include "base/pml_error.h"
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a frame says of the bytes, fed @piece at a time; what of them it took. */
static int feed(struct live_frame *f, const char *bytes, size_t n, size_t piece, size_t *taken) {
  int rc = 0;
  *taken = 0;
  while (rc == 0 && *taken < n) {
    size_t now, left = n - *taken;
    rc = live_frame_feed(f, bytes + *taken, left < piece ? left : piece, &now);
    *taken += now;
  }
  return rc;
}

static void whole(void) {
  static const char two[] = "pmlua1 eval 8\nreturn 1pmlua1 info 0\n";
  for (size_t piece = 1; piece <= sizeof two; piece += 6) {
    struct live_frame f;
    size_t taken, more;
    live_frame_question(&f);
    int rc = feed(&f, two, sizeof two - 1, piece, &taken);
    CHECK(rc == 1 && f.kind == LIVE_EVAL && f.length == 8 && strcmp(f.payload, "return 1") == 0 && taken == 22,
          "a question in pieces of %zu is whole, and what follows is left", piece);
    live_frame_reset(&f);
    rc = feed(&f, two + taken, sizeof two - 1 - taken, piece, &more);
    CHECK(rc == 1 && f.kind == LIVE_INFO && f.length == 0 && f.payload != NULL && taken + more == sizeof two - 1,
          "the next one, which is empty, is whole with its header");
    live_frame_reset(&f);
  }
}

static void there_and_back(void) {
  for (int kind = LIVE_INFO; kind <= LIVE_ERROR; kind++) {
    char header[LIVE_HEADER_MAX];
    struct live_frame f;
    size_t taken, n = live_frame_header(header, (enum live_kind)kind, 3);
    kind <= LIVE_EVAL ? live_frame_question(&f) : live_frame_answer(&f);
    memcpy(header + n, "a\0b", 3);
    int rc = feed(&f, header, n + 3, 64, &taken);
    CHECK(rc == 1 && f.kind == (enum live_kind)kind && f.length == 3 && memcmp(f.payload, "a\0b", 4) == 0,
          "what live_frame_header() writes is read as %s", live_kind_name((enum live_kind)kind));
    live_frame_reset(&f);
  }
}

static void broken(void) {
  static const struct {
    const char *bytes;
    int err;
  } bad[] = {
      {"GET / HTTP/1.1\r\n\r\n", PML_EFORMAT},
      {"\n", PML_EFORMAT},
      {"pmlua1\n", PML_EFORMAT},
      {"pmlua1 \n", PML_EFORMAT},
      {"pmlua1 eval\n", PML_EFORMAT},
      {"pmlua1 eval \n", PML_EFORMAT},
      {"pmlua1 eval x\n", PML_EFORMAT},
      {"pmlua1 eval -1\n", PML_EFORMAT},
      {"pmlua1 eval +1\n", PML_EFORMAT},
      {"pmlua1 eval 007\n", PML_EFORMAT},
      {"pmlua1 eval 1 \n", PML_EFORMAT},
      {"pmlua1 eval 1\r\n", PML_EFORMAT},
      {"pmlua1  eval 1\n", PML_EFORMAT},
      {"pmlua1 evil 1\n", PML_EFORMAT},
      {"pmlua1 ok 1\n", PML_EFORMAT},
      {"pmlua2 eval 1\n", PML_EFORMAT},
      {"ok 1\n", PML_EFORMAT},
      {"pmlua1 eval 65537\n", -EMSGSIZE},
      {"pmlua1 eval 18446744073709551617\n", -EMSGSIZE},
      {"pmlua1 eval 99999999999999999999999999999999999999999\n", -EMSGSIZE},
      {"pmlua1 eval                                                              1\n", PML_EFORMAT},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct live_frame f;
    size_t taken;
    live_frame_question(&f);
    int rc = feed(&f, bad[i].bytes, strlen(bad[i].bytes), 7, &taken);
    CHECK(rc == bad[i].err && strchr(pml_error_detail(rc), '\n') == NULL && pml_error_detail(rc) != pml_error_text(rc),
          "header %zu is refused: %s", i + 1, pml_error_detail(rc));
    live_frame_reset(&f);
  }
  struct live_frame f;
  size_t taken;
  live_frame_question(&f);
  CHECK(feed(&f, "pmlua1\0eval 1\n", 14, 64, &taken) == PML_EFORMAT, "a zero byte in a header is refused");
  live_frame_reset(&f);
  live_frame_answer(&f);
  CHECK(feed(&f, "ok 16777217\n", 12, 64, &taken) == -EMSGSIZE, "an answer has a maximum, too");
  live_frame_reset(&f);
  live_frame_answer(&f);
  CHECK(feed(&f, "pmlua1 eval 1\nx", 15, 64, &taken) == PML_EFORMAT, "a question is no answer");
  live_frame_reset(&f);
}

int main(void) {
  whole();
  there_and_back();
  broken();
  return check_done();
}
