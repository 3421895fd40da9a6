/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_elf.h - reader of untrusted ELF files: every access is checked. Internal. */
#ifndef PML_EVENT_ELF_H
#define PML_EVENT_ELF_H

#include "base/pml_api.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file mapped whole, of this machine's kind. A file that others cut short meanwhile ends the process (SIGBUS). */
struct pml__elf {
  const unsigned char *data;
  size_t size;
  ElfW(Ehdr) head;
};

/* pml__elf_open - returns 0, PML_EFORMAT (not a regular ELF file of this kind) or -errno; no detail. */
int pml__elf_open(struct pml__elf *f, const char *path);
void pml__elf_close(struct pml__elf *f);

/* pml__elf_get - copy @n bytes at @offset; false if the file does not have them. */
bool pml__elf_get(const struct pml__elf *f, uint64_t offset, void *to, size_t n);

/* pml__elf_section - the header of section @i; false: the file has no such section. */
bool pml__elf_section(const struct pml__elf *f, uint64_t i, ElfW(Shdr) * s);

/* pml__elf_offset - the offset in the file of the bytes loaded at @address; UINT64_MAX: none. */
uint64_t pml__elf_offset(const struct pml__elf *f, uint64_t address);

/* pml__elf_address - the address of the file's code at @offset; UINT64_MAX: not loaded. */
uint64_t pml__elf_address(const struct pml__elf *f, uint64_t offset);

/*
 * pml__elf_data_address - the same for data. Behind a segment's bytes in the file, @offset continues as in memory,
 * which has zero-initialised variables there. UINT64_MAX: outside of all data segments.
 */
uint64_t pml__elf_data_address(const struct pml__elf *f, uint64_t offset);

#endif
