/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sampler.c - the sampler: records in the kernel's buffer, mappings over time, and samples of this thread. */
#include "check.h"
#include "source/kernel/sampler/pml_sampler_private.h"

#include <limits.h>
#include <sys/mman.h>

#define RING 128u

static unsigned char ring_bytes[RING], scratch[PML__RECORD_MAX];

static void put(uint64_t at, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) ring_bytes[(at + i) % RING] = ((const unsigned char *)bytes)[i];
}

static void ring(void) {
  struct pml__ring r = {.data = ring_bytes, .bytes = RING, .tail = 112};
  struct {
    struct perf_event_header h;
    uint64_t body[3];
  } record = {.h = {.type = PERF_RECORD_LOST, .size = 32}, .body = {1, 77, 3}};
  const unsigned char *got = NULL;
  CHECK(pml__ring_next(&r, 112, scratch, &got) == 0, "an empty buffer has no record");
  put(112, &record, 32);
  CHECK(pml__ring_next(&r, 144, scratch, &got) == 32, "a record that wraps is found");
  CHECK(got == scratch && memcmp(got, &record, 32) == 0, "and put together");
  struct pml__record out;
  CHECK(pml__record_read(got, 32, 0, &out) && out.kind == PML__RECORD_LOST && out.lost == 77, "its loss is read");
  CHECK(!pml__record_read(got, 16, 0, &out), "a record that is too short is refused");
  CHECK(pml__ring_next(&r, 144, scratch, &got) == 0, "there is no other");
  record.h.size = 4;
  put(144, &record, 32);
  CHECK(pml__ring_next(&r, 176, scratch, &got) == PML_EFORMAT, "a record shorter than its head is refused");
  CHECK(r.tail == 176 && pml__ring_next(&r, 176, scratch, &got) == 0, "and all that was there is skipped");
  record.h.size = 64;
  put(176, &record, 32);
  CHECK(pml__ring_next(&r, 208, scratch, &got) == PML_EFORMAT, "and a record longer than the rest");
  CHECK(pml__ring_next(&r, 208 + 2 * RING, scratch, &got) == PML_EFORMAT, "and a head that is a round ahead");
}

/* Ends with two addresses of a stack, of which it says @words. */
static void stack(void) {
  struct {
    struct perf_event_header h;
    uint64_t body[9];
  } record = {.h = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof record}};
  struct pml__record out;
  uint64_t word = 0;
  record.body[0] = 4711;
  record.body[5] = 11;
  record.body[6] = 2;
  record.body[8] = 815;
  CHECK(pml__record_read((const unsigned char *)&record, sizeof record, 0, &out) && out.sample.ip == 4711 &&
            out.sample.depth == 2,
        "a sample has its stack");
  memcpy(&word, out.chain + 8, sizeof word);
  CHECK(word == 815, "whose words are those at its end");
  static const uint64_t wrong[] = {3, 1000, UINT64_MAX, UINT64_MAX / 8 + 1};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    record.body[6] = wrong[i];
    CHECK(!pml__record_read((const unsigned char *)&record, sizeof record, 0, &out),
          "a stack beyond the record is refused");
  }
  record.h.size = 8 + 48;
  CHECK(pml__record_read((const unsigned char *)&record, 8 + 48, 0, &out) && out.sample.depth == 0,
        "there may be none");
  CHECK(out.sample.period == 11, "it has its period");
  CHECK(!pml__record_read((const unsigned char *)&record, 8 + 40, 0, &out), "without which it is refused");
  CHECK(pml__record_read((const unsigned char *)&record, 8 + 40, 7, &out) && out.sample.period == 7,
        "unless the period of its event is fixed");
  record.h.size = sizeof record;
  record.body[5] = 3;
  CHECK(pml__record_read((const unsigned char *)&record, sizeof record, 7, &out) && out.sample.depth == 3,
        "then the stack begins where the period would be");
}

static void note(struct pml__maps *m, enum pml__record_kind kind, int32_t pid, uint64_t time, uint64_t start,
                 const char *name) {
  struct pml__record r = {.kind = kind, .sample = {.pid = pid, .time_ns = time}, .start = start, .length = 100};
  r.name = name;
  r.parent = (int32_t)start;
  CHECK(pml__maps_add(m, &r) == 0, "noted");
}

static const char *at(struct pml__maps *m, int32_t pid, uint64_t time, uint64_t address) {
  const struct pml__mapping *found = pml__maps_find(m, pid, time, address);
  return found != NULL ? found->name : "-";
}

static void maps(void) {
  struct pml__maps m = {0};
  note(&m, PML__RECORD_MAP, 2, 50, 1000, "child"); /* buffers of cpus come one after another, not by time */
  note(&m, PML__RECORD_MAP, 1, 10, 1000, "old");
  note(&m, PML__RECORD_MAP, 1, 20, 1050, "new");
  note(&m, PML__RECORD_FORK, 2, 30, 1, NULL);
  note(&m, PML__RECORD_EXEC, 2, 40, 0, NULL);
  note(&m, PML__RECORD_MAP, 1, 60, 1000, "late");
  CHECK(strcmp(at(&m, 1, 15, 1060), "old") == 0, "the file at that time");
  CHECK(strcmp(at(&m, 1, 25, 1060), "new") == 0, "the file mapped over it later");
  CHECK(strcmp(at(&m, 1, 25, 1049), "old") == 0, "the rest of the first");
  CHECK(strcmp(at(&m, 1, 5, 1060), "-") == 0, "nothing before the first");
  CHECK(strcmp(at(&m, 1, 25, 1150), "-") == 0, "nothing behind the end");
  CHECK(strcmp(at(&m, 2, 35, 1060), "new") == 0, "a forked process has what its parent had");
  CHECK(strcmp(at(&m, 2, 45, 1060), "-") == 0, "not after it executed a program");
  CHECK(strcmp(at(&m, 2, 55, 1060), "child") == 0, "then what the program has");
  CHECK(strcmp(at(&m, 3, 55, 1060), "-") == 0, "and of a process that is unknown nothing");
  CHECK(pml__maps_below(&m, 1, 25, 1060) == NULL, "memory without a file has no variables");
  note(&m, PML__RECORD_MAP, 1, 70, 500, "/far");
  note(&m, PML__RECORD_MAP, 1, 70, 2000, "/near");
  note(&m, PML__RECORD_MAP, 1, 70, 3000, "/above");
  const struct pml__mapping *below = pml__maps_below(&m, 1, 80, 2500);
  CHECK(below != NULL && strcmp(below->name, "/near") == 0, "behind a file's mapping is what begins as zeros");
  CHECK(pml__maps_below(&m, 1, 60, 2500) == NULL, "not before it was mapped");
  CHECK(pml__maps_below(&m, 1, 80, 499) == NULL && pml__maps_below(&m, 1, 80, 3200 + PML__BELOW_MAX) == NULL,
        "nor below it, nor far away");
  pml__maps_free(&m);
}

static void own_maps(void) {
  struct pml__maps m = {0};
  CHECK(pml__maps_of_process(&m, getpid()) == 0, "the maps of this process are read");
  const struct pml__mapping *code = pml__maps_find(&m, getpid(), 1, (uintptr_t)&own_maps);
  char own[PATH_MAX] = "";
  CHECK(readlink("/proc/self/exe", own, sizeof own - 1) > 0, "the program's own file is found");
  CHECK(code != NULL && strcmp(code->name, own) == 0, "its code is in its file");
  CHECK(pml__maps_of_process(&m, 0x7ffffff0) == -ENOENT, "a process that there is not has none");
  pml__maps_free(&m);
}

#define PAGES 1000u

static size_t page;

static void *buffer_at(void) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  unsigned long long at = 0;
  while (maps != NULL && at == 0 && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "[perf_event]") != NULL) at = strtoull(line, NULL, 16);
  if (maps != NULL) (void)fclose(maps);
  return (void *)(uintptr_t)at;
}

static int child_of(struct pml_sampler *s, void *buffer) {
  if (pml_sampler_drain(s) != PML_EMODE) return 1;
  unsigned char *own =
      mmap(buffer, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (own != buffer) return 2;
  pml_sampler_close(s);
  return msync(own, page, MS_ASYNC) == 0 ? 0 : 3;
}

static struct pml_sampler *planted(const struct pml_sampler_options *o) {
  struct pml_sampler *s;
  int err = pml_sampler_open(&s, "page-faults", o);
  if (err == PML_EPARANOID || err == PML_ECAP) {
    SKIP(pml_error_detail(err));
    return NULL;
  }
  if (!CHECK(err == 0, "page faults of this thread are sampled: %s", pml_error_detail(err))) return NULL;
  unsigned char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
  for (unsigned i = 0; i < PAGES; i++) memory[i * page] = 1;
  CHECK(pml_sampler_stop(s) >= 0, "and it stops");
  (void)munmap(memory, PAGES * page);
  return s;
}

static void faults(void) {
  struct pml_sampler *s = planted(&(struct pml_sampler_options){.period = 1, .address = true});
  if (s == NULL) return;
  struct pml_sampler_counts c = pml_sampler_counts(s);
  CHECK(c.samples >= PAGES && c.lost == 0 && c.dropped == 0 && c.odd == 0, "each fault has a sample, nothing is lost");
  void *buffer = buffer_at();
  CHECK(buffer != NULL, "the buffer is mapped");
  pid_t child = fork();
  if (child == 0) _exit(child_of(s, buffer));
  int status = -1;
  CHECK(exit_of(child) == 0, "a forked child may not take the parent's samples, and unmaps none of its own memory: %d",
        WEXITSTATUS(status));
  pml_sampler_close(s);
}

static void few(void) {
  struct pml_sampler *s = planted(&(struct pml_sampler_options){.period = 1, .address = true, .max = 10});
  if (s == NULL) return;
  struct pml_sampler_counts c = pml_sampler_counts(s);
  CHECK(c.samples == 10 && c.samples + c.dropped >= PAGES, "samples beyond the limit are counted as dropped");
  pml_sampler_close(s);
}

static void periodic(void) {
  enum { PERIOD = 50 };
  struct pml_sampler *s = planted(&(struct pml_sampler_options){.period = PERIOD, .address = true});
  if (s == NULL) return;
  size_t n, wrong = 0;
  const struct pml_sample *sample = pml_sampler_samples(s, &n);
  CHECK(n >= PAGES / PERIOD && n <= PAGES / PERIOD + 3, "%u faults are %zu samples, one in %u", PAGES, n, PERIOD);
  for (size_t i = 0; i < n; i++) wrong += sample[i].period != PERIOD;
  CHECK(wrong == 0, "each of which represents so many");
  pml_sampler_close(s);
}

static void refusals(void) {
  static const struct {
    const char *event;
    struct pml_sampler_options options;
    int err;
  } known[] = {{"clock::ticks", {.period = 1}, PML_EMODE},
               {"page-faults", {0}, -EINVAL},
               {"page-faults", {.period = 1, .frequency = 1}, -EINVAL},
               {"page-faults", {.period = 1, .registers = true, .calls = true}, -EINVAL}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    struct pml_sampler *s;
    int err = pml_sampler_open(&s, known[i].event, &known[i].options);
    CHECK(err == known[i].err && s == NULL, "refusal %zu of %s: %s", i, known[i].event, pml_error_detail(err));
    pml_sampler_close(s);
  }
}

int main(void) {
  page = (size_t)sysconf(_SC_PAGESIZE);
  CHECK_EACH(ring, stack, maps, own_maps, faults, few, periodic, refusals);
  return check_done();
}
