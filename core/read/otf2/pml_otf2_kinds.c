/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_kinds.c - callbacks for each kind of event, which forward its time. */
#include "read/otf2/pml_otf2_kinds.h"

#include "read/otf2/pml_otf2_read_private.h"

/* Forward the kind and the time of a record with no, one or more values of these types. */
#define FORWARD(name, ...)                                                                                             \
  static OTF2_CallbackCode on_##name(__VA_ARGS__) {                                                                    \
    ((const struct pml__otf2_subscriber *)user)->take(user, PML__OTF2_KIND_##name, time);                              \
    return OTF2_CALLBACK_SUCCESS;                                                                                      \
  }
#define V PML__OTF2_UNUSED
#define TAKER0(name) FORWARD(name, PML__OTF2_AT)
#define TAKER1(name, A) FORWARD(name, PML__OTF2_AT, V A a)
#define TAKER2(name, A, B) FORWARD(name, PML__OTF2_AT, V A a, V B b)
#define TAKER3(name, A, B, C) FORWARD(name, PML__OTF2_AT, V A a, V B b, V C c)
#define TAKER4(name, A, B, C, D) FORWARD(name, PML__OTF2_AT, V A a, V B b, V C c, V D d)
#define TAKER5(name, A, B, C, D, E) FORWARD(name, PML__OTF2_AT, V A a, V B b, V C c, V D d, V E e)
#define TAKER6(name, A, B, C, D, E, F) FORWARD(name, PML__OTF2_AT, V A a, V B b, V C c, V D d, V E e, V F f)

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
