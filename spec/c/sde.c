/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde.c - what software-defined events mean: registered, created, grouped, recorded, read by event sets. */
#include "check.h"

#include <math.h>

static struct pml_sde_library *lib;

static struct pml_value value_of(const char *name) {
  struct pml_sde_event *ev;
  struct pml_value v = {.type = PML_TYPE_OTHER, .i = 0};
  if (pml_sde_find(name, &ev, NULL) != 0) return v;
  if (pml_sde_read(ev, &v) != 0) v.type = PML_TYPE_OTHER;
  pml_sde_release(ev);
  return v;
}

static bool is_int(const char *name, int64_t want) {
  struct pml_value v = value_of(name);
  return v.type == PML_TYPE_INT64 && v.i == want;
}

static bool is_double(const char *name, double want) {
  struct pml_value v = value_of(name);
  return v.type == PML_TYPE_DOUBLE && v.d == want;
}

static struct pml_eventset *open_set(const char *const *names, size_t n) {
  struct pml_eventset *s = NULL;
  return pml_eventset_open(&s, names, n, NULL) == 0 ? s : NULL;
}

static double as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static void libraries(void) {
  struct pml_sde_library *again = NULL, *none = NULL;
  char longest[300];
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  CHECK(pml_sde_library(&lib, "SPEC") == 0 && lib != NULL, "a library is made by its name");
  CHECK(pml_sde_library(&again, "SPEC") == 0 && again == lib, "the same name gives the same handle");
  CHECK(pml_sde_library(&none, "") == -EINVAL && pml_sde_library(&none, NULL) == -EINVAL && none == NULL,
        "a library needs a name");
  CHECK(pml_sde_library(&none, "a\nb") == -EINVAL && strchr(pml_error_detail(-EINVAL), '\n') == NULL,
        "a control character in a name is refused, in one line");
  CHECK(pml_sde_library(&none, longest) == -EINVAL, "so is a name that no event set could hold");
  int64_t v = 0;
  CHECK(pml_sde_register(lib, longest, 0, PML_TYPE_INT64, &v) == -EINVAL, "also of an event");
  CHECK(pml_sde_register(lib, "", 0, PML_TYPE_INT64, &v) == -EINVAL, "an event needs a name");
  CHECK(pml_sde_register(lib, "odd %n \"name\" é::x", 0, PML_TYPE_INT64, &v) == 0 &&
            is_int("SPEC::odd %n \"name\" é::x", 0),
        "odd characters are fine");
  pml_sde_unregister(lib, "odd %n \"name\" é::x");
}

static int64_t i64 = 5;
static int32_t i32 = -7;
static double f64 = 2.5;
static float f32 = -0.5F;

static int64_t count_calls(void *param) {
  return ++*(int64_t *)param;
}

static int64_t give_double(void *param) {
  int64_t bits;
  memcpy(&bits, param, sizeof bits);
  return bits;
}

static int64_t calls;
static double given = 1.25;

static void registered(void) {
  int64_t other = 99;
  CHECK(pml_sde_register(lib, "I64", PML_SDE_RW, PML_TYPE_INT64, &i64) == 0 && is_int("sde:::SPEC::I64", 5) &&
            pml_sde_register(lib, "I32", PML_SDE_RW, PML_TYPE_INT32, &i32) == 0 && is_int("SPEC::I32", -7) &&
            pml_sde_register(lib, "F64", PML_SDE_RO, PML_TYPE_DOUBLE, &f64) == 0 && is_double("SPEC::F64", 2.5) &&
            pml_sde_register(lib, "F32", PML_SDE_RW | PML_SDE_INSTANT, PML_TYPE_FLOAT, &f32) == 0 &&
            is_double("SPEC::F32", -0.5),
        "variables are read by their names, short ones widened");
  CHECK(pml_sde_register_callback(lib, "CALLS", 0, PML_TYPE_INT64, count_calls, &calls) == 0 &&
            is_int("SPEC::CALLS", 1) && is_int("SPEC::CALLS", 2),
        "a callback is called at each read");
  CHECK(pml_sde_register_callback(lib, "GIVEN", 0, PML_TYPE_DOUBLE, give_double, &given) == 0 &&
            is_double("SPEC::GIVEN", 1.25),
        "a callback's double travels as its bits");
  CHECK(pml_sde_register(lib, "I64", PML_SDE_RO, PML_TYPE_INT64, &other) == 0 && is_int("SPEC::I64", 5),
        "registering again changes nothing");
  CHECK(pml_sde_register_callback(lib, "I64", 0, PML_TYPE_INT64, count_calls, &calls) == -EINVAL,
        "another kind under the name is refused");
  CHECK(pml_sde_register(lib, "BAD", 0, PML_TYPE_OTHER, &other) == -EINVAL &&
            pml_sde_register(lib, "BAD", 0, PML_TYPE_INT64, NULL) == -EINVAL &&
            pml_sde_register(lib, "BAD", 0, PML_TYPE_INT64, (char *)&i64 + 1) == -EINVAL &&
            pml_sde_register(lib, "BAD", 0x100, PML_TYPE_INT64, &other) == -EINVAL,
        "so are bytes, no variable, a misaligned one, an unknown mode");
}

static int write_to(const char *name, struct pml_value v) {
  struct pml_sde_event *ev;
  int rc = pml_sde_find(name, &ev, NULL);
  if (rc < 0) return rc;
  rc = pml_sde_write(ev, &v);
  pml_sde_release(ev);
  return rc;
}

static int reset_of(const char *name) {
  struct pml_sde_event *ev;
  int rc = pml_sde_find(name, &ev, NULL);
  if (rc < 0) return rc;
  rc = pml_sde_reset(ev);
  pml_sde_release(ev);
  return rc;
}

/* The values that each type accepts: a double that is a 64-bit integer, but not its neighbours that are not. */
static void written(void) {
  static const struct {
    const char *name;
    enum pml_type type;
    double v;
    int rc;
  } c[] = {{"SPEC::I64", PML_TYPE_INT64, 11, 0},
           {"SPEC::I32", PML_TYPE_INT64, 11, 0},
           {"SPEC::F32", PML_TYPE_DOUBLE, 0.5, 0},
           {"SPEC::F64", PML_TYPE_DOUBLE, 0.5, -EACCES},
           {"SPEC::I32", PML_TYPE_INT64, 0x1p40, -EINVAL},
           {"SPEC::F32", PML_TYPE_DOUBLE, 1e300, -EINVAL},
           {"SPEC::CALLS", PML_TYPE_INT64, 11, PML_EMODE},
           {"SPEC::LATER", PML_TYPE_INT64, 11, PML_EMODE},
           {"SPEC::I64", PML_TYPE_DOUBLE, -0x1p63, 0},
           {"SPEC::I64", PML_TYPE_DOUBLE, -0x1p63 + 1024, 0},
           {"SPEC::I64", PML_TYPE_DOUBLE, 0x1p63 - 1024, 0},
           {"SPEC::I64", PML_TYPE_DOUBLE, 0x1p63, -EINVAL},
           {"SPEC::I64", PML_TYPE_DOUBLE, -0x1p63 - 2048, -EINVAL},
           {"SPEC::I64", PML_TYPE_DOUBLE, NAN, -EINVAL},
           {"SPEC::I64", PML_TYPE_DOUBLE, 0.5, -EINVAL}};
  for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
    struct pml_value v = {.type = c[k].type}, was = {0}, is;
    if (v.type == PML_TYPE_INT64)
      v.i = (int64_t)c[k].v;
    else
      v.d = c[k].v;
    if (c[k].rc != PML_EMODE) was = value_of(c[k].name);
    bool good = write_to(c[k].name, v) == c[k].rc;
    if (c[k].rc != PML_EMODE) {
      is = value_of(c[k].name);
      good &= c[k].rc != 0 ? is.i == was.i : (is.type == PML_TYPE_DOUBLE ? is.d : (double)is.i) == c[k].v;
    }
    CHECK(good, "%s %s %.17g", c[k].name, c[k].rc == 0 ? "takes" : "does not take", c[k].v);
  }
  CHECK(reset_of("SPEC::I64") == 0 && i64 == 0, "a reset makes a read-write variable 0");
  CHECK(reset_of("SPEC::F64") == 0 && f64 == 2.5, "and leaves a read-only one alone");
  CHECK(reset_of("SPEC::CALLS") == 0 && reset_of("SPEC::LATER") == 0, "an event without reset ignores it");
}

static _Atomic unsigned notified;
static int64_t notified_value;
static void notify(int64_t value, void *arg) {
  (void)arg;
  notified++;
  notified_value = value;
}

static void created(void) {
  struct pml_sde_counter *c = NULL, *again = NULL;
  CHECK(pml_sde_create(lib, "CREATED", PML_SDE_RW, &c) == 0 &&
            pml_sde_create(lib, "CREATED", PML_SDE_RW, &again) == 0 && again == c && pml_sde_increment(c, -500) == 0 &&
            is_int("SPEC::CREATED", -500) && pml_sde_counter_reset(c) == 0 && is_int("SPEC::CREATED", 0),
        "a created counter is made once, and counts downwards, too");
  CHECK(pml_sde_create(lib, "I64", 0, &again) == -EINVAL && again == NULL, "not under the name of something else");
  CHECK(pml_sde_increment(NULL, 1) == -EINVAL, "no counter is refused");

  struct pml_sde_event *ev;
  pml_sde_find("SPEC::CREATED", &ev, NULL);
  CHECK(pml_sde_on_overflow(ev, 0, notify, NULL) == -EINVAL, "a threshold is above 0");
  CHECK(pml_sde_on_overflow(ev, 100, notify, NULL) == 0, "a threshold is set");
  for (int i = 0; i < 1000; i++) pml_sde_increment(c, 1);
  CHECK(notified == 10 && notified_value == 1000, "1000 increments pass 10 multiples of 100 (%u)", notified);
  pml_sde_increment(c, 1000);
  CHECK(notified == 11, "one increment past several multiples notifies once");
  CHECK(pml_sde_on_overflow(ev, 0, NULL, NULL) == 0 && pml_sde_increment(c, 1000) == 0 && notified == 11,
        "without a function it is off");
  CHECK(is_int("SPEC::CREATED", 3000), "and the counter lost nothing");
  pml_sde_release(ev);
  pml_sde_find("SPEC::I64", &ev, NULL);
  CHECK(pml_sde_on_overflow(ev, 10, notify, NULL) == 0, "a variable is watched");
  i64 = 25;
  const struct timespec nap = {0, 1000000};
  for (int i = 0; i < 10000 && (!is_int("SPEC::I64", 25) || notified < 12); i++) nanosleep(&nap, NULL);
  CHECK(is_int("SPEC::I64", 25) && notified == 12, "when it is read, or polled, once");
  pml_sde_on_overflow(ev, 0, NULL, NULL);
  pml_sde_release(ev);
}

static int64_t a = -5, b = -9, c3 = 4;

static void groups(void) {
  pml_sde_register(lib, "A", 0, PML_TYPE_INT64, &a);
  pml_sde_register(lib, "B", 0, PML_TYPE_INT64, &b);
  pml_sde_register(lib, "C", 0, PML_TYPE_INT64, &c3);
  for (const char *m = "AB"; *m; m++) {
    char name[2] = {*m, 0};
    pml_sde_group_add(lib, name, "SUM", PML_SDE_SUM);
    pml_sde_group_add(lib, name, "MAX", PML_SDE_MAX);
    pml_sde_group_add(lib, name, "MIN", PML_SDE_MIN);
  }
  CHECK(pml_sde_group_add(lib, "SUM", "NEST", PML_SDE_MAX) == 0 &&
            pml_sde_group_add(lib, "C", "NEST", PML_SDE_MAX) == 0 && is_int("SPEC::NEST", 4),
        "groups nest");
  char below[32] = "C", side[32], level[32];
  bool shared = true;
  for (int i = 0; i < 30; i++) {
    snprintf(side, sizeof side, "side%d", i);
    snprintf(level, sizeof level, "level%d", i);
    shared = pml_sde_group_add(lib, below, side, PML_SDE_SUM) == 0 &&
             pml_sde_group_add(lib, below, level, PML_SDE_SUM) == 0 &&
             pml_sde_group_add(lib, side, level, PML_SDE_SUM) == 0 && shared;
    snprintf(below, sizeof below, "%s", level);
  }
  for (int i = 0; i < 5; i++) shared = is_int("SPEC::level29", INT64_C(4) << 30) && shared;
  CHECK(shared, "groups that share members are read once each, and a sum counts each way to a member");
  CHECK(pml_sde_group_add(lib, "A", "B", PML_SDE_SUM) == -EINVAL, "a counter is no group");
  CHECK(pml_sde_group_add(lib, "NEST", "SUM", PML_SDE_SUM) == -EINVAL &&
            pml_sde_group_add(lib, "SUM", "SUM", PML_SDE_SUM) == -EINVAL,
        "no group contains itself, not even directly");
  CHECK(pml_sde_group_add(lib, "F64", "MIXED", PML_SDE_SUM) == 0 &&
            pml_sde_group_add(lib, "C", "MIXED", PML_SDE_SUM) == 0 && is_double("SPEC::MIXED", 6.5),
        "a double among the members makes the sum one");
  CHECK(pml_sde_unregister(lib, "B") == 0 && is_int("SPEC::SUM", -5) && is_int("SPEC::MIN", -5),
        "who is unregistered is no member any more");
  CHECK(pml_sde_register(lib, "B", 0, PML_TYPE_INT64, &b) == 0 && is_int("SPEC::SUM", -5), "nor when registered again");
  static int64_t many[100];
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "M%d", i);
    many[i] = i;
    pml_sde_register(lib, name, 0, PML_TYPE_INT64, &many[i]);
    pml_sde_group_add(lib, name, "MANY", PML_SDE_SUM);
  }
  CHECK(is_int("SPEC::MANY", 4950), "a group of 100");
  for (int i = 0; i < 100; i += 2) {
    char name[16];
    snprintf(name, sizeof name, "M%d", i);
    pml_sde_unregister(lib, name);
  }
  CHECK(is_int("SPEC::MANY", 2500), "every second of which leaves");
}

/* In a set, a sum has the growth of its accumulating members since the start, and the values of its levels. */
static void sums_in_sets(void) {
  static int64_t whole = 1000, level = 20;
  static int32_t little = 300;
  static double real = 0.5, real_level = 64.25;
  static const struct {
    const char *name;
    unsigned mode;
    enum pml_type type;
    void *at;
  } member[] = {{"whole", 0, PML_TYPE_INT64, &whole},
                {"level", PML_SDE_INSTANT, PML_TYPE_INT64, &level},
                {"little", 0, PML_TYPE_INT32, &little},
                {"real", 0, PML_TYPE_DOUBLE, &real},
                {"real level", PML_SDE_INSTANT, PML_TYPE_DOUBLE, &real_level}};
  enum { N = sizeof member / sizeof *member };
  bool right = true;
  for (unsigned k = 0; k < N; k++)
    right &= pml_sde_register(lib, member[k].name, member[k].mode, member[k].type, member[k].at) == 0;
  for (unsigned some = 1; some < 1 << N; some++) {
    char name[16], event[32];
    const char *const names[] = {event};
    uint64_t v = 0;
    (void)snprintf(name, sizeof name, "some%u", some);
    (void)snprintf(event, sizeof event, "sde:::SPEC::%s", name);
    for (unsigned k = 0; k < N; k++)
      right &= (some >> k & 1) == 0 || pml_sde_group_add(lib, member[k].name, name, PML_SDE_SUM) == 0;
    struct pml_eventset *s = open_set(names, 1);
    right &= s != NULL && pml_eventset_start(s) == 0;
    whole += 7, level++, little += 3, real += 0.125, real_level++;
    double expected = (some & 1 ? 7 : 0) + (some & 2 ? (double)level : 0) + (some & 4 ? 3 : 0) +
                      (some & 8 ? 0.125 : 0) + (some & 16 ? real_level : 0);
    right &= s != NULL && pml_eventset_stop(s, &v) == 0 && (some < 8 ? (double)(int64_t)v : as_double(v)) == expected;
    pml_eventset_close(s);
  }
  CHECK(right, "a sum in a set: the growth of accumulating members, and the values of levels");
}

/* spec/c/compat_events.c checks their contents. */
static void recorders_and_sets(void) {
  struct pml_recorder *r = NULL;
  struct pml_sde_set *s = NULL;
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE};
  struct pml_sde_event *ev;
  CHECK(pml_sde_create_recorder(lib, "REC2", NULL, &r) == -EINVAL, "a recorder has a type");
  CHECK(pml_sde_create_recorder(lib, "REC", &o, &r) == 0 && pml_recorder_push_double(r, 1) == 0 &&
            pml_sde_group_add(lib, "REC", "SUM", PML_SDE_SUM) == -EINVAL &&
            pml_sde_unregister(lib, "REC:MED") == -EINVAL,
        "it joins no group, and its quantiles do not go alone");
  pml_sde_find("SPEC::REC:MAX", &ev, NULL);
  CHECK(pml_sde_unregister(lib, "REC") == 0 && is_int("SPEC::REC:MAX", -1) && pml_recorder_count(r) == 1,
        "unregistered, it stays while a reference to an event exists");
  pml_sde_release(ev);
  CHECK(pml_sde_create_set(lib, "SET", &s) == 0, "a counting set");
  for (int i = 0; i < 10000; i++) pml_sde_set_insert(s, sizeof i, sizeof i, &i, 9);
  CHECK(is_int("SPEC::SET", 10000) && reset_of("SPEC::SET") == 0 && is_int("SPEC::SET", 0), "grows, and is reset");
}

static void awaited(void) {
  static const char *const name[] = {"sde:::SPEC::I46"};
  struct pml_eventset *set;
  struct pml_eventset_event e;
  if (!CHECK(pml_eventset_open(&set, name, 1, NULL) == 0, "an event that no library registered is opened")) return;
  CHECK(pml_eventset_event(set, 0, &e) == 0 && e.why != NULL && strstr(e.why, "SPEC::I64") != NULL,
        "it says that it waits, and which name is near");
  const char *first = e.why;
  CHECK(pml_eventset_event(set, 0, &e) == 0 && e.why == first, "asked again, it says the same");
  pml_eventset_close(set);
  const struct pml_eventset_options init = {.target = {.pid = 1}};
  CHECK(pml_eventset_open(&set, name, 1, &init) == PML_EMODE && set == NULL, "not one of another process");
}

static void set_semantics(void) {
  static const char *const names[] = {"sde:::SPEC::I64", "clock::ns",       "sde:::SPEC::F64", "sde:::SPEC::F32",
                                      "sde:::SPEC::SUM", "sde:::SPEC::MAX", "sde:::SPEC::SOON"};
  uint64_t v[7];
  i64 = 100, f64 = 1.5, f32 = 9.0F, a = -5;
  struct pml_eventset *s = open_set(names, 7);
  if (!CHECK(s != NULL, "an event set takes them among others")) return;
  pml_eventset_start(s);
  i64 += 7, f64 += 0.25, f32 = 3.0F, a += 15;
  CHECK(pml_eventset_read(s, v) == 0 && v[0] == 7 && as_double(v[2]) == 0.25, "counters count since start");
  CHECK(v[1] > 0 && v[1] < UINT64_C(60000000000), "in the order of the names");
  CHECK(as_double(v[3]) == 3.0 && v[4] == 15 && v[5] == 10 && v[6] == UINT64_MAX,
        "levels, groups and placeholders are what they are");
  CHECK(pml_eventset_type(s, 0) == PML_TYPE_INT64 && pml_eventset_type(s, 2) == PML_TYPE_DOUBLE &&
            pml_eventset_type(s, 3) == PML_TYPE_DOUBLE,
        "and the set tells doubles");
  struct pml_eventset_event info;
  bool known = pml_eventset_event(s, 6, &info) == 0 && info.why != NULL;
  CHECK(known, "and why one reads -1: %s", known ? info.why : "?");
  CHECK(pml_eventset_event(s, 2, &info) == 0 && info.type == PML_TYPE_DOUBLE && info.nparts == 0 && info.why == NULL,
        "the properties of an event");
  double soon = 8.5;
  CHECK(pml_sde_register(lib, "SOON", 0, PML_TYPE_DOUBLE, &soon) == 0 && pml_eventset_read(s, v) == 0 &&
            as_double(v[6]) == 8.5 && pml_eventset_type(s, 6) == PML_TYPE_DOUBLE,
        "a placeholder fills in while the set runs");
  CHECK(pml_eventset_reset(s) == 0 && (f64 += 4, pml_eventset_stop(s, v)) == 0 && v[0] == 0 && as_double(v[2]) == 4 &&
            as_double(v[3]) == 3,
        "a reset counts from there, a level stays");
  f64 += 1, f32 = 1;
  CHECK(pml_eventset_read(s, v) == 0 && as_double(v[2]) == 4 && as_double(v[3]) == 3, "a stopped set stands still");
  CHECK(pml_eventset_reset(s) == 0 && pml_eventset_read(s, v) == 0 && v[0] == 0 && as_double(v[2]) == 0,
        "reset, it reads 0");
  pml_eventset_start(s);
  pml_sde_unregister(lib, "SOON");
  CHECK(pml_eventset_read(s, v) == 0 && v[6] == UINT64_MAX, "an unregistered event reads -1 again");
  pml_eventset_close(s);
}

static int64_t unregister_me(void *param) {
  (void)param;
  pml_sde_unregister(lib, "SELF");
  return 77;
}

static void hostile(void) {
  CHECK(pml_sde_register_callback(lib, "SELF", 0, PML_TYPE_INT64, unregister_me, NULL) == 0 &&
            is_int("SPEC::SELF", 77) && is_int("SPEC::SELF", -1),
        "a callback may unregister itself");
  CHECK(pml_sde_register(NULL, "X", 0, PML_TYPE_INT64, &i64) == -EINVAL && pml_sde_shutdown(NULL) == -EINVAL &&
            pml_sde_read(NULL, NULL) == -EINVAL && pml_sde_info(NULL, NULL) == -EINVAL,
        "NULL is refused");
  pid_t child = fork();
  if (child == 0) {
    struct pml_sde_counter *c;
    bool fine = is_int("SPEC::I64", i64) && pml_sde_create(lib, "CHILD", 0, &c) == 0 && pml_sde_increment(c, 3) == 0 &&
                is_int("SPEC::CHILD", 3) && pml_sde_unregister(lib, "CHILD") == 0;
    _exit(fine ? 0 : 1);
  }
  CHECK(exit_of(child) == 0, "a forked child continues with a copy");
}

int main(void) {
  CHECK_EACH(libraries, registered, written, created, groups, sums_in_sets, recorders_and_sets, awaited, set_semantics,
             hostile);
  CHECK(pml_sde_shutdown(lib) == 0 && is_int("SPEC::SUM", -1) && is_int("SPEC::CREATED", -1), "a shutdown takes all");
  return check_done();
}
