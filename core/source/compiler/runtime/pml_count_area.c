/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/runtime/pml_count_area.c - memory of the counts, and the file that PMLUA_COUNT maps. */
#include "source/compiler/pml_count_cells.h"
#include "source/compiler/runtime/pml_count_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LANES_AT offsetof(struct pml_count_area, lane)
#define LANE_BYTES sizeof(((struct pml_count_area *)0)->lane[0])
#define STEP 64u      /* lanes by which the file grows */
#define NAMES_MAX 99u /* limit of files of one process: one for each program that it executes */

static char wish[PATH_MAX]; /* absolute; "": counts are in memory only */
static char path[PATH_MAX + 32];
static dev_t device;
static ino_t inode;
static uint32_t lanes; /* lanes for which the mapping has addresses */
static bool report;

bool pml__count_in_file(void) {
  return path[0] != '\0';
}

bool pml__count_wants_report(void) {
  return report;
}

/* The mapped size for @n lanes: the log's head, and the area. */
static size_t bytes_of(uint32_t n) {
  return PML__LOG_DIRECTORY + LANES_AT + n * LANE_BYTES;
}

static struct pml_count_area *area_at(void *mapped) {
  return (struct pml_count_area *)(void *)((char *)mapped + PML__LOG_DIRECTORY);
}

static void read_wish(void) {
  const char *w = secure_getenv("PMLUA_COUNT");
  char here[PATH_MAX];
  if (w == NULL || *w == '\0' || strcmp(w, "off") == 0) return;
  report = strcmp(w, "report") == 0 || strcmp(w, "-") == 0;
  if (report) return;
  bool absolute = *w == '/';
  if (!absolute && getcwd(here, sizeof here) == NULL) {
    pml__count_say("PMLUA_COUNT=%.200s: %s; give an absolute path", w, strerror(errno));
    return;
  }
  int n = absolute ? snprintf(wish, sizeof wish, "%s", w) : snprintf(wish, sizeof wish, "%s/%s", here, w);
  if (n >= 0 && (size_t)n < sizeof wish) return;
  wish[0] = '\0';
  pml__count_say("PMLUA_COUNT: the path is too long; counts are not written");
}

/*
 * Allocate blocks, so that no store fails because the disk is full. If that is impossible, only set the file's length.
 */
static bool lengthen(int fd, uint32_t from, uint32_t to, uint32_t *room) {
  off_t start = from == 0 ? 0 : (off_t)bytes_of(from);
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes_of(to)) {
    errno = EFBIG; /* before it becomes a signal to the program */
    return false;
  }
  if (fallocate(fd, 0, start, (off_t)bytes_of(to) - start) == 0) {
    *room = to;
    return true;
  }
  if (errno != EOPNOTSUPP || from > 0 || limit.rlim_cur < bytes_of(PML_COUNT_LANES)) return false;
  *room = PML_COUNT_LANES;
  return ftruncate(fd, (off_t)bytes_of(PML_COUNT_LANES)) == 0;
}

/* Finds an unused name: the counts of another process, or of this one before an exec, are never overwritten. */
static int create(void) {
  struct stat st;
  int fd = -1;
  if (stat(wish, &st) == 0 && !S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
    return -1;
  }
  (void)snprintf(path, sizeof path, "%s", wish);
  for (unsigned i = 1; fd < 0 && i <= NAMES_MAX; i++) {
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd < 0 && i == 1) (void)snprintf(path, sizeof path, "%s.%d", wish, (int)getpid());
    if (fd < 0 && i > 1) (void)snprintf(path, sizeof path, "%s.%d.%u", wish, (int)getpid(), i);
  }
  return fd;
}

static struct pml_count_area *map_file(uint32_t n, uint32_t *room) {
  struct stat st;
  void *at = MAP_FAILED;
  int fd = create();
  if (fd >= 0 && fstat(fd, &st) == 0 && lengthen(fd, 0, n, room))
    at = mmap(NULL, bytes_of(PML_COUNT_LANES), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) {
    pml__count_say("PMLUA_COUNT=%.300s: %s; counts are not written", wish,
                   errno == EEXIST ? "not a regular file, or all names are taken" : strerror(errno));
    if (fd >= 0) (void)unlink(path);
  } else {
    device = st.st_dev;
    inode = st.st_ino;
    lanes = PML_COUNT_LANES;
  }
  if (fd >= 0) (void)close(fd);
  return at == MAP_FAILED ? NULL : area_at(at);
}

/* With limited address space, map fewer lanes. */
static struct pml_count_area *map_memory(uint32_t least) {
  path[0] = '\0';
  for (uint32_t n = PML_COUNT_LANES; n >= least && n > 0; n /= 4) {
    void *at = mmap(NULL, bytes_of(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    lanes = n;
    return area_at(at);
  }
  return NULL;
}

/* Arguments separated by blanks, truncated if they are too long. */
static void read_command(char *to, size_t size) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, to, size - 1) : 0;
  size_t n = got > 0 ? (size_t)got : 0;
  if (fd >= 0) (void)close(fd);
  while (n > 0 && to[n - 1] == '\0') n--;
  for (size_t i = 0; i < n; i++)
    if (to[i] == '\0') to[i] = ' ';
  to[n] = '\0';
}

static uint64_t realtime_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Counts have no times, but readers of logs expect the name of a clock. */
static void begin_head(struct pml__log_head *h) {
  h->version = PML__LOG_VERSION;
  h->pid = (int32_t)getpid();
  h->parent = (int32_t)getppid();
  h->rank = h->size = -1;
  h->started_ns = h->started_ticks = realtime_ns();
  h->ticks_per_second = 1e9;
  memcpy(h->clock, "realtime", sizeof "realtime");
  h->ended = 0;
  h->entries = 1;
  (void)gethostname(h->host, sizeof h->host - 1);
  read_command(h->command, sizeof h->command);
}

/* The extent has the length of the file; it is updated after the file has grown. */
static void begin(struct pml_count_area *a, uint32_t room) {
  struct pml__log_head *h = pml__count_head(a);
  struct pml__log_entry *e = pml__count_entry(a);
  a->header.abi = PML_COUNT_ABI;
  a->header.cells = PML_COUNT_CELLS;
  a->header.room = room;
  begin_head(h);
  e->at = PML__LOG_DIRECTORY;
  e->bytes = bytes_of(room) - PML__LOG_DIRECTORY;
  e->address = (uintptr_t)a;
  __atomic_store_n(&e->kind, PML__LOG_COUNTS, __ATOMIC_RELEASE);
  __atomic_store_n(&h->magic, PML__LOG_MAGIC, __ATOMIC_RELEASE);
}

void pml__count_end(struct pml_count_area *a) {
  pml__count_head(a)->ended_ns = realtime_ns();
  __atomic_store_n(&pml__count_head(a)->ended, 1, __ATOMIC_RELEASE);
}

struct pml_count_area *pml__count_map(void) {
  uint32_t room = 0;
  struct pml_count_area *a = NULL;
  read_wish();
  if (wish[0] != '\0') a = map_file(STEP, &room);
  if (a == NULL && (a = map_memory(1)) != NULL) room = lanes;
  if (a == NULL) return NULL;
  begin(a, room);
  a->header.lanes = 1;
  return a;
}

/* The descriptor is not kept open, because a program may close all its descriptors, and the number may refer to another
 * file later. */
static bool grow(uint32_t from, uint32_t to) {
  struct stat st;
  uint32_t room;
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool done = fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode && lengthen(fd, from, to, &room);
  (void)close(fd);
  return done;
}

bool pml__count_reach(struct pml_count_area *a, uint32_t lane) {
  uint32_t room = __atomic_load_n(&a->header.room, __ATOMIC_ACQUIRE);
  if (lane < room) return true;
  if (lane >= lanes || path[0] == '\0') return false;
  uint32_t wanted = (lane / STEP + 1) * STEP;
  if (!grow(room, wanted)) return false;
  uint64_t bytes = pml__count_entry(a)->bytes, more = bytes_of(wanted) - PML__LOG_DIRECTORY;
  while (bytes < more && !__atomic_compare_exchange_n(&pml__count_entry(a)->bytes, &bytes, more, true, __ATOMIC_RELEASE,
                                                      __ATOMIC_ACQUIRE)) {
  }
  while (room < wanted &&
         !__atomic_compare_exchange_n(&a->header.room, &room, wanted, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
  }
  return true;
}

static uint64_t total(const struct pml_count_area *a, unsigned place) {
  uint32_t n = __atomic_load_n(&a->header.lanes, __ATOMIC_ACQUIRE);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += __atomic_load_n(&a->lane[i][place], __ATOMIC_RELAXED);
  return sum - a->inherited[place];
}

uint64_t pml__count_total(const struct pml_count_area *a, unsigned cell) {
  return total(a, pml_count_place(cell));
}

uint64_t pml__count_underway(const struct pml_count_area *a) {
  uint32_t n = __atomic_load_n(&a->header.lanes, __ATOMIC_ACQUIRE);
  uint64_t threads = 0;
  for (uint32_t i = 0; i < n; i++) threads += __atomic_load_n(&a->lane[i][PML_COUNT_UNDERWAY], __ATOMIC_RELAXED) != 0;
  return threads;
}

/* All counts so far belong to the parent, and so do the loops of threads that are not in the child. */
static void inherit(struct pml_count_area *a, uint32_t own) {
  for (uint32_t i = 0; i < a->header.lanes; i++)
    if (i != own) a->lane[i][PML_COUNT_UNDERWAY] = 0;
  memset(a->inherited, 0, sizeof a->inherited);
  for (unsigned c = 0; c < PML_COUNT_CELLS; c++) a->inherited[c] = total(a, c);
  a->header.threads = own > 0;
  a->header.sharing = 0;
}

/*
 * Memory mapped from a file belongs to the parent: it is replaced by a copy, mapped from a separate file of the child
 * if possible. Threads of the parent may continue to count in their lanes during the copy: the child's inherited counts
 * are those in the copy.
 */
void pml__count_renew(struct pml_count_area *a, uint32_t own, const uint64_t *cells) {
  uint32_t used = a->header.lanes, room = a->header.room;
  if (path[0] != '\0') {
    struct pml_count_area *fresh = map_file(room, &room);
    if (fresh == NULL && (fresh = map_memory(used)) != NULL) room = lanes;
    if (fresh == NULL) return; /* no memory: it continues in its parent's file */
    memcpy(fresh, a, bytes_of(used) - PML__LOG_DIRECTORY);
    if (cells != NULL) memcpy(fresh->lane[own], cells, LANE_BYTES);
    if (mremap(pml__count_head(fresh), bytes_of(lanes), bytes_of(lanes), MREMAP_MAYMOVE | MREMAP_FIXED,
               pml__count_head(a)) == MAP_FAILED)
      return;
  }
  begin(a, room);
  inherit(a, own);
}
