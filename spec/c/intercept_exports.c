/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_exports.c - the index of all names that the program's libraries have leads where the loader's search
 * does, for names that one library alone has.
 */
#include "adapter/intercept/pml_intercept_exports.h"
#include "check.h"

#include <dlfcn.h>

static struct {
  const char **at;
  size_t n, room;
} names; /* names of all defined symbols */

static const struct pml__object *walked;

static bool take(void *arg, size_t symbol) {
  size_t n;
  const Elf64_Sym *s = &walked->sym[symbol];
  const char *name = s->st_shndx != SHN_UNDEF ? pml__object_name(walked, s, &n) : NULL;
  (void)arg;
  if (name == NULL) return true;
  if (names.n == names.room) {
    names.room = names.room * 2 + 1024;
    names.at = realloc(names.at, names.room * sizeof *names.at);
    if (names.at == NULL) return false;
  }
  names.at[names.n++] = name;
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool other_name(char *other, const char *name) {
  size_t n = strlen(name);
  memcpy(other, name, n + 1);
  for (size_t i = 0; i + 1 < n; i++) {
    if (name[i + 1] < 'a' || name[i] >= 'z') continue;
    other[i]++;
    other[i + 1] = (char)(other[i + 1] - 33);
    return bsearch(&other, names.at, names.n, sizeof *names.at, by_name) == NULL;
  }
  return false;
}

static size_t others;

static bool other_leads(const struct pml__exports *e, const char *name) {
  char other[4096];
  if (strlen(name) >= sizeof other || !other_name(other, name)) return false;
  others += pml__object_hash(other, strlen(other)) == pml__object_hash(name, strlen(name));
  return pml__exports_only(e, other, strlen(other), pml__object_hash(other, strlen(other))) != 0;
}

/* Libraries without the newer hash table are searched separately. */
static void look_up(struct pml__objects *all, const char *which) {
  size_t once = 0, several = 0, wrong = 0, told = 0, unknown = 0;
  struct pml__exports *e = pml__exports_make(all);
  if (!CHECK(e != NULL, "there is an index of %s", which)) return;
  others = 0;
  for (size_t i = 0, next; i < names.n; i = next) {
    const char *name = names.at[i];
    for (next = i + 1; next < names.n && strcmp(name, names.at[next]) == 0;) next++;
    uintptr_t only = pml__exports_only(e, name, strlen(name), pml__object_hash(name, strlen(name)));
    once += next == i + 1;
    several += next > i + 1;
    told += only != 0;
    wrong += only != 0 && only != (uintptr_t)dlsym(RTLD_DEFAULT, name);
    unknown += other_leads(e, name);
  }
  CHECK(wrong == 0, "no name leads elsewhere than by dlsym()");
  CHECK(several > 10 && once > 1000 && told > once / 2 && told <= once, "most names of one library are found");
  CHECK(others > 1000 && unknown == 0, "names that no library has and that have the hash of one are not");
  pml__exports_free(e);
}

int main(void) {
  struct pml__objects all;
  CHECK(pml__objects_collect(&all) == 0, "the libraries are listed");
  for (size_t i = 0; i < all.n; i++) {
    walked = &all.at[i];
    if (walked->startup && walked->sym != NULL && walked->str != NULL) pml__object_walk(walked, take, NULL);
  }
  if (!CHECK(names.n > 1000, "they have many names")) return check_done();
  qsort(names.at, names.n, sizeof *names.at, by_name);
  look_up(&all, "libraries with the newer hash table");
  size_t older = 0;
  for (size_t i = 0; i < all.n; i++)
    if (all.at[i].hash != NULL && older++ % 2 == 0) all.at[i].gnu_hash = NULL;
  if (older > 0)
    look_up(&all, "libraries with the older hash table, and others");
  else
    SKIP("no library here has the older hash table");
  pml__objects_free(&all);
  free(names.at);
  return check_done();
}
