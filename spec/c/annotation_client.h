/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_annotation.h - functions of other tools' interfaces, whose instructions cost.c counts, without a
 * consumer.
 */
#ifndef SPEC_ANNOTATION_CLIENT_H
#define SPEC_ANNOTATION_CLIENT_H

#include "interface/itt/pml_itt.h"
#include "interface/nvtx/pml_nvtx.h"

void __itt_api_init(struct pml_itt_global *, int);
int InitializeInjectionNvtx2(pml_nvtx_tables *);
void cali_begin_region(const char *), cali_end_region(const char *);

/* Aligned, because the cost of a comparison depends on the address. */
static _Alignas(64) const char nvtx_label[] = "cost", caliper_label[] = "cost";

static const struct pml_itt_id no_id, some_id = {{1, 2, 3}};
static struct pml_itt_domain itt_domain = {.enabled = 1, .name = "domain"};
static struct pml_itt_string itt_name = {.text = "cost"};
static void (*itt_begin)(const struct pml_itt_domain *, struct pml_itt_id, struct pml_itt_id, struct pml_itt_string *);
static void (*itt_end)(const struct pml_itt_domain *);
static void (*itt_open)(const struct pml_itt_domain *, struct pml_itt_id, struct pml_itt_id, struct pml_itt_string *);
static void (*itt_close)(const struct pml_itt_domain *, struct pml_itt_id);

static int (*nvtx_push)(const char *), (*nvtx_pop)(void);
static int (*nvtx_push_ex)(void *, const struct pml_nvtx_event *), (*nvtx_pop_in)(void *);
static void *(*nvtx_register)(void *, const char *), *(*nvtx_domain)(const char *), *nvtx_in;
static struct pml_nvtx_event nvtx_event = {
    .version = 3, .bytes = sizeof nvtx_event, .message_type = PML_NVTX_REGISTERED};

#define SLOT(pointer) (pml_nvtx_function *)(void *)&(pointer)
static pml_nvtx_function
    *nvtx_core[16] = {[9] = SLOT(nvtx_push), [11] = SLOT(nvtx_pop)},
    *nvtx_core2[16] = {
        [4] = SLOT(nvtx_push_ex), [5] = SLOT(nvtx_pop_in), [10] = SLOT(nvtx_register), [12] = SLOT(nvtx_domain)};
static int nvtx_functions(int module, pml_nvtx_function ***slots, unsigned *n) {
  *slots = module == PML_NVTX_CORE2 ? nvtx_core2 : nvtx_core;
  *n = 16;
  return module != PML_NVTX_SYNC;
}
static const void *nvtx_tables(uint32_t table) {
  static const struct pml_nvtx_callbacks c = {sizeof c, nvtx_functions};
  return table == PML_NVTX_CALLBACKS ? &c : NULL;
}

/* The sections are defined now, so that they count no events that are added later. */
static void open_annotations(void) {
#define ROW(name, pointer)                                                                                             \
  { "__itt_" name, (void **)(void *)&(pointer), NULL, NULL, 0 }
  static struct pml_itt_function rows[] = {ROW("task_begin", itt_begin),
                                           ROW("task_end", itt_end),
                                           ROW("task_begin_overlapped", itt_open),
                                           ROW("task_end_overlapped", itt_close),
                                           {0}};
  static struct pml_itt_global global = {
      .magic = PML_ITT_MAGIC, .major = PML_ITT_MAJOR, .build = 20230630, .functions = rows};
  __itt_api_init(&global, -1);
  (void)InitializeInjectionNvtx2(nvtx_tables);
  nvtx_in = nvtx_domain("domain");
  nvtx_event.message.registered = nvtx_register(nvtx_in, "cost");
  itt_begin(&itt_domain, no_id, no_id, &itt_name);
  itt_end(&itt_domain);
  nvtx_push(nvtx_label);
  nvtx_pop();
  cali_begin_region(caliper_label);
  cali_end_region(caliper_label);
}

#endif
