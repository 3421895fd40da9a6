/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/late.c - a program that loads MPI with a plugin, argv[1], and calls the plugin's main. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(int, char **);
  if (plugin == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  *(void **)&run = dlsym(plugin, "plugin_main");
  return run(argc, argv);
}
