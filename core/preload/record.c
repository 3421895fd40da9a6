/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/record.c - recording of unmodified programs: LD_PRELOAD=libpmlua-record.so.
 *
 * PMLUA_RECORD_DIR: the folder for results, which must exist; without it nothing happens. _LIB, _SYM, _NOT, _FUNC,
 * _LEAST, _FILTER, _DLSYM, _WRAPPED and _SCANS: the fields of struct pml_intercept_options. _TRACE=1: record every
 * enter and leave besides the profile, for a trace; _FLOW=1: the same for flow graphs. _MAX_DEPTH, _MAX_CALLS, _MIN_NS
 * and _LAST, in bytes, limit these events only. _OVERHEAD: record_overhead.h.
 *
 * $SCOREP_METRIC_PLUGINS: metric plugins to load. Their synchronous metrics are events of each call, in addition to
 * PMLUA_RECORD_EVENTS; values of asynchronous metrics are written to the log when they are collected, at the latest
 * when the process exits. $SCOREP_SUBSTRATE_PLUGINS: substrate plugins to load (pml_scorep.h). They get each call as an
 * enter and a leave, and write when the process exits, into the folder substrates-PID. A forked child has no plugins.
 *
 * In an MPI job rank 0 writes the summary of all ranks to job.pmlsum in PMLUA_RECORD_JOB, or in its own folder
 * (adapter/mpi/pml_mpi_job.h), and each rank in the summary notes this in its log.
 *
 * Each program that a process runs writes HOST.PID.pmlog (pml_recording.h) continuously, so that nothing is lost
 * however it ends, and no work remains for the end. A forked child creates its own log at its first recorded call, or
 * before it drops the rights to create one (confine.h, rights.c). Until then its parent's log lists it. The library
 * never prints, and adds no thread or signal handler. A log without the mark of its program's end was cut short.
 */
#include "preload/confine.h"
#include "preload/memory.h"
#include "preload/record_overhead.h"
#include "preload/record_plugins.h"

#include "adapter/foreign/pml_foreign.h"
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_job.h"
#include "adapter/openmp/pml_openmp.h"
#include "adapter/wrap/pml_wrap.h"
#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_setting.h"
#include "base/pml_stream.h"
#include "base/pml_system.h"
#include "record/events/pml_recording.h"
#include "record/pml_mailbox.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_event.h"
#include "source/sde/pml_sde.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS_BYTES 4096
#define PLUGINS_BYTES 4096

static struct {
  char dir[PATH_MAX - 64];
  bool confined;  /* no system calls from now on */
  pid_t pid;      /* the owner of the results: a child of vfork() has the same memory but another pid */
  uint64_t *here; /* zero in a child that has not begun its own log; NULL: unknown */
  struct pml_recording *calls;
  struct pml_profile *profile;
  const char *event[PML_INTERCEPT_EVENTS_MAX]; /* metrics of each call */
  size_t nevents;
  bool trace, flow;   /* the use of recorded events; both false: no events */
  bool plugins;       /* this process has metric plugins; false in forked children */
  bool substrates;    /* this process has substrate plugins */
  bool twinned;       /* a child shares its thread-local data: nothing is recorded any more */
  size_t nsubstrates; /* the number of opened ones */
} record;

/* ---- facts about the process ---- */

struct text {
  char *at; /* {0} is an empty text; note_text() frees it */
  size_t n, room;
};

/* Without memory it is omitted. */
__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  if (n > 0 && PML__ARRAY_ROOM(t->at, t->room, t->n + (size_t)n + 1)) {
    (void)vsnprintf(t->at + t->n, (size_t)n + 1, format, again);
    t->n += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

static void note(const char *key, const char *text) {
  pml_recording_note(record.calls, key, text);
}

/* Also frees it. */
static void note_text(const char *key, struct text *t) {
  note(key, t->at != NULL ? t->at : "");
  free(t->at);
}

static void note_number(const char *key, uint64_t n) {
  char text[32];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
  note(key, text);
}

static void note_counts(void) {
  struct pml_intercept_stats s;
  struct pml_profile_stats p;
  pml_intercept_stats(&s);
  pml_profile_stats(record.profile, &p);
  note_number("objects", s.objects);
  note_number("functions", s.functions);
  note_number("slots", s.slots);
  note_number("shared", s.shared);
  note_number("deep", s.deep);
  note_number("nested", s.nested);
  note_number("small", pml__choice_small());
  note_number("unseen", s.unseen);
  note_number("elsewhere", s.elsewhere);
  note_number("scans", s.scans);
  note_number("threads", p.threads);
  note_number("unmatched", p.unmatched);
  note_number("dropped", p.dropped);
  note_number("abandoned", p.abandoned);
}

/* The file of the next library in search order that exports the function; "": none. */
static const char *library_of(const char *function) {
  Dl_info in;
  const void *at = dlsym(RTLD_NEXT, function);
  if (at == NULL || dladdr(at, &in) == 0 || in.dli_fname == NULL) return "";
  return basename(in.dli_fname);
}

static int say_unmatched(const struct pml_intercept_unmatched *u, void *arg) {
  char near[512] = "";
  size_t n = 0;
  for (unsigned i = 0; i < u->n && n < sizeof near; i++)
    n += (size_t)snprintf(near + n, sizeof near - n, "%s%s", i > 0 ? "," : "", u->nearest[i]);
  say(arg, "%s\t%s\t%s\t%s\n", u->option, u->pattern, strcmp(u->option, "sym") == 0 ? library_of(u->pattern) : "",
      near);
  return 0;
}

static int say_unrecorded(const struct pml_intercept_unrecorded *f, void *arg) {
  say(arg, "%s\t%s\t%s\n", f->function, f->library, f->calls ? "calls" : "pointers");
  return 0;
}

/* Noted at the beginning, to survive any end; noted again at the end if libraries loaded later added slots. */
static void note_left(bool at_end) {
  static uint64_t noted; /* slots */
  struct pml_intercept_stats s;
  pml_intercept_stats(&s);
  if (at_end && s.shared == noted) return;
  noted = s.shared;
  struct text t = {0};
  (void)pml_intercept_unrecorded(say_unrecorded, &t);
  note_text("left_functions", &t);
}

static void note_unmatched(void) {
  struct text t = {0};
  (void)pml_intercept_unmatched(say_unmatched, &t);
  note_text("unmatched_patterns", &t);
}

static void note_events(void) {
  struct text t = {0};
  for (size_t i = 0; i < record.nevents; i++) say(&t, "%s\n", record.event[i]);
  note_text("events", &t);
  const char *remarks = pml__setting("PMLUA_RECORD_REMARKS");
  if (remarks != NULL) note("remarks", remarks);
  if (!record.plugins) return;
  char units[PLUGINS_BYTES];
  pml__record_plugins_units(units, sizeof units);
  note("units", units);
}

/* The first note stays unless the process ends normally. */
static void note_troubles(bool at_end) {
  struct text t = {0};
  char line[1024];
  if (record.plugins) {
    char plugins[PLUGINS_BYTES];
    pml__record_plugins_troubles(plugins, sizeof plugins);
    say(&t, "%s", plugins);
  }
  if (record.substrates && !at_end && record.nsubstrates > 0)
    say(&t, "a process did not exit normally (_exit, a signal, exec, still running): its substrate plugins "
            "did not get to write their data\n");
  for (size_t i = 0; record.substrates && pml__record_substrates_trouble(i, line, sizeof line); i++)
    say(&t, "%s\n", line);
  if (record.twinned)
    say(&t,
        "a process shares its thread-local data with a child that it made (clone with CLONE_VM, without CLONE_SETTLS): "
        "later calls of both are not recorded\n");
  if (pml_mpi_trouble() != NULL) say(&t, "%s\n", pml_mpi_trouble());
  note_text("troubles", &t);
}

/* An event without a counter reads 0 at each call, which is not a count. */
static bool is_absent(const char *name) {
  struct pml_sde_event *ev;
  struct pml_sde_info info;
  if (strcmp(pml_event_source(name), "sde") != 0 || pml_sde_find(name, &ev, NULL) < 0) return false;
  bool absent = pml_sde_info(ev, &info) == 0 && info.kind == PML_SDE_PLACEHOLDER;
  pml_sde_release(ev);
  return absent;
}

static void note_absent(void) {
  struct text t = {0};
  for (size_t i = 0; i < record.nevents; i++)
    if (is_absent(record.event[i])) say(&t, "%s\n", record.event[i]);
  note_text("absent", &t);
}

static void note_program(void) {
  char program[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n > 0 ? n : 0] = '\0';
  if (n > 0) note("program", program);
}

/* @failure: why nothing is recorded; NULL: recording works. A pattern may match a library that is loaded later, so
 * unmatched patterns are noted @at_end only. */
static void tell(const char *failure, bool at_end) {
  if (!at_end) note_program();
  if (failure != NULL)
    note("failure", failure);
  else
    note_counts();
  if (failure == NULL) note_left(at_end);
  note_events();
  note_troubles(at_end);
  if (record.flow) note("flow", record.trace ? "too" : "only");
  if (record.confined) note("confined", "1");
  if (!at_end) return;
  note_absent();
  note_unmatched();
}

static bool is_ours(void) {
  if (record.here != NULL && __atomic_load_n(record.here, __ATOMIC_RELAXED) == 0) return false;
  return record.calls != NULL && (record.confined || record.pid == getpid());
}

/* For a child that made no log: @record belongs to its ancestor. A child of vfork() shares the memory, but has another
 * pid. */
static void end_waiting(enum pml_recording_end how) {
  int32_t *birth = pml__process_birth();
  if (birth != NULL && *birth == (int32_t)getpid()) pml_recording_child_ended(birth, how);
}

/* Most counting modules are loaded after this library, and the process may be killed at any time afterwards. */
static void note_counted(void) {
  if (is_ours()) pml_recording_counted(record.calls, pml_count_here());
}

/* The last chance to make a log. */
void pml__preload_begin(void) {
  if (record.calls != NULL) pml__process_look();
}

void pml__preload_clockless(void) {
  pml__preload_begin();
  if (!is_ours()) return;
  pml__clock_forbid();
  pml_intercept_confine(record.confined);
}

void pml__preload_twinned(void) {
  pml__preload_begin();
  if (!is_ours() || record.confined || record.twinned) return;
  record.twinned = true;
  pml_intercept_pause(true);
  note_troubles(false);
}

/* The last chance to read anything: nothing can be reported later. */
void pml__preload_confined(bool without_clock) {
  pml__preload_begin();
  if (!is_ours()) return;
  if (pml__clock.kind == PML_CLOCK_SYSTEM)
    pml_intercept_pause(without_clock = true);                                   /* other threads are paused as well */
  if (record.substrates && !record.confined) pml__record_substrates_close(true); /* plugins may make any system call */
  pml_intercept_confine(without_clock);
  if (record.confined) return;
  record.confined = true;
  pml__record_overhead_stop();
  pml__cancel_confine();
  pml__memory_seal();
  tell(NULL, true);
  pml_recording_seal(record.calls);
}

/* ---- the end ---- */

static void end_substrates(void) {
  pml__record_substrates_close(false);
  record.nsubstrates = 0;
}

__attribute__((destructor)) static void finish(void) {
  end_waiting(PML_RECORDING_EXIT);
  if (!is_ours()) return;
  /* Calls of plugins from here on are not calls of the program. */
  if ((record.plugins || record.substrates) && !record.confined) pml_intercept_remove();
  if (record.substrates && !record.confined) end_substrates();
  if (record.plugins && !record.confined) pml__record_plugins_end();
  if (!record.confined) tell(NULL, true);
  pml_recording_end(record.calls, PML_RECORDING_EXIT);
}

PML_API void _exit(int status);
PML_API void _Exit(int status);

/* May be called by a signal handler, so it only stores. It avoids the C library's syscall(), which would cost a child
 * another page. */
PML_API void _exit(int status) {
  const long argument[6] = {status};
  end_waiting(PML_RECORDING_LEFT);
  if (is_ours()) pml_recording_end(record.calls, PML_RECORDING_LEFT);
  for (;;) (void)pml__system(SYS_exit_group, argument);
}

PML_API void _Exit(int status) {
  _exit(status);
}

/* ---- functions compiled with -finstrument-functions ---- */

PML_API void __cyg_profile_func_enter(void *function, void *site);
PML_API void __cyg_profile_func_exit(void *function, void *site);

PML_API void __cyg_profile_func_enter(void *function, void *site) {
  pml__instrumented_enter(function, site);
}

PML_API void __cyg_profile_func_exit(void *function, void *site) {
  pml__instrumented_leave(function, site);
}

/* ---- the beginning ---- */

static uint64_t number(const char *name) {
  const char *text = pml__setting(name);
  return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* Split the names of events, one a line. */
static int name_events(void) {
  const char *all = pml__setting("PMLUA_RECORD_EVENTS");
  if (all == NULL) return 0;
  static char text[EVENTS_BYTES]; /* never freed */
  char *rest = text;
  if (strlen(all) >= sizeof text) return pml_fail(-EINVAL, "the names of the events are too long");
  memcpy(text, all, strlen(all) + 1);
  for (char *name; (name = strsep(&rest, "\n")) != NULL && record.nevents < PML_INTERCEPT_EVENTS_MAX;)
    if (name[0] != '\0') record.event[record.nevents++] = name;
  return 0;
}

static void lose_counts(int err) {
  if (is_ours()) pml_recording_lose_counts(record.calls, err);
}

static int start_counting(void) {
  const struct pml_stream_metrics *metrics;
  int err = name_events();
  record.plugins = secure_getenv("SCOREP_METRIC_PLUGINS") != NULL;
  if (err == 0 && record.plugins)
    record.nevents +=
        pml__record_plugins_load(record.event + record.nevents, PML_INTERCEPT_EVENTS_MAX - record.nevents);
  if (err < 0 || record.nevents == 0) return err;
  err = pml_intercept_count(record.event, record.nevents, lose_counts, &metrics);
  for (size_t i = 0; err == 0 && i < record.nevents; i++) record.event[i] = metrics->name[i]; /* names as counted */
  if (err == 0) pml_foreign_count(record.event, record.nevents);
  return err;
}

static int start_trace(void) {
  uint64_t ns = number("PMLUA_RECORD_MIN_NS");
  struct pml_recording_limits limits = {.max_depth = (uint32_t)number("PMLUA_RECORD_MAX_DEPTH"),
                                        .max_calls = (uint32_t)number("PMLUA_RECORD_MAX_CALLS"),
                                        .min_ticks = (uint64_t)((double)ns * pml__clock.ticks_per_second * 1e-9),
                                        .last_bytes = number("PMLUA_RECORD_LAST"),
                                        .metrics = record.event,
                                        .nmetrics = record.nevents};
  int err = record.nevents > 0 ? pml_recording_sum(record.calls, record.event, record.nevents) : 0;
  record.trace = number("PMLUA_RECORD_TRACE") == 1;
  record.flow = number("PMLUA_RECORD_FLOW") == 1;
  return err == 0 && (record.trace || record.flow) ? pml_recording_trace(record.calls, &limits) : err;
}

/* The plugins write to substrates-PID beside HOST.PID.pmlog. The host's name has no dot there. */
static void start_substrates(void) {
  char directory[PATH_MAX];
  const char *log = strrchr(pml_recording_path(record.calls), '/'), *pid = strchr(log, '.') + 1;
  int digits = (int)(strlen(pid) - strlen(".pmlog"));
  (void)snprintf(directory, sizeof directory, "%s/substrates-%.*s", record.dir, digits, pid);
  record.nsubstrates = pml__record_substrates_open(directory);
}

/* The measurements of this process, an MPI rank, for the job summary. */
static bool measured(struct pml_mpi_measured *m, void *arg) {
  (void)arg;
  *m = (struct pml_mpi_measured){pml_recording_path(record.calls), record.profile, record.trace || record.flow};
  return is_ours();
}

static void written(void *arg) {
  (void)arg;
  if (is_ours()) note("in_job", "1");
}

/* The summary of an MPI job is beside the folders of the ranks, or in this process's folder. */
static int start_job(void) {
  static char path[PATH_MAX];
  const char *folder = pml__setting("PMLUA_RECORD_JOB");
  const struct pml_mpi_reduction job = {
      .measured = measured, .written = written, .path = path, .all = pml__setting("PMLUA_RECORD_WHOLE") != NULL};
  (void)snprintf(path, sizeof path, "%s/job.pmlsum", folder != NULL && folder[0] != '\0' ? folder : record.dir);
  pml_mpi_intercept();
  pml_mpi_reduce(&job);
  return 0;
}

static void *get_memory(void *recording, uint32_t whose, uint32_t part, size_t bytes) {
  return pml_recording_get(recording, whose, part, bytes);
}
static void put_memory(void *recording, void *memory) {
  pml_recording_put(recording, memory);
}
static void name_region(void *recording, pml_region_t region) {
  pml_recording_name(recording, region);
}

/* Record the numeric values; texts are skipped. */
static void add_values(void *recording, const struct pml_wrap_function *f, bool results, const uint64_t *values) {
  const struct pml_wrap_value *value = results ? f->out : f->in;
  struct pml_recording_value v[PML_WRAP_VALUES_MAX];
  uint32_t n = 0, all = results ? f->nout : f->nin;
  if (record.here != NULL && __atomic_load_n(record.here, __ATOMIC_RELAXED) == 0) return; /* the parent's call */
  for (uint32_t i = 0; i < all; i++)
    if (value[i].type != PML_WRAP_TEXT)
      v[n++] = (struct pml_recording_value){value[i].name, value[i].type == PML_WRAP_REAL, values[i]};
  pml_recording_add_values(recording, f->region, results, v, n);
}

static int listen_to_values(void) {
  static struct pml_wrap_listener listener = {add_values, NULL};
  int err = pml_recording_keep_values(record.calls, record.trace);
  listener.arg = record.calls;
  if (err == 0) pml_wrap_listen(&listener);
  return err;
}

/* Before plugins start, because their values belong to the recording. */
static int begin(void) {
  record.pid = pml__process_pid();
  if (record.here == NULL) record.here = pml__process_memory(sizeof *record.here);
  if (record.here != NULL) __atomic_store_n(record.here, 1, __ATOMIC_RELAXED);
  record.profile = NULL;
  int err = pml_recording_open(&record.calls, record.dir, NULL);
  pml_recording_share(record.calls);
  return err;
}

static int start(void) {
  static struct pml_profile_memory memory = {.get = get_memory, .put = put_memory, .name = name_region};
  note_counted();
  memory.arg = record.calls;
  pml__record_overhead(&memory);
  int err = pml_profile_open_in(&record.profile, &memory);
  if (err == 0) err = start_trace();
  return err == 0 ? listen_to_values() : err;
}

/* Leave "PID<TAB>PROGRAM<TAB>WHY" in the mailbox that pmlua record reads. */
static void leave_reason(int err) {
  char line[PML_MAILBOX_LINE], program[256];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n > 0 ? n : 0] = '\0';
  (void)snprintf(line, sizeof line, "%d\t%s\t%s", (int)record.pid, program, pml_error_detail(err));
  (void)pml_mailbox_leave(record.dir, line);
}

/* Write the failure to the recording, or without one to the mailbox. */
static void give_up(int err) {
  if (record.calls == NULL) {
    leave_reason(err);
    return;
  }
  tell(pml_error_detail(err), false);
  pml_recording_end(record.calls, PML_RECORDING_FAILED);
  record.calls = NULL;
}

/* ---- children ---- */

/* Children of a confined process have no system calls left either. A child whose thread is inside a consumer, because a
 * signal handler forked, continues there: it must no longer use the parent's log. */
static int32_t *before_fork(void) {
  bool begun = record.here != NULL && __atomic_load_n(record.here, __ATOMIC_RELAXED) != 0;
  if (record.calls == NULL || record.confined || pml__stream_is_inside()) return NULL;
  return begun || pml__process_birth() != NULL ? pml_recording_child(record.calls, begun) : NULL;
}

/*
 * Store the reason why a child is not recorded: in the record of its birth, else in its parent's log and the mailbox.
 */
static void lose_child(struct pml_recording *parents, int err) {
  if (pml__process_birth() != NULL) {
    pml_recording_child_opened(pml__process_birth(), err);
  } else {
    pml_recording_lose_child(parents);
    if (err < 0) leave_reason(err);
  }
}

/* The child's calls go to its own log, not to its parent's. Memory of the parent's recording stays untouched, because
 * the parent's other threads may have been changing it. */
static void start_in_child(void) {
  struct pml_recording *parents = record.calls;
  if (parents == NULL) return;
  int saved = errno;
  record.calls = NULL;
  pml_recording_share(NULL);
  pml_wrap_listen(NULL);
  record.plugins = record.substrates = false;
  int err = record.confined ? 0 : begin();
  if (record.calls == NULL)
    lose_child(parents, err);
  else if (pml__process_birth() != NULL)
    pml_recording_child_opened(pml__process_birth(), 0);
  if (err == 0 && record.calls != NULL) err = start();
  if (record.calls != NULL && err < 0)
    give_up(err);
  else if (record.calls != NULL)
    tell(NULL, false);
  pml_recording_abandon(parents);
  errno = saved;
}

/* Patterns of libraries whose calls are not recorded: @others, and the OpenMP runtimes, whose constructs are recorded
 * instead. In static memory. */
static const char *aside(const char *others) {
  static char all[4096];
  (void)snprintf(all, sizeof all, "%s:%s", pml_openmp_libraries(), others != NULL ? others : "");
  return all;
}

__attribute__((constructor)) static void start_in_program(void) {
  const char *dir = pml__setting("PMLUA_RECORD_DIR");
  struct pml_intercept_options o = {.lib = pml__setting("PMLUA_RECORD_LIB"),
                                    .sym = pml__setting("PMLUA_RECORD_SYM"),
                                    .but = pml__setting("PMLUA_RECORD_NOT"),
                                    .func = pml__setting("PMLUA_RECORD_FUNC"),
                                    .least = number("PMLUA_RECORD_LEAST"),
                                    .filter = pml__setting("PMLUA_RECORD_FILTER"),
                                    .scans = pml__setting("PMLUA_RECORD_SCANS"),
                                    .dlsym = number("PMLUA_RECORD_DLSYM") == 1,
                                    .wrapped = number("PMLUA_RECORD_WRAPPED") == 1};
  if (dir == NULL || dir[0] == '\0' || strlen(dir) >= sizeof record.dir) return;
  int saved = errno;
  memcpy(record.dir, dir, strlen(dir) + 1);
  pml__memory_own();
  pml_count_watch(note_counted);
  int err = begin(), counting = start_counting();
  if (err == 0) err = start();
  record.substrates = pml__record_substrates_wanted();
  if (err == 0 && record.substrates) start_substrates();
  o.aside = aside(record.plugins || record.substrates ? pml__record_plugins_libraries() : NULL);
  if (err == 0) err = counting;
  if (err == 0 && record.plugins) pml__record_plugins_start();
  if (err == 0) err = start_job();
  if (err == 0) err = pml_intercept_install(&o);
  if (err == 0) err = pml__process_watch_use(start_in_child); /* after the initialisations that it depends on */
  if (err == 0) pml__process_wait(before_fork);
  if (err < 0) end_substrates();
  if (err < 0)
    give_up(err);
  else
    tell(NULL, false);
  errno = saved;
}
