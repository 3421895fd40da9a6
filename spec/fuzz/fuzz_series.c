/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_series.c - any bytes as a file of plugins' series: series in order, or one line that says why not. */
#include "fuzz.h"

#include "base/pml_error.h"
#include "source/plugin/pml_plugin_file.h"

static unsigned long long values;

static int look(const char *plugin, const struct pml_plugin_series *s, void *arg) {
  size_t *n = arg;
  PROMISE(plugin[0] != '\0' && s->metric->name[0] != '\0', "a series has a name");
  PROMISE((unsigned)s->metric->mode < PML_MODES && (unsigned)s->metric->value < PML_PLUGIN_VALUES, "and a kind");
  for (size_t i = 1; i < s->n; i++) PROMISE(s->pair[i].ticks >= s->pair[i - 1].ticks, "times do not go back");
  for (size_t i = 0; i < s->n; i++) values += s->pair[i].value;
  *n += s->n;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[64];
  static int fd = -1;
  size_t n = 0;
  if (fd < 0) {
    fd = memfd_create("series", 0);
    PROMISE(fd >= 0, "there is memory for a file");
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  PROMISE(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "the file takes it");
  int err = pml_plugin_load_series(path, look, &n);
  PROMISE(err == 0 || err == PML_EFORMAT, "series, or malformed");
  PROMISE(n <= size / 4, "there are no more values than there is room for");
  PLANTED(err == 0 && n > 1);
  return 0;
}
