/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_libdw.h - elfutils' libdw, loaded on demand. */
#ifndef PML_LIBDW_H
#define PML_LIBDW_H

#if defined(__has_include)
#if __has_include(<elfutils/libdwfl.h>)
#define PML_HAS_LIBDW 1
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#endif
#endif

#if defined(PML_HAS_LIBDW)

/* clang-format off */
#define PML__LIBDW_LIST(X)                                                                                             \
  X(dwfl_begin) X(dwfl_end) X(dwfl_errmsg) X(dwfl_report_offline) X(dwfl_report_end) X(dwfl_module_getelf)             \
  X(dwfl_module_addrinfo) X(dwfl_module_getsymtab) X(dwfl_module_getsym_info) X(dwfl_module_nextcu)                    \
  X(dwfl_module_info) X(dwfl_build_id_find_elf) X(dwfl_standard_find_debuginfo) X(dwfl_offline_section_address)        \
  X(dwarf_haspc) X(dwarf_getsrc_die) X(dwarf_lineno) X(dwarf_linesrc) X(dwarf_tag) X(dwarf_diename) X(dwarf_child)     \
  X(dwarf_dieoffset) X(dwarf_attr) X(dwarf_siblingof) X(dwarf_attr_integrate) X(dwarf_hasattr_integrate)               \
  X(dwarf_hasattr) X(dwarf_formref_die) X(dwarf_formudata) X(dwarf_formstring) X(dwarf_formaddr)                       \
  X(dwarf_getlocation) X(dwarf_getlocation_attr) X(dwarf_peel_type) X(dwarf_aggregate_size) X(dwarf_entrypc)
/* clang-format on */

struct pml__libdw {
#define PML__LIBDW_MEMBER(name) __typeof__(name) *name;
  PML__LIBDW_LIST(PML__LIBDW_MEMBER)
#undef PML__LIBDW_MEMBER
};

/* pml__libdw - its functions, or NULL and a detail with PML_ENOTHERE. Thread-safe. Cost, once: a dlopen(3). */
const struct pml__libdw *pml__libdw(void);

#endif
#endif
