/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive_lock.c - two writers of one archive, concurrent or one after the other, and a killed writer.
 *
 * Link: -Wl,--wrap=flock,--wrap=pml__otf2_end
 */
#include "archive_job.h"

static struct pml_archive_log logs[RANKS];

static void write_logs(void) {
  static char path[RANKS][300];
  for (size_t i = write_job(&jobs[0], path); i-- > 0;) logs[i].path = path[i];
}

/* A second writer, which must leave the first one's files alone. */
static int write_again(uint64_t done, uint64_t all, void *arg) {
  const struct pml_archive_log *log = *(const struct pml_archive_log **)arg;
  struct pml_archive_story s;
  (void)done, (void)all;
  if (log == NULL) return 0;
  *(const struct pml_archive_log **)arg = NULL;
  CHECK(pml_archive_write(dir, logs, RANKS, NULL, NULL, &s) == -EBUSY, "a second writer is refused");
  CHECK(system("cd $DIR && test -d traces -a -s .making-traces") == 0, "and leaves the first one's files alone");
  return 0;
}

/* A step that runs just before the next flock(). */
static void (*before_flock)(void);

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  void (*now)(void) = before_flock;
  before_flock = NULL;
  if (now != NULL) now();
  return __real_flock(fd, operation);
}

/* The writer before ends between this one's open() and its flock(). */
static void writer_ends(void) {
  CHECK(system("rm $DIR/.making-traces") == 0, "the writer before removes its lock");
}

static void two(void) {
  const struct pml_archive_log *again = logs;
  struct pml_archive_story s;
  write_logs();
  before_flock = writer_ends;
  CHECK(write_it(logs, RANKS, write_again, &again, &s) == 0 && before_flock == NULL && again == NULL,
        "a process that opened the lock before its removal locks the new one, and is the only writer");
  CHECK(s.messages == RANKS * ROUNDS && s.events == 7 * RANKS * ROUNDS, "the archive has %llu events",
        (unsigned long long)s.events);
  CHECK(system("cd $DIR && test -s traces.otf2 -a -s traces.def -a ! -e .making-traces") == 0, "and no lock is left");
  remove_all();
}

static bool killed_at_close;

int __real_pml__otf2_end(struct pml_otf2 *o);
int __wrap_pml__otf2_end(struct pml_otf2 *o);
int __wrap_pml__otf2_end(struct pml_otf2 *o) {
  if (killed_at_close) (void)raise(SIGKILL);
  return __real_pml__otf2_end(o);
}

/* A writer is killed before the archive is complete: the next one removes its remains, but no archive of another
 * program. */
static void killed(void) {
  struct pml_archive_story s;
  int status = 0;
  write_logs();
  pid_t pid = fork();
  if (pid == 0) {
    killed_at_close = true;
    _exit(pml_archive_write(dir, logs, RANKS, NULL, NULL, &s) == 0);
  }
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "a writer is killed before the end");
  CHECK(system("cd $DIR && test -e traces -a ! -s traces.otf2 -a -s .making-traces") == 0,
        "and leaves an archive without its anchor");
  CHECK(write_it(logs, RANKS, NULL, NULL, &s) == 0 && s.messages > 0, "the next makes a whole one");
  CHECK(system("echo >$DIR/.making-traces") == 0, "a killed one had finished it");
  CHECK(pml_archive_write(dir, logs, RANKS, NULL, NULL, &s) == -EEXIST, "then it stays");
  CHECK(system("cd $DIR && test -s traces.otf2 -a -s traces.def -a ! -e .making-traces") == 0, "with all its files");
  CHECK(system("rm $DIR/traces.otf2 $DIR/traces.def") == 0, "what has no anchor");
  CHECK(pml_archive_write(dir, logs, RANKS, NULL, NULL, &s) == -EEXIST && system("test -d $DIR/traces") == 0,
        "stays if no writer left a sign that it is its own");
  CHECK(system("rm -r $DIR/traces") == 0, "for its owner to remove");
  remove_all();
}

static int stop_late(uint64_t done, uint64_t all, void *arg) {
  (void)arg;
  return done < all / 2 ? 0 : -ECANCELED;
}

static void failed(void) {
  struct pml_archive_story s;
  write_logs();
  CHECK(write_it(logs, RANKS, stop_late, NULL, &s) == -ECANCELED, "the work is ended in the middle");
  CHECK(system("cd $DIR && test ! -e traces -a ! -e traces.otf2 -a ! -e traces.def -a ! -e .making-traces") == 0,
        "and leaves no trace");
  remove_all();
}

int main(void) {
  if (!begin_job()) return 1;
  two();
  killed();
  failed();
  CHECK(rmdir(dir) == 0, "nothing is left");
  return check_done();
}
