/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi_place.c - a communication is written where its only consumer has a place for it, else handed out. */
#include "adapter/mpi/pml_mpi.h"
#include "check.h"

enum { ROOM = 16 };
#define SENT PML__LOG_COMMUNICATED(PML__LOG_SEND, 3, 0)

static struct pml__log_event extent[1 + ROOM], *const events = extent + 1; /* before events is another, always */
static struct pml_stream_place place;
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
  pml__mpi_emit(SENT, v);
}

static void start_again(void) {
  memset(extent, 0, sizeof extent);
  place = (struct pml_stream_place){
      .next = events, .fits = events + ROOM - PML_STREAM_FITS, .end = events + ROOM, .last_ticks = 0};
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
  CHECK(!put() && place.next == events, "as is an offset older than the last");
  start_again();
  (void)pml__stream_guard(pml__stream_self, PML__STREAM_EMITTING);
  CHECK(!put(), "and an offset that comes while another is used");
  pml__stream_unguard(pml__stream_self);
  CHECK(put(), "after which all is as before");
}

#define ENTER PML__LOG_WORD(PML__LOG_ENTER, 7)
#define OF_CALL PML__LOG_COMMUNICATED(PML__LOG_SEND, 1, 1)

static struct pml_stream_place *open_call(void) {
  static const uint64_t enter = ENTER;
  return pml__mpi_open(pml__stream_self, &enter);
}

static void check_call(void) {
  start_again();
  CHECK(open_call() == NULL && place.next == events, "an event of a call is not written without the call's enter");
  events[0] = (struct pml__log_event){5, ENTER};
  place.next = events + 1;
  CHECK(open_call() == &place, "behind its enter it is");
  struct pml__log_event *e = pml__mpi_take(&place, 2);
  e[1].ticks = 9;
  pml__mpi_store(e, OF_CALL, 100);
  pml__stream_unguard(pml__stream_self);
  CHECK(e == events + 1 && place.next == events + 3, "it has its room");
  CHECK(e->word == PML__LOG_WORD(PML__LOG_CALL_COMMUNICATION, OF_CALL) && e->ticks == 100 && e[1].ticks == 9,
        "and what it is");
  CHECK(open_call() == NULL && place.next == events + 3, "behind it there is no other");
  events[2].word = ENTER + 1;
  CHECK(open_call() == NULL, "nor behind another enter");
  events[2].word = ENTER;
  place.fits = events + 3;
  CHECK(open_call() == NULL, "nor where the extent ends");
  place.fits = events + 4;
  (void)pml__stream_guard(pml__stream_self, PML__STREAM_EMITTING);
  CHECK(open_call() == NULL, "nor while another is handed out");
  pml__stream_unguard(pml__stream_self);
  CHECK(open_call() == &place, "after which it is");
  pml__stream_unguard(pml__stream_self);
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
  start_again();
  uint64_t id = add(&handed, true);
  if (pml_clock_init() < 0 || pml__clock.kind != PML_CLOCK_COUNTER || !atomic_load(&pml__stream_expedited)) {
    SKIP("the clock is no counter, or the kernel has no membarrier(2)");
    return check_done();
  }
  CHECK_EACH(check_written, check_refused, check_call);
  check_several(id);
  return check_done();
}
