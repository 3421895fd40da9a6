#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# packaging/place.sh - copy a staged installation to its place, and remove it again.
#
# Usage: place.sh check PREFIX | place.sh install STAGE PREFIX | place.sh uninstall PREFIX | place.sh advise PREFIX
#
# PREFIX/share/pmlua/installed lists what install put there: files, and the folders that it had to make, each relative to
# PREFIX. uninstall removes those and nothing else; a folder that holds another file stays. Installing over an older
# version removes that one first, so that none of its modules stays behind.
set -eu

list=share/pmlua/installed

entries() { LC_ALL=C sort -r "$1"; } # what is in a folder before the folder

uninstall() {
  if [ ! -f "$1/$list" ]; then
    echo "make uninstall: there is no $1/$list; give the PREFIX that pmlua was installed with" >&2
    return 1
  fi
  all=$(entries "$1/$list" | sed 's|^\.||')
  echo "$all" | while IFS= read -r entry; do
    [ -d "$1$entry" ] && [ ! -L "$1$entry" ] || printf '%s\0' "$1$entry"
  done | xargs -0 rm -f
  echo "$all" | while IFS= read -r entry; do
    [ ! -d "$1$entry" ] || printf '%s\0' "$1$entry"
  done | xargs -0 rmdir 2>/dev/null || :
}

# Whether the user may write to every folder of an installation, or to the nearest one that is there.
check() {
  for folder in bin lib include share; do
    at=$1/$folder
    while [ ! -e "$at" ]; do at=$(dirname "$at"); done
    if [ ! -w "$at" ]; then
      echo "make install: $at cannot be written; use sudo make install, or make install PREFIX=\$HOME/.local" >&2
      return 1
    fi
  done
}

# Make the folders that are not there yet, and print them.
make_folders() {
  missing=$( (cd "$1" && find . -type d | LC_ALL=C sort) | while IFS= read -r folder; do
    [ -d "$2/$folder" ] || echo "$folder"
  done)
  [ -n "$missing" ] || return 0
  [ -d "$2" ] || command install -d -m 755 "$2"
  (cd "$2" && echo "$missing" | tr '\n' '\0' | xargs -0 mkdir -p -m 755)
  echo "$missing"
}

# tar, because cp would change the modes of folders that were there before.
install() {
  if [ -f "$2/$list" ]; then uninstall "$2"; fi
  made=$(make_folders "$1" "$2")
  (cd "$1" && find . ! -type d | tar -cf - -T -) | tar -xpf - --no-same-owner -C "$2"
  { [ -z "$made" ] || echo "$made"; (cd "$1" && find . ! -type d); echo "./$list"; } >"$2/$list.new"
  mv "$2/$list.new" "$2/$list"
}

# Print what a shell needs to find pmlua in PREFIX.
advise() {
  case $1 in
    /usr | /usr/local) echo "pmlua is installed in $1; as root, run ldconfig, so that programs find libpmlua.so" ;;
    *)
      echo "pmlua is installed in $1; in each shell that uses it, type:"
      echo "  export PATH=$1/bin:\$PATH"
      echo "  export LD_LIBRARY_PATH=$1/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
      echo "  export PKG_CONFIG_PATH=$1/lib/pkgconfig\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}"
      ;;
  esac
}

case $1 in
  install) install "$2" "$3" ;;
  check) check "$2" ;;
  advise) advise "$2" ;;
  uninstall) uninstall "$2" ;;
esac
