/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/rdpmc.c - the page reader on a page that the spec owns, with the counter instruction replaced. */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

static struct perf_event_mmap_page page; /* the page, as the kernel would write it */
static uint64_t counter_bits;            /* content of the register */
static uint32_t counter_asked;           /* register that was read */
static unsigned reads;                   /* number of reads */
static unsigned writes_left;             /* number of reads that the kernel interrupts */
static uint64_t cycles_now;

static uint64_t counter_insn(uint32_t counter);
#define PML_RDPMC_INSN(counter) counter_insn(counter)
#define PML_RDPMC_CYCLES() cycles_now

#include "check.h"
#include "source/kernel/pml_rdpmc.h"

#include <string.h>

/* An interrupt between the reads of index and offset: the event moves to another register, its count to the offset. */
static uint64_t counter_insn(uint32_t counter) {
  uint64_t bits = counter_bits;
  counter_asked = counter;
  reads++;
  if (writes_left > 0) {
    writes_left--;
    page.lock += 2;
    page.offset += 1000;
  }
  return bits;
}

static void fresh_page(void) {
  memset(&page, 0, sizeof page);
  page.cap_user_rdpmc = 1;
  page.cap_user_time = 1;
  page.index = 3;
  page.pmc_width = 48;
  page.time_shift = 10;
  page.time_mult = 1u << 10; /* a cycle is a nanosecond */
  counter_bits = cycles_now = 0;
  reads = writes_left = 0;
}

static void counts(void) {
  uint64_t raw = 0;
  fresh_page();
  page.offset = 5000;
  counter_bits = 42;
  CHECK(pml_rdpmc_count(&page, &raw) == 1 && raw == 5042, "the count is the offset plus the register");
  CHECK(counter_asked == 2, "index 3 of the page is register 2");
  page.offset = INT64_C(1) << 40;
  CHECK(pml_rdpmc_count(&page, &raw) == 1 && raw == (UINT64_C(1) << 40) + 42, "the offset has 64 bits");
}

static void sign_extends(void) {
  static const unsigned width[] = {32, 40, 48, 64};
  for (unsigned i = 0; i < sizeof width / sizeof width[0]; i++) {
    uint64_t raw = 0, sign = UINT64_C(1) << (width[i] - 1);
    fresh_page();
    page.pmc_width = (uint16_t)width[i];
    page.offset = (int64_t)(sign - 1) / 2;
    counter_bits = sign - 1;
    CHECK(pml_rdpmc_count(&page, &raw) == 1 && raw == (uint64_t)page.offset + sign - 1,
          "%u bits: the largest positive register stays positive", width[i]);
    counter_bits = sign | 7;
    CHECK(pml_rdpmc_count(&page, &raw) == 1 && raw == (uint64_t)page.offset - sign + 7,
          "%u bits: a register that counts up from -period is negative", width[i]);
    if (width[i] == 64) continue;
    counter_bits = 9 | (UINT64_MAX << width[i]);
    CHECK(pml_rdpmc_count(&page, &raw) == 1 && raw == (uint64_t)page.offset + 9, "%u bits: what lies above is no count",
          width[i]);
  }
}

static void falls_back(void) {
  struct pml_reading r = {.raw = 77};
  uint64_t raw = 77;
  fresh_page();
  page.index = 0;
  CHECK(pml_rdpmc_count(&page, &raw) == 0 && pml_rdpmc_read(&page, &r) == 0, "index 0: not on a counter, read(2)");
  fresh_page();
  page.cap_user_rdpmc = 0;
  CHECK(pml_rdpmc_count(&page, &raw) == 0 && pml_rdpmc_read(&page, &r) == 0, "the kernel forbids it: read(2)");
  CHECK(reads == 0, "and the instruction, which would be fatal, is not made");
  fresh_page();
  page.cap_user_time = 0;
  CHECK(pml_rdpmc_read(&page, &r) == 0, "no clock for the times: read(2)");
  CHECK(pml_rdpmc_count(&page, &raw) == 1, "which the bare count does not need");
  raw = 77;
  fresh_page();
  page.lock = 7;
  CHECK(pml_rdpmc_count(&page, &raw) == 0, "a writer that stays inside: read(2)");
  CHECK(raw == 77 && r.raw == 77, "a failed read leaves the result alone");
}

static void retries(void) {
  uint64_t raw = 0;
  struct pml_reading r;
  fresh_page();
  writes_left = 1;
  CHECK(pml_rdpmc_count(&page, &raw) == 2 && raw == 1000, "a writer in between costs one more try");
  fresh_page();
  writes_left = PML_RDPMC_TRIES - 1;
  CHECK(pml_rdpmc_read(&page, &r) == PML_RDPMC_TRIES && r.raw == (PML_RDPMC_TRIES - 1) * 1000u,
        "the last try still counts");
  fresh_page();
  writes_left = 1000;
  CHECK(pml_rdpmc_count(&page, &raw) == 0, "a page that never stands still: read(2)");
  CHECK(reads == PML_RDPMC_TRIES, "after %d tries, not for ever", PML_RDPMC_TRIES);
}

static void times(void) {
  struct pml_reading r;
  fresh_page();
  page.time_enabled = 1000;
  page.time_running = 400;
  page.time_offset = (uint64_t)-5000; /* the kernel wrote the page at cycle 5000 */
  cycles_now = 5250;
  CHECK(pml_rdpmc_read(&page, &r) == 1 && r.enabled_ns == 1250 && r.running_ns == 650,
        "both times go on from where the kernel left them");
  page.time_mult = 3u << 9; /* 1.5 ns a cycle, and more cycles than a 64-bit product holds */
  page.time_offset = 0;
  cycles_now = (UINT64_C(1) << 60) + 1022;
  CHECK(pml_rdpmc_read(&page, &r) == 1 && r.enabled_ns == 1000 + (UINT64_C(3) << 59) + 1533,
        "the product is taken in two halves and does not overflow");
  fresh_page();
  page.cap_user_time_short = 1;
  page.time_cycles = 0xffff0; /* a clock of 20 bits that wrapped since */
  page.time_mask = 0xfffff;
  page.time_offset = (uint64_t)-0xffff0;
  cycles_now = 0x00010;
  CHECK(pml_rdpmc_read(&page, &r) == 1 && r.enabled_ns == 0x20, "a short clock that wrapped is continued");
}

int main(void) {
  counts();
  sign_extends();
  falls_back();
  retries();
  times();
  return check_done();
}
