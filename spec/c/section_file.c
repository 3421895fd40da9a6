/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/section_file.c - what a process leaves behind of its sections, as a file, and when it ends. */
#include "folder.h"
#include "log_text.h"
#include "sections.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

static char dir[] = "/tmp/pmlua-section-file-XXXXXX";

static char *in_dir(const char *name) {
  static char path[4][PATH_MAX];
  static unsigned i;
  char *p = path[i++ % 4];
  snprintf(p, PATH_MAX, "%s/%s", dir, name);
  return p;
}

static void call(struct pml_section *s, double work, unsigned times) {
  for (unsigned i = 0; i < times; i++) {
    pml_section_start(s);
    pml_section_stop_work(s, work, 2);
  }
}

static int program(const char *what) {
  struct pml_section *s = NULL;
  int err = strcmp(what, "unused") == 0 ? 0 : pml_section_define("program", NULL, &s);
  if (strcmp(what, "refused") == 0) return err == 0 ? 0 : 10 + (strstr(pml_error_detail(err), "PMLUA_REPORT") != NULL);
  if (s != NULL) call(s, 1, 3);
  if (strcmp(what, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) {
      call(s, 1, 5);
      exit(0);
    }
    waitpid(child, NULL, 0);
  }
  if (strcmp(what, "moved") == 0 && chdir("/") != 0) return 1;
  return 0;
}

static int run(const char *what, const char *report, const char *rank, const char *timeline) {
  static char self[PATH_MAX];
  if (self[0] == '\0' && readlink("/proc/self/exe", self, sizeof self - 1) < 0) return -1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (chdir(dir) != 0) _exit(99);
    setenv("PMLUA_REPORT", report, 1);
    if (rank != NULL) setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    if (rank != NULL) setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    if (timeline != NULL) setenv("PMLUA_REPORT_TIMELINE", timeline, 1);
    execl(self, self, what, (char *)NULL);
    _exit(98);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The text of the one file in @folder whose name has @part in it; *@n of them there are. Caller frees. */
static char *left_in(const char *folder, const char *part, unsigned *n) {
  char *text = NULL, path[PATH_MAX + NAME_MAX + 2];
  DIR *d = opendir(in_dir(folder));
  *n = 0;
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.' || strstr(e->d_name, part) == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", in_dir(folder), e->d_name);
    free(text);
    text = log_text(path);
    ++*n;
  }
  if (d != NULL) closedir(d);
  return text;
}

static bool has(const char *text, const char *part) {
  return text != NULL && strstr(text, part) != NULL;
}

static void at_the_end(void) {
  unsigned n;
  CHECK(run("plain", "ended", NULL, NULL) == 0, "a program ends");
  char *text = left_in("ended", ".pmlog", &n);
  CHECK(n == 1 && has(text, "\nsection\tprogram\tcalculation\tinclusive\tnone\nrow\t"),
        "and left a log of its section");
  CHECK(has(text, "section_file plain\n") && !has(text, "\nrank\t"), "with its command and no rank");
  free(text);
  run("unused", "unused", NULL, NULL);
  free(left_in("unused", "", &n));
  CHECK(n == 0, "one without sections leaves none");
  CHECK(run("moved", "moved", NULL, NULL) == 0, "a program that changes its folder ends");
  free(left_in("moved", ".pmlog", &n));
  CHECK(n == 1, "and left its file where it was told to at first");
}

static void ranks(void) {
  unsigned n;
  run("plain", "ranks", "0", NULL);
  run("fork", "ranks", "3", NULL);
  free(left_in("ranks", ".pmlog", &n));
  CHECK(n == 3, "two ranks and a forked child leave a file each (%u)", n);
  char *text = left_in("ranks", "rank3.", &n);
  CHECK(n == 1 && has(text, "\nrank\t3\t4\n"), "a rank's file says which of how many");
  free(text);
  run("fork", "forked", "1", NULL);
  text = left_in("forked", "rank1", &n);
  CHECK(n == 1 && has(text, "\t0\t3\t"), "the parent's calls are its own");
  free(text);
  run("plain", "odd", "x1", NULL);
  run("plain", "odd", "-1", NULL);
  run("plain", "odd", "99999999999999999999", NULL);
  text = left_in("odd", ".pmlog", &n);
  CHECK(n == 3 && !has(text, "\nrank\t"), "an invalid rank is ignored");
  free(text);
}

static void refused(void) {
  FILE *f = fopen(in_dir("file"), "w");
  if (f != NULL) fclose(f);
  CHECK(run("refused", "file", NULL, NULL) == 11, "a file in the place of the folder: the definition fails");
  CHECK(run("refused", "no/such/folder", NULL, NULL) == 11, "so does a folder in none");
  CHECK(run("refused", "t", NULL, "many") == 11 && run("refused", "t", NULL, "-3") == 11 &&
            run("refused", "t", NULL, "99999999999") == 11,
        "and a timeline of no number of events");
  CHECK(run("refused", "t", NULL, "off") == 0 && run("refused", "t", NULL, "0") == 0, "off is fine");
  CHECK(run("refused", "", NULL, NULL) == 0, "an empty name is none");
}

static void timelines(void) {
  unsigned n;
  run("plain", "long", NULL, "on");
  char *text = left_in("long", ".pmlog", &n);
  CHECK(has(text, "\tprogram\n") && has(text, "\ntimeline\t1\t6\t0\n+\t"),
        "a timeline has three enters and three leaves");
  free(text);
  run("plain", "short", NULL, "4");
  text = left_in("short", ".pmlog", &n);
  CHECK(has(text, "\ntimeline\t1\t4\t2\n"), "the rest of a short one is counted");
  free(text);
}

static char *text_now(void) {
  char *path = in_dir("now");
  CHECK(pml_section_write(path) == 0, "a log of now is written");
  return log_text(path);
}

/* spec/lua/report_spec.lua checks the report of such a file. */
static void texts(void) {
  struct pml_section *plain = defined("plain", NULL), *strange = defined("a\tb\nc\\d\x01\x7f\xff", NULL);
  if (plain == NULL || strange == NULL) return;
  call(plain, 2.5, 3);
  call(strange, 0, 1);
  pml_section_stop(strange);
  char *text = text_now();
  CHECK(has(text, "\nended\tsnapshot\n"), "the log says that its process went on");
  const char *odd = text != NULL ? strstr(text, "\nsection\ta\tb\nc\\d\x01\x7f\xff\t") : NULL;
  CHECK(odd != NULL && has(odd, "\nmisuse\tunmatched\t1\n"), "a label may have any bytes, misuse is reported");
  free(text);
}

static bool has_timeline(void) {
  call(pml_section_find("plain"), 1, 2);
  char *text = text_now();
  bool has_it = has(text, "\ntimeline\t");
  free(text);
  return has_it;
}
static bool begins_none(void) {
  return !has_timeline() && pml_section_timeline(8) == 0 && has_timeline();
}

static void timeline_of_a_part(void) {
  struct pml_section *s = pml_section_find("plain");
  CHECK(pml_section_timeline(PML_SECTION_TIMELINE_EVENTS_MAX + 1) == -EINVAL, "a timeline has its limit");
  CHECK(pml_section_timeline(8) == 0, "it begins");
  call(s, 1, 1);
  CHECK(pml_section_timeline(0) == 0, "and ends");
  call(s, 1, 1);
  char *text = text_now();
  CHECK(has(text, "\t2\t0\n+\t"), "it kept exactly the values in between");
  free(text);
  CHECK(pml_section_timeline(8) == 0, "it starts over");
  text = text_now();
  CHECK(!has(text, "\ntimeline\t"), "and has forgotten");
  free(text);
  CHECK(child_finds(begins_none), "a forked child keeps none until it asks");
  CHECK(pml_section_timeline(0) == 0, "it ends");
}

static void *one_call(void *arg) {
  call(arg, 1, 1);
  return NULL;
}

static void many_threads(void) {
  char line[32];
  unsigned n = PML_SECTION_TIMELINE_THREADS_MAX + 3, started = 0;
  CHECK(pml_section_timeline(2) == 0, "a timeline begins");
  for (unsigned i = 0; i < n; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, one_call, pml_section_find("plain")) != 0) break;
    started++;
    pthread_join(thread, NULL);
  }
  char *text = text_now();
  snprintf(line, sizeof line, "\nunseen\t%u\n", started - PML_SECTION_TIMELINE_THREADS_MAX);
  CHECK(started == n && has(text, line), "threads beyond the most that it takes are counted");
  free(text);
  CHECK(pml_section_timeline(0) == 0, "it ends");
}

static void files(void) {
  unsigned n;
  CHECK(mkdir(in_dir("written"), 0700) == 0, "there is a folder");
  CHECK(pml_section_write(in_dir("written/one")) == 0 && pml_section_write(in_dir("written/one")) == 0,
        "a file is written, and again over itself");
  char *text = left_in("written", "one", &n);
  CHECK(n == 1 && has(text, "\nsection\tplain\t"), "it is whole, and nothing else is there");
  free(text);
  CHECK(pml_section_write(in_dir("nowhere/one")) == -ENOENT && has(pml_error_detail(-ENOENT), "nowhere"),
        "a folder that is not there is named");
  CHECK(mkdir(in_dir("written/two"), 0700) == 0 && pml_section_write(in_dir("written/two")) == -EISDIR,
        "a folder is not replaced");
  free(left_in("written", ".tmp", &n));
  CHECK(n == 0, "a failure leaves nothing");
  char begin[15] = "";
  CHECK(mkfifo(in_dir("written/pipe"), 0600) == 0, "a pipe");
  int fd = open(in_dir("written/pipe"), O_RDWR);
  (void)fcntl(fd, F_SETPIPE_SZ, 1 << 20); /* nothing reads meanwhile */
  CHECK(pml_section_write(in_dir("written/pipe")) == 0 && read(fd, begin, 8) == 8 && has(begin, "PMLUALOG"),
        "special files are written to, not replaced: a pipe, or /dev/null if the user is root");
  close(fd);
  CHECK(pml_section_write("") == -EINVAL && pml_section_write(NULL) == -EINVAL, "no path is misuse");
  int err = access("/dev/full", W_OK) == 0 ? pml_section_write("/dev/full/x") : -ENOTDIR;
  CHECK(err == -ENOTDIR, "a path through a file is refused");
}

int main(int argc, char **argv) {
  if (argc > 1) return program(argv[1]);
  for (const char *const *v = (const char *const[]){"PMLUA_REPORT", "PMLUA_REPORT_TIMELINE", "OMPI_COMM_WORLD_RANK",
                                                    "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
       *v != NULL; v++)
    unsetenv(*v);
  if (mkdtemp(dir) == NULL) return 1;
  at_the_end();
  ranks();
  refused();
  timelines();
  texts();
  timeline_of_a_part();
  files();
  many_threads();
  return folder_remove(dir) ? check_done() : 1;
}
