/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/filter.c - filter files in Score-P's syntax: what they want, and what is wrong with them. */
#include "check.h"

#include "base/pml_error.h"
#include "program/pml_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES(rules) "SCOREP_FILE_NAMES_BEGIN\n" rules "\nSCOREP_FILE_NAMES_END\n"
#define REGIONS(rules) "SCOREP_REGION_NAMES_BEGIN\n" rules "\nSCOREP_REGION_NAMES_END\n"

static struct pml_filter *parsed(const char *text) {
  struct pml_filter *f;
  int err = pml_filter_parse(&f, text, strlen(text), "f");
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return f;
}

/* What a filter says of one file and one function. */
static bool wants(const char *text, const char *file, const char *name, const char *mangled) {
  struct pml_filter *f = parsed(text);
  bool is = f != NULL && pml_filter_wants(f, file, name, mangled);
  pml_filter_close(f);
  return is;
}
static bool wants_file(const char *text, const char *file) {
  return wants(text, file, "f", "f");
}
static bool wants_name(const char *text, const char *name) {
  return wants(text, "libz.so.1", name, name);
}

static void order(void) {
  CHECK(wants_name("", "f") && wants_name("# nothing\n", "f") && wants_name(REGIONS(""), "f"),
        "without rules all is wanted");
  CHECK(!wants_name(REGIONS("EXCLUDE f"), "f") && wants_name(REGIONS("EXCLUDE f"), "ff"),
        "what is excluded is not, by its whole name");
  const char *text = REGIONS("EXCLUDE *\nINCLUDE fftw_*\nEXCLUDE fftw_plan* fftw_print*\n   fftw_export*");
  CHECK(!wants_name(text, "g") && wants_name(text, "fftw_execute"), "the last rule that matches decides");
  CHECK(!wants_name(text, "fftw_plan_dft") && !wants_name(text, "fftw_print_plan") &&
            !wants_name(text, "fftw_export_wisdom"),
        "a rule has several patterns, on several lines");
  CHECK(!wants_name(REGIONS("EXCLUDE f") REGIONS("EXCLUDE g"), "f") &&
            wants_name(REGIONS("EXCLUDE f") FILES("") REGIONS("INCLUDE f"), "f"),
        "blocks may repeat: their rules follow each other");
  CHECK(wants_name(REGIONS("EXCLUDE *\nINCLUDE"), "INCLUDE") == false && wants_name(REGIONS("EXCLUDE"), "f"),
        "a rule without a pattern says nothing");
}

static void globs(void) {
  const char *text = REGIONS("EXCLUDE a?c [x-z]* *_end d[!1]e");
  CHECK(!wants_name(text, "abc") && wants_name(text, "ac") && !wants_name(text, "yes") && wants_name(text, "wes") &&
            !wants_name(text, "the_end") && !wants_name(text, "d2e") && wants_name(text, "d1e"),
        "*, ? and [...] are the shell's");
  text = REGIONS("EXCLUDE operator\\* f\\ g h\\#i j\\\\k \\EXCLUDE l\\?m");
  CHECK(!wants_name(text, "operator*") && wants_name(text, "operator+") && !wants_name(text, "f g") &&
            !wants_name(text, "h#i") && !wants_name(text, "j\\k") && !wants_name(text, "EXCLUDE") &&
            !wants_name(text, "l?m") && wants_name(text, "lxm"),
        "a backslash takes the meaning from wildcards, blanks, comments, itself and keywords");
  text = "# head\nSCOREP_REGION_NAMES_BEGIN#x\n\tEXCLUDE#y\n f#g\r\n  h # i\nSCOREP_REGION_NAMES_END # end";
  CHECK(!wants_name(text, "f") && wants_name(text, "g") && !wants_name(text, "h") && wants_name(text, "i"),
        "comments go from # to the line's end, wherever they begin");
}

static void files(void) {
  const char *text = FILES("EXCLUDE *\nINCLUDE libz* */fft/*");
  CHECK(wants_file(text, "/usr/lib/libz.so.1") && wants_file(text, "libz.so") && !wants_file(text, "/libz/libm.so"),
        "a pattern without '/' is of the file's name");
  CHECK(wants_file(text, "/opt/fft/libf.so") && !wants_file(text, "/opt/gft/libf.so"), "one with '/' is of its path");
  text = FILES("EXCLUDE libz*") REGIONS("EXCLUDE *\nINCLUDE g");
  CHECK(!wants(text, "libz.so", "g", "g") && wants(text, "libm.so", "g", "g") && !wants(text, "libm.so", "f", "f"),
        "a function is wanted if its file and its name are");
  CHECK(wants(text, NULL, "g", "g"), "of an unknown file the name decides");
}

static void mangled(void) {
  const char *text = REGIONS("EXCLUDE MANGLED _ZN1a* _ZN1b*\nEXCLUDE c::*");
  CHECK(!wants(text, NULL, "a::f()", "_ZN1a1fEv") && !wants(text, NULL, "b::f()", "_ZN1b1fEv"),
        "MANGLED patterns are of the names in the symbol table, all of the rule");
  CHECK(!wants(text, NULL, "c::f()", "_ZN1c1fEv") && wants(text, NULL, "_ZN1a", "d"), "the others of those people use");
  CHECK(!wants(text, NULL, NULL, "c::g") && wants(text, NULL, NULL, NULL), "and a missing name matches nothing");
  CHECK(!wants_name(REGIONS("EXCLUDE MANGLED MANGLED"), "MANGLED") &&
            !wants_name(REGIONS("EXCLUDE f MANGLED"), "MANGLED"),
        "elsewhere MANGLED is a name");
}

static void mistakes(void) {
  static const struct {
    const char *text, *why;
  } cases[] = {{"EXCLUDE f", "f:1: \"EXCLUDE\" is outside a block"},
               {"# x\n\nsomething", "f:3: \"something\" is outside a block"},
               {"SCOREP_REGION_NAMES_BEGIN\nf", "f:2: \"f\" follows no rule; write EXCLUDE or INCLUDE before it"},
               {REGIONS("EXCLUDE f # a\n g\n h") "x", "f:6: \"x\" is outside a block"},
               {"\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE *\n", "f:2: the block does not end; write SCOREP_FILE_NAMES_END"},
               {"SCOREP_FILE_NAMES_BEGIN\nSCOREP_REGION_NAMES_END",
                "f:2: \"SCOREP_REGION_NAMES_END\" inside a block of files; end it with SCOREP_FILE_NAMES_END"},
               {"SCOREP_REGION_NAMES_BEGIN\nEXCLUDE f\nSCOREP_REGION_NAMES_BEGIN",
                "f:3: \"SCOREP_REGION_NAMES_BEGIN\" inside a block of functions; end it"},
               {FILES("EXCLUDE MANGLED f"), "f:2: \"MANGLED\" applies to functions, not to files"},
               {REGIONS("EXCLUDE f\\"), "f:2: a backslash at the end"},
               {"SCOREP_REGION_NAMES_BEGIN\nEXCLUDE f\\", "f:2: a backslash at the end"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pml_filter *f;
    int err = pml_filter_parse(&f, cases[i].text, strlen(cases[i].text), "f");
    const char *why = err < 0 ? pml_error_detail(err) : "";
    CHECK(err == PML_EFORMAT && f == NULL && strncmp(why, cases[i].why, strlen(cases[i].why)) == 0, "%s", why);
  }
  struct pml_filter *f;
  CHECK(pml_filter_parse(&f, "a\0b", 3, "f") == PML_EFORMAT, "%s", pml_error_detail(PML_EFORMAT));
}

static void from_files(void) {
  char path[] = "/tmp/pmlua-filter-XXXXXX";
  struct pml_filter *f;
  int fd = mkstemp(path);
  const char *text = REGIONS("EXCLUDE f");
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
    SKIP("no file can be written below /tmp");
    return;
  }
  CHECK(pml_filter_open(&f, path) == 0 && !pml_filter_wants(f, "x", "f", "f") && pml_filter_wants(f, "x", "g", "g"),
        "a file is read");
  pml_filter_close(f);
  bool cut = ftruncate(fd, (off_t)strlen(text) - 5) == 0;
  int err = pml_filter_open(&f, path);
  CHECK(cut && err == PML_EFORMAT && strstr(pml_error_detail(err), path) != NULL, "%s", pml_error_detail(err));
  close(fd);
  unlink(path);
  err = pml_filter_open(&f, path);
  CHECK(err == -ENOENT && f == NULL, "one that is not there: %s", pml_error_detail(err));
  err = pml_filter_open(&f, "/");
  CHECK(err == -EISDIR && f == NULL, "a folder: %s", pml_error_detail(err));
  err = pml_filter_open(&f, "/dev/zero");
  CHECK(err == -EFBIG && f == NULL, "one without an end: %s", pml_error_detail(err));
}

int main(void) {
  order();
  globs();
  files();
  mangled();
  mistakes();
  from_files();
  return check_done();
}
