/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/otf2.c - the guarantees of a trace to the threads that record and to the one that closes it.
 *
 * Without an argument it checks archives in a temporary folder. `otf2 MODE DIR` leaves one archive in DIR for a reader
 * to validate.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "check.h"
#include "folder.h"
#include "mounts.h"
#include "substrate/trace/pml_otf2.h"

#include <sys/mount.h>
#include <sys/stat.h>

/* A writer whose last flush fails is never freed by libotf2 (3.0.2); a leak of ours still counts. */
PML_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:otf2_evt_writer_new\nleak:otf2_def_writer_new\nleak:otf2_global_def_writer_new\n";
}

static const struct pml_otf2_metric two_metrics[] = {
    {"instructions", "instructions retired", "#", PML_OTF2_ACCUMULATED, 0, false, false, false},
    {"temperature", "of the package", "degC", PML_OTF2_ABSOLUTE, -3, false, false, false},
};

static pml_region_t region(const char *name) {
  pml_region_t id = 0;
  pml_region_intern(name, "spec/c/otf2.c", 42, &id);
  return id;
}

static bool fresh_dir(char *path) {
  strcpy(path, "/tmp/pmlua-otf2-XXXXXX");
  return mkdtemp(path) != NULL;
}

static struct pml_otf2_stats stats(struct pml_otf2 *a) {
  struct pml_otf2_stats s;
  pml_otf2_stats(a, &s);
  return s;
}

/* ---- archives for a reader ---- */

static int good_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *main_loc, *idle;
  int err = pml_otf2_open(&a, dir, two_metrics, 2, 0);
  if (err < 0) return err;
  if (pml_otf2_location(a, "main", &main_loc) < 0 || pml_otf2_location(a, "idle", &idle) < 0) return -ENOMEM;
  pml_region_t outer = region("outer"), inner = region("inner");
  pml_otf2_enter(main_loc, pml_clock_ticks(), outer);
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t values[2] = {i * 100, 36600 + i % 7};
    pml_otf2_enter(main_loc, pml_clock_ticks(), inner);
    pml_otf2_metric(main_loc, pml_clock_ticks(), values);
    pml_otf2_leave(main_loc, pml_clock_ticks(), inner);
    if (i == 500) err = pml_otf2_flush(a);
  }
  pml_otf2_leave(main_loc, pml_clock_ticks(), outer);
  int closed = pml_otf2_close(a);
  return err < 0 ? err : closed;
}

/* More than one chunk of libotf2, so that events reach the disk before the close. */
static int large_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  int err = pml_otf2_open(&a, dir, NULL, 0, 4096);
  if (err < 0) return err;
  if (pml_otf2_location(a, "main", &loc) < 0) return -ENOMEM;
  for (int i = 0; i < 500000 && err == 0; i++) {
    pml_otf2_enter(loc, pml_clock_ticks(), region("step"));
    pml_otf2_leave(loc, pml_clock_ticks(), region("step"));
    if (i % 1024 == 1023) err = pml_otf2_flush(a);
  }
  int closed = pml_otf2_close(a);
  return err < 0 ? err : closed;
}

static int empty_archive(const char *dir) {
  struct pml_otf2 *a;
  int err = pml_otf2_open(&a, dir, NULL, 0, 0);
  return err < 0 ? err : pml_otf2_close(a);
}

/* Every mistake of a careless program: time that goes back, leaves without enters, open regions, a ring that is too
 * small. */
static int careless_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  int err = pml_otf2_open(&a, dir, two_metrics, 2, 16);
  if (err < 0) return err;
  if (pml_otf2_location(a, "careless", &loc) < 0) return -ENOMEM;
  uint64_t values[2] = {1, 2};
  unsigned seed = 7;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 1103515245u + 12345u;
    uint64_t ticks = 1000000u + (uint64_t)i * 10 - (seed >> 20) % 100;
    pml_region_t r = region((seed >> 10) % 2 != 0 ? "a" : "b");
    unsigned what = (seed >> 16) % 5;
    if (what < 2)
      pml_otf2_enter(loc, ticks, r);
    else if (what < 4)
      pml_otf2_leave(loc, ticks, r);
    else
      pml_otf2_metric(loc, ticks, values);
    if ((seed >> 24) % 32 == 0) pml_otf2_flush(a);
  }
  return pml_otf2_close(a);
}

static int make_archive(const char *mode, const char *dir) {
  int err = -EINVAL;
  if (strcmp(mode, "good") == 0) err = good_archive(dir);
  if (strcmp(mode, "large") == 0) err = large_archive(dir);
  if (strcmp(mode, "empty") == 0) err = empty_archive(dir);
  if (strcmp(mode, "careless") == 0) err = careless_archive(dir);
  if (err < 0) fprintf(stderr, "%s: %s\n", mode, pml_error_detail(err));
  return err < 0;
}

/* ---- recording ---- */

static void check_matching(void) {
  char dir[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  pml_region_t outer = region("outer"), inner = region("inner");
  if (!CHECK(fresh_dir(dir) && pml_otf2_open(&a, dir, NULL, 0, 0) == 0, "an archive opens in an empty folder")) return;
  CHECK(pml_otf2_location(a, "main", &loc) == 0, "a location is made");
  CHECK(pml_otf2_leave(loc, 5, outer) == -EINVAL, "a leave without its enter is refused");
  CHECK(pml_otf2_enter(loc, 10, 0) == -EINVAL, "region 0 is refused");
  CHECK(pml_otf2_enter(loc, 10, pml_region_count() + 1) == -EINVAL, "a region that was never interned is refused");
  CHECK(pml_otf2_enter(loc, 10, UINT32_MAX) == -EINVAL, "the largest id is no region");
  CHECK(pml_otf2_enter(loc, 10, outer) == 0 && pml_otf2_enter(loc, 20, inner) == 0, "enters nest");
  CHECK(pml_otf2_leave(loc, 30, outer) == -EINVAL, "the leave of a region that is not the innermost is refused");
  CHECK(stats(a).unmatched == 2, "refused leaves are counted");
  CHECK(pml_otf2_leave(loc, 15, inner) == 0 && stats(a).lifted == 1, "a time that goes back is lifted and counted");
  CHECK(pml_otf2_enter(loc, 40, region("made since the archive was opened")) == 0, "a new region is known at once");
  CHECK(pml_otf2_leave(loc, 41, region("made since the archive was opened")) == 0, "and can be left");
  CHECK(pml_otf2_metric(loc, 50, (uint64_t[]){1}) == -EINVAL, "an archive without metrics refuses values");
  CHECK(stats(a).written == 0, "nothing is handed to libotf2 before a flush");
  CHECK(pml_otf2_flush(a) == 0 && stats(a).written == 5, "a flush hands over what was recorded");
  CHECK(pml_otf2_close(a) == 0, "the archive closes with a region still open");
  folder_remove(dir);
}

static void check_full_ring(void) {
  char dir[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  pml_region_t r = region("outer"), inner = region("inner");
  if (!CHECK(fresh_dir(dir) && pml_otf2_open(&a, dir, two_metrics, 2, 16) == 0,
             "an archive with the smallest ring opens"))
    return;
  pml_otf2_location(a, "main", &loc);
  uint64_t values[2] = {1, 2}, attempted = 0;
  int kept = 0;
  for (; kept < 100 && pml_otf2_enter(loc, attempted, r) == 0; attempted++) kept++;
  CHECK(kept == 8, "16 slots take 8 enters and keep room for their leaves");
  attempted++;
  CHECK(pml_otf2_metric(loc, attempted++, values) == PML_EFULL, "a metric does not take the room of a leave");
  CHECK(pml_otf2_enter(loc, attempted++, inner) == PML_EFULL, "an enter into a full ring says so");
  CHECK(pml_otf2_leave(loc, attempted++, inner) == PML_EFULL, "and its leave is dropped with it");
  CHECK(pml_otf2_leave(loc, attempted, inner) == -EINVAL,
        "a leave that does not match is refused though the ring is full");
  CHECK(pml_otf2_leave(loc, attempted++, r) == PML_EFULL, "the first dropped enter takes its leave, too");
  int left = 0;
  for (; left < 100 && pml_otf2_leave(loc, attempted, r) == 0; attempted++) left++;
  CHECK(left == 8, "every enter that was kept can be left");
  CHECK(pml_otf2_metric(loc, attempted++, values) == PML_EFULL, "the ring is full to the last slot");
  pml_otf2_flush(a);
  CHECK(pml_otf2_metric(loc, attempted++, values) == 0, "there is room again after a flush");
  pml_otf2_flush(a);
  struct pml_otf2_stats s = stats(a);
  CHECK(s.written + s.dropped == attempted, "written and dropped add up to what was recorded");
  CHECK(s.written == 17 && s.unmatched == 2, "what was kept was written");
  CHECK(pml_otf2_close(a) == 0, "it closes");
  folder_remove(dir);
}

/* Kept enters around dropped ones, far deeper than the stack of open regions. */
static void check_deep(void) {
  char dir[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  enum { DEPTH = 1000 };
  if (!CHECK(fresh_dir(dir) && pml_otf2_open(&a, dir, NULL, 0, 16) == 0, "a small ring for deep recursion")) return;
  pml_otf2_location(a, "main", &loc);
  pml_region_t r = region("recursion");
  uint64_t kept = 0, refused = 0;
  for (int i = 0; i < DEPTH; i++) {
    kept += pml_otf2_enter(loc, (uint64_t)i, r) == 0;
    if (i % 10 == 0) pml_otf2_flush(a);
  }
  CHECK(kept > 8 && kept < 16, "recursion deeper than the ring is dropped, what fits is kept");
  for (int i = 0; i < DEPTH; i++) refused += pml_otf2_leave(loc, DEPTH + (uint64_t)i, r) == -EINVAL;
  CHECK(refused == 0, "every leave finds its enter");
  CHECK(pml_otf2_leave(loc, 3 * DEPTH, r) == -EINVAL, "and one more does not");
  pml_otf2_flush(a);
  struct pml_otf2_stats s = stats(a);
  CHECK(s.written == 2 * kept && s.written + s.dropped == 2 * DEPTH, "whole pairs are kept, whole pairs are dropped");
  pml_otf2_enter(loc, 4 * DEPTH, r);
  CHECK(pml_otf2_leave(loc, 4 * DEPTH, r) == 0, "recording goes on");
  CHECK(pml_otf2_close(a) == 0, "it closes");
  folder_remove(dir);
}

/* ---- errors of the system ---- */

static void check_arguments(void) {
  char dir[64];
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  struct pml_otf2_metric nameless = {NULL, NULL, NULL, PML_OTF2_ABSOLUTE, 0, false, false, false};
  struct pml_otf2_metric bare = {"bare", NULL, NULL, PML_OTF2_ABSOLUTE, 0, false, false, false};
  fresh_dir(dir);
  CHECK(pml_otf2_close(NULL) == 0, "closing nothing is fine");
  CHECK(pml_otf2_open(&a, NULL, NULL, 0, 0) == -EINVAL && a == NULL, "no folder is refused");
  CHECK(pml_otf2_open(&a, dir, &nameless, 1, 0) == -EINVAL && a == NULL, "a metric without a name is refused");
  CHECK(pml_otf2_open(&a, dir, two_metrics, 256, 0) == -EINVAL && a == NULL,
        "more metrics than OTF2 can count are refused");
  CHECK(pml_otf2_open(&a, dir, NULL, 0, SIZE_MAX) == -EINVAL && a == NULL, "an absurd buffer is refused");
  CHECK(pml_otf2_open(&a, dir, &bare, 1, 0) == 0,
        "a refused open leaves nothing behind; unit and description may be missing");
  CHECK(pml_otf2_location(a, NULL, &loc) == -EINVAL && loc == NULL, "a location without a name is refused");
  CHECK(pml_otf2_close(a) == 0, "it closes");
  folder_remove(dir);
}

static void check_folders(void) {
  char dir[64], path[128];
  struct pml_otf2 *a;
  CHECK(fresh_dir(dir) && good_archive(dir) == 0, "a good archive is written");
  CHECK(pml_otf2_open(&a, dir, NULL, 0, 0) == -EEXIST && a == NULL, "a folder with a trace is refused");
  CHECK(strstr(pml_error_detail(-EEXIST), dir) != NULL, "and the sentence names it");
  snprintf(path, sizeof path, "%s/traces.otf2", dir);
  unlink(path);
  CHECK(pml_otf2_open(&a, dir, NULL, 0, 0) == -EEXIST, "a trace that was cut short is not overwritten either");
  snprintf(path, sizeof path, "%s/absent", dir);
  CHECK(pml_otf2_open(&a, path, NULL, 0, 0) == -ENOENT && a == NULL, "an absent folder is refused");
  snprintf(path, sizeof path, "%s/traces.def", dir);
  CHECK(pml_otf2_open(&a, path, NULL, 0, 0) == -ENOTDIR, "a file is no folder");
  char *longest = malloc(8192);
  memset(longest, 'x', 8191);
  longest[8191] = '\0';
  CHECK(pml_otf2_open(&a, longest, NULL, 0, 0) == -ENAMETOOLONG, "a path that is too long is refused");
  free(longest);
  folder_remove(dir);
}

static void check_forbidden(void) {
  char dir[64];
  struct pml_otf2 *a;
  fresh_dir(dir);
  bool root = geteuid() == 0;
  if (root && (chmod(dir, 0755) != 0 || seteuid(65534) != 0)) {
    SKIP("cannot become another user, so no folder is forbidden");
    folder_remove(dir);
    return;
  }
  if (!root) chmod(dir, 0555);
  int err = pml_otf2_open(&a, dir, NULL, 0, 0);
  CHECK(err == -EACCES && a == NULL, "a folder one may not write to is refused");
  if (root && seteuid(0) != 0) abort();
  chmod(dir, 0755);
  folder_remove(dir);
}

static bool small_disk(const char *dir, const char *options) {
  static int alone = -1;
  if (alone < 0) alone = mounts_private();
  return alone > 0 && mount("pmlua", dir, "tmpfs", 0, options) == 0;
}

static void check_read_only_disk(void) {
  char dir[64];
  struct pml_otf2 *a;
  fresh_dir(dir);
  if (!small_disk(dir, "size=1m") || mount("pmlua", dir, NULL, MS_REMOUNT | MS_RDONLY, "size=1m") != 0) {
    SKIP("cannot mount a tmpfs (needs root), so there is no read-only disk");
  } else {
    CHECK(pml_otf2_open(&a, dir, NULL, 0, 0) == -EROFS && a == NULL, "a read-only disk is refused");
  }
  umount(dir);
  folder_remove(dir);
}

/* Redirect stderr to a file until quiet_end(), which returns whether the file is still empty. */
struct quiet {
  FILE *file;
  int saved;
};

static void quiet_begin(struct quiet *q) {
  q->file = tmpfile();
  q->saved = dup(2);
  if (q->file == NULL || q->saved < 0 || dup2(fileno(q->file), 2) < 0) abort();
}

static bool quiet_end(struct quiet *q) {
  struct stat st;
  bool empty = fstat(fileno(q->file), &st) == 0 && st.st_size == 0;
  dup2(q->saved, 2);
  close(q->saved);
  fclose(q->file);
  return empty;
}

/* The disk fills in the middle of the events, or only when the last of them is written at the close. */
static void check_full_disk(const char *options, int (*archive)(const char *), const char *when) {
  char dir[64];
  fresh_dir(dir);
  if (!small_disk(dir, options)) {
    SKIP("cannot mount a tmpfs (needs root), so there is no full disk");
  } else {
    struct quiet q;
    quiet_begin(&q);
    int err = archive(dir);
    CHECK(quiet_end(&q), "libotf2 prints nothing about it");
    CHECK(err == -ENOSPC || err == PML_EOTF2, "%s", when);
    CHECK(strstr(pml_error_detail(err), dir) != NULL, "and the sentence names the folder");
    printf("# %s\n", pml_error_detail(err));
  }
  umount(dir);
  folder_remove(dir);
}

/* A thread that records does not notice that the disk is full. */
static void check_recording_goes_on(void) {
  char dir[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  uint64_t attempted = 0;
  int err = 0;
  fresh_dir(dir);
  if (!small_disk(dir, "size=1m")) {
    SKIP("cannot mount a tmpfs (needs root), so nothing is recorded past a full disk");
    folder_remove(dir);
    return;
  }
  if (CHECK(pml_otf2_open(&a, dir, NULL, 0, 4096) == 0, "an archive opens on a small disk")) {
    pml_otf2_location(a, "main", &loc);
    for (; attempted < 2000000 && err == 0; attempted += 2) {
      pml_otf2_enter(loc, attempted, region("step"));
      pml_otf2_leave(loc, attempted + 1, region("step"));
      if (attempted % 2048 == 0) err = pml_otf2_flush(a);
    }
    CHECK(err == -ENOSPC, "a flush says that the disk is full");
    CHECK(pml_otf2_enter(loc, attempted, region("step")) == 0, "recording goes on");
    CHECK(pml_otf2_leave(loc, attempted + 1, region("step")) == 0, "and on");
    CHECK(pml_otf2_flush(a) == -ENOSPC, "every later flush says it again");
    struct pml_otf2_stats s = stats(a);
    CHECK(s.written + s.dropped == attempted + 2, "what is lost is counted as dropped");
    CHECK(pml_otf2_close(a) == -ENOSPC, "and so does the close");
  }
  umount(dir);
  folder_remove(dir);
}

int main(int argc, char **argv) {
  if (argc == 3) return make_archive(argv[1], argv[2]);
  check_matching();
  check_full_ring();
  check_deep();
  check_arguments();
  check_folders();
  check_forbidden();
  check_read_only_disk();
  check_full_disk("size=1m", large_archive, "a disk that fills up while recording is a failure");
  check_full_disk("size=4k", good_archive, "a disk that is full at the close is a failure");
  check_full_disk("size=64k,nr_inodes=2", good_archive, "a disk without room for one more file is a failure");
  check_full_disk("size=64k,nr_inodes=4", good_archive, "a disk without room for the definitions is a failure");
  check_recording_goes_on();
  return check_done();
}
