/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_write.c - all calls of libotf2: files, events, definitions, errors. */
#include "read/otf2/write/pml_otf2_write.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "read/otf2/write/pml_otf2_error.h"
#include "read/otf2/write/pml_otf2_openmp.h"

#include <errno.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

/*
 * libotf2 collects writes below 4 MiB in a buffer of that size; if writing the buffer fails, libotf2 frees it twice
 * (3.0.2). A chunk as large as the buffer bypasses it: only the last part of a file is collected, and its failure is
 * handled.
 */
#define EVENT_CHUNK_BYTES (4u * 1024 * 1024)

/* Convert a failed call to a pmlua failure, with libotf2's text. @what completes "cannot ...". */
static int failed(const struct pml_otf2 *a, const char *what, OTF2_ErrorCode returned) {
  return pml__otf2_failed(returned, what, a->dir);
}

static int check(const struct pml_otf2 *a, const char *what, OTF2_ErrorCode returned) {
  return PML_LIKELY(pml__otf2_is_fine(returned)) ? 0 : failed(a, what, returned);
}

/* ---- files ---- */

static OTF2_FlushType flush_always(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool last) {
  (void)user, (void)type, (void)location, (void)caller, (void)last;
  return OTF2_FLUSH;
}

/* No post-flush callback: it would add BufferFlush records, with a time that no thread spent. */
static const OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = flush_always, .otf2_post_flush = NULL};

/* A chunk of libotf2's memory, in the list of its buffer. */
struct pml__otf2_chunk {
  struct pml__otf2_chunk *next;
  uint64_t size;
  _Alignas(max_align_t) unsigned char bytes[];
};

/*
 * libotf2 clears a whole chunk when it closes a file. A new chunk for each file costs a page fault for every 4 KiB, a
 * millisecond or more, so an unused chunk is kept for the next file. The thread that gets it by the exchange is its
 * only user: acquire order makes the other thread's stores to it happen before.
 */
static struct pml__otf2_chunk *take_spare(struct pml_otf2 *a, uint64_t size) {
  struct pml__otf2_chunk *chunk = NULL;
  for (unsigned i = 0; i < PML__OTF2_UNUSED && chunk == NULL; i++) {
    chunk = __atomic_exchange_n(&a->unused[i], NULL, __ATOMIC_ACQUIRE);
    if (chunk == NULL || chunk->size == size) continue;
    free(chunk);
    chunk = NULL;
  }
  return chunk;
}

static void leave_spare(struct pml_otf2 *a, struct pml__otf2_chunk *chunk) {
  for (unsigned i = 0; i < PML__OTF2_UNUSED && chunk != NULL; i++)
    chunk = __atomic_exchange_n(&a->unused[i], chunk, __ATOMIC_ACQ_REL);
  free(chunk);
}

static void drop_spares(struct pml_otf2 *a) {
  for (unsigned i = 0; i < PML__OTF2_UNUSED; i++) free(__atomic_exchange_n(&a->unused[i], NULL, __ATOMIC_ACQUIRE));
}

/* libotf2's own pool would buffer 128 MiB of events per location. Here an event buffer has one chunk; if it requests a
 * second one, the result NULL makes libotf2 write the first to the file. */
static void *chunk_allocate(void *user, OTF2_FileType type, OTF2_LocationRef location, void **buffer, uint64_t size) {
  (void)location;
  struct pml__otf2_chunk *held = *buffer;
  if (type == OTF2_FILETYPE_EVENTS && held != NULL) return NULL;
  struct pml__otf2_chunk *chunk = take_spare(user, size);
  if (chunk == NULL) chunk = malloc(sizeof *chunk + size);
  if (chunk == NULL) return NULL;
  chunk->next = held;
  chunk->size = size;
  *buffer = chunk;
  return chunk->bytes;
}

static void chunk_free_all(void *user, OTF2_FileType type, OTF2_LocationRef location, void **buffer, bool last) {
  (void)type, (void)location, (void)last;
  for (struct pml__otf2_chunk *c = *buffer, *next; c != NULL; c = next) {
    next = c->next;
    leave_spare(user, c);
  }
  *buffer = NULL;
}

static const OTF2_MemoryCallbacks memory_callbacks = {.otf2_allocate = chunk_allocate, .otf2_free_all = chunk_free_all};

const char *pml__otf2_machine(char *buf, size_t size) {
  if (gethostname(buf, size) != 0) snprintf(buf, size, "unknown");
  buf[size - 1] = '\0';
  return buf;
}

static int exists(const struct pml_otf2 *a, const char *what) {
  return pml_fail(-EEXIST, "the trace '%s/%s' already exists; remove it or choose another folder", a->dir, what);
}

static int check_vacant(const struct pml_otf2 *a) {
  static const char *const name[] = {PML__OTF2_NAME ".otf2", PML__OTF2_NAME ".def", PML__OTF2_NAME};
  char path[PATH_BYTES];
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
    if ((size_t)snprintf(path, sizeof path, "%s/%s", a->dir, name[i]) >= sizeof path)
      return pml_fail(-ENAMETOOLONG, "the path of the trace's folder is too long: '%.200s...'", a->dir);
    struct stat there; /* includes a dangling link, through which libotf2 would write */
    if (lstat(path, &there) == 0) return exists(a, name[i]);
  }
  return 0;
}

static int cannot_make(const struct pml_otf2 *a, int err) {
  if (err == -EEXIST) return exists(a, PML__OTF2_NAME);
  return pml_fail(err, "cannot make the trace's folder '%s/" PML__OTF2_NAME "': %s", a->dir, pml_error_text(err));
}

/*
 * Creating the folder of event files reports errors that libotf2 reports late or without an errno: no such folder, no
 * permission, read-only or full disk. libotf2 must create the folder itself, so it is removed again; @path keeps its
 * name.
 */
static int try_folder(const struct pml_otf2 *a, char *path, size_t size) {
  int err = check_vacant(a);
  if (err < 0) return err;
  snprintf(path, size, "%s/" PML__OTF2_NAME, a->dir);
  if (mkdir(path, 0777) != 0) return cannot_make(a, -errno);
  rmdir(path);
  return 0;
}

static int open_archive(struct pml_otf2 *a) {
  pml__otf2_forget();
  a->archive = OTF2_Archive_Open(a->dir, PML__OTF2_NAME, OTF2_FILEMODE_WRITE, EVENT_CHUNK_BYTES,
                                 OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (a->archive == NULL) return failed(a, "create", OTF2_ERROR_INVALID);
  int err = check(a, "set up", OTF2_Archive_SetFlushCallbacks(a->archive, &flush_callbacks, NULL));
  if (err == 0) err = check(a, "set up", OTF2_Archive_SetMemoryCallbacks(a->archive, &memory_callbacks, a));
  if (err == 0) err = check(a, "set up", OTF2_Archive_SetSerialCollectiveCallbacks(a->archive));
  if (err == 0) err = check(a, "set up", OTF2_Archive_SetCreator(a->archive, "pmlua " PML_VERSION));
  char host[256];
  if (err == 0) err = check(a, "set up", OTF2_Archive_SetMachineName(a->archive, pml__otf2_machine(host, sizeof host)));
  if (err == 0) err = check(a, "open the event files of", OTF2_Archive_OpenEvtFiles(a->archive));
  if (err < 0) {
    OTF2_Archive_Close(a->archive);
    drop_spares(a);
  }
  return err;
}

int pml__otf2_create(struct pml_otf2 *a) {
  char path[PATH_BYTES];
  int err = pml__otf2_begin();
  if (err == 0) err = try_folder(a, path, sizeof path);
  if (err < 0) return err;
  err = open_archive(a);
  /* a trace created by another process in between is left alone */
  if (err < 0 && err != -EEXIST) {
    rmdir(path);
    snprintf(path, sizeof path, "%s/" PML__OTF2_NAME ".otf2", a->dir);
    unlink(path);
  }
  return err;
}

int pml__otf2_create_location(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  pml__otf2_forget();
  loc->writer = OTF2_Archive_GetEvtWriter(a->archive, loc->ref);
  return loc->writer != NULL ? 0 : failed(a, "open an event file of", OTF2_ERROR_INVALID);
}

/* ---- events ---- */

uint8_t pml__otf2_type(const struct pml_otf2_metric *m) {
  return m->real ? OTF2_TYPE_DOUBLE : m->is_signed ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64;
}

/* The first class contains the metrics that are not absolute, if any; each absolute metric follows in a separate class,
 * in order. */
uint32_t pml__otf2_class(const struct pml__otf2_set *set, size_t metric) {
  uint32_t before = 0;
  bool any = false;
  for (size_t i = 0; i < set->n; i++) {
    bool level = pml_mode_is_level(set->metric[i].mode);
    any |= !level;
    before += level && i < metric;
  }
  return set->class + before + any;
}

/* A double is stored as its bits. */
_Static_assert(sizeof(OTF2_MetricValue) == sizeof(uint64_t), "a value is 64 bits, whatever it is of");

/*
 * Absolute metrics may lack a value, and then have no record, so each is a separate class. The others form one class.
 */
static OTF2_ErrorCode write_metric(struct pml_otf2_location *loc, uint64_t ticks, const uint64_t *values) {
  OTF2_Type type[PML__OTF2_METRICS_MAX];
  OTF2_MetricValue value[PML__OTF2_METRICS_MAX];
  OTF2_ErrorCode code = OTF2_SUCCESS;
  uint8_t together = 0;
  for (size_t i = 0; i < loc->set->n; i++) {
    const struct pml_otf2_metric *m = &loc->set->metric[i];
    OTF2_Type is = pml__otf2_type(m);
    OTF2_MetricValue v = {.unsigned_int = values[i]};
    if (!pml_mode_is_level(m->mode)) {
      type[together] = is;
      value[together++] = v;
    } else if (values[i] != pml_value_absent(!m->real && m->is_signed) && code == OTF2_SUCCESS) {
      code = OTF2_EvtWriter_Metric(loc->writer, NULL, ticks, pml__otf2_class(loc->set, i), 1, &is, &v);
      loc->nevents++;
    }
  }
  if (together == 0 || code != OTF2_SUCCESS) return code;
  loc->nevents++;
  return OTF2_EvtWriter_Metric(loc->writer, NULL, ticks, loc->set->class, together, type, value);
}

int pml__otf2_wrote(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint64_t before, int code) {
  int err = check(a, "write events to", (OTF2_ErrorCode)code);
  if (err < 0) return err;
  loc->nrecords++;
  if (loc->nevents == before) return 0;
  if (before == 0) loc->first_written = ticks;
  loc->last_written = ticks;
  return 0;
}

int pml__otf2_value(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks,
                    const struct pml_otf2_metric *metric, uint32_t ref, uint64_t bits) {
  OTF2_Type type = pml__otf2_type(metric);
  OTF2_MetricValue value = {.unsigned_int = bits};
  OTF2_ErrorCode code = OTF2_EvtWriter_Metric(loc->writer, NULL, ticks, ref, 1, &type, &value);
  return pml__otf2_wrote(a, loc, ticks, loc->nevents++, (int)code);
}

int pml__otf2_event(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks, uint32_t region,
                    const uint64_t *values) {
  OTF2_ErrorCode code = OTF2_SUCCESS;
  uint64_t before = loc->nevents;
  switch (kind) {
  case PML__LOG_ENTER:
    code = OTF2_EvtWriter_Enter(loc->writer, NULL, ticks, region);
    loc->nevents++;
    break;
  case PML__LOG_LEAVE:
    code = OTF2_EvtWriter_Leave(loc->writer, NULL, ticks, region);
    loc->nevents++;
    break;
  case PML__LOG_METRIC:
    code = write_metric(loc, ticks, values);
    break;
  }
  return pml__otf2_wrote(a, loc, ticks, before, (int)code);
}

/* ---- the end ---- */

void pml__otf2_defined(struct pml__otf2_defs *d, int code) {
  int err = check(d->a, "write the definitions of", (OTF2_ErrorCode)code);
  if (err < 0 && d->err == 0) d->err = err;
}

uint32_t pml__otf2_string(struct pml__otf2_defs *d, const char *text) {
  if (text[0] == '\0' && d->nstrings > 0) return 0;
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteString(d->out, d->nstrings, text));
  return d->nstrings++;
}

static int write_definitions(struct pml_otf2 *a, pml__otf2_definer *define) {
  OTF2_GlobalDefWriter *out = OTF2_Archive_GetGlobalDefWriter(a->archive);
  if (out == NULL) return failed(a, "write the definitions of", OTF2_ERROR_INVALID);
  int err = define(a, out);
  int closed = check(a, "write the definitions of", OTF2_Archive_CloseGlobalDefWriter(a->archive, out));
  return err != 0 ? err : closed;
}

int pml__otf2_close_writer(struct pml_otf2 *a, struct pml_otf2_location *loc) {
  if (loc->writer == NULL) return 0;
  OTF2_ErrorCode code = OTF2_Archive_CloseEvtWriter(a->archive, loc->writer);
  loc->writer = NULL;
  return check(a, "close an event file of", code);
}

static int write_local_definition(struct pml_otf2 *a, const struct pml_otf2_location *loc) {
  OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(a->archive, loc->ref);
  if (writer == NULL) return failed(a, "open a definition file of", OTF2_ERROR_INVALID);
  return check(a, "write a definition file of", OTF2_Archive_CloseDefWriter(a->archive, writer));
}

/* Readers require a local definition file per location, even an empty one. */
static int write_local_definitions(struct pml_otf2 *a) {
  int first = check(a, "open the definition files of", OTF2_Archive_OpenDefFiles(a->archive));
  if (first < 0) return first;
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    int err = write_local_definition(a, loc);
    if (first == 0) first = err;
  }
  int err = check(a, "close the definition files of", OTF2_Archive_CloseDefFiles(a->archive));
  return first != 0 ? first : err;
}

/* Each step of the end may fail; the text of the first failure is kept. */
struct ending {
  int err;
  char text[PML__OTF2_TEXT_BYTES];
};

static void ended(struct ending *e, int err) {
  if (err == 0 || e->err != 0) return;
  e->err = err;
  snprintf(e->text, sizeof e->text, "%s", pml_error_detail(err));
}

static void close_events(struct pml_otf2 *a, struct ending *e) {
  pml__otf2_forget();
  for (struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) ended(e, pml__otf2_close_writer(a, loc));
  ended(e, check(a, "close the event files of", OTF2_Archive_CloseEvtFiles(a->archive)));
}

int pml__otf2_finish(struct pml_otf2 *a, pml__otf2_definer *define) {
  struct ending e = {0};
  close_events(a, &e);
  ended(&e, write_local_definitions(a));
  ended(&e, write_definitions(a, define));
  ended(&e, check(a, "close", OTF2_Archive_Close(a->archive)));
  drop_spares(a);
  return e.err == 0 ? 0 : pml_fail(e.err, "%s", e.text);
}
