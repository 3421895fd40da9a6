/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_chase.c - the chase as a workload: one cycle through all slots, on the pages that were asked for. */
#include "workload.h"

static void pages_are(struct workload *l, const char *pages) {
  for (unsigned i = 0; l->w->option[i].name; i++)
    if (strcmp(l->w->option[i].name, "pages") == 0) l->text[i] = pages;
}

static void one_cycle(struct workload *l, double bytes, double stride) {
  workload_defaults(l);
  workload_set(l, "bytes", bytes);
  workload_set(l, "stride", stride);
  if (!CHECK(workload_go(l, NULL) == 0, "%g bytes are walked in strides of %g %s", bytes, stride, l->run.error)) return;
  CHECK(workload_value(l, "cycle") == floor(bytes / stride), "through each slot once: %g", workload_value(l, "cycle"));
  CHECK(l->samples[0].n == 100 && l->samples[0].value[0] > 0, "100 samples");
  CHECK(workload_value(l, "huge_bytes") <= 0, "no huge page where small ones are wanted");
  workload_phases_in_order(l, 1);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "chase", 100)) return check_done();
  const double bytes[] = {128, 4096, 100000, 5 << 20}, stride[] = {8, 64, 4160};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    for (size_t k = 0; k < sizeof stride / sizeof *stride; k++)
      if (bytes[i] >= 2 * stride[k]) one_cycle(&l, bytes[i], stride[k]);

  workload_defaults(&l);
  workload_set(&l, "bytes", 8 << 20);
  pages_are(&l, "huge");
  int err = workload_go(&l, NULL);
  if (err)
    SKIP(l.run.error);
  else
    CHECK(workload_value(&l, "huge_bytes") <= (8 << 20) + (4 << 20), "the account of huge pages is that of the area");

  pages_are(&l, "medium");
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "medium"), "refused: %s", l.run.error);
  workload_refuses(&l, "bytes");
  workload_refuses(&l, "stride");
  workload_refuses(&l, "loads");
  workload_defaults(&l);
  workload_set(&l, "stride", 12);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "multiple"), "refused: %s", l.run.error);
  workload_defaults(&l);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
