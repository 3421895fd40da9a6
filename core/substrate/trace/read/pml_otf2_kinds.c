/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_kinds.c - counting callbacks for each kind of event. */
#include "substrate/trace/read/pml_otf2_kinds.h"

#define PLACE OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *more
#define COUNT(name)                                                                                                    \
  (void)location, (void)time, (void)position, (void)more;                                                              \
  ((struct pml__otf2_counts *)user)->of[PML__OTF2_KIND_##name]++;                                                      \
  return OTF2_CALLBACK_SUCCESS;

/* A function with @n values, of these types. */
#define COUNTER0(name)                                                                                                 \
  static OTF2_CallbackCode on_##name(PLACE) {                                                                          \
    COUNT(name)                                                                                                        \
  }
#define COUNTER1(name, T0)                                                                                             \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0) {                                                                   \
    (void)v0;                                                                                                          \
    COUNT(name)                                                                                                        \
  }
#define COUNTER2(name, T0, T1)                                                                                         \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1) {                                                            \
    (void)v0, (void)v1;                                                                                                \
    COUNT(name)                                                                                                        \
  }
#define COUNTER3(name, T0, T1, T2)                                                                                     \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2) {                                                     \
    (void)v0, (void)v1, (void)v2;                                                                                      \
    COUNT(name)                                                                                                        \
  }
#define COUNTER4(name, T0, T1, T2, T3)                                                                                 \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3) {                                              \
    (void)v0, (void)v1, (void)v2, (void)v3;                                                                            \
    COUNT(name)                                                                                                        \
  }
#define COUNTER5(name, T0, T1, T2, T3, T4)                                                                             \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3, T4 v4) {                                       \
    (void)v0, (void)v1, (void)v2, (void)v3, (void)v4;                                                                  \
    COUNT(name)                                                                                                        \
  }
#define COUNTER6(name, T0, T1, T2, T3, T4, T5)                                                                         \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3, T4 v4, T5 v5) {                                \
    (void)v0, (void)v1, (void)v2, (void)v3, (void)v4, (void)v5;                                                        \
    COUNT(name)                                                                                                        \
  }

#define PICK(name, v0, v1, v2, v3, v4, v5, counter, ...) counter
#define COUNTER(...)                                                                                                   \
  PICK(__VA_ARGS__, COUNTER6, COUNTER5, COUNTER4, COUNTER3, COUNTER2, COUNTER1, COUNTER0, )(__VA_ARGS__)
PML__OTF2_COUNTED(COUNTER)

const char *pml__otf2_kind_name(enum pml__otf2_kind_id kind) {
#define NAME(name, ...) #name,
  static const char *const names[] = {PML__OTF2_WALKED(NAME) PML__OTF2_COUNTED(NAME)};
#undef NAME
  return names[kind];
}

void pml__otf2_count_kinds(OTF2_EvtReaderCallbacks *c) {
#define SET(name, ...) (void)OTF2_EvtReaderCallbacks_Set##name##Callback(c, on_##name);
  PML__OTF2_COUNTED(SET)
#undef SET
}
