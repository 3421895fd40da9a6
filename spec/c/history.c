/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/history.c - compressed series: samples are read bit for bit, and a log stays within its bound.
 *
 * The series are random, from a fixed seed: any 64 bits, so that NaNs with a payload, -0 and the extremes of integers
 * occur by themselves; and also on purpose.
 */
#include "check.h"

#include "base/pml_clock.h"
#include "read/log/pml_history_read.h"
#include "record/log/pml_log_own.h"
#include "record/pml_history.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "folder.h"

static uint64_t seed = 1;
static uint64_t random64(void) { /* xorshift64* */
  seed ^= seed >> 12;
  seed ^= seed << 25;
  seed ^= seed >> 27;
  return seed * UINT64_C(0x2545f4914f6cdd1d);
}

struct sample {
  int64_t time;
  uint64_t value;
};

#define SAMPLES 2000u
static struct sample written[SAMPLES];

static uint64_t bits_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static int64_t next_time(int64_t time, unsigned kind) {
  static const int64_t step[] = {0, 1, 1000, 1063, 1064, 936, -1000, 1255, 1256, 3047, 3048, 100000};
  uint64_t r = random64();
  if (kind == 0) return time + 1000 + (int64_t)(r % 21) - 10;
  if (kind == 1) return (int64_t)((uint64_t)time + (uint64_t)step[r % (sizeof step / sizeof step[0])]);
  return kind == 2 ? (int64_t)r : (r & 1) != 0 ? INT64_MAX : INT64_MIN;
}

static uint64_t next_value(uint64_t before, unsigned kind) {
  static const uint64_t special[] = {0,
                                     1,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX,
                                     INT64_MAX,
                                     UINT64_C(0x7ff8000000000123),
                                     UINT64_C(0xfff0000000000001),
                                     UINT64_C(0x7ff0000000000000),
                                     5};
  uint64_t r = random64();
  if (kind == 0) return before + r % 100;
  if (kind == 1) return special[r % (sizeof special / sizeof special[0])];
  if (kind == 2) return r;
  if (kind == 3) return bits_of((double)(r % 1000) / 8);
  return (r & 3) != 0 ? before : before ^ (r & (UINT64_MAX << (r >> 58)));
}

/* Samples until @bytes are full; how many. */
static unsigned write_series(struct pml__compressed *c, void *memory, size_t bytes, unsigned times, unsigned values) {
  int64_t time = (int64_t)random64() % 1000000;
  uint64_t value = 0;
  unsigned n = 0;
  pml__compressed_begin(c, memory, bytes);
  for (; n < SAMPLES; n++) {
    time = next_time(time, times);
    value = next_value(value, values);
    if (!pml__compressed_add(c, time, value)) break;
    written[n] = (struct sample){time, value};
  }
  return n;
}

static unsigned read_wrong(void *memory, size_t bytes, unsigned n) {
  struct pml__compressed c;
  struct sample s;
  unsigned wrong = 0;
  pml__compressed_begin(&c, memory, bytes);
  for (unsigned i = 0; i < n; i++)
    wrong += !pml__compressed_next(&c, &s.time, &s.value) || s.time != written[i].time || s.value != written[i].value;
  return wrong;
}

static void check_exact(void) {
  static unsigned char memory[8192 + 1];
  struct pml__compressed c;
  unsigned wrong = 0, outside = 0, series = 0, empty = 0;
  for (unsigned turn = 0; turn < 4000; turn++) {
    size_t bytes = random64() % (turn % 10 == 0 ? 8192 : 512);
    memset(memory, (int)turn, sizeof memory); /* memory that was used before */
    memory[bytes] = 0xa5;
    unsigned n = write_series(&c, memory, bytes, turn % 4, turn / 4 % 5);
    wrong += read_wrong(memory, bytes, n);
    outside += memory[bytes] != 0xa5 || c.bits > 8 * bytes;
    series += n > 0;
    empty += n == 0 && bytes >= PML__COMPRESSED_LONGEST / 8 + 1;
  }
  CHECK(wrong == 0, "samples of %u random series are read bit for bit", series);
  CHECK(outside == 0, "no series is longer than its memory");
  CHECK(empty == 0, "a series begins if a sample fits");
}

/* A reader of anything ends within the memory: AddressSanitizer sees it otherwise. */
static void check_damaged(void) {
  unsigned most = 0;
  for (unsigned turn = 0; turn < 2000; turn++) {
    size_t bytes = random64() % 200;
    unsigned char *memory = malloc(bytes + 1);
    struct pml__compressed c;
    struct sample s;
    unsigned n = 0;
    for (size_t i = 0; i < bytes; i++) memory[i] = (unsigned char)random64();
    pml__compressed_begin(&c, memory, bytes);
    while (pml__compressed_next(&c, &s.time, &s.value)) n++;
    if (n > most) most = n;
    free(memory);
  }
  CHECK(most <= 4 * 200, "arbitrary bytes have no more samples than bits allow, %u", most);
}

/* A counter that is read once a second, some ms early or late, as the service thread does. */
static void report_size(void) {
  static unsigned char memory[8192];
  struct pml__compressed c;
  static const char *const what[] = {"a counter that grows by 0 to 99", NULL, NULL, "a level in eighths",
                                     "a rare change"};
  for (unsigned values = 0; values < 5; values++) {
    if (what[values] == NULL) continue;
    unsigned n = write_series(&c, memory, sizeof memory, 0, values);
    CHECK(n > 0 && (double)c.bits / 8 / n < 16, "%s takes %.2f bytes a sample, not 16", what[values],
          (double)c.bits / 8 / n);
  }
}

/* ---- in a log ---- */

struct found {
  size_t series, samples;
  unsigned wrong;
  int64_t first_ms, last_ms, longest_ms; /* longest_ms: between samples of the last hour */
  int64_t bytes;                         /* of the log */
};

#define HOUR_MS INT64_C(3600000)

static int look(const struct pml_history *h, void *arg) {
  struct found *f = arg;
  f->series++;
  f->samples += h->n;
  f->first_ms = h->ms[0];
  f->last_ms = h->ms[h->n - 1];
  for (size_t i = 0; i < h->n; i++) {
    f->wrong += h->value[i] != (uint64_t)(h->ms[i] / 1000 * 7) || (i > 0 && h->ms[i] <= h->ms[i - 1]);
    if (i > 0 && h->ms[i - 1] > f->last_ms - HOUR_MS && h->ms[i] - h->ms[i - 1] > f->longest_ms)
      f->longest_ms = h->ms[i] - h->ms[i - 1];
  }
  return 0;
}

/* A sample a second of @n series into the log of this process, at times that are computed. */
static void keep_seconds(unsigned n, unsigned seconds) {
  static struct pml__history_series series[64];
  double ticks_per_ms = pml__log_own()->head->ticks_per_second / 1e3;
  for (unsigned s = 1; s < seconds; s++)
    for (unsigned i = 0; i < n; i++) {
      char name[16];
      (void)snprintf(name, sizeof name, "L::%u", i);
      uint64_t ticks = pml__log_own()->head->started_ticks + (uint64_t)((s * 1000.0 + 0.5) * ticks_per_ms);
      const struct pml__history_sample v = {name, false, false, (uint64_t)s * 7, ticks};
      pml__history_add(&series[i], &v);
    }
}

/* In a child, because a process has one log. Its findings. */
static struct found *found_with(const char *folder, const char *bound, unsigned n, unsigned seconds) {
  static struct found *f;
  if (f == NULL) f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memset(f, 0, sizeof *f);
  pid_t pid = fork();
  if (pid == 0) {
    setenv("PMLUA_REPORT", folder, 1);
    setenv("PMLUA_HISTORY", bound, 1);
    if (!pml__log_asked()) _exit(2);
    keep_seconds(n, seconds);
    struct stat st;
    const char *path = pml__log_own()->file.path;
    if (pml_history_load(path, look, f) == 0 && stat(path, &st) == 0) f->bytes = st.st_size;
    _exit(0);
  }
  (void)waitpid(pid, NULL, 0);
  return f;
}

#define OTHER_BYTES (4 * 65536) /* the rest of a log */

static void check_log(const char *folder) {
  const struct found *f = found_with(folder, "off", 3, 100);
  CHECK(f->series == 0 && f->bytes > 0, "PMLUA_HISTORY=off keeps no series");
  f = found_with(folder, "1M", 4, 5 * 3600);
  CHECK(f->series == 4 && f->wrong == 0, "%zu series have the values of their times", f->series);
  CHECK(f->first_ms == 1000 && f->last_ms == (5 * 3600 - 1) * 1000, "they begin with the first minute, and end now");
  CHECK(f->longest_ms == 1000, "they have each second of the last hour");
  CHECK(f->samples < 4 * (2 * 3600 + 5 * 60), "and minutes before that: %zu samples", f->samples);
  f = found_with(folder, "64K", 20, 3 * 3600);
  CHECK(f->series == 20 && f->wrong == 0 && f->last_ms == (3 * 3600 - 1) * 1000,
        "with too little room, %zu series have their newest samples", f->series);
  CHECK(f->bytes <= 65536 + OTHER_BYTES, "the log is no larger than its bound allows: %lld", (long long)f->bytes);
  f = found_with(folder, "8K", 64, 600);
  CHECK(f->series == 4 && f->wrong == 0, "of more series than have room, %zu are kept", f->series);
}

int main(void) {
  char folder[] = "/tmp/pmlua-history-XXXXXX";
  check_exact();
  check_damaged();
  report_size();
  if (mkdtemp(folder) == NULL) return 1;
  check_log(folder);
  (void)folder_remove(folder);
  return check_done();
}
