/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_paths.c - who may read a page, who must ask the kernel, and that none of them is silently wrong. */
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#include "pmu.h"

#include <semaphore.h>
#include <sys/ioctl.h>

#define LOOP 5000000u

static struct pml_event insns;

static void reads_by_kernel(const struct pml_counter *c, const char *whose, const char *says) {
  const char *why = NULL;
  struct pml_reading before = {0}, now = {0}, after = {0};
  enum pml_path path = pml_counter_path(c, &why);
  bool explained = why != NULL && strstr(why, says) != NULL;
  CHECK(path == PML_PATH_READ && explained, "%s: read(2), for %s", whose, why != NULL ? why : "no reason");
  bool told = pmu_kernel_read(c, &before) && pml_counter_read(c, &now) == 0 && pmu_kernel_read(c, &after);
  CHECK(told && before.raw <= now.raw && now.raw <= after.raw, "%s: and it is the kernel's count", whose);
}

static uint64_t raw_of(const struct pml_counter *c) {
  struct pml_reading r = {0};
  return pml_counter_read(c, &r) == 0 ? r.raw : UINT64_MAX;
}

static void disabled(void) {
  struct pml_counter c;
  if (pml_counter_open(&c, &insns, 0, NULL, NULL, 0) != 0) return;
  pmu_spin(LOOP);
  ioctl(c.fd, PERF_EVENT_IOC_DISABLE, 0);
  uint64_t stood = raw_of(&c);
  pmu_spin(LOOP);
  CHECK(stood >= LOOP && raw_of(&c) == stood, "disabled: it stands still at %llu", (unsigned long long)stood);
  reads_by_kernel(&c, "disabled", "not on a counter");
  ioctl(c.fd, PERF_EVENT_IOC_ENABLE, 0);
  pmu_spin(LOOP);
  CHECK(raw_of(&c) >= stood + LOOP && raw_of(&c) < stood + LOOP + LOOP / 10, "enabled again: it continues");
  CHECK(pml_counter_path(&c, NULL) == PML_PATH_PAGE, "by page");
  pml_counter_close(&c);
}

static bool set_user_access(int on) {
  FILE *f = fopen("/proc/sys/kernel/perf_user_access", "we");
  if (f == NULL) return false;
  bool good = fprintf(f, "%d\n", on) > 0;
  return fclose(f) == 0 && good;
}

static void forbidden(void) {
  const char *may = getenv("PMU_MAY_FORBID");
  struct pml_counter before, c;
  if (may == NULL || strcmp(may, "1") != 0) {
    SKIP("the machine's own setting of user-space reads is not for a spec to change (PMU_MAY_FORBID=1 lets it)");
    return;
  }
  if (pml_counter_open(&before, &insns, 0, NULL, NULL, 0) != 0) return;
  CHECK(set_user_access(0), "kernel.perf_user_access=0");
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* the page is rewritten when the thread comes back */
  reads_by_kernel(&before, "forbidden while open", "not on a counter");
  int rc = pml_counter_open(&c, &insns, 0, NULL, NULL, 0);
  if (CHECK(rc == 0, "forbidden: it opens all the same: %s", pml_error_detail(rc))) {
    uint64_t was = raw_of(&c);
    pmu_spin(LOOP);
    uint64_t n = raw_of(&c) - was;
    CHECK(n >= LOOP && n < LOOP + LOOP / 10, "forbidden: and counts %llu", (unsigned long long)n);
    reads_by_kernel(&c, "forbidden", "perf_user_access");
    pml_counter_close(&c);
  }
  CHECK(set_user_access(1), "kernel.perf_user_access=1");
  pml_counter_close(&before);
}

struct other {
  sem_t go, done;
  pid_t tid;
  struct pml_eventset *set;
  uint64_t value;
  enum pml_path path;
  int rc;
};

static void *loops(void *arg) {
  struct other *o = arg;
  o->tid = gettid();
  sem_post(&o->done);
  sem_wait(&o->go);
  pmu_spin(LOOP);
  sem_post(&o->done);
  sem_wait(&o->go);
  return NULL;
}

static void *visits(void *arg) {
  struct other *o = arg;
  pmu_spin(8u * LOOP); /* would be seen, if this thread's own register were read */
  o->rc = pml_eventset_read(o->set, &o->value);
  o->path = pml_counter_path(&pml__kernel_backend_of(o->set)->counter[0], NULL);
  return NULL;
}

static void another_threads_set(void) {
  struct other o = {0};
  pthread_t t;
  uint64_t own = 0;
  if (pml__eventset_open_events(&o.set, &insns, 1, NULL) != 0) return;
  pml_eventset_start(o.set);
  pmu_spin(LOOP);
  pml_eventset_read(o.set, &own);
  pthread_create(&t, NULL, visits, &o);
  pthread_join(t, NULL);
  CHECK(o.rc >= 0 && o.path == PML_PATH_READ, "another thread's set: read(2)");
  CHECK(o.value >= own && o.value < own + LOOP, "another thread's set: %llu, as its owner counted",
        (unsigned long long)o.value);
  pml_eventset_close(o.set);
}

static void another_thread(void) {
  struct other o = {0};
  pthread_t t;
  struct pml_counter c;
  sem_init(&o.go, 0, 0);
  sem_init(&o.done, 0, 0);
  pthread_create(&t, NULL, loops, &o);
  sem_wait(&o.done);
  struct pml_target target = {.pid = o.tid};
  bool opened = pml_counter_open(&c, &insns, 0, &target, NULL, 0) == 0;
  pmu_spin(8u * LOOP);
  sem_post(&o.go);
  sem_wait(&o.done);
  uint64_t n = opened ? raw_of(&c) : 0;
  CHECK(n >= LOOP && n < LOOP + LOOP / 10, "attached to a thread: its %llu and none of ours", (unsigned long long)n);
  if (opened) reads_by_kernel(&c, "attached to a thread", "another thread");
  sem_post(&o.go);
  pthread_join(t, NULL);
  pml_counter_close(&c);
}

/* A forked child holds the counter that its parent opened: it counts the parent, and the child must not read a page. */
static void forked(void) {
  struct pml_counter c;
  int status = -1;
  if (pml_counter_open(&c, &insns, 0, NULL, NULL, 0) != 0) return;
  pmu_spin(LOOP);
  pid_t pid = fork();
  if (pid == 0) {
    pmu_spin(8u * LOOP);
    uint64_t n = raw_of(&c);
    bool right = n >= LOOP && n < LOOP + LOOP / 2 && pml_counter_path(&c, NULL) == PML_PATH_READ;
    _exit(right ? 0 : 1);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "forked: the child reads its parent's count by read(2)");
  pml_counter_close(&c);
}

int main(void) {
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  disabled();
  forbidden();
  another_threads_set();
  another_thread();
  forked();
  return check_done();
}
