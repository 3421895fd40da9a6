/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/simulation/pml_sim.c - callgrind's counts of the calling thread, by a monitor command and valgrind's log.
 */
#include "source/simulation/pml_sim.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "source/simulation/pml_sim_private.h"

#include <errno.h>
#include <stddef.h>

#define NAME(id, name, text) name,
#define TEXT(id, name, text) text,
static const char *const names[PML_SIM_EVENTS] = {PML_SIM_EVENT_LIST(NAME)};
static const char *const texts[PML_SIM_EVENTS] = {PML_SIM_EVENT_LIST(TEXT)};

const char *pml_sim_name(unsigned event) {
  return event < PML_SIM_EVENTS ? names[event] : NULL;
}

const char *pml_sim_description(unsigned event) {
  return event < PML_SIM_EVENTS ? texts[event] : NULL;
}

#if __has_include(<valgrind/callgrind.h>)

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define KEPT_BYTES (64 << 10)  /* bytes kept at the beginning of the log, which describes the start of the process */
#define STEP_BYTES (16l << 20) /* bytes read after which their disk space is freed */
#define LINE_BYTES 512         /* a line of counts is shorter */

static struct pml__lock lock;
static const char *folder;           /* NULL: no simulation */
static const char *section;          /* PMLUA_SIM_SECTION */
static PML_THREAD_LOCAL bool inside; /* in the simulation */
static pid_t log_pid;                /* owner of the log */
static int fd = -1;
static off_t freed = KEPT_BYTES;
static char order[LINE_BYTES]; /* the line that names the events */

/* ---- the log ---- */

/* The parsed part of the answer. */
struct answer {
  char line[LINE_BYTES];
  size_t n;
  bool ordered, whole; /* ordered: the events are pmlua's; whole: the counts are complete */
  bool dumped;         /* the program has reset callgrind's counts */
  uint32_t thread;
  uint64_t value[PML_SIM_EVENTS];
};

static bool take_counts(struct answer *a, const char *text) {
  char *end;
  memset(a->value, 0, sizeof a->value); /* trailing counts that are 0 are omitted */
  for (unsigned i = 0; *text == ' '; i++) {
    if (i == PML_SIM_EVENTS) return false;
    a->value[i] = strtoull(text, &end, 10);
    if (end == text) break;
    text = end;
  }
  return *text == '\0' || (*text == ' ' && text[1] == '\0');
}

static void take_line(struct answer *a) {
  char mine[32];
  a->line[a->n] = '\0';
  if (strcmp(a->line, order) == 0) a->ordered = true;
  if (strncmp(a->line, "part: ", 6) == 0) a->dumped = a->line[6] != '0';
  if (strncmp(a->line, "current-tid: ", 13) == 0) a->thread = (uint32_t)strtoul(a->line + 13, NULL, 10);
  int n = snprintf(mine, sizeof mine, "events-%u:", a->thread);
  if (a->thread != 0 && strncmp(a->line, mine, (size_t)n) == 0) a->whole = take_counts(a, a->line + n);
}

static void take_bytes(struct answer *a, const char *text, size_t n) {
  for (size_t i = 0; i < n && !a->whole; i++) {
    if (text[i] != '\n') {
      if (a->n < sizeof a->line - 1) a->line[a->n++] = text[i]; /* longer lines are not needed */
      continue;
    }
    take_line(a);
    a->n = 0;
  }
}

static int read_answer(off_t from, struct answer *a) {
  char text[4096];
  ssize_t n;
  while (!a->whole && (n = pread(fd, text, sizeof text, from)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pml_fail(-errno, "cannot read valgrind's log %.300s: %s", folder, strerror(errno));
    take_bytes(a, text, (size_t)n);
    from += n;
  }
  if (a->dumped) return pml_fail(PML_EMODE, "the program itself made callgrind dump its counts, so they restart at 0");
  if (a->whole && a->ordered) return 0;
  return pml_fail(PML_EFORMAT, "callgrind wrote no counts to %.300s; pmlua needs valgrind 3.12 or newer", folder);
}

/* Punch a hole into the part of the log that was read, because the log grows forever. */
static void give_back(off_t until) {
  if (until - freed < STEP_BYTES) return;
  (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, freed, until - freed);
  freed = until;
}

static int ask(struct answer *a) {
  off_t from = lseek(fd, 0, SEEK_END);
  if (from < 0) return pml_fail(-errno, "valgrind's log in %.300s: %s", folder, strerror(errno));
  give_back(from);
  if (VALGRIND_MONITOR_COMMAND("status internal") != 0)
    return pml_fail(-ENOTSUP, "valgrind runs another tool than callgrind; run pmlua stat --sim -- CMD");
  return read_answer(from, a);
}

static int open_log(void) {
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/log.%d", folder, (int)log_pid);
  fd = open(path, O_RDWR | O_CLOEXEC);
  return fd < 0 ? pml_fail(-errno, "%.300s: %s", path, strerror(errno)) : 0;
}

/* Lock the log against other processes, which are forked children; the lock of this process excludes its other threads.
 * A child created while a thread waits for an answer also waits, because it does not inherit the file's lock. */
static int ask_alone(struct answer *a) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  memset(a, 0, sizeof *a);
  while (fcntl(fd, F_SETLKW, &whole) != 0)
    if (errno != EINTR) return pml_fail(-errno, "valgrind's log in %.300s: %s", folder, strerror(errno));
  int err = ask(a);
  whole.l_type = F_UNLCK;
  (void)fcntl(fd, F_SETLK, &whole);
  return err;
}

/* Under the lock. A program may have closed all descriptors. Valgrind opens a separate log for a forked child, but if
 * its parent has requested counts, the child's counts are written to the parent's log. */
static int answer(struct answer *a) {
  int err = fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? 0 : open_log();
  if (err == 0) err = ask_alone(a);
  if (err != PML_EFORMAT || log_pid == getpid()) return err;
  (void)close(fd);
  log_pid = getpid();
  err = open_log();
  return err == 0 ? ask_alone(a) : err;
}

/* ---- begin ---- */

static void in_child(void) {
  if (fd < 0) log_pid = getpid();
}

static void begin(void) {
  const char *wish = secure_getenv("PMLUA_SIM");
  if (!RUNNING_ON_VALGRIND || wish == NULL || *wish != '/') return;
  size_t n = (size_t)snprintf(order, sizeof order, "events:");
  for (unsigned i = 0; i < PML_SIM_EVENTS; i++) n += (size_t)snprintf(order + n, sizeof order - n, " %s", names[i]);
  (void)pml__process_watch(in_child);
  const char *one = secure_getenv("PMLUA_SIM_SECTION");
  if (one != NULL && *one != '\0') section = strdup(one);
  log_pid = getpid();
  folder = strdup(wish); /* never freed */
}

int pml_sim_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
  return folder != NULL
             ? 0
             : pml_fail(-ENOTSUP, "counted by simulation only: pmlua --sim SCRIPT, or pmlua stat --sim -- CMD");
}

/*
 * Callgrind's switch, which affects only the calling thread. There is a single switch in the code: the block of
 * instructions around a switch is counted for the thread but not for its functions, or vice versa; with a single block
 * both effects cancel each other.
 */
__attribute__((noinline)) static void toggle(void) {
  CALLGRIND_TOGGLE_COLLECT;
}

void pml__sim_pause(void) {
  if (section == NULL || inside) toggle();
}

void pml__sim_resume(void) {
  pml__sim_pause();
}

void pml__sim_count(bool on) {
  inside = on;
}

const char *pml__sim_section(void) {
  return section;
}

int pml__sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread) {
  struct answer a = {.thread = 0};
  pml__process_look();
  pml__lock_take(&lock);
  int err = answer(&a);
  pml__lock_leave(&lock);
  if (err == 0) memcpy(value, a.value, sizeof a.value);
  if (thread != NULL) *thread = a.thread;
  return err;
}

int pml_sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread) {
  if (folder == NULL && pml_sim_available() < 0) return -ENOTSUP;
  pml__sim_pause();
  int err = pml__sim_read(value, thread);
  pml__sim_resume();
  return err;
}

#else

int pml_sim_available(void) {
  return pml_fail(-ENOTSUP,
                  "pmlua was built without valgrind's headers; install valgrind, and build again after make clean");
}

void pml__sim_pause(void) {}

void pml__sim_resume(void) {}

void pml__sim_count(bool on) {
  (void)on;
}

const char *pml__sim_section(void) {
  return NULL;
}

int pml__sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread) {
  return pml_sim_read(value, thread);
}

int pml_sim_read(uint64_t value[PML_SIM_EVENTS], uint32_t *thread) {
  (void)value;
  (void)thread;
  return pml_sim_available();
}

#endif
