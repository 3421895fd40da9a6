/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi_place.c - a communication is written where its only consumer has a place for it, else handed out. */
#include "adapter/mpi/pml_mpi.h"
#include "check.h"

#include <string.h>

enum { ROOM = 16 };
#define SENT PML__LOG_COMMUNICATED(PML__LOG_SEND, 3, 0)

static struct pml__log_event events[ROOM];
static struct pml_stream_place place = {events, events + ROOM, 0};
static unsigned handed, counted;

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static void hand(void *data, const struct pml_stream_event *e) {
  (void)e;
  ++*(unsigned *)data;
}
static struct pml_stream_place *its_place(void *data) {
  (void)data;
  return &place;
}

static uint64_t add(unsigned *count, bool has_place) {
  const struct pml_stream_consumer c = {.thread_begin = begin,
                                        .event[PML_STREAM_COMMUNICATION] = hand,
                                        .place = has_place ? its_place : NULL,
                                        .arg = count};
  uint64_t id = 0;
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer");
  return id;
}

static bool put(void) {
  return pml__mpi_put(SENT, 1, 2, 3, 0);
}

static void raise_it(void) {
  const uint64_t v[4] = {1, 2, 3, 0};
  pml__mpi_raise(SENT, v);
}

static void start_again(void) {
  memset(events, 0, sizeof events);
  place = (struct pml_stream_place){events, events + ROOM, 0};
}

static void check_written(void) {
  CHECK(!put(), "a thread's first event is handed out");
  raise_it();
  CHECK(put() && handed == 1, "the next one is written");
  CHECK(events[0].word == PML__LOG_WORD(PML__LOG_COMMUNICATION, SENT), "with what it is");
  CHECK(events[0].ticks != 0 && events[0].ticks == place.last_ticks, "and when");
  CHECK(events[1].ticks == 1 && events[1].word == 2 && events[2].ticks == 3, "and its values");
  CHECK(place.next == events + 3, "the next one comes behind it");
}

static void check_refused(void) {
  start_again();
  place.end = events + 5;
  CHECK(put(), "room for it and two events more is enough");
  start_again();
  place.end = events + 4;
  CHECK(!put() && place.next == events, "with less it is handed out");
  start_again();
  place.last_ticks = UINT64_MAX;
  CHECK(!put() && place.next == events, "as is one that is older than the last");
  start_again();
  pml__stream_begin_plainly(pml__stream_self);
  CHECK(!put(), "and one that comes while another is handed out");
  pml__stream_end_pass(pml__stream_self);
  CHECK(put(), "after which all is as before");
}

static void check_several(uint64_t first) {
  uint64_t second = add(&counted, false);
  start_again();
  handed = 0;
  CHECK(!put(), "with two consumers nothing is written");
  raise_it();
  CHECK(!put() && handed == 1 && counted == 1, "each gets it");
  CHECK(pml_stream_remove(second) == 0, "one goes");
  raise_it();
  CHECK(put() && place.next == events + 3, "and the other's place is used again");
  CHECK(pml_stream_remove(first) == 0, "it goes, too");
  CHECK(!put() && place.next == events + 3, "and nothing is written any more");
}

int main(void) {
  uint64_t id = add(&handed, true);
  if (pml_clock_init() < 0 || pml__clock.kind != PML_CLOCK_COUNTER || !atomic_load(&pml__stream_expedited)) {
    SKIP("the clock is no counter, or the kernel has no membarrier(2)");
    return check_done();
  }
  check_written();
  check_refused();
  check_several(id);
  return check_done();
}
