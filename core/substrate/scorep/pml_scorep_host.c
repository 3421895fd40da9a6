/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/scorep/pml_scorep_host.c - services for substrate plugins: messages, threads, metrics, the data
 * folder.
 */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_file.h"
#include "base/pml_libc.h"
#include "base/pml_process.h"
#include "source/base/pml_source.h"
#include "source/plugin/pml_plugin_guard.h"
#include "source/plugin/pml_plugin_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct pml__lock lock;

/* ---- lines ---- */

static const char *_Atomic lines[PML_SCOREP_LINES_MAX];
static uint32_t nlines;

static bool is_said(const char *text) {
  for (uint32_t i = 0; i < nlines; i++)
    if (strcmp(atomic_load_explicit(&lines[i], memory_order_relaxed), text) == 0) return true;
  return false;
}

void pml__scorep_say(const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  pml__lock_take(&lock);
  char *kept = nlines < PML_SCOREP_LINES_MAX && !is_said(text) ? strdup(text) : NULL;
  if (kept != NULL) atomic_store_explicit(&lines[nlines++], kept, memory_order_release);
  pml__lock_leave(&lock);
}

const char *pml_scorep_line(size_t i) {
  return i < PML_SCOREP_LINES_MAX ? atomic_load_explicit(&lines[i], memory_order_acquire) : NULL;
}

/* ---- threads ---- */

static struct SCOREP_Location *_Atomic locations; /* the newest first */
static struct SCOREP_Location *_Atomic first;

static struct SCOREP_Location *find_location(uint64_t thread) {
  struct SCOREP_Location *l = atomic_load(&locations);
  while (l != NULL && l->thread != thread) l = l->next;
  return l;
}

struct SCOREP_Location *pml__scorep_location(uint64_t thread) {
  pml__lock_take(&lock);
  struct SCOREP_Location *l = find_location(thread);
  if (l == NULL && (l = calloc(1, sizeof *l)) != NULL) {
    l->thread = thread;
    l->next = atomic_load(&locations);
    l->id = l->next != NULL ? l->next->id + 1 : 0;
    if (l->id == 0)
      (void)snprintf(l->name, sizeof l->name, "Master thread");
    else
      (void)snprintf(l->name, sizeof l->name, "thread %llu", (unsigned long long)thread);
    if (l->id == 0) atomic_store(&first, l);
    atomic_store(&locations, l);
  }
  pml__lock_leave(&lock);
  return l;
}

const struct SCOREP_Location *pml__scorep_first_location(void) {
  return atomic_load(&first);
}

void pml__scorep_free_locations(void) {
  pml__lock_take(&lock);
  struct SCOREP_Location *l = atomic_exchange(&locations, NULL);
  atomic_store(&first, NULL);
  while (l != NULL) {
    struct SCOREP_Location *next = l->next;
    free(l);
    l = next;
  }
  pml__lock_leave(&lock);
}

/* ---- metrics ---- */

static struct {
  const char *name;
  enum pml_plugin_value type;
  enum pml_mode mode;
} metric[PML_STREAM_METRICS_MAX];
static _Atomic uint32_t nmetrics;

/* The type of plugin::NAME::METRIC is defined by its plugin; other integers are counts. */
static void describe_metric(const char *name, bool real, enum pml_plugin_value *type, enum pml_mode *mode) {
  struct pml_plugin *p;
  uint32_t i;
  *type = real ? PML_PLUGIN_DOUBLE : PML_PLUGIN_UINT64;
  *mode = PML_MODE_ACCUMULATED_START;
  const char *rest = pml__source_rest(&pml__source_plugin, name);
  if (rest == NULL || pml__plugin_lookup(rest, &p, &i) < 0) return;
  *mode = pml_mode_summed(p->metric[i].mode);
  if (!real) *type = p->metric[i].value == PML_PLUGIN_INT64 ? PML_PLUGIN_INT64 : PML_PLUGIN_UINT64;
}

uint32_t pml__scorep_metric(const char *name, bool real) {
  uint32_t i = 0;
  enum pml_plugin_value type;
  enum pml_mode mode;
  describe_metric(name, real, &type, &mode);
  pml__lock_take(&lock);
  uint32_t n = atomic_load(&nmetrics);
  while (i < n && strcmp(metric[i].name, name) != 0) i++;
  if (i == n && n < PML_STREAM_METRICS_MAX) {
    metric[i].name = strdup(name);
    metric[i].type = type;
    metric[i].mode = mode;
    if (metric[i].name != NULL)
      atomic_store_explicit(&nmetrics, n + 1, memory_order_release);
    else
      i = PML_STREAM_METRICS_MAX;
  }
  pml__lock_leave(&lock);
  if (i == PML_STREAM_METRICS_MAX)
    pml__scorep_say("substrate plugins: more than %u metrics; plugins do not receive the rest, such as %s",
                    PML_STREAM_METRICS_MAX, name);
  return i;
}

uint32_t pml__scorep_metrics(void) {
  return atomic_load_explicit(&nmetrics, memory_order_acquire);
}

const char *pml__scorep_metric_name(uint32_t i) {
  return i < pml__scorep_metrics() ? metric[i].name : NULL;
}

enum pml_plugin_value pml__scorep_metric_type(uint32_t i) {
  return i < pml__scorep_metrics() ? metric[i].type : PML_PLUGIN_UINT64;
}

enum pml_mode pml__scorep_metric_mode(uint32_t i) {
  return i < pml__scorep_metrics() ? metric[i].mode : PML_MODE_ACCUMULATED_START;
}

/* ---- strings ---- */

#define STRINGS_MAX 1024u

static const char *_Atomic string[STRINGS_MAX];
static uint32_t nstrings;

SCOREP_StringHandle pml__scorep_string(const char *text) {
  uint32_t i = 0;
  pml__lock_take(&lock);
  while (i < nstrings && strcmp(atomic_load(&string[i]), text) != 0) i++;
  const char *kept = i == nstrings && i < STRINGS_MAX ? strdup(text) : NULL;
  if (kept != NULL) atomic_store(&string[nstrings++], kept);
  bool known = i < nstrings;
  pml__lock_leave(&lock);
  return known ? PML__SCOREP_STRING | i : SCOREP_MOVABLE_NULL;
}

const char *pml__scorep_string_text(SCOREP_StringHandle handle) {
  uint32_t i = handle & ~PML__SCOREP_KIND;
  return (handle & PML__SCOREP_KIND) == PML__SCOREP_STRING && i < STRINGS_MAX ? atomic_load(&string[i]) : NULL;
}

/* ---- the folder ---- */

static char directory[4096];

static int name_directory(char *to, size_t size, const char *path) {
  char stamp[64] = "", here[4096] = "";
  if (path == NULL || *path == '\0') path = secure_getenv("SCOREP_EXPERIMENT_DIRECTORY");
  if (path == NULL || *path == '\0') {
    time_t now = time(NULL);
    struct tm utc;
    (void)gmtime_r(&now, &utc);
    size_t n = strftime(stamp, sizeof stamp, "substrates-%Y%m%dT%H%M%SZ", &utc);
    (void)snprintf(stamp + n, sizeof stamp - n, "-%ld", (long)getpid());
    path = stamp;
  }
  /* absolute, because the program may change its working directory */
  if (path[0] != '/' && getcwd(here, sizeof here) == NULL) return pml_fail(-errno, "no name for the working folder");
  int n = snprintf(to, size, "%s%s%s", here, here[0] != '\0' ? "/" : "", path);
  return n < (int)size ? 0 : pml_fail(-ENAMETOOLONG, "the path of the folder for substrate plugins is too long");
}

int pml__scorep_set_directory(const char *path, bool others) {
  char name[sizeof directory];
  if (others && path == NULL) return 0;
  int err = name_directory(name, sizeof name, path);
  if (err < 0) return err;
  if (others && strcmp(name, directory) != 0)
    return pml_fail(-EEXIST, "open substrate plugins already write to %s", directory);
  memcpy(directory, name, sizeof name);
  return 0;
}

int pml__scorep_make_directory(void) {
  if (mkdir(directory, 0777) == 0 || errno == EEXIST) return 0;
  return pml_fail(-errno, "%s: %s", directory, strerror(errno));
}

const char *pml__scorep_directory(void) {
  return directory;
}

#define ARGUMENTS_MAX 64u
#define COMMAND_BYTES 8192

/* ---- the program ---- */

struct program {
  struct pml__scorep_stream *stream;
  SCOREP_StringHandle name, argument[ARGUMENTS_MAX];
  uint32_t arguments;
  pml_region_t region;
  bool begins;
};

static uint64_t tell(uint64_t arg) {
  struct program *g = (struct program *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  const struct pml__scorep_functions *f = &g->stream->plugin->functions[SCOREP_SUBSTRATES_RECORDING_ENABLED];
  struct SCOREP_Location *l = g->stream->location;
  if (g->begins)
    f->program_begin(l, pml_clock_ticks(), g->name, g->arguments, g->argument, g->region, (uint64_t)getpid(),
                     (uint64_t)gettid());
  else
    f->program_end(l, pml_clock_ticks(), SCOREP_INVALID_EXIT_STATUS, g->region);
  return 0;
}

/* The kernel's format: strings, each followed by a 0. */
static void read_command(struct program *g) {
  char text[COMMAND_BYTES];
  ssize_t n = pml__file_peek("/proc/self/cmdline", text, sizeof text);
  const char *at = text, *end = text + (n > 0 ? n : 0);
  g->name = pml__scorep_string(at);
  for (at += strlen(at) + 1; at < end && g->arguments < ARGUMENTS_MAX; at += strlen(at) + 1)
    g->argument[g->arguments++] = pml__scorep_string(at);
}

void pml__scorep_program(struct pml_scorep *p, struct pml__scorep_stream *l, bool begins) {
  const struct pml__scorep_functions *f = &p->functions[SCOREP_SUBSTRATES_RECORDING_ENABLED];
  struct program g = {.stream = l, .begins = begins};
  if (l == NULL || (begins ? f->program_begin == NULL : f->program_end == NULL) || atomic_load(&p->dropped)) return;
  if (pml_region_intern(program_invocation_short_name, "", 0, &g.region) < 0) return;
  pml__scorep_define(p);
  if (begins) read_command(&g);
  struct _Unwind_Exception *e = pml__guard_get((uintptr_t)&g, tell).e;
  if (e != NULL) pml__scorep_drop(p, e);
}

/* ---- the manifest ---- */

void pml__scorep_write_manifest(struct pml_scorep *p) {
  char path[4200];
  struct pml__scorep_arguments a = {0};
  if (!pml__scorep_has(p, PML__SCOREP_MANIFEST) || access(pml__scorep_directory(), W_OK) != 0) return;
  (void)snprintf(path, sizeof path, "%s/MANIFEST.md", pml__scorep_directory());
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  a.manifest = fd >= 0 ? fdopen(fd, "a") : NULL;
  if (a.manifest == NULL && fd >= 0) close(fd);
  if (a.manifest == NULL) return;
  (void)pml__scorep_call(p, PML__SCOREP_MANIFEST, &a);
  if (fclose(a.manifest) != 0)
    pml__scorep_say("substrate plugin %s: %s could not be written completely", p->name, path);
}

void pml__scorep_manifest_header(FILE *out, const char *section) {
  (void)fputs("\n# ", out);
  (void)fputs(section != NULL ? section : "", out);
  (void)fputs("\n\n", out);
}

void pml__scorep_manifest_entry(FILE *out, const char *file, const char *description, ...) {
  char text[1024] = "";
  va_list ap;
  va_start(ap, description);
  if (description != NULL) (void)vsnprintf(text, sizeof text, description, ap);
  va_end(ap);
  (void)fputs("* `", out);
  (void)fputs(file != NULL ? file : "", out);
  (void)fputs("`: ", out);
  (void)fputs(text, out);
  (void)fputs("\n", out);
}
