/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/otf2.c - traces: guarantees for the recording threads and for the closing thread.
 *
 * Without an argument it checks archives in a temporary folder. `otf2 MODE DIR` leaves one archive in DIR for a reader
 * to validate.
 */
#include "check.h"
#include "folder.h"
#include "mounts.h"

#include <sys/mount.h>
#include <sys/resource.h>
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

/* With the sentence of @err. */
static int close_after(struct pml_otf2 *a, int err) {
  char text[512];
  snprintf(text, sizeof text, "%s", pml_error_detail(err));
  (void)pml_otf2_close(a);
  return pml_fail(err, "%s", text);
}

static int good_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *main_loc, *idle;
  int err = pml_otf2_open(&a, dir, two_metrics, 2);
  if (err < 0) return err;
  err = pml_otf2_location(a, "main", &main_loc);
  if (err == 0) err = pml_otf2_location(a, "idle", &idle);
  if (err < 0) return close_after(a, err);
  pml_region_t outer = region("outer"), inner = region("inner");
  pml_otf2_enter(main_loc, pml_clock_ticks(), outer);
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t values[2] = {i * 100, 36600 + i % 7};
    pml_otf2_enter(main_loc, pml_clock_ticks(), inner);
    pml_otf2_metric(main_loc, pml_clock_ticks(), values);
    pml_otf2_leave(main_loc, pml_clock_ticks(), inner);
  }
  pml_otf2_leave(main_loc, pml_clock_ticks(), outer);
  return pml_otf2_close(a);
}

/* More than one chunk of libotf2, so that events reach the disk before the close. */
static int large_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  int err = pml_otf2_open(&a, dir, NULL, 0);
  if (err < 0) return err;
  err = pml_otf2_location(a, "main", &loc);
  if (err < 0) return close_after(a, err);
  for (int i = 0; i < 500000; i++) {
    pml_otf2_enter(loc, pml_clock_ticks(), region("step"));
    pml_otf2_leave(loc, pml_clock_ticks(), region("step"));
  }
  return pml_otf2_close(a);
}

static int empty_archive(const char *dir) {
  struct pml_otf2 *a;
  int err = pml_otf2_open(&a, dir, NULL, 0);
  return err < 0 ? err : pml_otf2_close(a);
}

/* Every mistake of a careless program: time that goes back, leaves without enters, open regions, a limit on files. */
static int careless_archive(const char *dir) {
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  int err = pml_otf2_open(&a, dir, two_metrics, 2);
  if (err < 0) return err;
  struct rlimit limit, small = {300000, 0};
  if (pml_otf2_location(a, "careless", &loc) < 0) return close_after(a, -ENOMEM);
  getrlimit(RLIMIT_FSIZE, &limit);
  small.rlim_max = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
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
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  return pml_otf2_close(a);
}

static int make_archive(const char *mode, const char *dir) {
  static const struct {
    const char *mode;
    int (*make)(const char *dir);
  } all[] = {
      {"good", good_archive}, {"large", large_archive}, {"empty", empty_archive}, {"careless", careless_archive}};
  int err = -EINVAL;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(mode, all[i].mode) == 0) err = all[i].make(dir);
  if (err < 0) fprintf(stderr, "%s: %s\n", mode, pml_error_detail(err));
  return err < 0;
}

/* ---- recording ---- */

enum { STEPS = 100000 };
enum call { ENTER, LEAVE, METRIC };

/* An event buffer keeps all but the wrong calls. */
static struct {
  pml_region_t open[STEPS];
  unsigned depth;
  uint64_t last;
  struct pml_otf2_stats stats;
} m;

static int expected(enum call call, uint64_t ticks, pml_region_t region) {
  if (call == ENTER && (region == 0 || region > pml_region_count())) return -EINVAL;
  if (call == ENTER) m.open[m.depth++] = region;
  if (call == LEAVE && (m.depth == 0 || m.open[m.depth - 1] != region)) return m.stats.unmatched++, -EINVAL;
  m.depth -= call == LEAVE;
  m.stats.lifted += ticks < m.last;
  if (ticks > m.last) m.last = ticks;
  m.stats.written++;
  return 0;
}

/* Deep and shallow by turns, with time that goes back now and then. */
static void check_any_order(void) {
  char dir[64], name[32];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  pml_region_t r[5] = {region("a"), 0, 0, UINT32_MAX, 0};
  uint32_t any = 1;
  unsigned right = 0;
  if (!CHECK(fresh_dir(dir) && pml_otf2_open(&a, dir, two_metrics, 2) == 0 && pml_otf2_location(a, "main", &loc) == 0,
             "an archive with the smallest ring"))
    return;
  for (unsigned step = 0; step < STEPS; step++) {
    any = any * 1103515245 + 12345;
    snprintf(name, sizeof name, "made in step %u", step / 1000 * 1000); /* long after the archive was opened */
    r[1] = region(name), r[4] = pml_region_count() + 1;
    uint64_t ticks = 1000 + 10 * (uint64_t)step - (any >> 8) % 64;
    unsigned what = (any >> 16) % 64, k = (any >> 24) % 16;
    enum call call = what < (step / 500 % 2 ? 20 : 32) ? ENTER : what < 56 ? LEAVE : METRIC;
    pml_region_t of = call == LEAVE && k > 1 && m.depth > 0 ? m.open[m.depth - 1] : r[k < 5 ? k : k % 2];
    if (call == ENTER) right += pml_otf2_enter(loc, ticks, of) == expected(call, ticks, of);
    if (call == LEAVE) right += pml_otf2_leave(loc, ticks, of) == expected(call, ticks, of);
    if (call == METRIC) right += pml_otf2_metric(loc, ticks, (uint64_t[]){1, 2}) == expected(call, ticks, of);
  }
  struct pml_otf2_stats s = stats(a);
  CHECK(right == STEPS, "%u of %d calls are kept or refused as a model does", right, STEPS);
  CHECK(memcmp(&s, &m.stats, sizeof s) == 0 && s.written > 10000 && s.lifted > 1000 && s.unmatched > 1000,
        "%llu are kept, %llu lifted, %llu do not match", (unsigned long long)s.written, (unsigned long long)s.lifted,
        (unsigned long long)s.unmatched);
  CHECK(pml_otf2_close(a) == 0, "it closes with regions still open");
  folder_remove(dir);
}

static void check_arguments(void) {
  char dir[64];
  struct pml_otf2 *a;
  struct pml_otf2_location *loc;
  struct pml_otf2_metric nameless = {NULL, NULL, NULL, PML_OTF2_ABSOLUTE, 0, false, false, false};
  struct pml_otf2_metric bare = {"bare", NULL, NULL, PML_OTF2_ABSOLUTE, 0, false, false, false};
  fresh_dir(dir);
  CHECK(pml_otf2_close(NULL) == 0, "closing nothing is fine");
  CHECK(pml_otf2_open(&a, NULL, NULL, 0) == -EINVAL && a == NULL, "no folder is refused");
  CHECK(pml_otf2_open(&a, dir, &nameless, 1) == -EINVAL && a == NULL, "a metric without a name is refused");
  CHECK(pml_otf2_open(&a, dir, two_metrics, 256) == -EINVAL && a == NULL,
        "more metrics than OTF2 can count are refused");
  CHECK(pml_otf2_open(&a, dir, &bare, 1) == 0,
        "a refused open leaves nothing behind; unit and description may be missing");
  CHECK(pml_otf2_location(a, NULL, &loc) == -EINVAL && loc == NULL, "a location without a name is refused");
  CHECK(pml_otf2_close(a) == 0, "it closes");
  folder_remove(dir);
  CHECK(fresh_dir(dir) && pml_otf2_open(&a, dir, NULL, 0) == 0 && pml_otf2_location(a, "main", &loc) == 0 &&
            pml_otf2_metric(loc, 50, (uint64_t[]){1}) == -EINVAL && pml_otf2_close(a) == 0,
        "an archive without metrics refuses values");
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
  int err = pml_otf2_open(&a, dir, NULL, 0);
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
    CHECK(pml_otf2_open(&a, dir, NULL, 0) == -EROFS && a == NULL, "a read-only disk is refused");
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

static void check_recording_goes_on(void) {
  char dir[64];
  struct pml_otf2 *a = NULL;
  struct pml_otf2_location *loc;
  char path[128];
  uint64_t attempted = 0, lost = 0, wrong = 0;
  fresh_dir(dir);
  if (!small_disk(dir, "size=1m")) {
    SKIP("cannot mount a tmpfs (needs root), so nothing is recorded past a full disk");
    folder_remove(dir);
    return;
  }
  if (CHECK(pml_otf2_open(&a, dir, NULL, 0) == 0 && pml_otf2_location(a, "main", &loc) == 0,
            "an archive opens on a small disk")) {
    for (; attempted < 2000000; attempted += 2) {
      int entered = pml_otf2_enter(loc, attempted, region("step")),
          left = pml_otf2_leave(loc, attempted + 1, region("step"));
      lost += entered == PML_EFULL && left == PML_EFULL;
      wrong += entered != left && left != PML_EFULL;
    }
    CHECK(lost > 100000 && wrong == 0, "a recording thread is told what is lost");
    struct pml_otf2_stats s = stats(a);
    CHECK(s.written + s.dropped == attempted, "and it is counted as dropped");
    CHECK(pml_otf2_close(a) == -ENOSPC, "the close says that the disk is full");
    snprintf(path, sizeof path, "test -s %s/*.pmlog", dir);
    CHECK(system(path) == 0, "and leaves the log");
  }
  umount(dir);
  folder_remove(dir);
}

int main(int argc, char **argv) {
  if (argc == 3) return make_archive(argv[1], argv[2]);
  CHECK_EACH(check_any_order, check_arguments, check_forbidden, check_read_only_disk);
  check_full_disk("size=1m", large_archive, "a disk that fills up while recording is a failure");
  check_full_disk("size=4k", good_archive, "a disk that is full at the close is a failure");
  check_full_disk("size=64k,nr_inodes=2", good_archive, "a disk without room for one more file is a failure");
  check_full_disk("size=64k,nr_inodes=4", good_archive, "a disk without room for the definitions is a failure");
  check_recording_goes_on();
  return check_done();
}
