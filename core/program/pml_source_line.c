/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_source_line.c - the source line of an address, by libdw. */
#include "program/pml_source_line.h"

#include "base/pml_error.h"
#include "program/pml_libdw.h"
#include "source/kernel/event/pml_event_elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if defined(PML_HAS_LIBDW)

struct pml__source_lines {
  const struct pml__libdw *dw;
  Dwfl_Callbacks calls;
  Dwfl *dwfl;
  Dwfl_Module *module; /* NULL: it cannot be read */
  char *debuginfo, *object;
};

void pml__source_lines_free(struct pml__source_lines *l) {
  if (l == NULL) return;
  if (l->dwfl != NULL) l->dw->dwfl_end(l->dwfl);
  free(l->object);
  free(l);
}

static int open_object(struct pml__source_lines **out, const char *object) {
  struct stat st;
  *out = NULL;
  if (stat(object, &st) != 0 || !S_ISREG(st.st_mode))
    return pml_fail(PML_EFORMAT, "%.400s: not a regular file", object);
  struct pml__source_lines *l = *out = calloc(1, sizeof *l);
  if (l == NULL || (l->object = strdup(object)) == NULL) return pml_fail(-ENOMEM, "no memory to read %.400s", object);
  l->dw = pml__libdw();
  if (l->dw == NULL) return PML_ENOTHERE;
  l->calls = (Dwfl_Callbacks){.find_elf = l->dw->dwfl_build_id_find_elf,
                              .find_debuginfo = l->dw->dwfl_standard_find_debuginfo,
                              .section_address = l->dw->dwfl_offline_section_address,
                              .debuginfo_path = &l->debuginfo};
  l->dwfl = l->dw->dwfl_begin(&l->calls);
  if (l->dwfl == NULL) return pml_fail(-ENOMEM, "no memory to read %.400s", object);
  l->module = l->dw->dwfl_report_offline(l->dwfl, "", object, -1);
  (void)l->dw->dwfl_report_end(l->dwfl, NULL, NULL);
  return l->module != NULL ? 0 : pml_fail(PML_EFORMAT, "%.400s: not an ELF file that can be read", object);
}

static Dwarf_Line *line_in_unit(const struct pml__source_lines *l, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die *unit = NULL; (unit = l->dw->dwfl_module_nextcu(l->module, unit, &bias)) != NULL;)
    if (l->dw->dwarf_haspc(unit, address - bias) > 0) return l->dw->dwarf_getsrc_die(unit, address - bias);
  return NULL;
}

/* The call ends before its return address. clang writes no table of addresses, so that units are searched. */
static const char *find_line(const struct pml__source_lines *l, uint64_t offset, uint32_t *line) {
  Dwarf_Addr start = 0;
  int number = 0;
  (void)l->dw->dwfl_module_info(l->module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
  Dwarf_Line *found = line_in_unit(l, start + offset - 1);
  const char *name = found != NULL ? l->dw->dwarf_linesrc(found, NULL, NULL) : NULL;
  if (name == NULL || l->dw->dwarf_lineno(found, &number) != 0 || number <= 0) return NULL;
  *line = (uint32_t)number;
  return name;
}

/* Have @object open for questions. */
static int turn_to(struct pml__source_lines **lines, const char *object) {
  if (*lines == NULL || (*lines)->object == NULL || strcmp((*lines)->object, object) != 0) {
    pml__source_lines_free(*lines);
    return open_object(lines, object);
  }
  return 0;
}

int pml__source_line(struct pml__source_lines **lines, const char *object, uint64_t offset, char *file, size_t size,
                     uint32_t *line) {
  int err = turn_to(lines, object);
  if (err < 0) return err;
  const char *name = (*lines)->module != NULL ? find_line(*lines, offset, line) : NULL;
  if (name == NULL)
    return pml_fail(-ENODATA, "%.400s has no line for offset 0x%llx", object, (unsigned long long)offset);
  (void)snprintf(file, size, "%s", name);
  return 0;
}

static int address_in(const char *object, uint64_t offset, bool data, uint64_t *address) {
  struct pml__elf elf;
  int err = pml__elf_open(&elf, object);
  if (err < 0) return pml_fail(err, "%.400s: not an ELF file that can be read", object);
  *address = data ? pml__elf_data_address(&elf, offset) : pml__elf_address(&elf, offset);
  pml__elf_close(&elf);
  return *address != UINT64_MAX
             ? 0
             : pml_fail(-ENODATA, "%.400s: offset 0x%llx is not loaded", object, (unsigned long long)offset);
}

int pml__source_place(struct pml__source_lines **lines, const char *object, uint64_t offset,
                      struct pml__source_place *out) {
  uint64_t address = 0;
  GElf_Addr bias = 0;
  GElf_Off into;
  GElf_Sym symbol;
  int line = 0;
  *out = (struct pml__source_place){.line = 0};
  int err = address_in(object, offset, false, &address);
  if (err == 0) err = turn_to(lines, object);
  if (err < 0) return err;
  const struct pml__source_lines *l = *lines;
  (void)l->dw->dwfl_module_getelf(l->module, &bias);
  const char *name = l->dw->dwfl_module_addrinfo(l->module, address + bias, &into, &symbol, NULL, NULL, NULL);
  if (name != NULL) (void)snprintf(out->function, sizeof out->function, "%s", name);
  Dwarf_Line *found = line_in_unit(l, address + bias);
  const char *file = found != NULL ? l->dw->dwarf_linesrc(found, NULL, NULL) : NULL;
  if (file != NULL && l->dw->dwarf_lineno(found, &line) == 0 && line > 0) {
    (void)snprintf(out->file, sizeof out->file, "%s", file);
    out->line = (uint32_t)line;
  }
  if (name != NULL || out->line > 0) return 0;
  return pml_fail(-ENODATA, "%.400s has no symbol at offset 0x%llx", object, (unsigned long long)offset);
}

int pml__source_variable(struct pml__source_lines **lines, const char *object, uint64_t offset, char *name, size_t size,
                         uint64_t *into) {
  uint64_t address = 0;
  GElf_Addr bias = 0;
  GElf_Off at = 0;
  GElf_Sym symbol = {0};
  int err = address_in(object, offset, true, &address);
  if (err == 0) err = turn_to(lines, object);
  if (err < 0) return err;
  const struct pml__source_lines *l = *lines;
  (void)l->dw->dwfl_module_getelf(l->module, &bias);
  const char *found = l->dw->dwfl_module_addrinfo(l->module, address + bias, &at, &symbol, NULL, NULL, NULL);
  if (found == NULL || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || at >= symbol.st_size)
    return pml_fail(-ENODATA, "%.400s has no variable at offset 0x%llx", object, (unsigned long long)offset);
  (void)snprintf(name, size, "%s", found);
  *into = at;
  return 0;
}

#else

int pml__source_variable(struct pml__source_lines **lines, const char *object, uint64_t offset, char *name, size_t size,
                         uint64_t *into) {
  (void)lines, (void)offset, (void)name, (void)size, (void)into;
  return pml_fail(PML_ENOTHERE, "pmlua was built without elfutils' libdw; %.400s was not read", object);
}

int pml__source_place(struct pml__source_lines **lines, const char *object, uint64_t offset,
                      struct pml__source_place *out) {
  (void)lines, (void)offset, (void)out;
  return pml_fail(PML_ENOTHERE, "pmlua was built without elfutils' libdw; %.400s was not read", object);
}

void pml__source_lines_free(struct pml__source_lines *l) {
  (void)l;
}

int pml__source_line(struct pml__source_lines **lines, const char *object, uint64_t offset, char *file, size_t size,
                     uint32_t *line) {
  (void)lines, (void)offset, (void)file, (void)size, (void)line;
  return pml_fail(PML_ENOTHERE, "pmlua was built without elfutils' libdw; %.400s was not read", object);
}

#endif
