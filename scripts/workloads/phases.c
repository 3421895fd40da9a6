/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/phases.c - phases that each load a different part of the host: memory, processors, the network, or
 * none.
 *
 * A phase lasts `seconds`, plus the time to start and to end it. Memory is touched page by page, evenly over that time,
 * and freed at the end; `threads` threads keep processors busy; one thread sends to another over a TCP connection on
 * the loopback.
 */
#include "workload.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PHASE, SECONDS, MEGABYTES, THREADS, KILOBYTES };

#define SLICE_NS 2000000 /* between two looks at the clock */
#define THREADS_MAX 1024

struct work {
  struct pml_workload_run *r;
  uint64_t begin_ns;
  _Atomic uint64_t end_ns; /* threads look at it */
  size_t bytes, threads, message;
};

static int over(const struct work *w) {
  return pml_clock_ns() >= w->end_ns || (w->r->stop && *w->r->stop);
}

static void nap(void) {
  (void)nanosleep(&(struct timespec){.tv_nsec = SLICE_NS}, NULL);
}

static int rest(struct work *w) {
  while (!over(w)) nap();
  return 0;
}

static int allocate(struct work *w) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), done = 0;
  unsigned char *memory = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return workload_out_of_memory(w->r, (double)w->bytes);
  while (!over(w)) {
    double share = (double)(pml_clock_ns() - w->begin_ns) / (double)(w->end_ns - w->begin_ns);
    size_t due = share < 1 ? (size_t)(share * (double)w->bytes) : w->bytes;
    for (; done < due; done += page) memory[done] = 1;
    nap();
  }
  (void)munmap(memory, w->bytes);
  workload_result(w->r, "touched", "B", (double)done);
  return 0;
}

/* --- processors --- */

struct counter {
  pthread_t thread;
  const struct work *w;
  uint64_t rounds;
};

static void *count(void *arg) {
  struct counter *c = arg;
  volatile double x = 1;
  while (!over(c->w)) {
    for (int i = 0; i < 100000; i++) x = x * 0.999999 + 1e-6;
    c->rounds++;
  }
  return NULL;
}

static int compute(struct work *w) {
  struct counter *c = calloc(w->threads, sizeof *c);
  size_t n = 0;
  int err = 0;
  uint64_t rounds = 0;
  if (c == NULL) return workload_out_of_memory(w->r, (double)(w->threads * sizeof *c));
  for (; n < w->threads && err == 0; n += err == 0) {
    c[n].w = w;
    err = pthread_create(&c[n].thread, NULL, count, &c[n]);
  }
  if (err) w->end_ns = 0; /* those that have begun end at once */
  for (size_t i = 0; i < n; i++) {
    (void)pthread_join(c[i].thread, NULL);
    rounds += c[i].rounds;
  }
  free(c);
  if (err) return workload_fail(w->r, -err, "thread %zu of %zu does not start: %s", n + 1, w->threads, strerror(err));
  workload_result(w->r, "operations", "", (double)rounds * 2e5);
  return 0;
}

/* --- network --- */

struct receiver {
  int fd;
  size_t message;
  uint64_t bytes;
};

static void *receive(void *arg) {
  struct receiver *r = arg;
  char *buffer = malloc(r->message);
  ssize_t n = 0;
  while (buffer != NULL && (n = recv(r->fd, buffer, r->message, 0)) > 0) r->bytes += (uint64_t)n;
  free(buffer);
  (void)shutdown(r->fd, SHUT_RDWR); /* a thread that still sends must not wait */
  return NULL;
}

/* Two ends of a connection over the loopback: 0 or -errno. */
static int connect_loopback(int fd[2]) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int err = 0, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  fd[1] = -1;
  if (door < 0 || fd[0] < 0 || bind(door, (struct sockaddr *)&at, size) != 0 || listen(door, 1) != 0 ||
      getsockname(door, (struct sockaddr *)&at, &size) != 0 || connect(fd[0], (struct sockaddr *)&at, size) != 0)
    err = -errno;
  if (err == 0 && (fd[1] = accept4(door, NULL, NULL, SOCK_CLOEXEC)) < 0) err = -errno;
  if (door >= 0) (void)close(door);
  if (err != 0 && fd[0] >= 0) (void)close(fd[0]);
  return err;
}

static int send_until_over(struct work *w, int fd, uint64_t *sent) {
  char *message = calloc(1, w->message);
  if (message == NULL) return workload_out_of_memory(w->r, (double)w->message);
  int err = 0;
  while (err == 0 && !over(w)) {
    ssize_t n = send(fd, message, w->message, MSG_NOSIGNAL);
    if (n > 0)
      *sent += (uint64_t)n;
    else
      err = workload_fail(w->r, -errno, "the connection over the loopback broke: %s", strerror(errno));
  }
  free(message);
  return err;
}

static int send_over_loopback(struct work *w) {
  int fd[2], err = connect_loopback(fd);
  if (err < 0) return workload_fail(w->r, err, "no connection over the loopback: %s", strerror(-err));
  struct receiver other = {.fd = fd[1], .message = w->message};
  pthread_t thread;
  uint64_t sent = 0;
  int refused = pthread_create(&thread, NULL, receive, &other);
  if (refused)
    err = workload_fail(w->r, -refused, "the receiver does not start: %s", strerror(refused));
  else
    err = send_until_over(w, fd[0], &sent);
  (void)shutdown(fd[0], SHUT_WR);
  if (!refused) (void)pthread_join(thread, NULL);
  (void)close(fd[0]);
  (void)close(fd[1]);
  workload_result(w->r, "sent", "B", (double)sent);
  workload_result(w->r, "received", "B", (double)other.bytes);
  return err;
}

/* --- all of them --- */

static const struct {
  const char *name;
  int (*run)(struct work *w);
} phases[] = {{"rest", rest}, {"allocate", allocate}, {"compute", compute}, {"send", send_over_loopback}};

static int read_options(struct pml_workload_run *r, struct work *w) {
  double seconds = r->number[SECONDS];
  size_t megabytes = 0, kilobytes = 0;
  if (!(seconds >= 0.001 && seconds <= 3600))
    return workload_fail(r, -EINVAL, "option seconds is %g, it must be from 0.001 to 3600", seconds);
  int err = workload_size(r, MEGABYTES, "megabytes", 1, 1e6, &megabytes);
  if (!err) err = workload_size(r, THREADS, "threads", 1, THREADS_MAX, &w->threads);
  if (!err) err = workload_size(r, KILOBYTES, "kilobytes", 1, 1e5, &kilobytes);
  w->bytes = megabytes << 20;
  w->message = kilobytes << 10;
  w->begin_ns = pml_clock_ns();
  w->end_ns = w->begin_ns + (uint64_t)(seconds * 1e9);
  return err;
}

static int run(struct pml_workload_run *r) {
  struct work w = {.r = r};
  pml_region_t region;
  size_t i = 0, n = sizeof phases / sizeof *phases;
  while (i < n && strcmp(phases[i].name, r->text[PHASE]) != 0) i++;
  if (i == n) return workload_fail(r, -EINVAL, "unknown phase '%.40s'", r->text[PHASE]);
  int err = workload_region(r, phases[i].name, &region);
  if (!err) err = read_options(r, &w);
  if (err) return err;
  uint64_t enter = pml_clock_ticks();
  pml_probe_hit(&r->probe[0]);
  err = phases[i].run(&w);
  workload_phase(r, region, enter, pml_clock_ticks());
  return err ? err : workload_stopped(r, 1);
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "phases",
    .help = "one phase of a program, which loads memory, processors, the network, or nothing",
    .site = {"begin"},
    .option = {[PHASE] = {"phase", "rest, allocate, compute or send", 0, "rest"},
               [SECONDS] = {"seconds", "duration of the phase", 1, NULL},
               [MEGABYTES] = {"megabytes", "memory that the phase allocate touches", 256, NULL},
               [THREADS] = {"threads", "that compute", 1, NULL},
               [KILOBYTES] = {"kilobytes", "size of a message", 64, NULL}},
    .run = run,
};
