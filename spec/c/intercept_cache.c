/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_cache.c - cache of code scans of a large program: reused by the next process, and trusted only if it
 * belongs to this program and to the user.
 *
 * This program is large, and calls functions of a library through slots of addresses.
 */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_cache.h"
#include "check.h"
#include "intercept/counted.h"
#include "intercept/library.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#if SHOWS_CALLS

__asm__(".text\n .skip 17 << 20, 0x90\n");

static char folder[] = "/tmp/pmlua-kept-XXXXXX", path[PATH_MAX];

static bool is_kept(void) {
  DIR *d = opendir(folder);
  size_t n = 0;
  if (d == NULL) return false;
  for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    n++;
  }
  closedir(d);
  return n == 1;
}

static void install(void) {
  const struct pml_intercept_options o = {.lib = "libintercept", .scans = folder};
  if (pml_intercept_install(&o) != 0) abort();
}

static bool sees_calls(void) {
  install();
  (void)calls("lib_tail");
  (void)lib_tail(1);
  bool seen = calls("lib_tail") == 1;
  pml_intercept_remove();
  return seen;
}

/* As a process that found every slot's address taken would have kept it. */
static void keep_otherwise(void) {
  struct pml__objects all;
  uint64_t made = 0;
  if (pml__objects_collect(&all) != 0) abort();
  struct pml__scan *s = pml__scan_of(&all.at[0], &made);
  for (size_t i = s->ncalls; i < s->n; i++) s->slot[i].called = s->slot[i].used = true;
  pml__scan_cache_in(folder);
  pml__scan_cache_put(s);
  pml__objects_free(&all);
  pml__scans_forget();
}

static void change(off_t at, unsigned char by) {
  unsigned char byte;
  int fd = open(path, O_RDWR);
  if (fd < 0 || pread(fd, &byte, 1, at) != 1) abort();
  byte ^= by;
  if (pwrite(fd, &byte, 1, at) != 1) abort();
  close(fd);
}

static void believed(void) {
  CHECK(sees_calls() && is_kept(), "the scan of a large program's code is kept");
  CHECK(sees_calls() && is_kept(), "and used the next time");
  keep_otherwise();
  CHECK(is_kept() && !sees_calls(), "instead of its code");
}

/* Each cache file claims that all addresses are taken: if it were trusted, no call would be recorded. Untrusted files
 * are replaced. */
static void not_believed(void) {
  for (off_t at = 0; at < 26; at += 5) {
    keep_otherwise();
    change(at, 4);
    CHECK(sees_calls(), "it is not believed where byte %d differs", (int)at);
  }
  keep_otherwise();
  CHECK(truncate(path, 10) == 0 && sees_calls(), "nor where it is cut short");
  keep_otherwise();
  CHECK(chmod(path, 0666) == 0 && sees_calls(), "nor where others may write it");
  char elsewhere[PATH_MAX + 8];
  keep_otherwise();
  snprintf(elsewhere, sizeof elsewhere, "%s/.moved", folder);
  CHECK(rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0 && sees_calls(), "nor through a link");
  unlink(elsewhere);
  unlink(path);
  CHECK(mkfifo(path, 0600) == 0 && sees_calls(), "a FIFO holds nobody up");
  unlink(path);
}

static void not_kept(void) {
  struct rlimit all, none;
  getrlimit(RLIMIT_FSIZE, &all);
  none = (struct rlimit){0, all.rlim_max};
  bool quietly = setrlimit(RLIMIT_FSIZE, &none) == 0 && sees_calls() && !is_kept();
  setrlimit(RLIMIT_FSIZE, &all);
  CHECK(quietly, "where files are limited, nothing is kept, and no signal ends the program");
  pml__scan_cache_in(NULL);
  CHECK(sees_calls() && is_kept(), "without a limit it is");
  rmdir(folder);
  unlink(path);
  CHECK(rmdir(folder) == 0 && sees_calls() && access(folder, F_OK) != 0, "no folder is made");
}

int main(void) {
  if (mkdtemp(folder) == NULL || count_calls() != 0) return 1;
  CHECK_EACH(believed, not_believed, not_kept);
  return check_done();
}

#else

int main(void) {
  SKIP(HIDES_CALLS);
  return check_done();
}

#endif
