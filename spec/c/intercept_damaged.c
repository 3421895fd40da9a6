/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_damaged.c - libraries with damaged tables: a program that survives them without interception also
 * survives them with it.
 *
 * The spec changes random bytes of a library's program headers and of the tables that the loader reads. A child opens
 * the library, looks up a function and calls it; if that works, another child does the same with every call
 * intercepted. Damage that the loader itself does not survive shows nothing. Nor would damage that it survives thanks
 * to whatever is mapped behind the library, which interception changes; so nothing is mapped there in either child.
 */
#include "check.h"
#include "intercept/library.h"
#include "sanitized.h"

#include "adapter/intercept/pml_intercept.h"
#include "base/pml_stream.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASES (SANITIZED ? 40 : 1000)
#define BYTES_MAX (1 << 20)
#define NOTHING_BYTES ((size_t)5 << 30) /* wherever offsets of 32 bits lead to */

static unsigned char whole[BYTES_MAX], damaged[BYTES_MAX];
static size_t size;
static char path[] = "/tmp/pmlua-damaged-XXXXXX";

/* ---- damage ---- */

static uint64_t state = 42;
static uint64_t some(uint64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % below;
}

struct range {
  size_t at, n;
};

static const Elf64_Phdr *header(uint32_t type) {
  const Elf64_Ehdr *e = (const void *)whole;
  const Elf64_Phdr *p = (const void *)(whole + e->e_phoff);
  for (unsigned i = 0; i < e->e_phnum; i++)
    if (p[i].p_type == type) return &p[i];
  return p;
}

/* The table of a tag in the dynamic section, in the first segment, where addresses are offsets in the file. */
static uint64_t dynamic(int64_t tag) {
  const Elf64_Phdr *p = header(PT_DYNAMIC);
  const Elf64_Dyn *d = (const void *)(whole + p->p_offset);
  while (d->d_tag != tag && d->d_tag != DT_NULL) d++;
  return d->d_tag == tag ? d->d_un.d_val : 0;
}

/* The program headers, the dynamic section, a table, or anything in their segment. */
static struct range range_of(unsigned which) {
  static const int64_t tables[] = {DT_JMPREL, DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_VERSYM, DT_VERNEED, DT_RELA};
  const Elf64_Ehdr *e = (const void *)whole;
  if (which == 0) return (struct range){e->e_phoff, e->e_phnum * sizeof(Elf64_Phdr)};
  if (which == 1) return (struct range){header(PT_DYNAMIC)->p_offset, header(PT_DYNAMIC)->p_filesz};
  if (which == 2) return (struct range){header(PT_LOAD)->p_offset, header(PT_LOAD)->p_filesz};
  int64_t tag = tables[which % (sizeof tables / sizeof tables[0])];
  return (struct range){dynamic(tag), tag == DT_JMPREL ? dynamic(DT_PLTRELSZ) : 240};
}

static void damage(void) {
  static const uint64_t odd[] = {0, 1, 0x7f, 0x3fff, 0x7ffffff, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX / 24};
  struct range r = range_of((unsigned)some(17));
  memcpy(damaged, whole, size);
  for (uint64_t times = 1 + some(3); times > 0; times--) {
    size_t at = r.at + some(r.n - 8), bytes = some(2) == 0 ? 8 : 4;
    uint64_t value = odd[some(sizeof odd / sizeof odd[0])];
    if (some(2) == 0)
      damaged[at] ^= (unsigned char)(1u << some(8));
    else
      memcpy(&damaged[at & ~(bytes - 1)], &value, bytes);
  }
}

static bool write_file(const void *bytes) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
  if (fd >= 0) close(fd);
  return good;
}

/* ---- using it ---- */

/* The loader places it below the latest mapping. */
static void *open_it(void) {
  (void)mmap(NULL, NOTHING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return dlopen(path, RTLD_LAZY);
}

static int use(void) {
  void *handle = open_it();
  int (*f)(int) = NULL;
  if (handle == NULL) return 2;
  *(void **)&f = dlsym(handle, "leaf_calls");
  if (f == NULL || f(3) != lib_tail(3) + 1) return 3;
  return dlclose(handle) == 0 ? 0 : 4;
}

static int seen(const struct pml_intercept_unmatched *u, void *arg) {
  (void)u, (void)arg;
  return 0;
}

static int use_intercepted(void) {
  const struct pml_intercept_options o = {.sym = "*:lib_no_such_function"};
  if (pml_intercept_install(&o) < 0) return 5;
  void *handle = open_it();
  int result = use();
  (void)pml_intercept_unmatched(seen, NULL);
  pml_intercept_remove();
  if (handle != NULL) dlclose(handle);
  return result;
}

/* 0: all was well. */
static int in_child(int (*what)(void)) {
  int status = -1;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    const struct rlimit none = {0, 0};
    int null = open("/dev/null", O_WRONLY);
    setrlimit(RLIMIT_CORE, &none);
    if (null >= 0) dup2(null, STDERR_FILENO);
    alarm(60);
    _exit(what());
  }
  if (pid > 0) waitpid(pid, &status, 0);
  return status;
}

static bool load(const char *program) {
  char library[4200];
  const char *slash = strrchr(program, '/');
  snprintf(library, sizeof library, "%.*s/slots_leaf.so", slash != NULL ? (int)(slash - program) : 1,
           slash != NULL ? program : ".");
  int fd = open(library, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, whole, sizeof whole) : -1;
  if (fd >= 0) close(fd);
  size = n > 0 ? (size_t)n : 0;
  fd = mkstemp(path);
  if (fd >= 0) close(fd);
  return n > 0 && n < BYTES_MAX && fd >= 0;
}

static void without_sections(void) {
  Elf64_Ehdr *e = (void *)damaged;
  memcpy(damaged, whole, size);
  e->e_shoff = e->e_shnum = e->e_shstrndx = 0;
  CHECK(write_file(damaged) && in_child(use) == 0 && in_child(use_intercepted) == 0,
        "a library without section headers is as it was");
}

int main(int argc, char **argv) {
  if (!CHECK(load(argv[0]), "there is a library to damage")) return check_done();
  CHECK(write_file(whole) && in_child(use) == 0 && in_child(use_intercepted) == 0, "as it is, it is used either way");
  without_sections();
  unsigned survived = 0, harmed = 0, one = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  for (unsigned i = 1; i <= CASES; i++) {
    damage();
    if ((one != 0 && i != one) || !write_file(damaged) || in_child(use) != 0) continue;
    survived++;
    int status = in_child(use_intercepted);
    if (status == 0) continue;
    harmed++;
    printf("# case %u: status %x\n", i, (unsigned)status);
    if (i == one) return printf("# left in %s\n", path), 1;
  }
  unlink(path);
  CHECK(survived >= CASES / 10 || one != 0, "%u of %u damaged libraries are survived by a program that is left alone",
        survived, CASES);
  CHECK(harmed == 0, "and all of them with interception");
  return check_done();
}
