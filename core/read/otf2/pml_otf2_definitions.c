/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_definitions.c - global definitions of an archive, in lists by number. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/otf2/pml_otf2_read_private.h"
#include "read/otf2/write/pml_otf2_error.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
  uint32_t id;
  char *text;
};

/* ---- lists ---- */

void *pml__otf2_add(struct pml_otf2_read *t, struct pml__otf2_list *l) {
  t->refused = t->refused || !PML__ARRAY_ZEROS(l->at, l->capacity, (l->n + 1) * l->size);
  return t->refused ? NULL : l->at + l->size * l->n++;
}

/* Add a copy of @definition; returns the result of a callback. */
static OTF2_CallbackCode define(struct pml_otf2_read *t, struct pml__otf2_list *l, const void *definition) {
  void *at = pml__otf2_add(t, l);
  if (at == NULL) return OTF2_CALLBACK_INTERRUPT;
  memcpy(at, definition, l->size);
  return OTF2_CALLBACK_SUCCESS;
}

static int by_id(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static int by_wide_id(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Returns false if two definitions have the same number. */
static bool sort(struct pml__otf2_list *l) {
  if (l->n > 0) qsort(l->at, l->n, l->size, l->wide ? by_wide_id : by_id);
  for (size_t i = 1; i < l->n; i++)
    if (pml__otf2_id(l, i) == pml__otf2_id(l, i - 1)) return false;
  return true;
}

size_t pml__otf2_search(const struct pml__otf2_list *l, uint64_t id) {
  size_t i;
  PML__ARRAY_SEARCH(i, l->n, pml__otf2_id(l, i) < id);
  return i < l->n && pml__otf2_id(l, i) == id ? i : PML_OTF2_NONE;
}

/* ---- definitions ---- */

static const char *text_of(const struct pml_otf2_read *t, uint32_t id) {
  size_t i = pml__otf2_find(&t->strings, id);
  return i != PML_OTF2_NONE ? ((const struct text *)(const void *)t->strings.at)[i].text : "";
}

/* Holds the number of a text or parent until all texts and parents are known. */
static const char *later(uint32_t id) {
  return (const char *)(uintptr_t)id;
}
static uint32_t now(const char *text) {
  return (uint32_t)(uintptr_t)text;
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
  struct text *s = pml__otf2_add(t, &t->strings);
  if (s == NULL) return OTF2_CALLBACK_INTERRUPT;
  *s = (struct text){id, strdup(string)};
  t->refused |= s->text == NULL;
  return s->text != NULL ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef id, OTF2_StringRef name, OTF2_StringRef class,
                                 OTF2_SystemTreeNodeRef parent) {
  struct pml_otf2_read *t = user;
  return define(t, &t->nodes, &(struct pml_otf2_read_node){id, later(name), later(class), parent, false});
}

static OTF2_CallbackCode on_domain(void *user, OTF2_SystemTreeNodeRef node, OTF2_SystemTreeDomain domain) {
  struct pml_otf2_read *t = user;
  if (domain != OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY) return OTF2_CALLBACK_SUCCESS;
  return define(t, &t->domains, &node);
}

static OTF2_CallbackCode on_process(void *user, OTF2_LocationGroupRef id, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator) {
  struct pml_otf2_read *t = user;
  (void)type, (void)creator;
  return define(t, &t->processes, &(struct pml_otf2_read_process){id, later(name), later(node), -1, 0});
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef process) {
  struct pml_otf2_read *t = user;
  (void)type;
  return define(t, &t->locations, &(struct pml_otf2_read_location){id, later(name), process, events, events});
}

static const char *paradigm_name(OTF2_Paradigm paradigm) {
  static const char *const name[] = {
      [OTF2_PARADIGM_USER] = "user",         [OTF2_PARADIGM_COMPILER] = "compiler",
      [OTF2_PARADIGM_OPENMP] = "OpenMP",     [OTF2_PARADIGM_MPI] = "MPI",
      [OTF2_PARADIGM_PTHREAD] = "pthread",   [OTF2_PARADIGM_SHMEM] = "SHMEM",
      [OTF2_PARADIGM_CUDA] = "CUDA",         [OTF2_PARADIGM_HIP] = "HIP",
      [OTF2_PARADIGM_OPENCL] = "OpenCL",     [OTF2_PARADIGM_OPENACC] = "OpenACC",
      [OTF2_PARADIGM_SAMPLING] = "sampling", [OTF2_PARADIGM_MEASUREMENT_SYSTEM] = "measurement"};
  return paradigm < sizeof name / sizeof *name && name[paradigm] != NULL ? name[paradigm] : "";
}

static const char *role_name(OTF2_RegionRole role) {
  static const char *const name[] = {
      [OTF2_REGION_ROLE_FUNCTION] = "function",   [OTF2_REGION_ROLE_WRAPPER] = "wrapper",
      [OTF2_REGION_ROLE_LOOP] = "loop",           [OTF2_REGION_ROLE_CODE] = "code",
      [OTF2_REGION_ROLE_PARALLEL] = "parallel",   [OTF2_REGION_ROLE_SECTIONS] = "sections",
      [OTF2_REGION_ROLE_WORKSHARE] = "workshare", [OTF2_REGION_ROLE_SINGLE] = "single",
      [OTF2_REGION_ROLE_MASTER] = "master",       [OTF2_REGION_ROLE_CRITICAL] = "critical",
      [OTF2_REGION_ROLE_BARRIER] = "barrier",     [OTF2_REGION_ROLE_IMPLICIT_BARRIER] = "implicit barrier",
      [OTF2_REGION_ROLE_ORDERED] = "ordered",     [OTF2_REGION_ROLE_TASK] = "task",
      [OTF2_REGION_ROLE_TASK_WAIT] = "task wait"};
  return role < sizeof name / sizeof *name && name[role] != NULL ? name[role] : "";
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef id, OTF2_StringRef name, OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end) {
  struct pml_otf2_read *t = user;
  (void)canonical, (void)flags, (void)end;
  return define(t, &t->regions,
                &(struct pml_otf2_read_region){id, later(name), later(file), paradigm_name(paradigm), role_name(role),
                                               begin, later(description)});
}

static const char *group_type(OTF2_GroupType type) {
  static const char *const name[] = {
      [OTF2_GROUP_TYPE_LOCATIONS] = "locations",     [OTF2_GROUP_TYPE_REGIONS] = "regions",
      [OTF2_GROUP_TYPE_METRIC] = "metrics",          [OTF2_GROUP_TYPE_COMM_LOCATIONS] = "ranks",
      [OTF2_GROUP_TYPE_COMM_GROUP] = "communicator", [OTF2_GROUP_TYPE_COMM_SELF] = "self"};
  return type < sizeof name / sizeof *name && name[type] != NULL ? name[type] : "";
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef id, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members) {
  struct pml_otf2_read *t = user;
  (void)flags;
  struct pml__otf2_group *g = pml__otf2_add(t, &t->groups);
  uint64_t *copy = g != NULL ? malloc((n + (size_t)1) * sizeof *copy) : NULL;
  size_t kept = copy != NULL ? n : 0;
  if (g != NULL)
    *g = (struct pml__otf2_group){{id, later(name), group_type(type), paradigm_name(paradigm), kept, copy},
                                  type,
                                  copy,
                                  paradigm == OTF2_PARADIGM_MPI};
  t->refused |= copy == NULL;
  if (copy == NULL) return OTF2_CALLBACK_INTERRUPT;
  if (n > 0) memcpy(copy, members, n * sizeof *copy);
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags) {
  struct pml_otf2_read *t = user;
  (void)flags;
  return define(t, &t->comms, &(struct pml_otf2_read_comm){id, group, parent, PML_OTF2_NONE, later(name)});
}

/* Undefined groups have the number OTF2_UNDEFINED_GROUP. */
static OTF2_CallbackCode on_inter_comm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group,
                                       OTF2_GroupRef remote, OTF2_CommRef parent, OTF2_CommFlag flags) {
  struct pml_otf2_read *t = user;
  (void)flags;
  return define(t, &t->comms, &(struct pml_otf2_read_comm){id, group, parent, remote, later(name)});
}

static OTF2_CallbackCode on_window(void *user, OTF2_RmaWinRef id, OTF2_StringRef name, OTF2_CommRef comm,
                                   OTF2_RmaWinFlag flags) {
  struct pml_otf2_read *t = user;
  (void)name, (void)flags;
  return define(t, &t->windows, &(struct pml__otf2_window_of){id, comm});
}

/* ---- properties ---- */

/* Numbers are converted to text; "" for any other type. */
static void set_value(struct pml_otf2_read *t, struct pml_otf2_read_property *p, OTF2_Type type,
                      OTF2_AttributeValue value) {
  char text[64] = "";
  if (type == OTF2_TYPE_STRING) {
    p->value = later(value.stringRef);
    return;
  }
  if (type == OTF2_TYPE_UINT8) (void)snprintf(text, sizeof text, "%" PRIu8, value.uint8);
  if (type == OTF2_TYPE_UINT16) (void)snprintf(text, sizeof text, "%" PRIu16, value.uint16);
  if (type == OTF2_TYPE_UINT32) (void)snprintf(text, sizeof text, "%" PRIu32, value.uint32);
  if (type == OTF2_TYPE_UINT64) (void)snprintf(text, sizeof text, "%" PRIu64, value.uint64);
  if (type == OTF2_TYPE_INT8) (void)snprintf(text, sizeof text, "%" PRIi8, value.int8);
  if (type == OTF2_TYPE_INT16) (void)snprintf(text, sizeof text, "%" PRIi16, value.int16);
  if (type == OTF2_TYPE_INT32) (void)snprintf(text, sizeof text, "%" PRIi32, value.int32);
  if (type == OTF2_TYPE_INT64) (void)snprintf(text, sizeof text, "%" PRIi64, value.int64);
  if (type == OTF2_TYPE_FLOAT) (void)snprintf(text, sizeof text, "%.9g", (double)value.float32);
  if (type == OTF2_TYPE_DOUBLE) (void)snprintf(text, sizeof text, "%.17g", value.float64);
  p->own = strdup(text);
  t->refused |= p->own == NULL;
}

static OTF2_CallbackCode on_property(void *user, enum pml_otf2_owner of, uint64_t owner, OTF2_StringRef name,
                                     OTF2_Type type, OTF2_AttributeValue value) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_property *p = pml__otf2_add(t, &t->properties);
  if (p == NULL) return OTF2_CALLBACK_INTERRUPT;
  *p = (struct pml_otf2_read_property){.id = (uint32_t)(t->properties.n - 1), .of = of, .name = later(name)};
  p->owner = (size_t)owner; /* a number, until all are known */
  set_value(t, p, type, value);
  return t->refused ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_node_property(void *user, OTF2_SystemTreeNodeRef node, OTF2_StringRef name, OTF2_Type type,
                                          OTF2_AttributeValue value) {
  return on_property(user, PML_OTF2_OF_NODE, node, name, type, value);
}

static OTF2_CallbackCode on_process_property(void *user, OTF2_LocationGroupRef process, OTF2_StringRef name,
                                             OTF2_Type type, OTF2_AttributeValue value) {
  return on_property(user, PML_OTF2_OF_PROCESS, process, name, type, value);
}

static OTF2_CallbackCode on_location_property(void *user, OTF2_LocationRef location, OTF2_StringRef name,
                                              OTF2_Type type, OTF2_AttributeValue value) {
  return on_property(user, PML_OTF2_OF_LOCATION, location, name, type, value);
}

/* ---- metrics ---- */

static OTF2_CallbackCode on_metric(void *user, OTF2_MetricMemberRef id, OTF2_StringRef name, OTF2_StringRef description,
                                   OTF2_MetricType type, OTF2_MetricMode mode, OTF2_Type value, OTF2_Base base,
                                   int64_t exponent, OTF2_StringRef unit) {
  struct pml_otf2_read *t = user;
  struct pml_otf2_read_metric *m = pml__otf2_add(t, &t->metrics);
  (void)type, (void)value;
  if (m == NULL) return OTF2_CALLBACK_INTERRUPT;
  double scale = pow(base == OTF2_BASE_BINARY ? 2 : 10, (double)exponent);
  bool accumulated = (mode & OTF2_METRIC_VALUE_MASK) == OTF2_METRIC_VALUE_ACCUMULATED;
  *m = (struct pml_otf2_read_metric){id, later(name), later(description), later(unit), scale, accumulated, "", NULL};
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_class(void *user, OTF2_MetricRef id, uint8_t n, const OTF2_MetricMemberRef *member,
                                  OTF2_MetricOccurrence occurrence, OTF2_RecorderKind kind) {
  struct pml_otf2_read *t = user;
  struct pml__otf2_class *c = pml__otf2_add(t, &t->classes);
  size_t *metric = c != NULL ? calloc(n + (size_t)1, sizeof *metric) : NULL;
  (void)occurrence, (void)kind;
  if (c != NULL) *c = (struct pml__otf2_class){.id = id, .like = id, .n = metric != NULL ? n : 0, .metric = metric};
  t->refused |= metric == NULL;
  if (metric == NULL) return OTF2_CALLBACK_INTERRUPT;
  for (size_t i = 0; i < n; i++) metric[i] = member[i]; /* numbers, until all are known */
  return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_instance(void *user, OTF2_MetricRef id, OTF2_MetricRef class, OTF2_LocationRef recorder,
                                     OTF2_MetricScope type, uint64_t scope) {
  struct pml_otf2_read *t = user;
  return define(t, &t->classes,
                &(struct pml__otf2_class){.id = id, .like = class, .recorder = recorder, .kind = type, .scope = scope});
}

/* ---- references ---- */

/* The host: the innermost node that shares memory, according to the archive, otherwise the node of the process. */
static size_t host_of(const struct pml_otf2_read *t, size_t in) {
  const struct pml_otf2_read_node *node = (const void *)t->nodes.at;
  size_t i = in;
  for (size_t steps = 0; i != PML_OTF2_NONE && steps < t->nodes.n; steps++) {
    if (node[i].is_host) return i;
    i = node[i].parent;
  }
  return in;
}

static int resolve_processes(struct pml_otf2_read *t) {
  struct pml_otf2_read_process *process = (void *)t->processes.at;
  const struct pml_otf2_read_node *node = (const void *)t->nodes.at;
  bool *counted = calloc(t->nodes.n + 1, sizeof *counted);
  if (counted == NULL) return pml_fail(-ENOMEM, "%.300s: no memory for its definitions", t->path);
  for (size_t i = 0; i < t->processes.n; i++) {
    process[i].name = text_of(t, now(process[i].name));
    process[i].node = pml__otf2_find(&t->nodes, now(process[i].host));
    size_t host = host_of(t, process[i].node);
    process[i].host = host != PML_OTF2_NONE ? node[host].name : "";
    if (host == PML_OTF2_NONE || counted[host]) continue;
    counted[host] = true;
    t->hosts++;
  }
  free(counted);
  return 0;
}

static void resolve_domains(struct pml_otf2_read *t) {
  struct pml_otf2_read_node *node = (void *)t->nodes.at;
  const uint32_t *domain = (const void *)t->domains.at;
  for (size_t i = 0; i < t->domains.n; i++) {
    size_t in = pml__otf2_find(&t->nodes, domain[i]);
    if (in != PML_OTF2_NONE) node[in].is_host = true;
  }
}

static void set_ranks(struct pml_otf2_read *t) {
  const struct pml__otf2_group *group = (const struct pml__otf2_group *)(const void *)t->groups.at;
  const struct pml_otf2_read_location *location = (const void *)t->locations.at;
  struct pml_otf2_read_process *process = (void *)t->processes.at;
  for (size_t i = 0; i < t->groups.n; i++)
    if (group[i].mpi && group[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS) t->world = &group[i];
  for (uint32_t rank = 0; t->world != NULL && rank < t->world->is.n; rank++) {
    size_t l = pml__otf2_find(&t->locations, t->world->is.member[rank]);
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

static void resolve_nodes(struct pml_otf2_read *t) {
  struct pml_otf2_read_node *node = (void *)t->nodes.at;
  for (size_t i = 0; i < t->nodes.n; i++) {
    node[i].name = text_of(t, now(node[i].name));
    node[i].kind = text_of(t, now(node[i].kind));
    node[i].parent = pml__otf2_find(&t->nodes, node[i].parent);
  }
}

static void resolve_groups(struct pml_otf2_read *t) {
  struct pml__otf2_group *group = (void *)t->groups.at;
  struct pml_otf2_read_comm *comm = (void *)t->comms.at;
  struct pml_otf2_read_property *p = (void *)t->properties.at;
  const struct pml__otf2_list *owners[] = {&t->nodes, &t->processes, &t->locations};
  for (size_t i = 0; i < t->groups.n; i++) group[i].is.name = text_of(t, now(group[i].is.name));
  for (size_t i = 0; i < t->comms.n; i++) {
    comm[i].name = text_of(t, now(comm[i].name));
    comm[i].group = pml__otf2_find(&t->groups, comm[i].group);
    comm[i].parent = pml__otf2_find(&t->comms, comm[i].parent);
    if (comm[i].remote != PML_OTF2_NONE) comm[i].remote = pml__otf2_find(&t->groups, comm[i].remote);
  }
  for (size_t i = 0; i < t->properties.n; i++) {
    p[i].name = text_of(t, now(p[i].name));
    p[i].value = p[i].own != NULL ? p[i].own : text_of(t, now(p[i].value));
    p[i].owner = pml__otf2_find(owners[p[i].of], p[i].owner);
  }
}

static int resolve(struct pml_otf2_read *t) {
  struct pml_otf2_read_location *location = (void *)t->locations.at;
  struct pml_otf2_read_region *region = (void *)t->regions.at;
  const bool own =
      t->creator != NULL && strncmp(t->creator, "pmlua", 5) == 0; /* others describe regions in these texts */
  struct pml__otf2_list *all[] = {&t->strings, &t->nodes, &t->processes, &t->locations, &t->regions,
                                  &t->groups,  &t->comms, &t->metrics,   &t->classes,   &t->windows};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!sort(all[i])) return pml_fail(PML_EFORMAT, "%.300s: damaged: two definitions have one number", t->path);
  resolve_nodes(t);
  resolve_domains(t);
  int err = resolve_processes(t);
  if (err < 0) return err;
  for (size_t i = 0; i < t->locations.n; i++) {
    location[i].name = text_of(t, now(location[i].name));
    location[i].process = pml__otf2_find(&t->processes, location[i].process);
    if (location[i].process == PML_OTF2_NONE)
      return pml_fail(PML_EFORMAT, "%.300s: damaged: a location is in no group", t->path);
  }
  for (size_t i = 0; i < t->regions.n; i++) {
    region[i].name = text_of(t, now(region[i].name));
    region[i].file = text_of(t, now(region[i].file));
    region[i].kind = own ? text_of(t, now(region[i].kind)) : "";
    if (region[i].kind[0] == '\0') region[i].kind = region[i].paradigm;
  }
  resolve_metrics(t);
  resolve_groups(t);
  set_ranks(t);
  if (!pml__otf2_resolve_scopes(t)) return pml_fail(-ENOMEM, "%.300s: no memory for its definitions", t->path);
  return t->resolution > 0 ? 0 : pml_fail(PML_EFORMAT, "%.300s: damaged: its clock has no resolution", t->path);
}

/*
 * The anchor contains the number of definitions: a damaged definition file may end early, and nothing else shows this.
 */
static int check_counts(const struct pml_otf2_read *t, uint64_t n) {
  uint64_t locations = 0, definitions = 0;
  if (OTF2_Reader_GetNumberOfLocations(t->reader, &locations) != OTF2_SUCCESS ||
      OTF2_Reader_GetNumberOfGlobalDefinitions(t->reader, &definitions) != OTF2_SUCCESS)
    return pml__otf2_failed_read(t, "read the definitions of", OTF2_ERROR_INVALID);
  if (n == definitions && t->locations.n == locations) return 0;
  return pml_fail(PML_EFORMAT,
                  "%.300s: damaged: its file of definitions has %" PRIu64 " of %" PRIu64 " definitions, %zu of %" PRIu64
                  " locations",
                  t->path, n, definitions, t->locations.n, locations);
}

int pml__otf2_read_definitions(struct pml_otf2_read *t) {
  OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(t->reader);
  uint64_t n = 0;
  if (c == NULL) return pml_fail(-ENOMEM, "%.300s: no memory to read it", t->path);
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback(c, on_domain);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
  OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(c, on_window);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodePropertyCallback(c, on_node_property);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupPropertyCallback(c, on_process_property);
  OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(c, on_location_property);
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
  int err = check_counts(t, n);
  return err == 0 ? resolve(t) : err;
}

/* ---- life ---- */

void pml__otf2_definitions_open(struct pml_otf2_read *t) {
  t->strings.size = sizeof(struct text);
  t->nodes.size = sizeof(struct pml_otf2_read_node);
  t->domains.size = sizeof(uint32_t);
  t->processes.size = sizeof(struct pml_otf2_read_process);
  t->locations.size = sizeof(struct pml_otf2_read_location);
  t->locations.wide = true;
  t->regions.size = sizeof(struct pml_otf2_read_region);
  t->groups.size = sizeof(struct pml__otf2_group);
  t->comms.size = sizeof(struct pml_otf2_read_comm);
  t->metrics.size = sizeof(struct pml_otf2_read_metric);
  t->classes.size = sizeof(struct pml__otf2_class);
  t->properties.size = sizeof(struct pml_otf2_read_property);
  t->windows.size = sizeof(struct pml__otf2_window_of);
}

void pml__otf2_definitions_close(struct pml_otf2_read *t) {
  struct pml__otf2_list *all[] = {&t->strings, &t->nodes,   &t->processes, &t->locations,  &t->regions, &t->groups,
                                  &t->comms,   &t->metrics, &t->classes,   &t->properties, &t->domains, &t->windows};
  for (size_t i = 0; i < t->strings.n; i++) free(((struct text *)(void *)t->strings.at)[i].text);
  for (size_t i = 0; i < t->groups.n; i++) free(((struct pml__otf2_group *)(void *)t->groups.at)[i].members);
  for (size_t i = 0; i < t->classes.n; i++) free(((struct pml__otf2_class *)(void *)t->classes.at)[i].metric);
  for (size_t i = 0; i < t->properties.n; i++) free(((struct pml_otf2_read_property *)(void *)t->properties.at)[i].own);
  for (size_t i = 0; i < t->metrics.n; i++) free(((struct pml_otf2_read_metric *)(void *)t->metrics.at)[i].own);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->at);
}
