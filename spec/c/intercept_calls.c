/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_calls.c - an intercepted call is the plain call, with an enter and a leave. */
#include "adapter/arch/pml_call.h"
#include "adapter/intercept/pml_intercept.h"
#include "base/pml_process.h"
#include "check.h"
#include "intercept/arguments.h"
#include "intercept/counted.h"
#include "intercept/library.h"
#include "intercept/registers.h"
#include "intercept/sparing.h"
#include "intercept/ways.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <xmmintrin.h>
#endif
#include <fenv.h>
#include <sys/time.h>

/* ---- the counted event: the number of its reads ---- */

static struct pml_stream_metrics *metrics;       /* NULL: nothing is counted */
static uint64_t with_values, without, backwards; /* atomic: events; such as came plainly are in @valued, too */
static uint64_t valued;

/* A thread's values increase, independent of the reader. */
static void look_at(const struct pml_stream_event *e) {
  static __thread uint64_t last;
  bool has = e->metrics != NULL && e->metrics == metrics;
  if (metrics == NULL) return;
  __atomic_fetch_add(has ? &with_values : &without, 1, __ATOMIC_RELAXED);
  if (has && e->values[0] <= last) __atomic_fetch_add(&backwards, 1, __ATOMIC_RELAXED);
  if (has) last = e->values[0];
}

/* A consumer may use every register of vectors and of the x87, flags of floating point, and errno. */
static void use_registers(void) {
#ifdef __x86_64__
  static uint32_t events; /* atomic */
  uint32_t turn = __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED) % 3;
  volatile double third = 3;
  volatile long double longer = 3;
  third = 1 / third;                  /* 1 / 3: inexact */
  if (turn == 0) longer = 1 / longer; /* so in the x87 */
  if (turn == 1) __asm__ volatile("pcmpeqd %mm0, %mm0\n pcmpeqd %mm7, %mm7\n emms");
  __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm7, %%xmm7"
                   :
                   :
                   : "xmm0", "xmm1", "xmm7");
  if (turn == 2 && __builtin_cpu_supports("avx512f"))
    __asm__ volatile("vpternlogd $255, %zmm1, %zmm1, %zmm1\n vpternlogd $255, %zmm31, %zmm31, %zmm31\n"
                     "kxnorw %k3, %k3, %k3");
  else if (__builtin_cpu_supports("avx"))
    __asm__ volatile("vzeroall" : : : "xmm0", "xmm1", "xmm7");
#else
  __asm__ volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
                   "movi v\\n\\().2d, #0\n .endr\n fmov d8, d8\n fmov d15, d15"
                   :
                   :
                   : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
#endif
  errno = ENOTTY;
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  look_at(e);
  counted_enter(data, e);
  use_registers();
}
static void on_leave(void *data, const struct pml_stream_event *e) {
  look_at(e);
  counted_leave(data, e);
  use_registers();
}

/* With general registers only. In the mixed way every third event is taken with all, so that calls end as they did not
 * begin. */
static bool mixed;
static bool declines(void) {
  static uint32_t events; /* atomic */
  return mixed && __atomic_add_fetch(&events, 1, __ATOMIC_RELAXED) % 3 == 0;
}
static uint64_t enter_plainly(void *data, pml_region_t called, uint64_t ticks) {
  if (declines()) return ticks;
  (void)data;
  if (called < COUNTED_REGIONS) __atomic_fetch_add(&counted_enters[called], 1, __ATOMIC_RELAXED);
  return 0;
}
static uint64_t leave_plainly(void *data, pml_region_t called, uint64_t ticks) {
  if (declines()) return ticks;
  (void)data;
  if (called < COUNTED_REGIONS) __atomic_fetch_add(&counted_leaves[called], 1, __ATOMIC_RELAXED);
  return 0;
}

static uint64_t enter_valued(void *data, const struct pml_stream_event *e) {
  if (enter_plainly(data, e->region, e->ticks) != 0) return e->ticks;
  look_at(e);
  __atomic_fetch_add(&valued, 1, __ATOMIC_RELAXED);
  return 0;
}
static uint64_t leave_valued(void *data, const struct pml_stream_event *e) {
  if (leave_plainly(data, e->region, e->ticks) != 0) return e->ticks;
  look_at(e);
  __atomic_fetch_add(&valued, 1, __ATOMIC_RELAXED);
  return 0;
}
static int read_plainly(void *set, uint64_t *value) {
  if (declines()) return -1;
  *value = ++*(uint64_t *)set;
  return 0;
}

/* The same with r8 to r11 as they were. */
SPARING_FAST(enter_sparingly, enter_plainly);
SPARING_FAST(leave_sparingly, leave_plainly);
SPARING_VALUES(enter_valued_sparingly, enter_valued);
SPARING_VALUES(leave_valued_sparingly, leave_valued);
SPARING(pml__stream_read, read_sparingly, read_plainly, int, (void *set, uint64_t *value), set, value);

static void read_fully(enum pml_stream_kind kind, struct pml_stream_event *e) {
  static __thread uint64_t number, value, process;
  (void)kind;
  if (process != pml__process()) pml__stream_count_by(read_sparingly, &number, metrics, &value);
  process = pml__process();
  value = ++number;
  e->metrics = metrics;
  e->values = &value;
}
static void nothing(void) {}
static void count_readings(void) {
  static const struct pml__call_counting counting = {read_fully, nothing, nothing, true};
  static const char *const name[] = {"readings"};
  CHECK(pml_stream_metrics(name, 1, &metrics) == 0 && pml__call_count(&counting) == 0, "calls are counted");
}

static void counted(bool plainly) {
#ifdef __SANITIZE_THREAD__
  plainly = false;
#endif
  printf("# %llu events with values, %llu of them plainly\n", (unsigned long long)with_values,
         (unsigned long long)valued);
  CHECK(without == 0 && backwards == 0, "each event has its count, which was read for it");
  CHECK(plainly ? valued > with_values / (mixed ? 3 : 2) : valued == 0, "%s",
        plainly ? "most are handed out plainly" : "none is handed out plainly");
}

static bool balanced(const char *name, int n) {
  int found = calls(name);
  if (found != n) printf("# %s: %d calls\n", name, found);
  return found == n;
}

/* ---- every class of arguments ---- */

static void arguments(const struct results *plain) {
  static const struct {
    const char *name;
    int n;
  } expected[] = {{"lib_integers", 1}, {"lib_doubles", 1},    {"lib_mixed", 1},         {"lib_variable", 3},
                  {"lib_two", 1},      {"lib_floats", 1},     {"lib_pair", 1},          {"lib_many", 1},
                  {"lib_extended", 1}, {"lib_complex", 1},    {"lib_small_complex", 1}, {"lib_int128", 1},
                  {"lib_nothing", 1},  {"lib_recursive", 11}, {"lib_tail", 1},          {"lib_tailed", 1},
                  {"lib_errno", 1}};
  struct results r;
  call_all(&r);
  CHECK(same(plain, &r), "every class of arguments and results is as without interception");
  CHECK(r.was == EDOM && r.is == ERANGE, "errno is the caller's on the way in and the function's on the way out");
  bool exact = true;
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) exact &= balanced(expected[i].name, expected[i].n);
  CHECK(exact, "each call is one enter and one leave: recursion, tail calls and calls within the library too");
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx"))
    CHECK(balanced("lib_avx", 1), "calls with 256-bit vectors are recorded");
  else
    SKIP("this CPU has no AVX");
  if (__builtin_cpu_supports("avx512f"))
    CHECK(balanced("lib_avx512", 1), "calls with 512-bit vectors are recorded");
  else
    SKIP("this CPU has no AVX-512");
#endif
}

/* ---- conventions that preserve or pass more registers than C's ---- */

__attribute__((used)) static struct registers given;
void call_registers(void); /* lib_registers(), with `given` in all registers */

#ifdef __x86_64__
__asm__(FUNCTION("call_registers") "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n sub $8, "
                                   "%rsp\n" SET_REGISTERS "call lib_registers@PLT\n" COPY_REGISTERS
                                   "add $8, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
                                   "cmpl $16, wide(%rip)\n je 1f\n vzeroupper\n 1: ret\n");
#else
__asm__(FUNCTION("call_registers") "stp x29, x30, [sp, #-160]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n"
                                   "stp x23, x24, [sp, #48]\n stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n"
                                   "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n"
                                   "stp d14, d15, [sp, #144]\n" SET_REGISTERS "bl lib_registers\n" COPY_REGISTERS
                                   "ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n ldp x23, x24, [sp, #48]\n"
                                   "ldp x25, x26, [sp, #64]\n ldp x27, x28, [sp, #80]\n ldp d8, d9, [sp, #96]\n"
                                   "ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
                                   "ldp x29, x30, [sp], #160\n ret\n");
#endif

#ifdef __x86_64__
extern __attribute__((visibility("hidden"))) uint32_t pml__arch_state; /* as in stubs.S */
extern __attribute__((visibility("hidden"))) uint64_t pml__arch_state_bytes;

#define X87 0x01u
#define AVX 0x04u
#define AVX512 0xe0u
#define WITH_MOVES 0x40000000u

/* CPUID has the size of each component, its place for XSAVE, and whether XSAVEC aligns it. */
static void areas_fit(void) {
  uint64_t plain = 576, compacted = 576;
  uint32_t enabled, high, used = 0xe7; /* by C: x87, SSE, AVX and the three of AVX-512 */
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  uint64_t moves = 576 + ((enabled & AVX512) != 0 ? 32 * 64 + 8 * 8 : 16 * 32);
  for (unsigned i = 2; i < 31; i++) {
    unsigned bytes, at, flags, none;
    if ((pml__arch_state & enabled & 1u << i) == 0) continue;
    __cpuid_count(13, i, bytes, at, flags, none);
    if (at + bytes > plain) plain = at + bytes;
    if ((flags & 2) != 0) compacted = (compacted + 63) & ~UINT64_C(63);
    compacted += bytes;
  }
  CHECK((pml__arch_state & 0x3fffffff) == (used & enabled) && pml__arch_state_bytes >= plain &&
            pml__arch_state_bytes >= compacted && pml__arch_state_bytes >= moves,
        "registers of C are saved in %llu bytes; XSAVE needs %llu, XSAVEC %llu, moves %llu",
        (unsigned long long)pml__arch_state_bytes, (unsigned long long)plain, (unsigned long long)compacted,
        (unsigned long long)moves);
}

/* The components in use, without SSE; 0 if the processor does not report them. */
static uint32_t in_use(void) {
  uint32_t low = 0, high;
  if ((pml__arch_state & WITH_MOVES) != 0) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & (X87 | AVX | AVX512);
}
static void put_out_of_use(void) {
  static uint32_t area[1024] __attribute__((aligned(64)));
  area[6] = _mm_getcsr(); /* XRSTOR loads it with AVX */
  if ((pml__arch_state & WITH_MOVES) != 0)
    __asm__ volatile("xrstor64 %0" : : "m"(area), "a"(X87 | AVX | AVX512), "d"(0) : "memory");
}
#else
static uint32_t in_use(void) {
  return 0;
}
static void put_out_of_use(void) {}
#define AVX 0u
#endif

static int widest(void) {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") ? 64 : __builtin_cpu_supports("avx") ? 32 : 16;
#else
  return 16;
#endif
}

static void fill_registers(int bytes) {
  uint8_t pattern = 0;
  memset(&given, 0, sizeof given);
  memset(&seen, 0, sizeof seen);
  wide = bytes;
  for (int i = 0; wide == 64 && i < 8; i++) given.mask[i] = (uint16_t)(0x1234 * (i + 1));
  for (int i = 0; i < (NGENERAL < 30 ? NGENERAL : 30); i++)
    if (NGENERAL < 30 || i < 16 || i > 17) given.general[i] = 0x123456789abcdef * (uint64_t)(i + 1);
  for (int i = 0; i < (NGENERAL < 30 && wide < 64 ? 16 : 32); i++)
    for (int k = 0; k < wide; k++) given.vector[i][k] = ++pattern;
}

static bool as_given(const struct registers *r, const char *when) {
  for (int i = 0; i < 32; i++)
    if (r->general[i] != given.general[i]) printf("# %s: general register %d is another one\n", when, i);
  for (int i = 0; i < 32; i++)
    if (memcmp(r->vector[i], given.vector[i], sizeof r->vector[i]) != 0)
      printf("# %s: vector register %d is another one\n", when, i);
  return memcmp(r, &given, sizeof given) == 0;
}

/* The functions put the upper halves out of use before they return. */
static void change_no_register(int bytes, const char *how) {
  fill_registers(bytes);
  const struct registers *there = lib_seen(wide);
  bool same_there = true, same_here = true;
  uint32_t more = 0;
  forget();
  for (int i = 0; i < 100 && same_there && same_here; i++) {
    put_out_of_use();
    feclearexcept(FE_ALL_EXCEPT);
    call_registers();
    more |= in_use() & (wide == 64 ? AVX : ~0u); /* the x87 may be in use with nothing to see of it */
    same_here = fetestexcept(FE_ALL_EXCEPT) == 0;
    same_there = as_given(there, "in the function");
    same_here &= as_given(&seen, "after the call");
  }
  CHECK(same_there && same_here && balanced("lib_registers", 100),
        "a call changes no register of %d bytes, and no flag%s: ms_abi, preserve_most and regcall preserve and pass "
        "others than C",
        wide, how);
  CHECK(more == 0, "no register is in use that was not%s: 0x%x", how, more);
}

/* As change_no_register(), but the x87 is in use, with a status. */
static void change_no_status(void) {
#ifdef __x86_64__
  uint16_t before = 0, after = 0;
  bool same = true;
  forget();
  for (int i = 0; i < 100 && same; i++) {
    put_out_of_use();
    __asm__ volatile("fld1\n fldz\n fdivrp\n fstp %%st(0)\n fnstsw %0" : "=a"(before)); /* 1 / 0: ZE */
    call_registers();
    __asm__ volatile("fnstsw %0" : "=a"(after));
    same = before == after && as_given(&seen, "with a status of the x87");
    __asm__ volatile("fnclex");
  }
  CHECK(same && before == 0x4 && balanced("lib_registers", 100), "a call changes no status of the x87: 0x%x, 0x%x",
        before, after);
#endif
}

static void conventions(void) {
  for (int bytes = 16; bytes <= widest(); bytes *= 2) change_no_register(bytes, "");
  change_no_status();
#ifdef __x86_64__
  const uint32_t chosen = pml__arch_state;
  if (chosen == 0) {
    SKIP("this CPU has no XSAVE");
    return;
  }
  areas_fit();
  pml__arch_state = chosen & ~WITH_MOVES;
  change_no_register(widest(), ", saved by XSAVEC where there is");
  pml__arch_state = chosen & 0x3fffffff;
  change_no_register(widest(), ", saved by XSAVE");
  pml__arch_state = 0;
  if (widest() == 16) change_no_register(16, ", saved by FXSAVE");
  pml__arch_state = chosen;
#endif
}

/* ---- threads ---- */

#define THREADS 64
#define CALLS 2000

static void *storm(void *arg) {
  long bad = 0;
  for (int i = 0; i < CALLS; i++) bad += lib_integers(i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) != i + 12;
  bad += lib_recursive(100) != 101;
  *(long *)arg = bad;
  return NULL;
}

static void threads(void) {
  pthread_t t[THREADS];
  long bad[THREADS], sum = 0;
  forget();
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, storm, &bad[i]);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], NULL);
    sum += bad[i];
  }
  CHECK(sum == 0 && balanced("lib_integers", THREADS * CALLS) && balanced("lib_recursive", THREADS * 101),
        "%d threads: every call is counted, every result right", THREADS);
}

/* ---- signals and processes ---- */

static volatile sig_atomic_t handled, wrong;

static void handler(int sig) {
  (void)sig;
  handled++;
  wrong += lib_integers(handled, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) != handled + 12;
}

static void signals(void) {
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  forget();
  sigaction(SIGALRM, &a, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  long bad = 0, made = 0;
  for (; made < 3000000 && handled < 200; made++) bad += lib_tail((int)made) != 2 * ((int)made + 1);
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_DFL);
  CHECK(bad == 0 && wrong == 0 && balanced("lib_tail", (int)made), "handlers that call intercepted functions");
  struct pml_intercept_stats s;
  pml_intercept_stats(&s);
  int recorded = calls("lib_integers");
  CHECK(recorded >= 0 && recorded + (long)s.nested >= handled,
        "%d calls by handlers are recorded, or counted as not: %d and %llu", (int)handled, recorded,
        (unsigned long long)s.nested);
}

static bool calls_on(void) {
  return lib_tail(2) == 6 && lib_recursive(3) == 4;
}

static void forking(void) {
  CHECK(ways_fork(calls_on), "the child of a fork inside a recorded call continues");
}

static void held(void) {
  struct pml_intercept_stats before, after;
  forget();
  lib_nothing();
  pml_intercept_stats(&before);
  bool mine = pml__call_claim(PML__CALL_HERE);
  lib_nothing();
  if (mine) pml__call_release();
  pml_intercept_stats(&after);
  CHECK(mine && balanced("lib_nothing", 1) && after.nested == before.nested + 1,
        "a call by who is at the thread's calls already is counted, not recorded");
  lib_nothing();
  CHECK(balanced("lib_nothing", 1), "and the next one is");
}

/* A handler that leaves what it interrupted: a consumer, as often as not. */
static sigjmp_buf again;
static void leaps(int sig) {
  (void)sig;
  handled++;
  siglongjmp(again, 1);
}

static void leaping(void) {
  struct sigaction a = {.sa_handler = leaps};
  const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  volatile long calls = 0, bad = 0;
  handled = 0;
  sigaction(SIGALRM, &a, NULL);
  (void)sigsetjmp(again, 1);
  setitimer(ITIMER_REAL, handled < 300 ? &often : &never, NULL);
  for (; calls < 3000000 && handled < 300; calls++) bad += lib_tail((int)calls % 1000) != 2 * ((int)calls % 1000 + 1);
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_DFL);
  forget();
  lib_nothing();
  CHECK(bad == 0 && balanced("lib_nothing", 1), "after %d handlers that left by siglongjmp calls are recorded still",
        (int)handled);
}

/* ---- the same program, bound in other ways, and with other consumers ---- */

static void variants(const char *self) {
  static const char *const kind[] = {".now", ".noplt", ".nopie"};
  static const struct {
    const char *way, *whose;
  } way[] = {{"variant", "of all registers"},
             {"variant counted", "of all registers, and counts"},
             {"fast", "of few registers"},
             {"fast mixed", "of few registers and all in turn"},
             {"fast counted", "of few registers, and counts"},
             {"fast counted mixed", "of few registers and all in turn, and counts"}};
  char command[4096];
  for (size_t i = 0; i < 4; i++)
    for (size_t k = i == 0; k < sizeof way / sizeof way[0]; k++) {
      const char *end = i > 0 ? kind[i - 1] : "";
      if (!SHOWS_CALLS && strcmp(end, ".noplt") == 0) {
        SKIP(HIDES_CALLS);
        continue;
      }
      snprintf(command, sizeof command, "%s%s %s >/dev/null", self, end, way[k].way);
      CHECK(system(command) == 0, "all that holds for a program%s%s with a consumer %s", i > 0 ? " linked with " : "",
            i > 0 ? end + 1 : "", way[k].whose);
    }
}

static bool asked(char **argv, const char *word) {
  while (*argv != NULL && strcmp(*argv, word) != 0) argv++;
  return *argv != NULL;
}

int main(int argc, char **argv) {
  struct results plain, after;
  struct pml_stream_consumer c = {.thread_begin = counted_begin, .event = {on_enter, on_leave, NULL}, .arg = &plain};
  struct pml_intercept_options o = {.lib = "libintercept", .but = "lib_floats_of_nobody"};
  uint64_t id;
  mixed = asked(argv, "mixed");
  if (asked(argv, "fast")) {
    c.fast[PML_STREAM_ENTER] = enter_sparingly;
    c.fast[PML_STREAM_LEAVE] = leave_sparingly;
    c.fast_values[PML_STREAM_ENTER] = enter_valued_sparingly;
    c.fast_values[PML_STREAM_LEAVE] = leave_valued_sparingly;
  }
  call_all(&plain);
  if (asked(argv, "counted")) count_readings();
  CHECK(pml_stream_add(&c, &id) == 0, "a consumer of enters and leaves");
  int err = pml_intercept_install(&o);
  CHECK(err == 0, "interception is installed%s%s", err < 0 ? ": " : "", err < 0 ? pml_error_detail(err) : "");
  CHECK(pml_intercept_install(&o) == -EALREADY, "once");
  arguments(&plain);
  conventions();
  ways_exceptions(true, 4);
  ways_jumping(true);
  threads();
  ways_cancelling(false);
  CHECK_EACH(ways_contexts, signals, held, forking, leaping);
  if (metrics != NULL) counted(asked(argv, "fast"));
  CHECK(pml_stream_remove(id) == 0, "the consumer is removed");
  forget();
  call_all(&after);
  CHECK(same(&plain, &after) && balanced("lib_tail", 0), "without a consumer, calls are plain calls");
  CHECK(pml_stream_add(&c, &id) == 0, "there is a consumer again");
  pml_intercept_remove();
  forget();
  call_all(&after);
  CHECK(same(&plain, &after) && balanced("lib_tail", 0), "removed, there are no events");
  CHECK(pml_intercept_install(&o) == 0 && lib_tail(1) == 4 && balanced("lib_tail", 1), "installed again, there are");
  pml_intercept_remove();
  if (argc == 1) variants(argv[0]);
  return check_done();
}
