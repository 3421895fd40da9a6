/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/recording.h - common functions for specs of recordings: events, a new recording, and the events read from it.
 */
#ifndef SPEC_RECORDING_H
#define SPEC_RECORDING_H

#include "check.h"
#include "folder.h"
#include "read/archive/pml_archive.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"
#include "record/events/pml_recording_file.h"

#include <sys/mman.h>

static char dir[] = "/tmp/pmlua-recording-XXXXXX", path[128];
static pml_region_t outer, inner;

static inline void raise_at(enum pml_stream_kind kind, pml_region_t r, uint64_t ticks) {
  struct pml_stream_event e = {.ticks = ticks, .region = r};
  pml_stream_emit(kind, &e);
}
static inline void enter(pml_region_t r, uint64_t ticks) {
  raise_at(PML_STREAM_ENTER, r, ticks);
}
static inline void leave(pml_region_t r, uint64_t ticks) {
  raise_at(PML_STREAM_LEAVE, r, ticks);
}

static inline struct pml_recording *fresh(const struct pml_recording_limits *limits) {
  struct pml_recording *s;
  unlink(path);
  int err = pml_recording_open(&s, dir, "1");
  if (err == 0) err = pml_recording_trace(s, limits);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return err == 0 ? s : NULL;
}

struct told {
  int err;
  uint64_t written, open;
  struct pml_recording_story story;
  char text[32];
};

/* The archive's folder goes away again; how much was written is seen in the events' files. */
static inline struct told read_back(void) {
  struct told t = {0};
  struct pml_archive_story story;
  struct pml_recording_reader *r;
  char command[500], folder[200];
  snprintf(folder, sizeof folder, "%s/trace", dir);
  snprintf(command, sizeof command, "rm -rf %s; mkdir %s", folder, folder);
  t.err = system(command) != 0 ? -1 : pml_recording_read_open(&r, path);
  if (t.err < 0) return t;
  t.err = pml_archive_write(folder, &(struct pml_archive_log){.path = path}, 1, NULL, NULL, &story);
  t.open = story.open;
  pml_recording_read_story(r, &t.story);
  snprintf(t.text, sizeof t.text, "%s",
           pml_recording_read_note(r, "key") != NULL ? pml_recording_read_note(r, "key") : "");
  for (size_t i = 0; i < r->log.n; i++) {
    int err;
    uint64_t bytes;
    if (r->log.entry[i].kind != PML__LOG_EVENTS) continue;
    struct pml__log_event *e = pml__log_read_extent(&r->log, i, &bytes, &err);
    for (size_t k = PML__EVENTS_FIRST; e != NULL && k < PML__EVENTS_OF_EXTENT && e[k].word != 0; k++)
      t.written += PML__LOG_IS_WHOLE(e[k].word) ? 2 : e[k].word >> 32 <= PML__LOG_LEAVE;
    free(e);
  }
  pml_recording_read_close(r);
  return t;
}

static inline int recording_listen(const char *log, struct pml__recording_listener to) {
  struct pml_recording_reader *r = NULL;
  int err = pml_recording_read_open_any(&r, log);
  if (err == 0) err = pml__recording_listen(r, &to);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  if (r != NULL) pml_recording_read_close(r);
  return err;
}

/*
 * @times a child does @record, which never returns and says in *@done how many events it has told, until it is killed
 * at a random number of them below @below. @look is called after that and, each fourth time, while the child runs.
 */
static inline bool recording_killed(unsigned times, uint64_t below, void (*record)(uint64_t *done),
                                    void (*look)(uint64_t done, bool running)) {
  const struct timespec while_it_runs = {.tv_nsec = 50000};
  uint64_t *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!CHECK(done != MAP_FAILED, "memory is shared")) return false;
  srand(1);
  for (unsigned i = 0; i < times; i++) {
    uint64_t until = 1 + (uint64_t)rand() % below;
    *done = 0;
    pid_t pid = fork();
    if (pid == 0) record(done);
    while (__atomic_load_n(done, __ATOMIC_ACQUIRE) < until && waitpid(pid, NULL, WNOHANG) == 0)
      nanosleep(&while_it_runs, NULL);
    if (i % 4 == 0) look(*done, true);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    look(*done, false);
  }
  munmap(done, 4096);
  return true;
}

static inline bool recording_begin(void) {
  if (mkdtemp(dir) == NULL) return false;
  snprintf(path, sizeof path, "%s/1.pmlog", dir);
  return pml_clock_init() == 0 && pml_region_intern("outer", "lib.so", 0, &outer) == 0 &&
         pml_region_intern("inner", "lib.so", 0, &inner) == 0;
}

static inline int recording_done(void) {
  return folder_remove(dir) ? check_done() : 1;
}

#endif
