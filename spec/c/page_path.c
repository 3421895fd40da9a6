/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/page_path.c - the code that ships reads pages by rdpmc, without a PMU: where the kernel forbids the
 * instruction it raises SIGSEGV, and the handler does what a counter would do.
 */
#include "base/pml_thread.h"
#include "source/pml_eventset.h"
#include "source/pml_eventset_private.h"
#include "source/pml_group.h"
#include "source/pml_rdpmc.h"

#include "check.h"
#include "events.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)

#define MEMBERS 3

static struct perf_event_mmap_page page[MEMBERS];
static volatile uint64_t counter[MEMBERS];
static volatile unsigned emulated, interruptions;

static void emulate(int sig, siginfo_t *info, void *context) {
  greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *insn = (const uint8_t *)(uintptr_t)reg[REG_RIP];
  (void)info;
  if (insn[0] != 0x0f || insn[1] != 0x33 || reg[REG_RCX] >= MEMBERS) { /* somebody else's fault */
    signal(sig, SIG_DFL);
    return;
  }
  uint64_t v = counter[reg[REG_RCX]];
  reg[REG_RAX] = (greg_t)(v & UINT32_MAX);
  reg[REG_RDX] = (greg_t)(v >> 32);
  reg[REG_RIP] += 2;
  emulated++;
  if (interruptions > 0) {
    interruptions--;
    page[reg[REG_RCX]].lock += 2;
  }
}

static bool rdpmc_is_ours(void) {
  struct sigaction sa = {.sa_sigaction = emulate, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &sa, NULL);
  counter[1] = 0x123456789abc;
  return pml__rdpmc_insn(1) == 0x123456789abc && emulated == 1;
}

static void fresh_pages(void) {
  memset(page, 0, sizeof page);
  for (uint32_t i = 0; i < MEMBERS; i++) {
    page[i].cap_user_rdpmc = page[i].cap_user_time = 1;
    page[i].index = i + 1;
    page[i].pmc_width = 48;
    page[i].offset = (int64_t)(i + 1) * 1000000;
    page[i].time_mult = 1;
    page[i].time_enabled = page[i].time_running = 5000;
    counter[i] = 0;
  }
  interruptions = 0;
}

/* A set of software events, dressed up as one of hardware events. */
static struct pml_eventset *open_dressed(void) {
  struct pml_event ev[MEMBERS] = {faults(), task_clock(), switches()};
  struct pml_eventset *s;
  if (pml__eventset_open_events(&s, ev, MEMBERS, NULL) != 0) return NULL;
  s->owner = pml_thread_self()->id;
  s->group[0].paged = true;
  s->simple = false;
  for (uint32_t i = 0; i < MEMBERS; i++) {
    s->page[i] = s->counter[i].page = &page[i];
    s->counter[i].owner = s->owner;
  }
  return s;
}

static void close_dressed(struct pml_eventset *s) {
  for (uint32_t i = 0; i < MEMBERS; i++) s->counter[i].page = NULL;
  pml_eventset_close(s);
}

static void sets(struct pml_eventset *s) {
  uint64_t v[MEMBERS] = {0};
  struct pml_reading r[MEMBERS];
  struct pml_eventset_event info;
  fresh_pages();
  pml_eventset_start(s);
  counter[0] = 10, counter[1] = 20, counter[2] = 30;
  unsigned before = emulated;
  int rc = pml_eventset_read(s, v);
  CHECK(rc == 0 && emulated - before == MEMBERS, "a set whose events all have a page reads nothing but pages");
  CHECK(v[0] == 10 && v[1] == 20 && v[2] == 30, "in the order of the names");
  page[1].offset += 20, counter[1] = (UINT64_C(1) << 48) - 5;
  CHECK(pml_eventset_read(s, v) == 0 && v[1] == 15, "a counter that was set anew by the kernel goes on");
  interruptions = 2;
  CHECK(pml_eventset_read(s, v) == 2 && v[0] == 10, "two page reads tried again are told");
  page[0].time_enabled += 700, page[0].time_running += 400;
  CHECK(pml_eventset_readings(s, r) == 0 && r[2].raw == 30 && r[0].enabled_ns - r[0].running_ns == 300,
        "times since start come from the page, too");
  rc = pml_eventset_event(s, 1, &info);
  CHECK(rc == 0 && info.path == PML_PATH_PAGE && info.why == NULL, "the path is the page");
  page[2].index = 0;
  rc = pml_eventset_event(s, 2, &info);
  CHECK(rc == 0 && info.path == PML_PATH_READ && info.why != NULL, "an event off its counter: read(2), and why");
  rc = pml_eventset_event(s, 0, &info);
  CHECK(rc == 0 && info.path == PML_PATH_READ && info.why != NULL, "and so its whole group");
  pml_eventset_stop(s, v);
  pml_eventset_start(s);
  CHECK(pml_eventset_read(s, v) == 0 && v[0] < 1000 && v[2] < 1000, "which the kernel then reads");
}

struct visitor {
  struct pml_eventset *set;
  unsigned emulated;
  enum pml_path path;
  int rc;
};

static void *visit(void *arg) {
  struct visitor *o = arg;
  uint64_t v[MEMBERS];
  struct pml_reading r;
  unsigned before = emulated;
  o->rc = pml_eventset_read(o->set, v) | pml_counter_read(&o->set->counter[1], &r);
  o->path = pml_counter_path(&o->set->counter[0], NULL);
  o->emulated = emulated - before;
  return NULL;
}

static void on_another_thread(struct pml_eventset *s) {
  struct visitor o = {.set = s};
  pthread_t t;
  fresh_pages();
  pthread_create(&t, NULL, visit, &o);
  pthread_join(t, NULL);
  CHECK(o.rc == 0 && o.emulated == 0 && o.path == PML_PATH_READ, "another thread never reads a page");
}

static void counters_and_groups(struct pml_eventset *s) {
  uint64_t buffer[3 + MEMBERS];
  struct pml_group g = {.member = s->counter, .buffer = buffer, .n = MEMBERS};
  struct pml_reading r[MEMBERS];
  fresh_pages();
  counter[0] = 7, counter[2] = 9;
  interruptions = 1;
  CHECK(pml_group_read(&g, r) == 1 && r[0].raw == 1000007 && r[2].raw == 3000009, "a group reads its members' pages");
  CHECK(pml_counter_read(&s->counter[2], &r[0]) == 0 && r[0].raw == 3000009, "a counter its own");
  CHECK(pml_counter_path(&s->counter[2], NULL) == PML_PATH_PAGE, "and says so");
  page[1].cap_user_rdpmc = 0;
  CHECK(pml_group_read(&g, r) == 0 && r[0].raw < 1000000, "unless one of them may not: then read(2) for all");
}

int main(void) {
  if (!rdpmc_is_ours()) {
    SKIP("rdpmc does not fault here: a real counter answers");
    return check_done();
  }
  struct pml_eventset *s = open_dressed();
  if (!CHECK(s != NULL, "a set of software events, dressed up with pages")) return check_done();
  sets(s);
  on_another_thread(s);
  counters_and_groups(s);
  close_dressed(s);
  return check_done();
}

#else

int main(void) {
  SKIP("the emulation is written for x86-64's rdpmc");
  return check_done();
}

#endif
