/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/itt/pml_itt.h - what a tool needs of Intel's Instrumentation and Tracing Technology (ITT).
 *
 * Each library that uses ITT contains a copy of its static part: a pointer for each function __itt_NAME, and a list of
 * them. At its first use the static part opens the library in INTEL_LIBITTNOTIFY64 and passes its struct pml_itt_global
 * to the library's __itt_api_init(), under its own mutex. The library stores its functions into the pointers. Each
 * copy has its own list, and its functions may get objects that other copies created.
 *
 * Versions differ at the end of struct pml_itt_global, which is not declared here, and in the rows of the list: until
 * build 20101001 they had no @none.
 */
#ifndef PML_ITT_H
#define PML_ITT_H

#include <pthread.h>
#include <stdint.h>

#define PML_ITT_LIBRARY "INTEL_LIBITTNOTIFY64"
#define PML_ITT_MAGIC                                                                                                  \
  { 0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30 }
#define PML_ITT_MAJOR 3u
#define PML_ITT_BUILD_WITHOUT_NONE 20101001u

struct pml_itt_function {
  const char *name; /* "__itt_task_begin"; NULL ends the list. Several rows may have one name */
  void **at;        /* the pointer that calls go through; NULL there: the call does nothing */
  void *first;      /* the function to which @at points before initialisation */
  void *none;       /* for a function that the tool does not have */
  int group;
};

struct pml_itt_function_without_none {
  const char *name;
  void **at;
  void *first;
  int group;
};

struct pml_itt_global {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long initialized, mutex_initialized, counter;
  pthread_mutex_t mutex;
  void *library; /* the tool, by dlopen() */
  void *error_handler;
  const char **library_path;
  void *functions; /* struct pml_itt_function[], or [] without none */
};

/* Objects: created by the static part before the tool is there, by the tool afterwards. Calls pass their addresses.
 * The extra fields belong to the tool. */
struct pml_itt_domain {
  volatile int enabled; /* 0: the static part passes on no calls */
  const char *name;
  void *wide_name;
  int extra1;
  void *extra2;
  struct pml_itt_domain *next;
};

struct pml_itt_string {
  const char *text;
  void *wide_text;
  int extra1;
  void *extra2;
  struct pml_itt_string *next;
};

struct pml_itt_counter {
  const char *name;
  void *wide_name;
  const char *domain;
  void *wide_domain;
  int type; /* enum pml_itt_type */
  long index;
  int extra1;
  void *extra2;
  struct pml_itt_counter *next;
};

/* Chosen by the program; {0} is no id. Passed by value. */
struct pml_itt_id {
  unsigned long long word[3];
};

/* Types of counters and metadata. */
enum pml_itt_type {
  PML_ITT_UNKNOWN,
  PML_ITT_U64,
  PML_ITT_S64,
  PML_ITT_U32,
  PML_ITT_S32,
  PML_ITT_U16,
  PML_ITT_S16,
  PML_ITT_FLOAT,
  PML_ITT_DOUBLE
};

#endif
