/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive_share.c - processes that write one archive together: helpers, leaders one after the other, and one
 * that is killed.
 *
 * Link: -Wl,--wrap=flock,--wrap=rmdir,--wrap=pml_otf2_close
 */
#include "archive_job.h"

#include "base/pml_error.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- several processes ---- */

static pid_t helper;

/* How many processes' events it wrote is its exit status. */
static void start_helper(void) {
  uint32_t written;
  helper = fork();
  if (helper != 0) return;
  int err = pml_archive_help(dir, UINT64_C(60000000000), &written);
  _exit(err == 0 ? (int)written : 99);
}

/* While the first part is written, the helper has all others to itself. */
static int wait_for_helper(uint64_t done, uint64_t all, void *arg) {
  int status;
  (void)done, (void)all;
  if (helper == 0) return 0;
  CHECK(waitpid(helper, &status, 0) == helper && WIFEXITED(status), "the helper ends while the leader is at work");
  *(int *)arg = WEXITSTATUS(status);
  helper = 0;
  return 0;
}

/* A plan with as many ranks as a number holds, which are more than the memory of its reader. */
static void crowd(const unsigned char *plan, size_t n, const char *path, const char *other) {
  uint32_t written;
  size_t origin = 0;
  while (plan[origin++] >= 0x80) continue;
  FILE *f = fopen(path, "w");
  CHECK(f != NULL && fwrite(plan, 1, origin, f) == origin && fwrite("\xff\xff\xff\xff\x0f", 1, 5, f) == 5 &&
            fwrite(plan + origin + 1, 1, n - origin - 1, f) == n - origin - 1 && fclose(f) == 0,
        "a plan is changed");
  CHECK(pml_archive_help(other, 0, &written) == PML_EFORMAT, "a plan of 2^32 - 1 ranks is damaged");
}

/* A helper that reads damaged plans: cut anywhere, or with any byte changed. Each ends with a failure, or with no work.
 */
static int damage(uint64_t done, uint64_t all, void *arg) {
  static unsigned char plan[65536];
  char path[300], other[300];
  uint32_t written;
  (void)done, (void)all;
  if ((*(int *)arg)++ > 0) return 0;
  (void)snprintf(path, sizeof path, "%s/.making-traces/plan", dir);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(plan, 1, sizeof plan, f) : 0;
  if (!CHECK(n > 100 && n < sizeof plan && fclose(f) == 0, "there is a plan of %zu bytes", n)) return 0;
  (void)snprintf(other, sizeof other, "%s/other", dir);
  (void)snprintf(path, sizeof path, "%s/other/.making-traces", dir);
  CHECK(mkdir(other, 0777) == 0 && mkdir(path, 0777) == 0, "and a place for others");
  (void)snprintf(path, sizeof path, "%s/other/.making-traces/plan", dir);
  for (size_t i = 0; i < 2 * n; i++) {
    size_t bytes = i < n ? i : n;
    if (i >= n) plan[i - n] ^= 0xff;
    f = fopen(path, "w");
    if (f == NULL || fwrite(plan, 1, bytes, f) != bytes || fclose(f) != 0) break;
    int err = pml_archive_help(other, 0, &written);
    if (i < n && err != PML_EFORMAT) CHECK(false, "a plan of %zu bytes is damaged: %d", i, err);
    if (i >= n) plan[i - n] ^= 0xff;
  }
  crowd(plan, n, path, other);
  return 0;
}

/* As if another process had written the last part, with a thread that is not in it. */
static int lie(uint64_t done, uint64_t all, void *arg) {
  (void)done, (void)all, (void)arg;
  CHECK(system("cd $DIR/.making-traces; test ! -e 0 -o -e 3 && exit; cp -r 0 3.lie; "
               "(printf '\\002'; tail -c +2 0/part) >3.lie/part; mv 3.lie 3") == 0,
        "the last part is not what it says");
  return 0;
}

/* As if one had claimed the last part, and had died then. */
static int claim_last(uint64_t done, uint64_t all, void *arg) {
  char path[300];
  (void)done, (void)all;
  (void)snprintf(path, sizeof path, "%s/.making-traces/%d.claim", dir, RANKS - 1);
  FILE *f = (*(int *)arg)++ == 0 ? fopen(path, "w") : NULL;
  if (f != NULL) (void)fclose(f);
  return 0;
}

/* Whether something of the name was made in the folder since it was watched. */
static bool was_made(int watched, const char *name) {
  _Alignas(struct inotify_event) char got[4096];
  bool made = false;
  for (ssize_t n; (n = read(watched, got, sizeof got)) > 0;) {
    for (const char *at = got; at < got + n;) {
      const struct inotify_event *e = (const void *)at;
      made |= e->len > 0 && strcmp(e->name, name) == 0;
      at += sizeof *e + e->len;
    }
  }
  return made;
}

/* A second leader, which must leave the first one's folders alone. */
static int lead_again(uint64_t done, uint64_t all, void *arg) {
  const struct pml_archive_log *log = *(const struct pml_archive_log **)arg;
  struct pml_archive_story s;
  (void)done, (void)all;
  if (log == NULL) return 0;
  *(const struct pml_archive_log **)arg = NULL;
  int watched = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (!CHECK(watched >= 0 && inotify_add_watch(watched, dir, IN_CREATE) >= 0, "the folder is watched")) return 0;
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EBUSY, "a second leader is refused");
  CHECK(!was_made(watched, "traces"), "and makes nothing that the first would take for a trace");
  close(watched);
  return 0;
}

static void shared(void) {
  char path[RANKS][300];
  const struct pml_archive_log *again;
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  uint32_t written;
  int n = 0;
  for (size_t i = write_job(&jobs[1], path); i-- > 0;) log[i].path = path[i];
  CHECK(pml_archive_help(dir, 0, &written) == -ETIMEDOUT && written == 0, "without a leader there is nothing to help");
  start_helper();
  CHECK(write_it(log, RANKS, wait_for_helper, &n, &s) == 0, "two write an archive");
  CHECK(n == RANKS - 1, "the one that has time writes %d of %d parts (%d)", RANKS - 1, RANKS, n);
  CHECK(s.messages == RANKS * ROUNDS && s.events == 7 * RANKS * ROUNDS, "it has %llu events",
        (unsigned long long)s.events);
  CHECK(system("rm -r $DIR/traces*") == 0, "and is there");
  n = 0;
  CHECK(write_it(log, RANKS, damage, &n, &s) == 0, "damaged plans elsewhere are survived");
  CHECK(system("rm -r $DIR/traces* $DIR/other") == 0, "and it is there");
  n = 0;
  CHECK(write_it(log, RANKS, claim_last, &n, &s) == 0 && s.events == 7 * RANKS * ROUNDS,
        "a part that was claimed and not written is written by the leader");
  CHECK(system("rm -r $DIR/traces*") == 0, "and it is there");
  CHECK(write_it(log, RANKS, lie, NULL, &s) == PML_EFORMAT && strstr(pml_error_detail(PML_EFORMAT), "/3/part") != NULL,
        "a part with another number of threads is named, and makes no trace");
  CHECK(system("rm -rf $DIR/traces*") == 0, "of which nothing counts");
  again = log;
  CHECK(write_it(log, RANKS, lead_again, &again, &s) == 0 && again == NULL, "the first leader writes it");
  remove_all();
}

/* ---- leaders, one after the other ---- */

/* What happens just before the next flock(), or before the folder's rmdir(). */
static void (*before_flock)(void), (*before_rmdir)(void);

static void meanwhile(void (**what)(void)) {
  void (*now)(void) = *what;
  *what = NULL;
  if (now != NULL) now();
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  meanwhile(&before_flock);
  return __real_flock(fd, operation);
}

int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path) {
  if (strcmp(strrchr(path, '/'), "/.making-traces") == 0) meanwhile(&before_rmdir);
  return __real_rmdir(path);
}

/* The leader before ends between this one's open() and its flock(). */
static void leader_ends(void) {
  CHECK(system("rm -r $DIR/.making-traces") == 0, "the leader before removes its folder");
}

/* Another leader takes the folder that this one is about to remove. */
static int its_lock;
static void leader_begins(void) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/.making-traces/lock", dir);
  its_lock = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  CHECK(its_lock >= 0 && __real_flock(its_lock, LOCK_EX | LOCK_NB) == 0, "there is no lock when another leader begins");
}

static void leaders(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  const struct pml_archive_log *again = log;
  struct pml_archive_story s;
  struct stat st;
  for (size_t i = write_job(&jobs[0], path); i-- > 0;) log[i].path = path[i];
  before_flock = leader_ends;
  CHECK(write_it(log, RANKS, lead_again, &again, &s) == 0 && before_flock == NULL && again == NULL,
        "one that had opened the lock before it was removed locks the new one, and is the only leader");
  CHECK(system("rm -r $DIR/traces*") == 0, "and the trace is there");
  before_rmdir = leader_begins;
  CHECK(write_it(log, RANKS, NULL, NULL, &s) == 0 && before_rmdir == NULL, "one ends while another begins");
  (void)snprintf(path[0], sizeof path[0], "%s/.making-traces/lock", dir);
  CHECK(lstat(path[0], &st) == 0, "and leaves the other's lock alone");
  close(its_lock);
  CHECK(system("rm -r $DIR/.making-traces") == 0, "with its folder");
  remove_all();
}

/* ---- a leader that is killed ---- */

static bool killed_at_close;

int __real_pml_otf2_close(struct pml_otf2 *o);
int __wrap_pml_otf2_close(struct pml_otf2 *o);
int __wrap_pml_otf2_close(struct pml_otf2 *o) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/.making-traces/uniting", dir);
  if (killed_at_close && access(path, F_OK) == 0) (void)raise(SIGKILL);
  return __real_pml_otf2_close(o);
}

/* One is killed before the archive is whole: the next removes what it left, and nothing that another made. */
static void killed(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  int status = 0;
  for (size_t i = write_job(&jobs[0], path); i-- > 0;) log[i].path = path[i];
  pid_t pid = fork();
  if (pid == 0) {
    killed_at_close = true;
    _exit(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == 0);
  }
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "a leader is killed before the end");
  CHECK(system("cd $DIR && test -e traces && test ! -s traces.otf2") == 0, "and leaves an archive without its anchor");
  CHECK(system("cd $DIR && test -e .making-traces/uniting && test -z \"$(find . -name '*.otf2' -size +0)\"") == 0,
        "and no part");
  CHECK(write_it(log, RANKS, NULL, NULL, &s) == 0 && s.messages > 0, "of which the next makes a whole one");
  CHECK(system("mkdir $DIR/.making-traces && touch $DIR/.making-traces/uniting") == 0, "a killed one had finished it");
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EEXIST, "then it stays");
  CHECK(system("cd $DIR && test -s traces.otf2 -a -s traces.def -a ! -e .making-traces") == 0, "with all its files");
  CHECK(system("rm $DIR/traces.otf2 $DIR/traces.def") == 0, "what has no anchor");
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EEXIST && system("test -d $DIR/traces") == 0,
        "stays if no leader left a sign that it is its own");
  CHECK(system("rm -r $DIR/traces") == 0, "for its owner to remove");
  remove_all();
}

int main(void) {
  if (!begin_job()) return 1;
  shared();
  leaders();
  killed();
  CHECK(rmdir(dir) == 0, "nothing is left");
  return check_done();
}
