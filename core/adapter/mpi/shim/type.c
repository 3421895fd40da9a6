/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/type.c - sizes of predefined datatypes. */
#include "shim.h"

struct type shim_type[TYPES];

/* If the program contains copies of MPI's types, as non-PIC programs with Open MPI do, two types may have the same
 * slot. */
struct type *shim_type_find(MPI_Datatype type) {
  struct type *t = shim_type_place(type);
  for (unsigned n = 0; n < TYPES && t->key != key_of(type); n++) {
    if (t->key == 0) return t;
    t = t + 1 < shim_type + TYPES ? t + 1 : shim_type;
  }
  return t;
}

/* MPI_Type_size cannot return 2^31 bytes or more. An error that MPI treats as fatal would end the program. */
__attribute__((cold, noinline)) uint64_t shim_ask_bytes(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = MPI_UNDEFINED, bytes;
  const struct type *t = shim_type_find(type);
  if (count == 0 || type == MPI_DATATYPE_NULL) return 0;
  if (t->key == key_of(type)) return (uint64_t)count * t->size;
  if (PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size >= 0 && !__builtin_mul_overflow(count, size, &bytes))
    return (uint64_t)bytes;
  pml__mpi_set_trouble("MPI returns no size of a datatype: messages with it count as 0 bytes");
  return UINT64_MAX;
}

/*
 * A type that this MPI lacks is MPI_DATATYPE_NULL. The types that programs use most come first, because a copy of a
 * type may lie at the place of any other type, and the second one is found only by the slow path.
 */
void shim_types_begin(void) {
  const MPI_Datatype named[] = {MPI_INT,           MPI_DOUBLE,
                                MPI_FLOAT,         MPI_BYTE,
                                MPI_CHAR,          MPI_LONG,
                                MPI_SIGNED_CHAR,   MPI_UNSIGNED_CHAR,
                                MPI_PACKED,        MPI_WCHAR,
                                MPI_SHORT,         MPI_LONG_LONG,
                                MPI_UNSIGNED,      MPI_UNSIGNED_SHORT,
                                MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                MPI_LONG_DOUBLE,   MPI_C_BOOL,
                                MPI_INT8_T,        MPI_INT16_T,
                                MPI_INT32_T,       MPI_INT64_T,
                                MPI_UINT8_T,       MPI_UINT16_T,
                                MPI_UINT32_T,      MPI_UINT64_T,
                                MPI_C_COMPLEX,     MPI_AINT,
                                MPI_COUNT,         MPI_OFFSET,
                                MPI_FLOAT_INT,     MPI_C_DOUBLE_COMPLEX,
                                MPI_DOUBLE_INT,    MPI_LONG_INT,
                                MPI_2INT,          MPI_CHARACTER,
                                MPI_INTEGER,       MPI_REAL,
                                MPI_COMPLEX,       MPI_DOUBLE_PRECISION,
                                MPI_LOGICAL,       MPI_DOUBLE_COMPLEX,
                                MPI_INTEGER4,      MPI_INTEGER8,
                                MPI_REAL4,         MPI_REAL8,
                                MPI_COMPLEX8,      MPI_COMPLEX16,
                                MPI_2INTEGER,      MPI_2DOUBLE_PRECISION};
  for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
    int size = 0;
    if (named[i] == MPI_DATATYPE_NULL || PMPI_Type_size(named[i], &size) != MPI_SUCCESS || size < 0) continue;
    *shim_type_find(named[i]) = (struct type){key_of(named[i]), (uint64_t)size};
  }
}
