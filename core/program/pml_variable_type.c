/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_variable_type.c - DWARF types: members, elements, and encoding. */
#include "program/pml_variable_private.h"

#if defined(PML_HAS_LIBDW)

#include "base/pml_error.h"
#include "source/base/pml_event_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 32 /* limit of nested anonymous members, and of qualifiers */
#define DIMENSIONS_MAX 16

struct walk {
  const struct pml__libdw *dw;
  const char *name;   /* the whole name, for messages */
  Dwarf_Die type;     /* current type, as declared */
  unsigned dimension; /* for an array: number of indices used */
  uint64_t offset;
  bool part; /* one half of a complex number of type @type */
  struct pml__nearest near;
};

static bool type_of(const struct pml__libdw *dw, Dwarf_Die *die, Dwarf_Die *type) {
  Dwarf_Attribute a;
  return dw->dwarf_attr_integrate(die, DW_AT_type, &a) != NULL && dw->dwarf_formref_die(&a, type) != NULL;
}

static bool number_of(const struct pml__libdw *dw, Dwarf_Die *die, unsigned attribute, uint64_t *n) {
  Dwarf_Attribute a;
  Dwarf_Word word;
  if (dw->dwarf_attr_integrate(die, attribute, &a) == NULL || dw->dwarf_formudata(&a, &word) != 0) return false;
  *n = word;
  return true;
}

static bool peel(struct walk *w, Dwarf_Die *bare) {
  return w->dw->dwarf_peel_type(&w->type, bare) == 0;
}

/* --- members --- */

/* Members of an unnamed struct or union belong to the enclosing type. */
static bool find_member(struct walk *w, Dwarf_Die *in, const char *name, uint64_t offset, unsigned depth) {
  Dwarf_Die m;
  if (depth == DEPTH_MAX || w->dw->dwarf_child(in, &m) != 0) return false;
  do {
    uint64_t at = 0;
    const char *its = w->dw->dwarf_diename(&m);
    Dwarf_Die type, bare;
    if (w->dw->dwarf_tag(&m) != DW_TAG_member || !type_of(w->dw, &m, &type)) continue;
    (void)number_of(w->dw, &m, DW_AT_data_member_location, &at);
    if (its == NULL) {
      if (w->dw->dwarf_peel_type(&type, &bare) == 0 && find_member(w, &bare, name, offset + at, depth + 1)) return true;
    } else if (strcmp(its, name) == 0) {
      bool bits = w->dw->dwarf_hasattr_integrate(&m, DW_AT_bit_size) != 0;
      w->type = type;
      w->offset = bits ? UINT64_MAX : offset + at;
      return true;
    } else {
      pml__nearest_offer(&w->near, its);
    }
  } while (w->dw->dwarf_siblingof(&m, &m) == 0);
  return false;
}

static bool is_complex(const struct walk *w, Dwarf_Die *bare) {
  uint64_t encoding = 0;
  return w->dw->dwarf_tag(bare) == DW_TAG_base_type && number_of(w->dw, bare, DW_AT_encoding, &encoding) &&
         encoding == DW_ATE_complex_float;
}

/* DWARF describes complex numbers without members. */
static int take_part(struct walk *w, Dwarf_Die *complex, const char *part) {
  Dwarf_Word bytes = 0;
  bool imaginary = strcmp(part, "imag") == 0;
  if (w->part || (!imaginary && strcmp(part, "real") != 0))
    return pml_fail(-EINVAL, "%.200s: no member %.100s; a complex number has .real and .imag", w->name, part);
  (void)w->dw->dwarf_aggregate_size(complex, &bytes);
  if (imaginary) w->offset += bytes / 2;
  w->part = true;
  return 0;
}

static int take_member(struct walk *w, const char **rest) {
  char member[128];
  size_t n = 1;
  Dwarf_Die bare;
  char text[300];
  while ((*rest)[n] != '\0' && (*rest)[n] != '.' && (*rest)[n] != '[') n++;
  (void)snprintf(member, sizeof member, "%.*s", (int)(n - 1), *rest + 1);
  *rest += n;
  w->near = (struct pml__nearest){.want = member};
  int tag = peel(w, &bare) ? w->dw->dwarf_tag(&bare) : 0;
  if (w->dimension == 0 && tag != 0 && is_complex(w, &bare)) return take_part(w, &bare, member);
  if (w->dimension > 0 || (tag != DW_TAG_structure_type && tag != DW_TAG_union_type && tag != DW_TAG_class_type))
    return pml_fail(-EINVAL, "%.200s: cannot take member %.100s, it is not a struct or union", w->name, member);
  if (!find_member(w, &bare, member, w->offset, 0))
    return pml_fail(-EINVAL, "%.200s: no member %.100s%s", w->name, member,
                    pml__nearest_text(&w->near, text, sizeof text));
  if (w->offset == UINT64_MAX)
    return pml_fail(-EINVAL, "%.200s: %.100s is a bit field, which has no address of its own", w->name, member);
  return 0;
}

/* --- elements --- */

/* The number of dimensions of an array, and the number of elements of each (0: not in the source). */
static unsigned dimensions(struct walk *w, Dwarf_Die *array, uint64_t n[DIMENSIONS_MAX]) {
  Dwarf_Die d;
  unsigned count = 0;
  if (w->dw->dwarf_child(array, &d) != 0) return 0;
  do {
    uint64_t bound;
    if (w->dw->dwarf_tag(&d) != DW_TAG_subrange_type || count == DIMENSIONS_MAX) continue;
    n[count] = 0;
    if (number_of(w->dw, &d, DW_AT_count, &bound))
      n[count] = bound;
    else if (number_of(w->dw, &d, DW_AT_upper_bound, &bound))
      n[count] = bound + 1;
    count++;
  } while (w->dw->dwarf_siblingof(&d, &d) == 0);
  return count;
}

static int take_index(struct walk *w, const char **rest) {
  uint64_t n[DIMENSIONS_MAX], index = 0;
  Dwarf_Die bare, element;
  Dwarf_Word size;
  const char *end = strchr(*rest, ']');
  if (end == NULL || !pml__parse_u64(*rest + 1, (size_t)(end - *rest - 1), &index))
    return pml_fail(-EINVAL, "%.200s: write an index as a number in brackets, [3]", w->name);
  *rest = end + 1;
  unsigned count = peel(w, &bare) && w->dw->dwarf_tag(&bare) == DW_TAG_array_type ? dimensions(w, &bare, n) : 0;
  if (count <= w->dimension || !type_of(w->dw, &bare, &element) || w->dw->dwarf_aggregate_size(&element, &size) != 0)
    return pml_fail(-EINVAL, "%.200s: cannot index with [%llu], it is not an array", w->name,
                    (unsigned long long)index);
  uint64_t have = n[w->dimension];
  if (have != 0 && index >= have)
    return pml_fail(-EINVAL, "%.200s: index %llu is out of range; the array has %llu elements", w->name,
                    (unsigned long long)index, (unsigned long long)have);
  for (unsigned i = w->dimension + 1; i < count; i++) size *= n[i];
  w->offset += index * size;
  if (++w->dimension == count) {
    w->type = element;
    w->dimension = 0;
  }
  return 0;
}

/* --- name and content of the type --- */

static const char *word_of(int tag) {
  switch (tag) {
  case DW_TAG_const_type:
    return "const ";
  case DW_TAG_volatile_type:
    return "volatile ";
  case DW_TAG_atomic_type:
    return "_Atomic ";
  default:
    return "";
  }
}

static void append(char *to, size_t size, const char *word) {
  size_t n = strlen(to);
  (void)snprintf(to + n, size - n, "%s", word);
}

/* "volatile double", "struct point *" */
static void name_type(struct walk *w, char *to, size_t size) {
  Dwarf_Die type = w->type, next;
  char stars[8] = "";
  to[0] = '\0';
  for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
    int tag = w->dw->dwarf_tag(&type);
    const char *name = w->dw->dwarf_diename(&type);
    bool inner = type_of(w->dw, &type, &next);
    if (tag == DW_TAG_pointer_type) append(stars, sizeof stars, stars[0] == '\0' ? " *" : "*");
    if (name != NULL || !inner || tag == DW_TAG_enumeration_type) {
      const char *what = tag == DW_TAG_enumeration_type ? "enum" : tag == DW_TAG_pointer_type ? "void" : "unnamed";
      append(to, size, name != NULL ? name : what);
      append(to, size, stars);
      return;
    }
    append(to, size, word_of(tag));
    type = next;
  }
}

/* Quadruple precision may have the same size as long double, and is not read. */
static enum pml_content float_content(const struct walk *w, Dwarf_Die *base, uint64_t bytes) {
  const char *name = w->dw->dwarf_diename(base);
  if (bytes == sizeof(float) || bytes == sizeof(double)) return PML_CONTENT_FLOAT;
  bool is_long = bytes == sizeof(long double) && name != NULL && strstr(name, "long double") != NULL;
  return is_long ? PML_CONTENT_LONG_DOUBLE : PML_CONTENT_NONE;
}

static enum pml_content base_content(const struct walk *w, Dwarf_Die *base, uint64_t bytes) {
  uint64_t encoding = 0;
  (void)number_of(w->dw, base, DW_AT_encoding, &encoding);
  switch (encoding) {
  case DW_ATE_complex_float:
    return w->part ? float_content(w, base, bytes) : PML_CONTENT_NONE;
  case DW_ATE_float:
    return float_content(w, base, bytes);
  case DW_ATE_signed:
  case DW_ATE_signed_char:
    return bytes <= 8 ? PML_CONTENT_SIGNED : PML_CONTENT_NONE;
  case DW_ATE_boolean:
  case DW_ATE_unsigned:
  case DW_ATE_unsigned_char:
  case DW_ATE_UTF:
    return bytes <= 8 ? PML_CONTENT_UNSIGNED : PML_CONTENT_NONE;
  default:
    return PML_CONTENT_NONE; /* decimal */
  }
}

static enum pml_content content_of(struct walk *w, Dwarf_Die *bare, uint64_t bytes) {
  Dwarf_Die below;
  switch (w->dw->dwarf_tag(bare)) {
  case DW_TAG_base_type:
    return base_content(w, bare, bytes);
  case DW_TAG_pointer_type:
  case DW_TAG_reference_type:
  case DW_TAG_rvalue_reference_type:
    return PML_CONTENT_UNSIGNED;
  case DW_TAG_enumeration_type:
    if (type_of(w->dw, bare, &below) && w->dw->dwarf_peel_type(&below, &below) == 0)
      return base_content(w, &below, bytes);
    return PML_CONTENT_SIGNED;
  default:
    return PML_CONTENT_NONE;
  }
}

static int settle(struct walk *w, struct pml_variable *v) {
  Dwarf_Die bare;
  Dwarf_Word bytes = 0;
  if (w->dimension > 0 || !peel(w, &bare))
    return pml_fail(-EINVAL, "%.200s is an array; name an element, [0]", w->name);
  name_type(w, v->type, sizeof v->type);
  (void)w->dw->dwarf_aggregate_size(&bare, &bytes);
  if (w->part) bytes /= 2;
  v->bytes = bytes;
  v->address += w->offset;
  v->content = content_of(w, &bare, bytes);
  if (v->content != PML_CONTENT_NONE) return 0;
  if (is_complex(w, &bare) && !w->part)
    return pml_fail(-EINVAL, "%.200s is a %.60s; name a part, .real or .imag", w->name, v->type);
  switch (w->dw->dwarf_tag(&bare)) {
  case DW_TAG_array_type:
    return pml_fail(-EINVAL, "%.200s is an array; name an element, [0]", w->name);
  case DW_TAG_structure_type:
  case DW_TAG_class_type:
  case DW_TAG_union_type:
    return pml_fail(-EINVAL, "%.200s is a %.60s; name a member, .x", w->name, v->type);
  default:
    return pml_fail(
        -EINVAL,
        "%.200s is a %.60s of %llu bytes, whose content cannot be read; pmlua reads integers up to 8 bytes, "
        "float, double and long double",
        w->name, v->type, (unsigned long long)v->bytes);
  }
}

int pml__variable_resolve(const struct pml__libdw *dw, Dwarf_Die *die, const char *name, const char *rest,
                          struct pml_variable *v) {
  struct walk w = {.dw = dw, .name = name};
  int err = 0;
  if (!type_of(dw, die, &w.type)) return pml_fail(-ENODATA, "%.200s: the debug information gives no type", name);
  while (err == 0 && *rest != '\0') {
    if (*rest == '.')
      err = take_member(&w, &rest);
    else if (*rest == '[')
      err = take_index(&w, &rest);
    else
      err = pml_fail(-EINVAL, "%.200s: \"%.60s\" is neither .MEMBER nor [INDEX]", name, rest);
  }
  return err < 0 ? err : settle(&w, v);
}

#endif
