/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint_plan.h - watchpoints of a program to be started: a file that the program reads. */
#ifndef PML_WATCHPOINT_PLAN_H
#define PML_WATCHPOINT_PLAN_H

#include "program/pml_variable.h"

PML_BEGIN_DECLS

/*
 * The planner uses files: a variable is at an address in an object's layout. The watched process finds the load address
 * of the object by device and inode. The file is for one run on one machine.
 */
struct pml_watchpoint_plan {
  char magic[8];
  uint32_t points, reserved;
  uint64_t values;                                  /* to keep, by each process */
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX]; /* addresses in the object's layout */
  struct {
    uint64_t device, inode;
  } object[PML_WATCHPOINTS_MAX];
};

/*
 * pml_watchpoint_plan_add - @name of the ELF file @path: its content at writes, if @content is set, else its accesses,
 * @access as in struct pml_watchpoint; 0: rw of a variable, x of a function. Begin with a plan that is all zero.
 * Returns 0, -EINVAL, -ENOSPC (there are four), or what pml_variable_find() says; each with a detail.
 */
PML__SHARED int pml_watchpoint_plan_add(struct pml_watchpoint_plan *p, const char *path, const char *name,
                                        uint32_t access, bool content);

/* Write a new file; read an untrusted one. Return 0, PML_EFORMAT or -errno, with a detail. */
PML__SHARED int pml_watchpoint_plan_write(const struct pml_watchpoint_plan *p, const char *path);
PML__SHARED int pml_watchpoint_plan_read(struct pml_watchpoint_plan *p, const char *path);

/*
 * pml_watchpoint_plan_place - the points of objects that the calling process has loaded now, at their addresses.
 * @point: room for PML_WATCHPOINTS_MAX. Returns their number.
 */
PML__SHARED size_t pml_watchpoint_plan_place(const struct pml_watchpoint_plan *p, struct pml_watchpoint *point);

PML_END_DECLS

#endif
