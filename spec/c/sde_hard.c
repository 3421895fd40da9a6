/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_hard.c - events unregistered during a read, forks at any moment, thresholds set late. */
#include "check.h"
#include "sanitized.h"

static struct pml_sde_library *lib;

static int64_t value_of(const char *name) {
  struct pml_sde_event *ev;
  struct pml_value v = {.i = -2};
  if (pml_sde_find(name, &ev, NULL) < 0) return -3;
  (void)pml_sde_read(ev, &v);
  pml_sde_release(ev);
  return v.i;
}

static int calls, took_back;

static int64_t takes_back(void *param) {
  if (calls++ == 0) {
    took_back = pml_sde_unregister(lib, "SELF");
    took_back |= pml_sde_unregister(lib, "OTHER");
    took_back |= pml_sde_unregister(lib, "SUM");
  }
  return *(int64_t *)param;
}

static int64_t give(void *param) {
  return *(int64_t *)param;
}

static void register_group(int64_t *value) {
  (void)pml_sde_register_callback(lib, "SELF", 0, PML_TYPE_INT64, takes_back, &value[0]);
  (void)pml_sde_register_callback(lib, "OTHER", 0, PML_TYPE_INT64, give, &value[1]);
  (void)pml_sde_group_add(lib, "SELF", "SUM", PML_SDE_SUM);
  (void)pml_sde_group_add(lib, "OTHER", "SUM", PML_SDE_SUM);
}

static void taken_back_inside(void) {
  int64_t value[2] = {3, 4};
  register_group(value);
  CHECK(value_of("HARD::SUM") == 3 && took_back == 0, "a member may take back itself, the others and the group");
  CHECK(calls == 1 && value_of("HARD::SUM") == -1 && value_of("HARD::SELF") == -1, "and then they are gone");
  register_group(value);
  CHECK(value_of("HARD::SUM") == 7 && calls == 2, "the names can be registered again");
  int err = pml_sde_unregister(lib, "SELF") | pml_sde_unregister(lib, "OTHER") | pml_sde_unregister(lib, "SUM");
  CHECK(err == 0, "and be removed from outside, with postponed calls");
}

static void names_with_colons(void) {
  static int64_t variable = 7;
  struct pml_sde_library *colons;
  struct pml_sde_event *ev;
  struct pml_sde_info info;
  struct pml_value v;
  (void)pml_sde_find("NAME::SPACE::EV", &ev, NULL);
  (void)pml_sde_library(&colons, "NAME::SPACE");
  int err = pml_sde_register(colons, "EV", 0, PML_TYPE_INT64, &variable);
  CHECK(err == 0 && pml_sde_read(ev, &v) == 0 && v.i == 7, "a library with \"::\" in its name fills in a placeholder");
  (void)pml_sde_info(ev, &info);
  CHECK(strcmp(info.library, "NAME::SPACE") == 0 && strcmp(info.name, "EV") == 0, "which then says whose it is");
  (void)pml_sde_shutdown(colons);
  CHECK(pml_sde_read(ev, &v) == 0 && v.i == -1, "and it goes when that library is shut down");
  pml_sde_release(ev);
}

static atomic_bool stop;

static bool child_does(int (*f)(void)) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(f() == 0 ? 0 : 1);
  }
  return exit_of(child) == 0;
}

static struct pml_sde_set *set;

static void *insert(void *arg) {
  static char element[1 << 16];
  while (!atomic_load(&stop)) {
    element[0]++;
    (void)pml_sde_set_insert(set, sizeof element, sizeof element, element, 0);
  }
  return arg;
}

static int use_set(void) {
  return pml_sde_set_insert(set, 1, 1, "x", 0);
}

static void forked_amid_an_insert(void) {
  if (SANITIZED) {
    SKIP("a fork among threads that allocate may leave a sanitizer's allocator locked in the child");
    return;
  }
  pthread_t t;
  int done = 0;
  (void)pml_sde_create_set(lib, "SET", &set);
  if (pthread_create(&t, NULL, insert, NULL) != 0) return;
  for (int i = 0; i < 50; i++) {
    usleep(200);
    if (!child_does(use_set)) break;
    done++;
  }
  atomic_store(&stop, true);
  pthread_join(t, NULL);
  CHECK(done == 50, "a child uses a counting set that another thread was putting into (%d of 50)", done);
}

#define COUNTING 2
#define THRESHOLD 1000000

static struct pml_sde_counter *counter;
static _Atomic int64_t notified;
static atomic_bool counting;

static void note(int64_t value, void *arg) {
  (void)arg;
  atomic_store(&notified, value);
}

static void *count(void *arg) {
  while (atomic_load_explicit(&counting, memory_order_relaxed)) pml_sde_increment(counter, 1);
  return arg;
}

static void late(const char *what, void (*meddle)(struct pml_sde_event *)) {
  pthread_t t[COUNTING];
  struct pml_sde_event *ev;
  (void)pml_sde_create(lib, "COUNT", PML_SDE_RW, &counter);
  (void)pml_sde_find("HARD::COUNT", &ev, NULL);
  atomic_store(&counting, true);
  for (int i = 0; i < COUNTING; i++)
    if (pthread_create(&t[i], NULL, count, NULL) != 0) return;
  meddle(ev);
  atomic_store(&counting, false);
  for (int i = 0; i < COUNTING; i++) pthread_join(t[i], NULL);
  atomic_store(&notified, 0);
  int64_t now = pml_sde_counter_read(counter), next = (now / THRESHOLD + 1) * THRESHOLD;
  pml_sde_increment(counter, next - now - 4 * COUNTING);
  int64_t early = atomic_exchange(&notified, 0);
  pml_sde_increment(counter, 8 * COUNTING);
  int64_t at = atomic_load(&notified);
  CHECK(early == 0 && at >= next && at - next < 8 * COUNTING, "%s: the next multiple is reported (%lld at %lld)", what,
        (long long)next, (long long)at);
  (void)pml_sde_on_overflow(ev, 0, NULL, NULL);
  pml_sde_release(ev);
}

static void set_often(struct pml_sde_event *ev) {
  for (int i = 0; i < 20; i++) {
    usleep(1000);
    (void)pml_sde_on_overflow(ev, 0, NULL, NULL);
    usleep(1000);
    (void)pml_sde_on_overflow(ev, THRESHOLD, note, NULL);
  }
}

static void write_often(struct pml_sde_event *ev) {
  (void)pml_sde_on_overflow(ev, THRESHOLD, note, NULL);
  for (int i = 0; i < 20000; i++) {
    struct pml_value v = {.type = PML_TYPE_INT64, .i = i};
    (void)pml_sde_write(ev, &v);
  }
}

/* A counter's shards are created while several threads ask for them: each thread sees its own count. */
static atomic_int ready;

static void *count_one(void *arg) {
  struct pml_sde_counter *c = arg;
  atomic_fetch_add(&ready, 1);
  for (int i = 0; i < 1000000 && atomic_load(&ready) < COUNTING; i++) {
  }
  pml_sde_increment(c, 1);
  return pml_sde_counter_read(c) >= 1 ? arg : NULL;
}

static void fresh_shards(void) {
  int seen = 0;
  for (int round = 0; round < 200; round++) {
    struct pml_sde_counter *c;
    pthread_t t[COUNTING];
    void *saw;
    (void)pml_sde_create(lib, "FRESH", 0, &c);
    atomic_store(&ready, 0);
    for (int i = 0; i < COUNTING; i++)
      if (pthread_create(&t[i], NULL, count_one, c) != 0) return;
    for (int i = 0; i < COUNTING; i++) {
      pthread_join(t[i], &saw);
      seen += saw != NULL;
    }
    if (pml_sde_counter_read(c) != COUNTING) seen = -1000;
    (void)pml_sde_unregister(lib, "FRESH");
  }
  CHECK(seen == 200 * COUNTING, "threads that start to count at the same moment see their counts (%d)", seen);
}

/* More threads than lanes, one after the other, counting also in their destructors. */
static pthread_key_t key;

static void at_end(void *arg) {
  pml_sde_increment(arg, 1);
}

static void *count_to_the_end(void *arg) {
  pml_sde_increment(arg, 1);
  (void)pthread_setspecific(key, arg);
  return NULL;
}

static void many_threads(void) {
  enum { THREADS = 70000 };
  struct pml_sde_counter *c;
  int started = 0;
  if (pthread_key_create(&key, at_end) != 0) return;
  (void)pml_sde_create(lib, "MANY", 0, &c);
  for (; started < THREADS; started++) {
    pthread_t t;
    if (pthread_create(&t, NULL, count_to_the_end, c) != 0) break;
    pthread_join(t, NULL);
  }
  CHECK(started == THREADS && pml_sde_counter_read(c) == 2 * THREADS,
        "%d threads count, and once more in their destructors: %lld", started, (long long)pml_sde_counter_read(c));
}

int main(void) {
  (void)pml_sde_library(&lib, "HARD");
  CHECK_EACH(taken_back_inside, names_with_colons, forked_amid_an_insert);
  late("set while others count", set_often);
  late("written while others count", write_often);
  fresh_shards();
  many_threads();
  (void)pml_sde_shutdown(lib);
  return check_done();
}
