/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_variable.c - variables and functions of a program by name: symbol tables, then debug information. */
#include "program/pml_variable_private.h"

#include "base/pml_error.h"

#if defined(PML_HAS_LIBDW)

#include "source/base/pml_event_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 64 /* limit of nested scopes */

struct search {
  const struct pml__libdw *dw;
  Dwfl_Callbacks calls;
  Dwfl *dwfl;
  Dwfl_Module *module;
  const char *path, *name; /* as requested */
  char base[256];          /* the variable */
  const char *rest;        /* .MEMBER, [INDEX], +OFFSET */
  struct pml__nearest near;
  /* results of the symbol tables */
  bool symbol, function, thread_local_;
  unsigned symbols, same; /* total number, and the number of symbols with this name at different addresses */
  uint64_t address, bytes;
  /* results of the debug information */
  bool units, optimised_away;
  unsigned found;
  uint64_t at;
  Dwarf_Off declared; /* inside a scope: the definition is elsewhere and refers to it */
  Dwarf_Die die;
};

/* --- symbol tables --- */

static void take_symbol(struct search *s, const GElf_Sym *sym, uint64_t address) {
  bool global = GELF_ST_BIND(sym->st_info) != STB_LOCAL;
  if (s->symbol && address == s->address) return;
  if (s->symbol && !global) {
    s->same++;
    return;
  }
  s->same++;
  s->symbol = true;
  s->function = GELF_ST_TYPE(sym->st_info) == STT_FUNC || GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
  s->address = address;
  s->bytes = sym->st_size;
}

static void search_symbols(struct search *s, const char *name) {
  GElf_Addr bias = 0, address;
  GElf_Sym sym;
  (void)s->dw->dwfl_module_getelf(s->module, &bias);
  int n = s->dw->dwfl_module_getsymtab(s->module);
  for (int i = 1; i < n; i++) {
    GElf_Word section = SHN_UNDEF;
    const char *its = s->dw->dwfl_module_getsym_info(s->module, i, &sym, &address, &section, NULL, NULL);
    unsigned type = GELF_ST_TYPE(sym.st_info);
    if (its == NULL || *its == '\0' || section == SHN_UNDEF || section == SHN_ABS) continue;
    if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_TLS)
      continue;
    s->symbols++;
    if (strcmp(its, name) != 0) {
      pml__nearest_offer(&s->near, its);
    } else if (type == STT_TLS) {
      s->thread_local_ = true;
    } else {
      take_symbol(s, &sym, address - bias);
    }
  }
}

/* --- debug information --- */

static bool fixed_address(const struct search *s, Dwarf_Die *die, uint64_t *address) {
  Dwarf_Attribute a, indirect;
  Dwarf_Op *op;
  size_t n;
  Dwarf_Addr at;
  if (s->dw->dwarf_attr_integrate(die, DW_AT_location, &a) == NULL) return false;
  if (s->dw->dwarf_getlocation(&a, &op, &n) != 0 || n != 1) return false;
  *address = op->number;
  if (op->atom == DW_OP_addr) return true;
  if (op->atom != DW_OP_addrx && op->atom != DW_OP_GNU_addr_index) return false;
  if (s->dw->dwarf_getlocation_attr(&a, op, &indirect) != 0 || s->dw->dwarf_formaddr(&indirect, &at) != 0) return false;
  *address = at;
  return true;
}

static bool is_named(const struct search *s, Dwarf_Die *die, const char *want) {
  Dwarf_Attribute a;
  Dwarf_Die declaration;
  if (s->declared != 0 && s->dw->dwarf_attr(die, DW_AT_specification, &a) != NULL &&
      s->dw->dwarf_formref_die(&a, &declaration) != NULL && s->dw->dwarf_dieoffset(&declaration) == s->declared)
    return true;
  const char *name = s->dw->dwarf_diename(die);
  if (name != NULL && strcmp(name, want) == 0) return true;
  if (s->dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &a) == NULL) return false;
  name = s->dw->dwarf_formstring(&a);
  return name != NULL && strcmp(name, want) == 0;
}

static void take_die(struct search *s, Dwarf_Die *die, int tag) {
  uint64_t at = 0;
  Dwarf_Addr entry;
  bool has = tag == DW_TAG_variable ? fixed_address(s, die, &at) : s->dw->dwarf_entrypc(die, &entry) == 0;
  if (tag == DW_TAG_subprogram && has) at = entry;
  if (!has) {
    s->optimised_away = s->optimised_away || (tag == DW_TAG_variable && !s->dw->dwarf_hasattr(die, DW_AT_declaration));
    return;
  }
  /* if several variables have this name, prefer the one in the symbol table, otherwise the first */
  if (s->found > 0 && (s->at == at || !s->symbol || at != s->address)) {
    s->found += s->at != at;
    return;
  }
  s->found++;
  s->at = at;
  s->die = *die;
  s->function = tag == DW_TAG_subprogram;
}

static void look_at(struct search *s, Dwarf_Die *die, int tag, const char *want) {
  if (!is_named(s, die, want)) return;
  if (want != s->base && s->dw->dwarf_hasattr(die, DW_AT_declaration))
    s->declared = s->dw->dwarf_dieoffset(die);
  else if (tag != DW_TAG_member)
    take_die(s, die, tag);
}

/* The rest of SCOPE::NAME inside this scope; the whole name if it does not begin with this scope. A file name needs no
 * path. */
static const char *inside(const struct search *s, Dwarf_Die *scope, const char *want) {
  const char *name = s->dw->dwarf_diename(scope);
  const char *slash = name != NULL ? strrchr(name, '/') : NULL;
  if (slash != NULL) name = slash + 1;
  size_t n = name != NULL ? strlen(name) : 0;
  return n > 0 && strncmp(want, name, n) == 0 && strncmp(want + n, "::", 2) == 0 ? want + n + 2 : want;
}

static bool is_scope(int tag, bool named, bool deep) {
  if (tag == DW_TAG_namespace || tag == DW_TAG_module) return true;
  if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type) return named;
  return deep && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block);
}

static void search_scope(struct search *s, Dwarf_Die *scope, const char *want, bool deep, unsigned depth) {
  Dwarf_Die die;
  if (depth == DEPTH_MAX || s->dw->dwarf_child(scope, &die) != 0) return;
  do {
    int tag = s->dw->dwarf_tag(&die);
    if (tag == DW_TAG_variable || tag == DW_TAG_subprogram || tag == DW_TAG_member) {
      const char *name = depth == 0 && s->symbols == 0 ? s->dw->dwarf_diename(&die) : NULL;
      if (name != NULL) pml__nearest_offer(&s->near, name);
      look_at(s, &die, tag, want);
    }
    const char *left = inside(s, &die, want);
    if (is_scope(tag, left != want, deep)) search_scope(s, &die, left, deep, depth + 1);
  } while (s->dw->dwarf_siblingof(&die, &die) == 0);
}

/* Global variables of files first, then static variables of functions. */
static void search_units(struct search *s) {
  for (int deep = 0; deep < 2 && s->found == 0 && !s->optimised_away; deep++) {
    Dwarf_Addr bias;
    for (Dwarf_Die *unit = NULL; (unit = s->dw->dwfl_module_nextcu(s->module, unit, &bias)) != NULL; s->units = true)
      search_scope(s, unit, inside(s, unit, s->base), deep == 1, 0);
  }
}

/* --- result --- */

static int nothing(const struct search *s) {
  char text[400];
  if (s->thread_local_)
    return pml_fail(-ENXIO,
                    "%.160s is thread-local: every thread has its own copy, whose address is not known in advance; it "
                    "cannot be watched",
                    s->name);
  if (s->optimised_away)
    return pml_fail(-ENXIO,
                    "%.160s has no address: the compiler keeps it in registers or left it out (declare it volatile, or "
                    "compile with -O0)",
                    s->name);
  if (s->symbols == 0 && !s->units)
    return pml_fail(PML_ENOSYMBOL, "%.160s is stripped: it has neither symbols nor debug information", s->path);
  return pml_fail(PML_ENOSYMBOL, "no variable or function %.160s in %.160s%s", s->base, s->path,
                  pml__nearest_text(&s->near, text, sizeof text));
}

static int untyped(struct search *s, struct pml_variable *v) {
  uint64_t offset = 0;
  if (s->rest[0] == '+' && !pml__parse_u64(s->rest + 1, strlen(s->rest + 1), &offset))
    return pml_fail(-EINVAL, "%.160s: the offset %.60s is not a number", s->name, s->rest + 1);
  v->address = (s->symbol ? s->address : s->at) + offset;
  v->bytes = s->symbol && offset == 0 ? s->bytes : 0;
  v->function = s->function && offset == 0;
  return 0;
}

static int conclude(struct search *s, bool typed, struct pml_variable *v) {
  bool member = s->rest[0] == '.' || s->rest[0] == '[';
  if (!s->symbol && s->found == 0) return nothing(s);
  if ((s->symbol ? s->same : s->found) > 1)
    return pml_fail(-EINVAL, "%.160s: there are %u of this name in %.160s; choose one with FILE.c::%.60s", s->base,
                    s->symbol ? s->same : s->found, s->path, s->base);
  if (typed && s->rest[0] == '+')
    return pml_fail(-EINVAL, "%.160s: SYMBOL+OFFSET has no type; name a member or an element", s->name);
  if (s->function && (typed || member)) return pml_fail(-EINVAL, "%.160s is a function, which has no content", s->name);
  if (s->found > 0 && !s->function && s->rest[0] != '+') {
    v->address = s->at;
    int err = pml__variable_resolve(s->dw, &s->die, s->name, s->rest, v);
    /* accesses to a whole array or struct are counted at its beginning */
    if (err == 0 || typed || member) return err;
  } else if (typed || member) {
    return pml_fail(-ENODATA, "%.160s: %.160s has no debug information with its type; compile with -g", s->name,
                    s->path);
  }
  return untyped(s, v);
}

/* The name of a file also contains a dot. */
static void split(struct search *s) {
  const char *last = s->name;
  for (const char *at = s->name; (at = strstr(at, "::")) != NULL; at += 2) last = at + 2;
  size_t n = strcspn(last, ".[+");
  s->rest = last + (n == 0 ? strlen(last) : n);
  (void)snprintf(s->base, sizeof s->base, "%.*s", (int)(s->rest - s->name), s->name);
}

static int search(struct search *s, bool typed, struct pml_variable *v) {
  split(s);
  s->near = (struct pml__nearest){.want = s->base};
  /* compilers create names with dots */
  if (strcmp(s->base, s->name) != 0) search_symbols(s, s->name);
  if (s->symbol)
    (void)snprintf(s->base, sizeof s->base, "%s", s->name), s->rest = s->name + strlen(s->name);
  else
    s->symbols = 0, search_symbols(s, s->base);
  bool enough = s->symbol && s->same == 1 && !typed && (s->rest[0] == '\0' || s->rest[0] == '+');
  if (!enough && !s->thread_local_) search_units(s);
  return conclude(s, typed, v);
}

static int begin(struct search *s) {
  static char *nowhere_else; /* only the debuggers' usual paths */
  s->calls = (Dwfl_Callbacks){.find_elf = s->dw->dwfl_build_id_find_elf,
                              .find_debuginfo = s->dw->dwfl_standard_find_debuginfo,
                              .section_address = s->dw->dwfl_offline_section_address,
                              .debuginfo_path = &nowhere_else};
  if (access(s->path, R_OK) != 0) return pml_fail(-errno, "%.400s: %s", s->path, strerror(errno));
  s->dwfl = s->dw->dwfl_begin(&s->calls);
  if (s->dwfl == NULL) return pml_fail(-ENOMEM, "no memory to read %.400s", s->path);
  s->module = s->dw->dwfl_report_offline(s->dwfl, "", s->path, -1);
  const char *why = s->module == NULL ? s->dw->dwfl_errmsg(-1) : NULL;
  (void)s->dw->dwfl_report_end(s->dwfl, NULL, NULL);
  if (s->module != NULL) return 0;
  return pml_fail(PML_EFORMAT, "%.300s: %.150s", s->path, why != NULL ? why : "not an ELF file");
}

int pml_variable_find(const char *path, const char *name, bool typed, struct pml_variable *v) {
  struct search s = {.path = path, .name = name};
  memset(v, 0, sizeof *v);
  if (*name == '\0' || strlen(name) >= sizeof s.base)
    return pml_fail(-EINVAL, "\"%.160s\" is not the name of a variable or function", name);
  s.dw = pml__libdw();
  if (s.dw == NULL) return PML_ENOTHERE;
  int err = begin(&s);
  if (err == 0) err = search(&s, typed, v);
  if (s.dwfl != NULL) s.dw->dwfl_end(s.dwfl);
  return err;
}

#else

int pml_variable_find(const char *path, const char *name, bool typed, struct pml_variable *v) {
  (void)path, (void)name, (void)typed, (void)v;
  return pml_fail(PML_ENOTHERE, "this pmlua was built without libdw (Debian: libdw-dev), which finds variables");
}

#endif
