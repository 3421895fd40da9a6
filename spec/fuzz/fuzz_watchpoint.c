/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_watchpoint.c - an arbitrary head, lanes and chunks as the file of a watched process, and arbitrary
 * bytes as a plan. */
#include "fuzz.h"
#include "program/pml_watchpoint_plan.h"
#include "program/pml_watchpoint_store.h"
#include "record/log/pml_log_format.h"

#define CHUNKS 3u
#define LANES 4u
#define HEAD_BYTES 4096u

static struct {
  union {
    struct pml__log_head log;
    char before[PML__LOG_DIRECTORY];
  };
  union {
    struct pml__store_head head;
    char page[HEAD_BYTES];
  };
  struct pml__store_lane lane[PML__STORE_LANES];
  struct pml__store_chunk chunk[CHUNKS];
} file;

static void fill(struct fuzz_input *in, void *to, size_t n) {
  for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = fuzz_byte(in);
}

/* The fields that are checked first are valid most of the time, so that later checks are reached. */
static void compose(struct fuzz_input *in) {
  uint8_t wrong = fuzz_byte(in);
  memset(&file, 0, sizeof file);
  const size_t bytes = sizeof file - sizeof file.before;
  const struct pml__log_entry entry = {.kind = PML__LOG_ACCESSES,
                                       .at = (wrong & 0xf) == 1 ? 4096u * fuzz_byte(in) : PML__LOG_DIRECTORY,
                                       .bytes = (wrong & 0xf) == 2 ? fuzz_word(in) : bytes};
  file.log = (struct pml__log_head){
      .magic = PML__LOG_MAGIC, .version = PML__LOG_VERSION, .ticks_per_second = 1e9, .entries = 1};
  memcpy(file.before + PML__LOG_ENTRIES_AT, &entry, sizeof entry);
  file.head.chunks_max = (wrong & 0xf) == 3 ? (uint32_t)fuzz_word(in) : CHUNKS;
  file.head.points = fuzz_byte(in) % 6;
  file.head.lanes = (wrong & 0xf) == 4 ? (uint32_t)fuzz_word(in) : fuzz_byte(in) % (LANES + 2);
  for (unsigned i = 0; i < CHUNKS; i++) {
    file.chunk[i].next = (wrong & 0x10) ? (uint32_t)fuzz_word(in) : fuzz_byte(in) % (CHUNKS + 2);
    file.chunk[i].n = (wrong & 0x20) ? (uint32_t)fuzz_word(in) : fuzz_byte(in) * 5u;
  }
  for (unsigned i = 0; i < LANES; i++) {
    file.lane[i].point = fuzz_byte(in) % 6;
    file.lane[i].first = (wrong & 0x40) ? (uint32_t)fuzz_word(in) : fuzz_byte(in) % (CHUNKS + 2);
  }
  fill(in, file.head.point, sizeof file.head.point);
}

static void collect(const struct pml_watchpoint_store *s, const struct pml_watchpoint_summary *sum, unsigned i) {
  static struct pml_watchpoint_value v[100];
  struct pml_watchpoint_cursor c = {0};
  struct pml_watchpoint_lane lane;
  size_t all = 0, n;
  if (pml_watchpoint_lane(s, i, &lane) < 0) return;
  PROMISE(lane.point < sum->points, "a lane is of a point that there is");
  while ((n = pml_watchpoint_collect(s, i, &c, v, 100)) > 0) all += n;
  PROMISE(all <= CHUNKS * PML__CHUNK_VALUES + 100, "there are no more values than there is room for");
  PLANTED(all > 2u * PML__CHUNK_VALUES);
  (void)pml_watchpoint_decode(&sum->point[lane.point], file.head.lost);
}

static void read_plan(const struct fuzz_input *in) {
  struct pml_watchpoint_plan p = {.magic = "pmlplan"};
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX];
  size_t n = (size_t)(in->end - in->at) < sizeof p ? (size_t)(in->end - in->at) : sizeof p;
  memcpy(&p, in->at, n);
  memcpy(p.magic, "pmlplan1", sizeof p.magic);
  if (pml_watchpoint_plan_read(&p, fuzz_path(&p, n < 8 ? n : sizeof p)) < 0) return;
  PROMISE(p.points <= PML_WATCHPOINTS_MAX, "a plan has no more points than hardware");
  PROMISE(pml_watchpoint_plan_place(&p, point) <= p.points, "and places no more");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml_watchpoint_store *s;
  struct pml_watchpoint_summary sum;
  if (fuzz_byte(&in) & 1) {
    read_plan(&in);
    return 0;
  }
  compose(&in);
  size_t bytes = sizeof file - ((fuzz_byte(&in) & 0x1f) == 1 ? fuzz_byte(&in) : 0);
  if (pml_watchpoint_load(&s, fuzz_path(&file, bytes)) < 0) return 0;
  pml_watchpoint_summary(s, &sum);
  PROMISE(sum.points <= PML_WATCHPOINTS_MAX && sum.lanes <= PML__STORE_LANES, "a summary fits");
  PROMISE(memchr(sum.point[0].name, '\0', sizeof sum.point[0].name) != NULL, "names end");
  for (unsigned i = 0; i < LANES + 2; i++) collect(s, &sum, i);
  pml_watchpoint_unload(s);
  return 0;
}
