-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/sampler_spec.lua - tests of pmlua sample and pml.sampler: known shares of time, known pages, threads, and refusals.

local permission = require "spec.permission"
local support = require "spec.core.support"
local json = require "pmlua.json"
local pml = require "pmlua"

local command = support.build .. "/pmlua sample "

-- heavy() works three times as long as light(), both together WORK_S seconds; the program prints what the kernel says of both.
-- Turns have different lengths, so that samples, which come in step, do not meet the same place of each.
local program = [[
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) void work(unsigned long n) {
  for (unsigned long i = 0; i < n; i++) sink += i;
}
__attribute__((noinline)) void heavy(unsigned long n) {
  for (unsigned long i = 0; i < 3 * n; i++) sink += i; /* line of heavy */
}
__attribute__((noinline)) void light(unsigned long n) {
  for (unsigned long i = 0; i < n; i++) sink += i;
}
int main(int argc, char **argv) {
  double a = 0, b = 0, begin = now();
  if (argc > 1) {
    long pages = atol(argv[1]);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, (size_t)pages * page, MADV_NOHUGEPAGE);
    printf("%lu\n", (unsigned long)p);
    for (long i = 0; i < pages; i++) p[(size_t)i * page] = 1;
    return 0;
  }
  const char *work_s = getenv("WORK_S");
  for (unsigned n = 1; a + b < (work_s != NULL ? atof(work_s) : 0.6); n = n * 1664525u + 1013904223u) {
    unsigned long turn = 300000 + (n >> 12);
    begin = now(); heavy(turn); a += now() - begin;
    begin = now(); light(turn); b += now() - begin;
  }
  printf("%.9f\n", a / (a + b));
  return 0;
}
]]

local dir = support.folder()
local shell = support.shell_of(dir)

--- Run a program under pmlua sample: its samples, the number that it printed, and the status.
local function sampled(arguments)
  local status, out, err = shell(command .. "--json " .. arguments)
  local first, text = out:match "^([^\n{]*)\n?({.*)$"
  assert.truthy(text, err)
  return json.decode(text), tonumber(first), status
end

local function bar_of(told, name)
  for _, row in ipairs(told.rows) do if row.func == name then return row end end
end

local refused = support.refused("sample", function(arguments) return shell(command .. arguments) end)

describe("pmlua sample", function()
  setup(function()
    support.compile(dir, { ["planted.c"] = program }, "gcc -g -O1 planted.c -o planted")
    if not command:find "^/" then command = assert(pml.sys.realpath(support.build .. "/pmlua")) .. " sample " end
  end)

  it("finds the shares of time that two functions took", function()
    local told, truth = sampled "-e task-clock -- ./planted"
    local heavy, light = bar_of(told, "heavy"), bar_of(told, "light")
    local n = heavy.samples + light.samples
    local found = heavy.samples / n
    -- 4.5 standard deviations: one run in 100,000
    local reach = 4.5 * math.sqrt(truth * (1 - truth) / n)
    assert.is_true(n > 200, n .. " samples")
    assert.is_true(math.abs(found - truth) < reach, ("%.3f found, %.3f by the clock, +- %.3f"):format(found, truth, reach))
    assert.is_true(heavy.low < heavy.share and heavy.share < heavy.high)
    assert.is_nil(bar_of(told, "work"))
    assert.is_true(pml.sys.realpath(heavy.object) == pml.sys.realpath(dir .. "/planted"))
  end)

  it("names the lines", function()
    local told = sampled "-e task-clock --by line -- env WORK_S=0.2 ./planted"
    local _, before = program:sub(1, program:find("line of heavy", 1, true)):gsub("\n", "")
    local first = told.rows[1]
    assert.equal("heavy", first.func)
    assert.equal(before + 1, first.line)
    assert.truthy(first.file:find "planted.c$")
  end)

  it("names the callers, as far as frame pointers exist", function()
    support.compile(dir, { ["callers.c"] = [[
static volatile unsigned long sink;
void leaf(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
void often(void) { leaf(3000000); sink++; }
void seldom(void) { leaf(1000000); sink++; }
int main(void) { for (int i = 0; i < 60; i++) { often(); seldom(); } return 0; }
]] }, "gcc -g -O0 -fno-omit-frame-pointer callers.c -o callers")
    local told = sampled "-e task-clock:u -F 2000 --by path -- ./callers"
    local of, n = { often = 0, seldom = 0 }, 0
    for _, row in ipairs(told.rows) do
      local path = table.concat(row.path, ";")
      local caller = path:match "main;(%l+);leaf$"
      if caller then of[caller], n = of[caller] + row.samples, n + row.samples end
    end
    assert.is_true(n > 0.9 * told.counts.samples and n > 100, n .. " samples")
    local found, reach = of.often / n, 4.5 * math.sqrt(0.75 * 0.25 / n)
    assert.is_true(math.abs(found - 0.75) < reach + 0.05, ("%.3f of the samples"):format(found))
    local _, out = shell(command .. "-e task-clock:u --by path --csv -- ./callers")
    assert.truthy(out:find "main;often;leaf")
  end)

  it("reads the arguments of probes that a program's author placed", function()
    support.compile(dir, { ["probe.c"] = [[
#define PROBE(name, arguments, ...) __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
  ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte 0\n.8byte 0\n" \
  ".asciz \"own\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n994: .balign 4\n.popsection\n" : : __VA_ARGS__)
int main(void) {
  for (long i = 0; i < 30; i++) {
    int small = (int)(i % 3) - 1;
    long large = (i % 2) << 40;
    PROBE("tick", "-4@%0 8@%1 -4@$7", "r"(small), "r"(large));
  }
  return 0;
}
]] }, "gcc -O1 -no-pie probe.c -o probe")
    local probe = ("usdt:%s/probe:own:tick"):format(dir)
    local works, why = pml.sampler.open(probe, { period = 1, registers = true })
    if not works then return pending(tostring(why)) end
    works:close()
    for argument, known in pairs { { [-1] = 10, [0] = 10, [1] = 10 }, { [0] = 15, [1 << 40] = 15 }, { [7] = 30 } } do
      local told, found = sampled(("-e %s --argument %d -- ./probe"):format(support.quote(probe), argument)), {}
      for _, row in ipairs(told.rows) do found[row.value] = row.samples end
      assert.same(known, found)
      assert.equal(30, told.counts.samples)
    end
    refused(("-e %s --argument 4 -- ./probe"):format(support.quote(probe)), "the probe has no argument 4; it has 3", 1)
    refused("-e task-clock --argument 1 -- ./probe", "--argument needs --event usdt:PATH:PROVIDER:NAME", 2)
  end)

  it("have the places of arguments", function()
    local arguments = require "pmlua.internal.sample.arguments"
    local function value(text, registers, number)
      local operand, err = arguments.operand(text, number or 1)
      return operand and arguments.value(operand, registers) or err and err.code
    end
    assert.equal(-2, value("-4@%eax", { rax = 0xfffffffe }))
    assert.equal(0xfffffffe, value("4@%eax", { rax = 0xaafffffffe }))
    assert.equal(0x12, value("1@%ah", { rax = 0x1234 }))
    assert.equal(-1, value("8@%r12 -1@%r9b", { r9 = 0x1ff }, 2))
    assert.equal(5, value("8@x3", { x3 = 5 }))
    assert.equal(-8, value("-8@$-8", {}))
    assert.equal("ENOTSUP", value("-4@-20(%rbp)", {}))
    assert.equal("EINVAL", value("", {}))
    assert.equal("EFORMAT", value("16@%rax", {}))
    assert.equal("EFORMAT", value("0@%rax", {}))
  end)

  it("names the variable at an address", function()
    support.compile(dir, { ["data.c"] = [[
#include <sys/mman.h>
char zeros[600 * 4096] __attribute__((aligned(4096)));
char ones[300 * 4096] __attribute__((aligned(4096))) = { 1 };
int main(void) {
  volatile char *z = zeros, *o = ones;
  madvise(zeros, sizeof zeros, MADV_NOHUGEPAGE);
  for (int i = 0; i < 600; i++) z[i * 4096] = 1;
  for (int i = 0; i < 300; i++) o[i * 4096] = 2;
  return 0;
}
]] }, "gcc -O1 data.c -o data")
    local told = sampled "--by data -- ./data"
    local of = {}
    for _, row in ipairs(told.rows) do
      if row.variable then of[row.variable] = (of[row.variable] or 0) + row.samples end
    end
    local bytes = tonumber((select(2, shell "getconf PAGESIZE")))
    -- Neighbours of a page are mapped with it where they are read only; these are written, one fault a page.
    assert.is_true(of.zeros <= 600 * 4096 / bytes and of.zeros > 500 * 4096 / bytes, of.zeros)
    assert.is_true(of.ones <= 300 * 4096 / bytes and of.ones > 250 * 4096 / bytes, of.ones)
  end)

  it("counts each fault on its page", function()
    local told, address = sampled "--by page -- ./planted 3000"
    local found, bytes = 0, tonumber((select(2, shell "getconf PAGESIZE")))
    for _, row in ipairs(told.rows) do
      if row.page >= address and row.page < address + 3000 * bytes then
        found = found + 1
        assert.equal(1, row.samples)
        assert.equal(0, row.page % bytes)
      end
    end
    assert.equal(3000, found)
    assert.equal(0, told.counts.lost)
  end)

  it("reports that an event has no data addresses", function()
    for _, by in ipairs { "page", "data" } do
      local _, _, err = shell(command .. "-e task-clock --by " .. by .. " -- env WORK_S=0.1 ./planted")
      assert.truthy(err:find("no sample of task-clock has an address of data; page-faults have", 1, true), err)
    end
    local _, _, err = shell(command .. "--by page -- ./planted 30")
    assert.is_nil(err:find("address of data", 1, true), err)
  end)

  it("follows children and executed programs", function()
    local told = sampled "-e task-clock --by object -- sh -c 'export WORK_S=0.2; ./planted >/dev/null; ./planted >/dev/null'"
    assert.truthy(told.rows[1].object:find "/planted$")
    assert.is_true(told.rows[1].share > 0.8)
    assert.is_true(told.counts.samples > 200, told.counts.samples .. " samples")
  end)

  it("samples a running process, by thread", function()
    local out = support.done(shell("./planted >/dev/null & " .. command .. "-e task-clock --by thread --json -p $!; wait"))
    local told = json.decode(out)
    assert.equal(1, #told.rows)
    assert.equal(told.rows[1].pid, told.rows[1].tid)
    assert.is_true(told.rows[1].samples > 100)
  end)

  it("samples all cpus if the user may", function()
    local code, out, err = shell(command .. "-a -e cpu-clock --by cpu --json --out all -- ./planted 2>why; echo $?; cat why")
    if out:find("perf_event_paranoid", 1, true) then return pending "all cpus need root" end
    assert.equal(0, code, err)
    assert.equal("0", out:match "\n(%d+)\n")
    local cpus = 0
    for _, row in ipairs(json.decode(support.slurp(dir .. "/all")).rows) do
      assert.equal(row.samples > 0, true)
      cpus = cpus + 1
    end
    assert.is_true(cpus >= 1)
  end)

  describe("--cgroup", function()
    local group
    local processes = {}

    --- A new cgroup that perf can count, or nil and the reason for its lack.
    local function cgroup()
      for _, root in ipairs { "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/" } do
        local path = ("%spmlua-spec-%d-sample"):format(root, pml.sys.pid())
        if os.execute(("mkdir %s 2>/dev/null && test -w %s/cgroup.procs"):format(path, path)) then
          group = path
          local s <close>, err = pml.sampler.open("cpu-clock", { cgroup = path, frequency = 100 })
          return s and path, tostring(err)
        end
      end
      return nil, "no cgroup can be made below /sys/fs/cgroup: that needs root, and a file system of cgroups"
    end

    --- @line runs on in the background; its last command is the process whose id is returned.
    local function start(line)
      local _, out = shell(("sh -c %s >/dev/null 2>&1 & echo $!"):format(support.quote(line)))
      processes[#processes + 1] = assert(math.tointeger(tonumber(out)))
      return processes[#processes]
    end

    local function sample_group(arguments)
      local out = support.done(shell(("%s-e cpu-clock -F 1000 -G %s --json %s"):format(command, group, arguments)))
      return json.decode(out:match "{\n.*$")
    end

    after_each(function()
      for _, pid in ipairs(processes) do os.execute(("kill %d 2>/dev/null"):format(pid)) end
      processes = {}
      for _ = 1, group and 100 or 0 do
        if os.execute(("rmdir %s 2>/dev/null"):format(group)) then break end
        pml.sys.sleep(0.05)
      end
      group = nil
    end)

    it("samples processes inside, not outside", function()
      local path, why = cgroup()
      if not path then return pending(why) end
      shell "cp planted outside"
      local loop = "timeout 60 sh -c 'while ./%s; do :; done'"
      local inside = start(("echo $$ >%s/cgroup.procs; exec %s"):format(path, loop:format "planted"))
      start("exec " .. loop:format "outside")
      local told = sample_group "--by object -- sleep 1"
      local names = {}
      for _, row in ipairs(told.rows) do names[row.object:match "[^/]*$"] = row.samples end
      assert.is_true((names.planted or 0) > 20 and names.outside == nil, "samples of planted: " .. tostring(names.planted))
      for _, row in ipairs(sample_group "--by thread -- sleep 0.5".rows) do
        local _, groups = shell(("cat /proc/%d/cgroup 2>/dev/null"):format(row.pid))
        assert.is_true(groups == "" or groups:find(path:match "[^/]+$", 1, true) ~= nil, row.pid .. " is outside")
      end
      assert.is_true(inside > 0)
    end)

    it("names the functions of a process that joins while it is sampled", function()
      local path, why = cgroup()
      if not path then return pending(why) end
      local join = "i=0; while [ $i -lt 20 ] && ! cat /proc/$p/maps | grep -q /libc; do sleep 0.05; i=$((i+1)); done; " ..
        "echo $p >%s/cgroup.procs; wait $p"
      local told = sample_group("-- sh -c " .. support.quote("./planted >/dev/null & p=$!; " .. join:format(path)))
      local heavy = bar_of(told, "heavy")
      assert.is_true(heavy ~= nil and heavy.object:find "/planted$" ~= nil, json.encode(told.rows))
    end)
  end)

  it("prints a table with the largest share first, and returns the command's status", function()
    local status, _, err = shell(command .. "-e task-clock --top 1 -- sh -c 'WORK_S=0.2 ./planted; exit 3'")
    assert.equal(3, status)
    local share = "%d+%.%d%s+"
    local head = "share %%%s+from%s+to%s+samples%s+function%s+object\n"
    assert.truthy(err:find(head .. share .. share .. share .. "%d+%s+heavy%s+%S+planted\n"), err)
    assert.truthy(err:find(" samples of " .. permission.pattern "task-clock" .. "; %d+ more rows with %-%-top 0"), err)
  end)

  it("refuses impossible sampling with one line", function()
    refused("-e clock::ns -- true", "clock::ns: only the kernel's events can be sampled", 1)
    refused("-e task-clok -- true", "task-clok", 1)
    refused("-p 2147483000", "no process 2147483000", 1)
    refused("-- ./no-such-program", "no-such-program", 127)
    if not pml.event.has_pmu() then refused("-e cycles -- true", "this machine has no hardware PMU", 1) end
  end)
end)

describe("The kernel's functions", function()
  it("have the addresses from theirs up to the next one's", function()
    local path, lines, known = os.tmpname(), { "0000000000000000 T hidden", "ffffffffff000000 D data" }, {}
    for i = 1, 9 do
      known[i] = { (i > 4 and -1 << 40 or 0) + 1000 * i, "f" .. i } -- the upper half, as the kernel's own, is above the lower one
      table.insert(lines, i % 3 + 1, ("%016x %s f%d"):format(known[i][1], ("tTwW"):sub(i % 4 + 1, i % 4 + 1), i))
    end
    support.spit(path, table.concat(lines, "\n") .. "\n")
    local kernel = require "pmlua.internal.sample.kernel".open(path)
    assert.is_nil(kernel.name(999))
    for _, of in ipairs(known) do assert.same({ of[2], of[2] }, { kernel.name(of[1]), kernel.name(of[1] + 999) }) end
    os.remove(path)
    assert.is_nil(require "pmlua.internal.sample.kernel".open(path).name(1000))
  end)
end)

describe("pml.sampler", function()
  it("samples the calling thread, and closes", function()
    local s = assert(pml.sampler.open("page-faults", { period = 1, address = true }))
    local length = 0
    for i = 1, 20 do length = length + #("x"):rep(1000000 + i) end
    assert.is_true(s:stop() > 0 and length > 20000000)
    local bars = assert(pml.sampler.histogram(s, "page"))
    assert.equal(s:counts().samples, (function() local n = 0 for _, b in ipairs(bars) do n = n + b.samples end return n end)())
    local one = s:sample(1)
    assert.equal(pml.sys.pid(), one.pid)
    assert.is_nil(s:sample(s:counts().samples + 1))
    assert.is_nil(s:sample(0))
    s:close()
    assert.error(function() s:drain() end)
  end)

  it("names files that it cannot read", function()
    local s <close> = assert(pml.sampler.open("page-faults", { period = 1 }))
    local place, err, code = s:place("/no/such/file", 0)
    assert.is_nil(place)
    assert.equal("ENOENT", code)
    assert.truthy(tostring(err):find("/no/such/file", 1, true))
    assert.error(function() pml.sampler.open("page-faults", { period = 1, frequency = 1 }) end)
    assert.error(function() pml.sampler.open("page-faults", { pid = {} }) end)
    assert.error(function() s:fold "colour" end)
  end)
end)
