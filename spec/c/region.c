/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/region.c - the same region has the same id, from any thread, and can be looked up while others intern. */
#include "check.h"

#define WRITERS 8
#define READERS 2
#define NAMES 5000

static pml_region_t intern(const char *name, const char *file, uint32_t line) {
  pml_region_t id = 0;
  return pml_region_intern(name, file, line, &id) == 0 ? id : 0;
}

static void one_by_one(void) {
  CHECK(pml_region_count() == 0, "there are no regions at first");
  pml_region_t a = intern("solve", "solver.c", 12);
  CHECK(a == 1 && pml_region_count() == 1, "the first id is 1");
  CHECK(intern("solve", "solver.c", 12) == a && pml_region_count() == 1, "the same region has the same id");
  CHECK(intern("solve", "solver.c", 13) == 2, "another line is another region");
  CHECK(intern("solve", "main.c", 12) == 3, "another file is another region");
  CHECK(intern("solver", "solver.c", 12) == 4, "another name is another region");
  CHECK(intern("ab", "c", 0) != intern("a", "bc", 0), "name and file are kept apart");
  CHECK(intern("free", NULL, 0) == intern("free", "", 0), "no file is the empty file");
  CHECK(pml_region_count() == 7, "ids have no gaps");
}

static void copies(void) {
  char name[] = "borrowed", file[] = "buffer.c";
  pml_region_t id = intern(name, file, 3);
  memset(name, 'x', sizeof name - 1);
  memset(file, 'y', sizeof file - 1);
  struct pml_region_info info = {0};
  CHECK(pml_region_describe(id, &info) == 0, "a region can be described");
  CHECK(strcmp(info.name, "borrowed") == 0 && strcmp(info.file, "buffer.c") == 0 && info.line == 3,
        "by what it was interned with, copied");
  pml_region_describe(intern("free", NULL, 0), &info);
  CHECK(info.file && strcmp(info.file, "") == 0 && info.line == 0, "an unknown place is \"\" and 0");
}

static void refusals(void) {
  struct pml_region_info info;
  pml_region_t id = 99;
  uint32_t count = pml_region_count();
  CHECK(pml_region_intern(NULL, "f", 1, &id) == -EINVAL && id == 0, "no name is -EINVAL, and no region");
  CHECK(pml_region_intern("", "f", 1, &id) == -EINVAL && strstr(pml_error_detail(-EINVAL), "name"),
        "an empty name is -EINVAL, with a detail");
  CHECK(pml_region_count() == count, "a refused region is not counted");
  CHECK(pml_region_describe(0, &info) == -ENOENT, "0 is no region");
  CHECK(pml_region_describe(count + 1, &info) == -ENOENT, "an id that was never given out is -ENOENT");
  CHECK(pml_region_describe(UINT32_MAX, &info) == -ENOENT, "nor is the largest number one");
}

static _Atomic bool writing = true;
static pml_region_t got[WRITERS][NAMES];

static unsigned number_of(unsigned writer, unsigned i) {
  return (i * 7919u + writer * 613u) % NAMES; /* 7919 is prime to NAMES: each writer has another order */
}

static void *write_regions(void *arg) {
  unsigned w = *(unsigned *)arg;
  for (unsigned i = 0; i < NAMES; i++) {
    char name[32];
    unsigned k = number_of(w, i);
    snprintf(name, sizeof name, "region %u", k);
    got[w][k] = intern(name, "shared.c", k);
  }
  return NULL;
}

static void *read_regions(void *arg) {
  unsigned *bad = arg;
  uint32_t seen = 0;
  while (atomic_load(&writing)) {
    uint32_t count = pml_region_count();
    *bad += count < seen;
    seen = count;
    for (pml_region_t id = count > 50 ? count - 50 : 1; id <= count; id++) {
      struct pml_region_info info = {0};
      char name[32];
      *bad += pml_region_describe(id, &info) != 0 || !info.name || !info.file;
      if (!info.file || strcmp(info.file, "shared.c") != 0) continue;
      snprintf(name, sizeof name, "region %u", info.line);
      *bad += strcmp(name, info.name) != 0;
    }
  }
  return NULL;
}

static unsigned disagreements(void) {
  unsigned bad = 0;
  for (unsigned k = 0; k < NAMES; k++) {
    struct pml_region_info info = {0};
    bad += got[0][k] == 0 || pml_region_describe(got[0][k], &info) != 0 || info.line != k;
    for (unsigned w = 1; w < WRITERS; w++) bad += got[w][k] != got[0][k];
  }
  return bad;
}

static void at_once(void) {
  pthread_t writer[WRITERS], reader[READERS];
  unsigned number[WRITERS], bad[READERS] = {0}, w = 0, r = 0;
  uint32_t before = pml_region_count();
  while (r < READERS && pthread_create(&reader[r], NULL, read_regions, &bad[r]) == 0) r++;
  for (; w < WRITERS; w++) {
    number[w] = w;
    if (pthread_create(&writer[w], NULL, write_regions, &number[w]) != 0) break;
  }
  bool started = r == READERS && w == WRITERS;
  while (w > 0) pthread_join(writer[--w], NULL);
  atomic_store(&writing, false);
  while (r > 0) pthread_join(reader[--r], NULL);
  CHECK(started && pml_region_count() == before + NAMES && disagreements() == 0,
        "%d threads intern the same %d names once, and get the same ids", WRITERS, NAMES);
  CHECK(bad[0] + bad[1] == 0, "readers never saw a region that was not complete");
}

static void *keep_interning(void *arg) {
  const _Atomic bool *stop = arg;
  while (!atomic_load(stop)) intern("contended", "fork.c", 1);
  return NULL;
}

static void forks(void) {
  static _Atomic bool stop;
  pthread_t t;
  unsigned stuck = 0;
  if (!CHECK(pthread_create(&t, NULL, keep_interning, &stop) == 0, "a thread interns all the time")) return;
  for (int i = 0; i < 50; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      _exit(intern("child", "fork.c", 2) == 0);
    }
    stuck += exit_of(pid) != 0;
    if (stuck) break;
  }
  atomic_store(&stop, true);
  pthread_join(t, NULL);
  CHECK(stuck == 0, "a child forked meanwhile can intern");
}

int main(void) {
  CHECK_EACH(one_by_one, copies, refusals, at_once, forks);
  return check_done();
}
