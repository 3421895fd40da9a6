/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/plugin.c - metric plugins of Score-P's interface, built as others build theirs: loaded, read, ended, survived.
 */
#include "check.h"
#include "plugins.h"
#include "source/plugin/pml_plugin_private.h"

#include <dlfcn.h>

struct gauge_told {
  int initialized, finalized, added, begun, ended, responsible, asked;
};

static double real(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static const struct gauge_told *told(const struct pml_plugin *p) {
  return dlsym(p->object, "gauge_told");
}

static void *open_in_thread(void *arg) {
  struct pml_eventset *set;
  uint64_t v = 0;
  if (open_one(&set, arg) < 0) return NULL;
  pml_eventset_read(set, &v);
  pml_eventset_close(set);
  return (void *)1;
}

static void scope(const char *name, int added) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  pthread_t thread;
  void *good = NULL;
  uint64_t v = 0;
  char event[64];
  if (!CHECK(load(name, "5", &p) == 0, "%s is loaded", name)) return;
  CHECK(told(p)->initialized == 1 && told(p)->added == 0 && told(p)->begun == 0, "and costs nothing until it is used");
  snprintf(event, sizeof event, "plugin::%s::g5", name);
  if (!CHECK(open_one(&set, event) == 0, "%s is opened: %s", event, pml_error_detail(PML_EPLUGIN))) return;
  CHECK(told(p)->begun == 1 && told(p)->responsible == 1, "it gets the begin");
  pml_eventset_read(set, &v); /* the second question: opening had the first */
  CHECK(v == 5, "it has a new value at the second question");
  pml_eventset_read(set, &v);
  CHECK(v == 5, "and keeps it while there is no newer one");
  pthread_create(&thread, NULL, open_in_thread, event);
  pthread_join(thread, &good);
  CHECK(good != NULL && told(p)->added == added && told(p)->begun == 2, "another thread adds %s",
        added == 2 ? "its own" : "none");
  CHECK(told(p)->responsible == added, "responsible is who counts");
  CHECK(pml_plugin_end(p) == 0 && told(p)->ended == 2 && told(p)->finalized == 1, "all get the end, and it is over");
  pml_eventset_close(set);
}

static void seldom(void) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  uint64_t v;
  load("gauge_seldom", "3", &p);
  if (!CHECK(open_one(&set, "plugin::gauge_seldom::g3") == 0, "a plugin that wants to be asked seldom is opened"))
    return;
  for (int i = 0; i < 100; i++) pml_eventset_read(set, &v);
  CHECK(told(p)->asked == 1 && pml_eventset_absent(set, 0, v), "and asked once within its interval: %d",
        told(p)->asked);
  pml_plugin_end(p);
  pml_eventset_close(set);
}

static void elsewhere(void) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  uint64_t v;
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  int rc = load("gauge_host", "9", &p);
  struct gauge_told before = *told(p);
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (!CHECK(rc == 0 && open_one(&set, "plugin::gauge_host::g9") == 0, "another rank of a host opens the same events"))
    return;
  pml_eventset_read(set, &v);
  struct pml_eventset_event e;
  pml_eventset_event(set, 0, &e);
  CHECK(pml_eventset_absent(set, 0, v) && told(p)->added == before.added &&
            told(p)->responsible == before.responsible && told(p)->begun == before.begun + 1,
        "it measures nothing there: %s", e.why);
  pml_plugin_end(p);
  pml_eventset_close(set);
}

struct seen {
  size_t n;
  bool rising, ordered, waves;
  enum pml_mode mode;
};

static int look(const struct pml_plugin_series *s, void *arg) {
  struct seen *seen = arg;
  bool wave = s->metric->value == PML_PLUGIN_DOUBLE;
  seen->n += s->n;
  seen->waves |= wave && s->n > 2 && real(s->pair[1].value) == 0.25;
  seen->mode = s->metric->mode;
  for (size_t i = 0; i < s->n; i++) {
    if (i > 0) seen->ordered &= s->pair[i].ticks >= s->pair[i - 1].ticks;
    if (!wave) seen->rising &= s->pair[i].value == i + 1;
  }
  return 0;
}

static struct seen series_of(struct pml_plugin *p) {
  struct seen seen = {.rising = true, .ordered = true};
  (void)pml_plugin_series(p, look, &seen);
  return seen;
}

static void async_on_the_way(void) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  uint64_t v = 0, again = 0;
  const char *const tokens[] = {"ticks", "wave"};
  const struct pml_plugin_options o = {.name = "series_event", .path = folder, .metrics = tokens, .nmetrics = 2};
  if (!CHECK(pml_plugin_load(&o, &p) == 0, "a plugin with series on the way is loaded")) return;
  CHECK(open_one(&set, "plugin::series_event::ticks") == 0, "and joined");
  for (int i = 0; i < 12000 && v < 3; i++) {
    nap(5);
    pml_eventset_read(set, &v);
  }
  CHECK(v >= 3 && v < UINT64_MAX, "a read takes in what there is, and gives the newest, since the start");
  size_t taken = series_of(p).n, n = taken;
  bool collected = true;
  for (int i = 0; i < 12000 && n == taken; i++) {
    nap(5);
    collected = pml_plugin_collect(p) == 0 && collected;
    n = series_of(p).n;
  }
  CHECK(collected && n > taken, "it is collected without a read");
  pml_eventset_read(set, &again);
  CHECK(again > v, "and continues");
  CHECK(pml_plugin_end(p) == 0, "it ends");
  struct seen s = series_of(p);
  CHECK(s.n >= n && s.rising && s.ordered && s.waves, "nothing is lost or doubled: %zu values of two metrics", s.n);
  CHECK(s.mode == PML_MODE_ABSOLUTE_NEXT, "modes are kept");
  pml_eventset_close(set);
}

static void environment(void) {
  struct pml_event ev;
  CHECK(pml_event_parse(&ev, "plugin::gauge_process::g4") == 0 &&
            pml_event_parse(&ev, "plugin::gauge_process::g6") == 0 &&
            pml_event_parse(&ev, "plugin::gauge_process::g5") == PML_ENOEVENT,
        "SCOREP_METRIC_PLUGINS and its tokens are honoured, between their own separators");
  pml_plugin_end(pml_plugin_find("gauge_process"));
}

static void forked(void) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  uint64_t v;
  if (load("steps", "steps", &p) < 0 || open_one(&set, "plugin::steps::steps") < 0) return;
  pml_eventset_read(set, &v);
  pid_t child = fork();
  if (child == 0) {
    uint64_t here = 0;
    pml_eventset_read(set, &here);
    _exit(here == v && open_one(&set, "plugin::steps::steps") == PML_ECLOSED ? 7 : 8);
  }
  CHECK(exit_of(child) == 7, "in a child plugins stand still");
  pml_eventset_read(set, &v);
  CHECK(v == 2, "and continue in the parent");
  pml_plugin_end(p);
  pml_eventset_close(set);
}

static int child_exits(int (*what)(void)) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20); /* destructors may wait for ever */
    exit(what());
  }
  waitpid(child, &status, 0);
  return status;
}

static int do_nothing(void) {
  return 0;
}

static int load_again(void) {
  struct pml_plugin *p;
  return load("sampler", "samples", &p) == 0 && pml_plugin_start(p) == 0 ? 0 : 1;
}

#ifdef __SANITIZE_THREAD__
static void told_of_forks(void) {
  SKIP("ThreadSanitizer has no threads in a forked child");
}
#else
static void told_of_forks(void) {
  struct pml_plugin *p;
  if (!CHECK(load("sampler_forks", "samples", &p) == 0 && pml_plugin_start(p) == 0,
             "a plugin asks to be told of forks"))
    return;
  int status = child_exits(do_nothing);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42, "and ends its thread in a child by itself");
  CHECK(pml_plugin_end(p) == 0, "and the parent's as well");
}
#endif

static void forked_and_exits(void) {
  struct pml_plugin *p;
  if (!CHECK(load("sampler", "samples", &p) == 0 && pml_plugin_start(p) == 0, "a plugin has its own thread")) return;
  CHECK(child_exits(do_nothing) == 0, "a child that exits runs no destructor of it, which would end it");
  CHECK(pml_plugin_end(p) == 0, "and the parent's thread is joined");
  CHECK(child_exits(load_again) == 0, "a child has a thread of a plugin that it loads itself, which is finalized");
}

static void ended_by_exit(void) {
  char log[] = "/tmp/pmlua-plugin-XXXXXX", text[128] = "";
  int fd = mkstemp(log), status = 0;
  if (!CHECK(fd >= 0, "a file for what a plugin says at its end")) return;
  pid_t child = fork();
  if (child == 0) {
    setenv("SPEC_ENDS", log, 1);
    execl("/proc/self/exe", "plugin", NULL);
    _exit(9);
  }
  waitpid(child, &status, 0);
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  unlink(log);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process ends with a plugin at work");
  CHECK(n > 0 && strncmp(text, "initialized", 11) == 0, "which is finalized with its static objects still there: %s",
        text);
}

static int end_with_plugin(const char *log) {
  struct pml_plugin *p;
  struct pml_eventset *set;
  setenv("THROWER_LOG", log, 1);
  if (load("steps", "all", &p) < 0) return 7; /* one before it: its end is arranged already */
  if (load("thrower", "m", &p) < 0 || open_one(&set, "plugin::thrower::m") < 0) return 8;
  pml_eventset_close(set);
  return 0;
}

/* The loader takes its path when a program starts. */
static void start_anew(char **argv) {
  if (getenv("SCOREP_METRIC_PLUGINS_SEP") != NULL) return;
  setenv("LD_LIBRARY_PATH", folder, 1);
  setenv("SCOREP_METRIC_PLUGINS", "gauge_process:bad_absent", 1);
  setenv("SCOREP_METRIC_PLUGINS_SEP", ":", 1);
  setenv("SCOREP_METRIC_GAUGE_PROCESS", "4;6;", 1);
  setenv("SCOREP_METRIC_GAUGE_PROCESS_SEP", ";", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  (void)argc;
  find_folder();
  if (getenv("SPEC_ENDS") != NULL) return end_with_plugin(getenv("SPEC_ENDS"));
  start_anew(argv);
  pml_plugin_on_trouble(on_trouble);
  environment();
  scope("gauge_thread", 2);
  scope("gauge_host", 1);
  scope("gauge_once", 1);
  CHECK_EACH(seldom, elsewhere, async_on_the_way, forked, forked_and_exits, told_of_forks, ended_by_exit);
  return check_done();
}
