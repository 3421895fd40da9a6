/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_read.c - the life of a reader, and its definitions. */
#include "substrate/trace/read/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "base/pml_file.h"
#include "substrate/trace/pml_otf2_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text {
  uint32_t id;
  char *text;
};

/* As they are defined; texts and parents are numbers until all is read. */
struct node {
  uint32_t id, name, parent;
};

/* ---- lists ---- */

static void *add(struct pml_otf2_read *t, struct pml__otf2_list *l) {
  if (l->n == l->capacity) {
    size_t capacity = l->capacity == 0 ? 64 : 2 * l->capacity;
    char *more = realloc(l->at, capacity * l->size);
    t->refused |= more == NULL;
    if (more == NULL) return NULL;
    l->at = more;
    l->capacity = capacity;
  }
  return memset(l->at + l->size * l->n++, 0, l->size);
}

static int by_id(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static int by_wide_id(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* False: two have one number. */
static bool sort(struct pml__otf2_list *l) {
  if (l->n > 0) qsort(l->at, l->n, l->size, l->wide ? by_wide_id : by_id);
  for (size_t i = 1; i < l->n; i++)
    if (pml__otf2_id(l, i) == pml__otf2_id(l, i - 1)) return false;
  return true;
}

size_t pml__otf2_search(const struct pml__otf2_list *l, uint64_t id) {
  size_t low = 0, high = l->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (pml__otf2_id(l, middle) < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < l->n && pml__otf2_id(l, low) == id ? low : PML_OTF2_NONE;
}

/* ---- definitions ---- */

static const char *text_of(const struct pml_otf2_read *t, uint32_t id) {
  size_t i = pml__otf2_find(&t->strings, id);
  return i != PML_OTF2_NONE ? ((const struct text *)(const void *)t->strings.at)[i].text : "";
}

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t start, uint64_t length, uint64_t realtime) {
  struct pml_otf2_read *t = user;
  t->resolution = resolution;
  t->start = start;
  t->length = length;
  t->realtime = realtime != OTF2_UNDEFINED_TIMESTAMP ? realtime : 0;
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef id, const char *string) {
  struct pml_otf2_read *t = user;
  struct text *s = add(t, &t->strings);
  if (s == NULL) return OTF2_CALLBACK_INTERRUPT;
  *s = (struct text){id, strdup(string)};
  t->refused |= s->text == NULL;
  return s->text != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef id, OTF2_StringRef name, OTF2_StringRef class,
                                 OTF2_SystemTreeNodeRef parent) {
  struct pml_otf2_read *t = user;
  struct node *n = add(t, &t->nodes);
  (void)class;
  if (n != NULL) *n = (struct node){id, name, parent};
  return n != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* What stands for a text, or for a parent, until all texts and parents are known. */
static const char *later(uint32_t id) {
  return (const char *)(uintptr_t)id;
}
static uint32_t now(const char *text) {
  return (uint32_t)(uintptr_t)text;
}

static OTF2_CallbackCode on_process(void *user, OTF2_LocationGroupRef id, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_process *p = add(t, &t->processes);
  (void)type, (void)creator;
  if (p != NULL) *p = (struct pml_otf2_read_process){id, later(name), later(node), -1};
  return p != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef process) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_location *l = add(t, &t->locations);
  (void)type;
  if (l != NULL) *l = (struct pml_otf2_read_location){id, later(name), process, events};
  return l != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static const char *paradigm_name(OTF2_Paradigm paradigm) {
  switch (paradigm) {
  case OTF2_PARADIGM_USER:
    return "user";
  case OTF2_PARADIGM_COMPILER:
    return "compiler";
  case OTF2_PARADIGM_OPENMP:
    return "OpenMP";
  case OTF2_PARADIGM_MPI:
    return "MPI";
  case OTF2_PARADIGM_PTHREAD:
    return "pthread";
  case OTF2_PARADIGM_SHMEM:
    return "SHMEM";
  case OTF2_PARADIGM_CUDA:
    return "CUDA";
  case OTF2_PARADIGM_HIP:
    return "HIP";
  case OTF2_PARADIGM_OPENCL:
    return "OpenCL";
  case OTF2_PARADIGM_OPENACC:
    return "OpenACC";
  case OTF2_PARADIGM_SAMPLING:
    return "sampling";
  case OTF2_PARADIGM_MEASUREMENT_SYSTEM:
    return "measurement";
  default:
    return "";
  }
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef id, OTF2_StringRef name, OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_region *r = add(t, &t->regions);
  (void)canonical, (void)description, (void)role, (void)flags, (void)end;
  if (r != NULL) *r = (struct pml_otf2_read_region){id, later(name), later(file), paradigm_name(paradigm), begin};
  return r != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef id, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members) {
  struct pml_otf2_read *t = user;
  (void)name, (void)flags;
  if (paradigm != OTF2_PARADIGM_MPI) return OTF2_CALLBACK_SUCCESS;
  struct pml__otf2_group *g = add(t, &t->groups);
  uint64_t *copy = g != NULL ? malloc((n + (size_t)1) * sizeof *copy) : NULL;
  if (g != NULL) *g = (struct pml__otf2_group){id, type, paradigm, copy != NULL ? n : 0, copy};
  t->refused |= copy == NULL;
  if (copy == NULL) return OTF2_CALLBACK_INTERRUPT;
  if (n > 0) memcpy(copy, members, n * sizeof *copy);
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags) {
  struct pml_otf2_read *t = user;
  struct pml__otf2_comm *c = add(t, &t->comms);
  (void)name, (void)parent, (void)flags;
  if (c != NULL) *c = (struct pml__otf2_comm){id, group};
  return c != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_metric(void *user, OTF2_MetricMemberRef id, OTF2_StringRef name, OTF2_StringRef description,
                                   OTF2_MetricType type, OTF2_MetricMode mode, OTF2_Type value, OTF2_Base base,
                                   int64_t exponent, OTF2_StringRef unit) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_metric *m = add(t, &t->metrics);
  (void)type, (void)value;
  if (m == NULL) return OTF2_CALLBACK_INTERRUPT;
  double scale = pow(base == OTF2_BASE_BINARY ? 2 : 10, (double)exponent);
  bool accumulated = (mode & OTF2_METRIC_VALUE_MASK) == OTF2_METRIC_VALUE_ACCUMULATED;
  *m = (struct pml_otf2_read_metric){id, later(name), later(description), later(unit), scale, accumulated};
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_class(void *user, OTF2_MetricRef id, uint8_t n, const OTF2_MetricMemberRef *member,
                                  OTF2_MetricOccurrence occurrence, OTF2_RecorderKind kind) {
  struct pml_otf2_read *t = user;
  struct pml__otf2_class *c = add(t, &t->classes);
  size_t *metric = c != NULL ? calloc(n + (size_t)1, sizeof *metric) : NULL;
  (void)occurrence, (void)kind;
  if (c != NULL) *c = (struct pml__otf2_class){id, id, metric != NULL ? n : 0, metric};
  t->refused |= metric == NULL;
  if (metric == NULL) return OTF2_CALLBACK_INTERRUPT;
  for (size_t i = 0; i < n; i++) metric[i] = member[i]; /* until all are known */
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_instance(void *user, OTF2_MetricRef id, OTF2_MetricRef class, OTF2_LocationRef recorder,
                                     OTF2_MetricScope type, uint64_t scope) {
  struct pml_otf2_read *t = user;
  struct pml__otf2_class *c = add(t, &t->classes);
  (void)recorder, (void)type, (void)scope;
  if (c != NULL) *c = (struct pml__otf2_class){id, class, 0, NULL};
  return c != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* ---- what refers to each other ---- */

/* The outermost node is the machine; the one below it is the host. */
static const char *host_of(const struct pml_otf2_read *t, uint32_t id) {
  const struct node *node = (const struct node *)(const void *)t->nodes.at;
  size_t i = pml__otf2_find(&t->nodes, id), host = i;
  for (size_t steps = 0; i != PML_OTF2_NONE && steps < t->nodes.n; steps++) {
    size_t parent = pml__otf2_find(&t->nodes, node[i].parent);
    if (parent != PML_OTF2_NONE) host = i;
    i = parent;
  }
  return host != PML_OTF2_NONE ? text_of(t, node[host].name) : "";
}

static void set_ranks(struct pml_otf2_read *t) {
  const struct pml__otf2_group *group = (const struct pml__otf2_group *)(const void *)t->groups.at;
  const struct pml_otf2_read_location *location = (const void *)t->locations.at;
  struct pml_otf2_read_process *process = (void *)t->processes.at;
  for (size_t i = 0; i < t->groups.n; i++)
    if (group[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS) t->world = &group[i];
  for (uint32_t rank = 0; t->world != NULL && rank < t->world->n; rank++) {
    size_t l = pml__otf2_find(&t->locations, t->world->member[rank]);
    if (l != PML_OTF2_NONE) process[location[l].process].rank = rank;
  }
}

static void resolve_metrics(struct pml_otf2_read *t) {
  struct pml_otf2_read_metric *metric = (void *)t->metrics.at;
  struct pml__otf2_class *class = (void *)t->classes.at;
  for (size_t i = 0; i < t->metrics.n; i++) {
    metric[i].name = text_of(t, now(metric[i].name));
    metric[i].description = text_of(t, now(metric[i].description));
    metric[i].unit = text_of(t, now(metric[i].unit));
  }
  for (size_t i = 0; i < t->classes.n; i++)
    for (uint32_t k = 0; k < class[i].n; k++) class[i].metric[k] = pml__otf2_find(&t->metrics, class[i].metric[k]);
}

static int resolve(struct pml_otf2_read *t) {
  struct pml_otf2_read_process *process = (void *)t->processes.at;
  struct pml_otf2_read_location *location = (void *)t->locations.at;
  struct pml_otf2_read_region *region = (void *)t->regions.at;
  struct pml__otf2_list *all[] = {&t->strings, &t->nodes, &t->processes, &t->locations, &t->regions,
                                  &t->groups,  &t->comms, &t->metrics,   &t->classes};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!sort(all[i])) return pml_fail(PML_EFORMAT, "%.300s: damaged: two definitions have one number", t->path);
  for (size_t i = 0; i < t->processes.n; i++) {
    process[i].name = text_of(t, now(process[i].name));
    process[i].host = host_of(t, now(process[i].host));
  }
  for (size_t i = 0; i < t->locations.n; i++) {
    location[i].name = text_of(t, now(location[i].name));
    location[i].process = pml__otf2_find(&t->processes, location[i].process);
    if (location[i].process == PML_OTF2_NONE)
      return pml_fail(PML_EFORMAT, "%.300s: damaged: a location is in no group", t->path);
  }
  for (size_t i = 0; i < t->regions.n; i++) {
    region[i].name = text_of(t, now(region[i].name));
    region[i].file = text_of(t, now(region[i].file));
  }
  resolve_metrics(t);
  set_ranks(t);
  return t->resolution > 0 ? 0 : pml_fail(PML_EFORMAT, "%.300s: damaged: its clock has no resolution", t->path);
}

/* ---- life ---- */

int pml__otf2_failed_read(const struct pml_otf2_read *t, const char *what, OTF2_ErrorCode code) {
  return pml__otf2_failed(code, what, t->path);
}

static int read_definitions(struct pml_otf2_read *t) {
  OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(t->reader);
  uint64_t n;
  if (c == NULL) return pml_fail(-ENOMEM, "%.300s: no memory to read it", t->path);
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
  OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(c, on_metric);
  OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(c, on_class);
  OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(c, on_instance);
  OTF2_ErrorCode code =
      reader != NULL ? OTF2_Reader_RegisterGlobalDefCallbacks(t->reader, reader, c, t) : OTF2_ERROR_INVALID;
  if (code == OTF2_SUCCESS) code = OTF2_Reader_ReadAllGlobalDefinitions(t->reader, reader, &n);
  OTF2_GlobalDefReaderCallbacks_Delete(c);
  if (t->refused) return pml_fail(-ENOMEM, "%.300s: no memory for its definitions", t->path);
  if (!pml__otf2_is_fine(code)) return pml__otf2_failed_read(t, "read the definitions of", code);
  (void)OTF2_Reader_CloseGlobalDefReader(t->reader, reader);
  return resolve(t);
}

static int select_locations(struct pml_otf2_read *t) {
  OTF2_ErrorCode code = OTF2_SUCCESS;
  for (size_t i = 0; i < t->locations.n && code == OTF2_SUCCESS; i++)
    code = OTF2_Reader_SelectLocation(t->reader, pml__otf2_id(&t->locations, i));
  (void)OTF2_Reader_OpenDefFiles(t->reader); /* there may be none */
  pml__otf2_forget();
  if (code == OTF2_SUCCESS) code = OTF2_Reader_OpenEvtFiles(t->reader);
  return pml__otf2_is_fine(code) ? 0 : pml__otf2_failed_read(t, "open the events of", code);
}

/* libotf2 loses 10 KB at each open that fails. */
static int check_anchor(const struct pml_otf2_read *t) {
  static const char magic[] = "\3BOTF2", ending[] = ".otf2";
  char first[sizeof magic - 1];
  size_t n = strlen(t->path), m = sizeof ending - 1;
  int fd = pml_file_open(t->path, UINT64_MAX, NULL);
  if (fd < 0) return fd;
  bool is = read(fd, first, sizeof first) == (ssize_t)sizeof first && memcmp(first, magic, sizeof first) == 0;
  close(fd);
  if (is && n > m && strcmp(t->path + n - m, ending) == 0) return 0;
  return pml_fail(PML_EFORMAT, "%.300s: not an OTF2 archive; name its anchor file, which ends in .otf2", t->path);
}

static int open_archive(struct pml_otf2_read *t) {
  int err = check_anchor(t);
  if (err < 0) return err;
  t->reader = OTF2_Reader_Open(t->path);
  if (t->reader == NULL) return pml__otf2_failed_read(t, "open", OTF2_ERROR_INVALID);
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(t->reader);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_GetCreator(t->reader, &t->creator);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_GetMachineName(t->reader, &t->machine);
  return pml__otf2_is_fine(code) ? 0 : pml__otf2_failed_read(t, "open", code);
}

int pml_otf2_read_open(struct pml_otf2_read **out, const char *path) {
  *out = NULL;
  struct pml_otf2_read *t = calloc(1, sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "%.300s: no memory to read it", path);
  t->strings.size = sizeof(struct text);
  t->nodes.size = sizeof(struct node);
  t->processes.size = sizeof(struct pml_otf2_read_process);
  t->locations.size = sizeof(struct pml_otf2_read_location);
  t->locations.wide = true;
  t->regions.size = sizeof(struct pml_otf2_read_region);
  t->groups.size = sizeof(struct pml__otf2_group);
  t->comms.size = sizeof(struct pml__otf2_comm);
  t->metrics.size = sizeof(struct pml_otf2_read_metric);
  t->classes.size = sizeof(struct pml__otf2_class);
  t->path = strdup(path);
  pml__otf2_silence();
  pml__otf2_forget();
  int err = t->path != NULL ? open_archive(t) : pml_fail(-ENOMEM, "%.300s: no memory to read it", path);
  if (err == 0) err = read_definitions(t);
  if (err == 0) err = select_locations(t);
  if (err == 0) {
    *out = t;
    return 0;
  }
  pml_otf2_read_close(t);
  return err;
}

void pml_otf2_read_close(struct pml_otf2_read *t) {
  if (t == NULL) return;
  if (t->reader != NULL) (void)OTF2_Reader_Close(t->reader);
  pml__otf2_forget();
  for (size_t i = 0; i < t->strings.n; i++) free(((struct text *)(void *)t->strings.at)[i].text);
  for (size_t i = 0; i < t->groups.n; i++) free(((struct pml__otf2_group *)(void *)t->groups.at)[i].member);
  for (size_t i = 0; i < t->classes.n; i++) free(((struct pml__otf2_class *)(void *)t->classes.at)[i].metric);
  free(t->strings.at);
  free(t->nodes.at);
  free(t->processes.at);
  free(t->locations.at);
  free(t->regions.at);
  free(t->groups.at);
  free(t->comms.at);
  free(t->metrics.at);
  free(t->classes.at);
  free(t->path);
  free(t->creator);
  free(t->machine);
  free(t);
}

/* ---- what is told ---- */

void pml_otf2_read_about(const struct pml_otf2_read *t, struct pml_otf2_read_about *about) {
  *about = (struct pml_otf2_read_about){.creator = t->creator != NULL ? t->creator : "",
                                        .machine = t->machine != NULL ? t->machine : "",
                                        .ticks_per_second = t->resolution,
                                        .length_s = (double)t->length / (double)t->resolution,
                                        .began_ns = t->realtime,
                                        .nregions = t->regions.n,
                                        .nprocesses = t->processes.n,
                                        .nlocations = t->locations.n,
                                        .nmetrics = t->metrics.n,
                                        .nranks = t->world != NULL ? t->world->n : 0};
  for (size_t i = 0; i < t->locations.n; i++) about->events += pml_otf2_read_location(t, i)->events;
}

const struct pml_otf2_read_region *pml_otf2_read_region(const struct pml_otf2_read *t, size_t i) {
  return i < t->regions.n ? (const struct pml_otf2_read_region *)(const void *)t->regions.at + i : NULL;
}

const struct pml_otf2_read_process *pml_otf2_read_process(const struct pml_otf2_read *t, size_t i) {
  return i < t->processes.n ? (const struct pml_otf2_read_process *)(const void *)t->processes.at + i : NULL;
}

const struct pml_otf2_read_location *pml_otf2_read_location(const struct pml_otf2_read *t, size_t i) {
  return i < t->locations.n ? (const struct pml_otf2_read_location *)(const void *)t->locations.at + i : NULL;
}

const struct pml_otf2_read_metric *pml_otf2_read_metric(const struct pml_otf2_read *t, size_t i) {
  return i < t->metrics.n ? (const struct pml_otf2_read_metric *)(const void *)t->metrics.at + i : NULL;
}
