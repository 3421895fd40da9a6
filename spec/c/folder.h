/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/folder.h - temporary folders, removed with all that is in them. */
#ifndef SPEC_FOLDER_H
#define SPEC_FOLDER_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline int folder__remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

static inline bool folder_remove(const char *path) {
  return nftw(path, folder__remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0;
}

#endif
