/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_kinds.c - callbacks for each kind of event, which forward its time. */
#include "read/otf2/pml_otf2_kinds.h"

#define PLACE OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *more
#define TAKE(name)                                                                                                     \
  (void)location, (void)position, (void)more;                                                                          \
  ((const struct pml__otf2_subscriber *)user)->take(user, PML__OTF2_KIND_##name, time);                                \
  return OTF2_CALLBACK_SUCCESS;

/* A function with @n values of these types. */
#define TAKER0(name)                                                                                                   \
  static OTF2_CallbackCode on_##name(PLACE) {                                                                          \
    TAKE(name)                                                                                                         \
  }
#define TAKER1(name, T0)                                                                                               \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0) {                                                                   \
    (void)v0;                                                                                                          \
    TAKE(name)                                                                                                         \
  }
#define TAKER2(name, T0, T1)                                                                                           \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1) {                                                            \
    (void)v0, (void)v1;                                                                                                \
    TAKE(name)                                                                                                         \
  }
#define TAKER3(name, T0, T1, T2)                                                                                       \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2) {                                                     \
    (void)v0, (void)v1, (void)v2;                                                                                      \
    TAKE(name)                                                                                                         \
  }
#define TAKER4(name, T0, T1, T2, T3)                                                                                   \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3) {                                              \
    (void)v0, (void)v1, (void)v2, (void)v3;                                                                            \
    TAKE(name)                                                                                                         \
  }
#define TAKER5(name, T0, T1, T2, T3, T4)                                                                               \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3, T4 v4) {                                       \
    (void)v0, (void)v1, (void)v2, (void)v3, (void)v4;                                                                  \
    TAKE(name)                                                                                                         \
  }
#define TAKER6(name, T0, T1, T2, T3, T4, T5)                                                                           \
  static OTF2_CallbackCode on_##name(PLACE, T0 v0, T1 v1, T2 v2, T3 v3, T4 v4, T5 v5) {                                \
    (void)v0, (void)v1, (void)v2, (void)v3, (void)v4, (void)v5;                                                        \
    TAKE(name)                                                                                                         \
  }

#define PICK(name, v0, v1, v2, v3, v4, v5, taker, ...) taker
#define TAKER(...) PICK(__VA_ARGS__, TAKER6, TAKER5, TAKER4, TAKER3, TAKER2, TAKER1, TAKER0, )(__VA_ARGS__)
PML__OTF2_OTHER(TAKER)

const char *pml__otf2_kind_name(enum pml__otf2_kind_id kind) {
#define NAME(name, ...) #name,
  static const char *const names[] = {PML__OTF2_WALKED(NAME) PML__OTF2_OTHER(NAME)};
#undef NAME
  return names[kind];
}

void pml__otf2_other_kinds(OTF2_EvtReaderCallbacks *c) {
#define SET(name, ...) (void)OTF2_EvtReaderCallbacks_Set##name##Callback(c, on_##name);
  PML__OTF2_OTHER(SET)
#undef SET
}
