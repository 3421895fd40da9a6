/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_archive.c - files that processes which write an archive together leave for each other: the plan (after
 * a byte 'l'), or a part (after any other byte). Arbitrary bytes are refused in one line, or taken.
 *
 * Link: -Wl,--wrap=rename
 */
#include "base/pml_error.h"
#include "fuzz.h"
#include "substrate/archive/pml_archive_part.h"
#include "substrate/archive/pml_archive_share.h"
#include "substrate/trace/pml_otf2_openmp.h"

#include <errno.h>
#include <sys/stat.h>

/* The files with events, which move into the archive, are not here. */
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
  return strstr(from, ".evt") != NULL ? 0 : __real_rename(from, to);
}

static bool taken(int err) {
  PROMISE(err == 0 || err == PML_EFORMAT || err == -ENOMEM || err == -ENOSPC, "it is taken, or refused");
  PROMISE(err == 0 || (*pml_error_detail(err) != '\0' && strchr(pml_error_detail(err), '\n') == NULL), "in one line");
  return err == 0;
}

/* ---- the plan ---- */

/* Each kind of message that a log can have, as the process would write it. */
static unsigned take_each(const struct pml__archive *a, const struct pml__archive_process *p) {
  unsigned n = 0;
  for (size_t i = 0; i < p->ncomms; i++) {
    const uint32_t window = p->nwindows > 0 ? p->window[0].is.number : 0;
    uint64_t values[] = {(uint64_t)p->comm[i].is.number << 32 | 1, 9, window, 7};
    for (uint32_t what = 0; what < 16; what++) {
      struct pml__recording_communicated e = {.what = what, .values = values, .nvalues = 4};
      struct pml__otf2_communication c;
      if (!pml__archive_take(a, p, &e, &c)) continue;
      PROMISE(c.comm < a->mpi.ncomms && c.peer < a->mpi.nranks + 1, "a message is between ranks of the job");
      n++;
    }
  }
  return n;
}

static void read_plan(void) {
  struct pml__archive a = {.share.lock = -1};
  (void)snprintf(a.share.dir, sizeof a.share.dir, "%s", fuzz_folder());
  if (taken(pml__archive_plan_read(&a))) {
    unsigned messages = 0;
    for (size_t i = 0; i < a.nprocesses; i++) {
      const struct pml__archive_process *p = &a.process[i];
      PROMISE(p->log->path != NULL && p->name != NULL && p->host != NULL, "a process has names");
      messages += take_each(&a, p);
      for (unsigned k = 0; k < 64; k += 7) (void)pml__archive_time(&a, p, p->own.started_ticks + (UINT64_C(1) << k));
    }
    PLANTED(messages > 0 && a.mpi.nranks > 2);
  }
  for (size_t i = 0; i < a.nprocesses; i++) pml__archive_forget(&a.process[i]);
  free(a.process);
  pml__archive_disunite(&a);
}

/* ---- a part ---- */

enum { RANKS = 2, COMMS = 2 };

/* Into the archive of a job of two ranks. */
static void read_part(void) {
  uint32_t members[] = {0, 1}, of_rank[] = {0, 1};
  uint64_t location[RANKS] = {0};
  struct pml_archive_wait wait[RANKS] = {{0}};
  struct pml__otf2_comm comm[COMMS] = {{.name = (char[]){"world"}, .n = {2}, .member = {members}},
                                       {.name = (char[]){"self"}, .self = true}};
  struct pml_archive_story story = {.wait = wait};
  struct pml__archive_process process[RANKS] = {{.name = (char[]){"0"}, .host = (char[]){"h"}},
                                                {.name = (char[]){"1"}, .host = (char[]){"h"}, .rank = 1, .index = 1}};
  struct pml__archive a = {.process = process, .nprocesses = RANKS, .of_rank = of_rank, .story = &story};
  struct pml__archive_merge m = {.last = &m.waiting};
  uint64_t threads;
  (void)snprintf(a.share.dir, sizeof a.share.dir, "%s", fuzz_folder());
  a.mpi.nranks = RANKS;
  a.mpi.ncomms = COMMS;
  a.mpi.comm = comm;
  a.mpi.location = location;
  PROMISE(pml__otf2_new(&m.whole, fuzz_folder()) == 0, "there is an archive");
  (void)taken(pml__archive_part_threads(&a, 0, &threads));
  if (taken(pml__archive_part_take(&a, 0, &m))) {
    uint64_t all = 0;
    for (const struct pml_otf2_location *l = m.whole->first; l != NULL; l = l->next) all++;
    PROMISE(all == threads && m.thread == all, "its threads are as many as it says");
    PROMISE(threads == 0 || location[0] < threads, "messages are of one of them");
  }
  while (m.waiting != NULL) {
    struct pml_otf2_location *l = m.waiting;
    m.waiting = l->next;
    l->next = NULL;
    pml__otf2_add_location(m.whole, l);
  }
  pml__archive_waits_end(&m.waits, &a);
  pml__otf2_free(m.whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool made;
  char part[100];
  (void)snprintf(part, sizeof part, "%s/0", fuzz_folder());
  if (!made) PROMISE(mkdir(part, 0700) == 0, "there is a folder for a part");
  made = true;
  bool plan = size > 0 && data[0] == 'l';
  fuzz_write(fuzz_folder(), plan ? "plan" : "0/part", data + (size > 0), size - (size > 0));
  if (plan)
    read_plan();
  else
    read_part();
  return 0;
}
