/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/pmlib/serial.cpp - not a spec by itself: PMlib's class in one process; the argument selects the calls. */
#include <PerfMonitor.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pm_lib;
PerfMonitor PM;

static volatile double sink;
static void spin(int n) {
  for (int i = 0; i < n * 1000; i++) sink = sink + 1.0 / (1 + i);
}

/* "outer" is declared exclusive, but is not; "inner" holds 3 * 2 * 1e6 operations, "copy" 5e8 bytes. */
static void work() {
  PM.start("outer");
  for (int i = 0; i < 3; i++) {
    PM.start("inner part");
    spin(20);
    PM.stop("inner part", 1e6, 2);
  }
  spin(40);
  PM.stop("outer", 5e5);
  PM.start("copy");
  spin(10);
  PM.stop("copy", 5e8);
}

static void units() {
  double amount = 1;
  for (int i = 0; i <= 26; i++, amount *= 10) {
    char label[32];
    std::snprintf(label, sizeof label, "%s-%d", i % 2 ? "moved" : "done", i);
    PM.setProperties(label, i % 2 ? PerfMonitor::COMM : PerfMonitor::CALC);
    PM.start(label);
    spin(5);
    PM.stop(label, amount, 1);
  }
}

static void touch(unsigned pages) {
  std::size_t page = 4096, n = pages * page;
  char *p = static_cast<char *>(mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (p == MAP_FAILED) std::exit(1);
  madvise(p, n, MADV_NOHUGEPAGE);
  PM.start("touch");
  for (std::size_t i = 0; i < n; i += page) p[i] = 1;
  PM.stop("touch");
}

static void parts() {
  PM.print(stdout, "this-host", "a comment", 1);
  PM.printDetail(stdout, 1, 1);
  PM.printThreads(stdout, 0, 1);
  PM.printThreads(stdout, 9);
  PM.printLegend(stdout);
  int ranks[] = {0};
  PM.printGroup(stdout, 0, MPI_COMM_WORLD, ranks, 4);
  PM.printComm(stdout, MPI_COMM_WORLD, 3, 0);
}

/* Functions that PMlib itself calls. */
static void inside() {
  int n = 0, id = 1, mid = -1, in = -1;
  PM.stopRoot();
  PM.gather();
  PM.countSections(n);
  PM.SerialParallelRegion(id, mid, in);
  PM.mergeThreads(id);
  PM.setParallelMode("Own", 3, 1);
  PM.setRankInfo(5);
  std::printf("sections %d %d mid %d inside %d rank %d of %d version %s\n", n, PM.m_nWatch, mid, in, PM.my_rank,
              PM.num_process, PM.getVersionInfo().c_str());
  PM.selectReport(stdout);
}

static void misuse() {
  PM.stop("never started", 1.0);
  PM.start("");
  PM.stop("copy", 1.0);
  PM.start("copy");
  PM.stop("copy", -1.0);
  PM.reset("nowhere");
  PM.printComm(stdout, MPI_COMM_WORLD, 3, 0); // before any report
  int value = 42;
  PM.getPowerKnob(0, value);
  PM.setPowerKnob(0, 1);
  std::printf("knob %d\n", value);
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  if (what != "uninitialized") PM.initialize();
  PM.setProperties("copy", PerfMonitor::COMM);
  PM.setProperties("told", PerfMonitor::CALC, false);
  work();
  if (what == "units") units();
  if (what == "touch") touch(512);
  if (what == "misuse") misuse();
  if (what == "reset" || what == "reset all") {
    if (what == "reset") PM.reset("inner part");
    if (what == "reset all") PM.resetAll();
    PM.start("inner part");
    PM.stop("inner part", 10, 1);
    PM.start("told");
    PM.stop("told", 3, 2);
  }
  if (what == "parts") parts();
  if (what == "inside") inside();
  if (what == "trace") PM.postTrace();
  if (what == "fork") {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, NULL, 0);
    what = "none";
  }
  if (what == "null")
    PM.report(NULL);
  else if (what != "none" && what != "parts" && what != "inside")
    PM.report(stdout);
  std::printf("end of program\n");
  return MPI_Finalize();
}
