-- SPDX-License-Identifier: BSD-3-Clause
-- spec/mutants.lua - break the readers on purpose, one line each, and check that the specs fail. Try: lua5.4 spec/mutants.lua
--
-- A mutant is a copy of one source file with one piece of text replaced; the text must occur exactly once, so that the
-- mutants follow the code. The same spec program is built against the copy, where it must fail, and against the original,
-- where it must pass. Ends with a table of the claims that caught each mutant, after how many reads, and with
-- `N passed, N failed, N skipped`. `lua5.4 spec/mutants.lua COUNT SEED` breaks so many, chosen by the seed.
--
-- `lua5.4 spec/mutants.lua pmu DIR` builds spec pmu_page against every mutant of the page reader into DIR, with a run.sh
-- that runs them on a machine with a PMU. CC is the compiler for that machine.
--
-- No mutant omits a fence. On x86 both fences only order the compiler, which keeps volatile loads in order anyway, so such
-- a reader would be the same; on arm they matter, but neither emulator reorders loads.

local BUILD = os.getenv "PMLUA_BUILD" or "build"
local MUTANTS = dofile "spec/mutants_list.lua"
local FILE = MUTANTS.files

local function read(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

local function capture(command)
  local p <close> = assert(io.popen(command .. " 2>/dev/null"))
  return (p:read("a"):gsub("%s+$", ""))
end

local function has(tool)
  return capture("command -v " .. tool) ~= ""
end

--- Replace the only occurrence of `find` in `text`; nil and the number of occurrences if there is not exactly one.
local function substitute(text, find, replacement)
  local from, to = text:find(find, 1, true)
  if not from then return nil, 0 end
  if text:find(find, to + 1, true) then return nil, 2 end
  return text:sub(1, from - 1) .. replacement .. text:sub(to + 1)
end

--- Write the mutant's file below dir, where it hides the original; true, or false and why not.
local function breed(mutant, dir)
  local _, file, find, replacement = table.unpack(mutant)
  local text, count = substitute(read(file), find, replacement)
  if not text then
    return false, ("its text stands %s in %s"):format(count == 0 and "nowhere" or "more than once", file)
  end
  local copy = dir .. "/" .. file:gsub("^core/", "")
  os.execute(("mkdir -p '%s'"):format(copy:match "(.*)/"))
  write(copy, text)
  return true
end

local FLAGS = "-std=c11 -D_GNU_SOURCE -O2 -w"

--- The specs that judge mutants: how to build one in a folder that may hold a mutant, and how to run it.
local function programs()
  local arch = capture "uname -m"
  local cc = os.getenv "CC" or "gcc"
  local native = ("%s %s -I'$DIR' -Icore %%s -o '$OUT' -lpthread"):format(cc, FLAGS)
  local list = {
    { title = arch, file = FILE.READER, arch = arch, build = native:format "spec/c/page_model.c", run = "'$OUT' 300000" },
  }
  if arch == "x86_64" then
    list[2] = { title = "x86_64 as it ships", file = FILE.READER, arch = arch, build = native:format "spec/c/page_trap.c"
        .. (" %s/libpmlua.a -lotf2 -ldl -lm"):format(BUILD), run = "'$OUT' 10000" }
    list[3] = { title = "whose page", arch = arch, run = "'$OUT'", build = ("%s %s -I'$DIR' -Icore "
      .. "-Wl,--wrap=mmap,--wrap=syscall spec/c/page_path.c $SOURCES %s/libpmlua.a -lotf2 -lpthread -ldl -lm "
      .. "-o '$OUT'"):format(cc, FLAGS, BUILD) }
  end
  for _, of in ipairs { { FILE.SECTION, "section" }, { FILE.SECTION_THREAD, "section" },
                        { FILE.LOG, "ends" }, { FILE.STREAM, "stream" },
                        { FILE.DELIVERY, "stream" }, { FILE.DELIVER, "stream" },
                        { FILE.RING, "ring" }, { FILE.SDE, "sde_threads" }, { FILE.SDE_COUNTER, "sde_threads" } } do
    list[#list + 1] = { title = "its own spec", file = of[1], arch = arch, run = "'$OUT'", build = ("%s %s "
      .. "-I'$DIR' -Icore spec/c/%s.c $SOURCES %s/libpmlua.a -lotf2 -lpthread -ldl -lm -o '$OUT'"):format(cc, FLAGS,
      of[2], BUILD) }
  end
  if arch == "x86_64" then
    local intercepting = { intercept_calls = { run = "fast mixed" }, intercept_counted = { run = "" },
                           intercept_left = { run = "", flags = "-DPML__SPARING=1" },
                           intercept_stacks = { run = "", flags = "-DPML__SPARING=1" },
                           intercept_cache = { run = "", flags = "-fPIE -fno-plt" } }
    for name, how in pairs(intercepting) do
      list[#list + 1] = { title = "its own spec", by = name, arch = arch, run = "'$OUT' " .. how.run,
        build = ("%s %s %s -Wno-psabi -I'$DIR' -Icore -Ispec/c spec/c/%s.c $SOURCES -L%s/spec -lintercept "
        .. "-Wl,-rpath,\"$PWD/%s/spec\" %s/libpmlua.a -lotf2 -lpthread -ldl -lm -o '$OUT'"):format(cc, FLAGS,
        how.flags or "", name, BUILD, BUILD, BUILD) }
    end
  end
  list[#list + 1] = { title = "its own spec", by = "compat_near", arch = arch, run = "'$OUT'", build = ("%s %s "
    .. "-I'$DIR' -Icore spec/c/compat_near.c core/compat/libsde*.c $SOURCES %s/libpmlua.a -lpfm -lotf2 -lpthread -ldl -lm "
    .. "-o '$OUT'"):format(cc, FLAGS, BUILD) }
  for _, name in ipairs { "perf_reads", "perf_times", "page_step", "page_moved", "page_forbidden", "ends", "archive",
    "archive_lock", "otf2_read", "recording", "recording_calls", "recording_turns", "recording_last", "profile", "mpi_place",
    "sampler", "intercept_exports" } do
    local link = read(("spec/c/%s.c"):format(name)):match "\n %* Link: ([^\n]*)" or ""
    list[#list + 1] = { title = "its own spec", by = name, arch = arch, run = "'$OUT'", build = ("%s %s "
      .. "-I'$DIR' -Icore spec/c/%s.c $SOURCES %s/libpmlua.a %s -lotf2 -lpthread -ldl -lm -o '$OUT'"):format(cc, FLAGS,
      name, BUILD, link) }
  end
  list[#list + 1] = { title = "its own spec", file = FILE.JSON, arch = arch, build = "test -d spec",
    run = [[env LUA_INIT="package.preload['pmlua.json'] = loadfile '$DIR/lua/pmlua/json.lua'" ]]
      .. "busted --lua=/usr/bin/lua5.4 -o TAP spec/lua/json_spec.lua" }
  for _, file in ipairs { FILE.IMBALANCE, FILE.CRITICAL } do
    local module = file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")
    list[#list + 1] = { title = "its own spec", file = file, arch = arch, build = "test -d spec",
      run = ("env LUA_INIT=\"package.preload['%s'] = loadfile '$DIR/%s'\" "):format(module, file)
        .. "busted --lua=/usr/bin/lua5.4 -o TAP spec/lua/imbalance_spec.lua" }
  end
  list[#list + 1] = { title = "its own spec", file = FILE.STATES, arch = arch, build = "test -d spec",
    run = [[env LUA_INIT="package.preload['pmlua.analysis.waits'] = loadfile '$DIR/lua/pmlua/analysis/waits.lua'" ]]
      .. "busted --lua=/usr/bin/lua5.4 -o TAP spec/lua/wait_states_spec.lua" }
  if arch == "aarch64" then return list end
  local qemu = has "qemu-aarch64-static" and "qemu-aarch64-static" or "qemu-aarch64"
  local arm = { title = "aarch64", file = FILE.READER, arch = "aarch64", run = qemu .. " '$OUT' 20000",
    build = ("aarch64-linux-gnu-gcc %s -static -I'$DIR' -Icore spec/c/page_model.c -o '$OUT' -lpthread"):format(FLAGS) }
  if not has "aarch64-linux-gnu-gcc" then
    arm.missing = "no aarch64-linux-gnu-gcc here (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
  elseif not has(qemu) then
    arm.missing = "no qemu-aarch64 here (Debian: qemu-user-static)"
  end
  list[#list + 1] = arm
  return list
end

--- Whether this program judges that mutant. Programs named for a file are the only ones to judge its mutants.
local function judges(program, mutant)
  local file = mutant[2]
  if program.by or mutant.by then return program.by == mutant.by end
  if program.file then return program.file == file end
  return file == FILE.COUNTER or file == FILE.PRIVATE or file == FILE.GROUP or file == FILE.SET or file == FILE.SHARE
    or file == FILE.PAGES
end

--- A shell script that builds and runs, leaving OUT.build, OUT.said and OUT.status.
local function script(program, dir, out, source)
  local function fill(command)
    return (command:gsub("%$(%u+)", { DIR = dir, OUT = out, SOURCES = source or "" }))
  end
  return ("%s >'%s.build' 2>&1 || exit 0\ntimeout -k 2 60 %s >'%s.said' 2>&1 </dev/null\necho $? >'%s.status'\n")
    :format(fill(program.build), out, fill(program.run), out, out)
end

--- All scripts, two at a time.
local function run_all(folder, scripts)
  local names = {}
  for i, text in ipairs(scripts) do
    names[i] = ("%s/%03d.sh"):format(folder, i)
    write(names[i], text)
  end
  write(folder .. "/list", table.concat(names, "\n") .. "\n")
  os.execute(("xargs -P 2 -n 1 sh <'%s/list'"):format(folder))
end

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

--- The result of a job: "caught" and by what, "passed", "skipped" and why, or "broken" and why.
local function verdict(out, may_crash)
  if not exists(out .. ".status") then return "broken", "does not compile:\n" .. read(out .. ".build") end
  local status, said = tonumber(read(out .. ".status")), read(out .. ".said")
  if status == 0 then return "passed" end
  if status == 77 then return "skipped", said:match "SKIP ([^\n]*)" or "?" end
  local claim, reads = said:match "violation: (%S+) after (%d+) reads"
  if claim then return "caught", ("%s after %s"):format(claim, reads) end
  local sentence = ("\n" .. said):match "\nnot ok %d+ %- ([^\n]*)"
  if sentence then return "caught", #sentence > 40 and sentence:sub(1, 37) .. "..." or sentence end
  if status == 124 or status == 137 then return "caught", "time limit" end
  if status > 128 and may_crash then return "caught", "signal " .. status - 128 end
  return "broken", ("ended with status %d:\n%s"):format(status, said)
end

local count = { passed = 0, failed = 0, skipped = 0 }
local function tell(kind, text)
  count[kind] = count[kind] + 1
  if kind ~= "passed" then
    print(("%s %d - %s"):format(kind == "failed" and "not ok" or "ok", count.passed + count.failed + count.skipped, text))
  end
end

--- Judge one job; the text of its cell in the table.
local function judge(job)
  local what, how = verdict(job.out, job.mutant and job.mutant.crashes)
  local name = job.mutant and job.mutant[1] or "as it is"
  if what == "skipped" then
    tell("skipped", ("# SKIP %s on %s: %s"):format(name, job.program.title, how))
    return "skipped"
  end
  local wanted = job.mutant and "caught" or "passed"
  if what == wanted then
    tell("passed")
    return how or "passes"
  end
  tell("failed", ("%s on %s: %s %s"):format(name, job.program.title, what == "passed" and "survived" or what, how or ""))
  return what == "passed" and "SURVIVED" or "BROKEN"
end

--- A column for each title of a program; of the programs that share one, one judged the mutant.
local function print_table(list, rows)
  local titles, wide = { "mutant" }, { mutant = 41 }
  for _, p in ipairs(list) do
    if not wide[p.title] then titles[#titles + 1] = p.title end
    wide[p.title] = p.file == FILE.READER and 22 or 41
  end
  local function line(cells)
    local text = {}
    for i, title in ipairs(titles) do text[i] = ("%-" .. wide[title] .. "s"):format(cells[title] or "-") end
    print((table.concat(text, " "):gsub("%s+$", "")))
  end
  local head = {}
  for _, title in ipairs(titles) do head[title] = title end
  line(head)
  for _, row in ipairs(rows) do line(row) end
end

--- At most @most of the mutants, chosen by @seed.
local function sample(most, seed)
  local list = table.move(MUTANTS.list, 1, #MUTANTS.list, 1, {})
  math.randomseed(seed)
  while #list > most do table.remove(list, math.random(#list)) end
  print(("%d of %d mutants, seed %d"):format(#list, #MUTANTS.list, seed))
  return list
end

--- Run the programs on each mutant that they judge; first, on the unchanged code, every program that judges one.
local function run(mutants)
  local folder = capture "mktemp -d"
  local list, rows, jobs, scripts = programs(), { { mutant = "(the code as it is)" } }, {}, {}
  local function add(row, column, program, mutant, dir)
    local out = ("%s/%d-%d"):format(folder, row, column)
    local own = mutant and mutant[2]:match "core/(.*%.[cS])$"
    local source = own and dir .. "/" .. own or mutant and MUTANTS.sources_of[mutant[2]]
    jobs[#jobs + 1] = { row = row, program = program, mutant = mutant, out = out }
    scripts[#scripts + 1] = script(program, dir, out, source)
  end
  for i, program in ipairs(list) do
    local needed = false
    for _, mutant in ipairs(mutants) do needed = needed or judges(program, mutant) end
    if needed and program.missing then
      tell("skipped", "# SKIP the mutants on " .. program.title .. ": " .. program.missing)
    elseif needed then
      add(1, i, program, nil, folder .. "/none")
    end
  end
  for m, mutant in ipairs(mutants) do
    local dir = ("%s/m%d"):format(folder, m)
    rows[m + 1] = { mutant = mutant[1] }
    local bred, why = breed(mutant, dir)
    if not bred then tell("failed", mutant[1] .. ": " .. why) end
    for i, program in ipairs(list) do
      local alike = mutant.unless == program.arch
      if bred and not program.missing and not alike and judges(program, mutant) then add(m + 1, i, program, mutant, dir) end
    end
  end
  run_all(folder, scripts)
  for _, job in ipairs(jobs) do rows[job.row][job.program.title] = judge(job) end
  os.execute(("rm -rf '%s'"):format(folder))
  print_table(list, rows)
end

--- The script for the machine with the PMU, which needs only a shell. The last line has the same counts as everywhere.
local RUNNER = [[
#!/bin/sh
# Each broken page reader on this machine's PMU: spec pmu_page must fail; as it is, it must pass.
cd "$(dirname "$0")" || exit 1
passed=0 failed=0 skipped=0
while read -r program expected name; do
  timeout 60 ./$program ${1:-2000} >/tmp/mutant.said 2>&1 </dev/null
  status=$?
  how=$(sed -n 's/^violation: \([a-z]*\) after \([0-9]*\) reads.*/\1 after \2/p' /tmp/mutant.said)
  case $status in 132) how="SIGILL";; 124|143) how="time limit";; esac
  if [ $status = 77 ]; then verdict="skipped: $(sed -n 's/.*SKIP //p' /tmp/mutant.said)"; skipped=$((skipped + 1))
  elif [ $expected = pass ] && [ $status = 0 ]; then verdict=passes; passed=$((passed + 1))
  elif [ $expected != pass ] && [ -n "$how" ]; then verdict=$how; passed=$((passed + 1))
  elif [ $expected = maybe ] && [ $status = 0 ]; then verdict="skipped: wants registers of 32 bits"; skipped=$((skipped + 1))
  else verdict="NOT AS EXPECTED (status $status)"; failed=$((failed + 1)); cat /tmp/mutant.said; fi
  printf '%-41s %s\n' "$name" "$verdict"
done <list
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ]
]]

--- Build for another machine.
local function build_for_pmu(dir)
  local cc = os.getenv "CC" or "aarch64-linux-gnu-gcc"
  local lines, folder = {}, capture "mktemp -d"
  local function add(name, include, expected)
    local program = ("m%02d"):format(#lines)
    local ok = os.execute(("%s %s -static -I'%s' -Icore spec/c/pmu_page.c -o '%s/%s'"):format(cc, FLAGS, include, dir, program))
    if not ok then error(name .. " does not compile", 0) end
    lines[#lines + 1] = ("%s %s %s"):format(program, expected, name)
  end
  os.execute(("mkdir -p '%s'"):format(dir))
  add("(the reader as it is)", folder .. "/none", "pass")
  for i, mutant in ipairs(MUTANTS.list) do
    if mutant[2] == FILE.READER and mutant.pmu ~= false and not mutant.by then
      local include = ("%s/m%d"):format(folder, i)
      local bred, why = breed(mutant, include)
      if not bred then error(mutant[1] .. ": " .. why, 0) end
      add(mutant[1], include, mutant.pmu or "fail")
    end
  end
  write(dir .. "/list", table.concat(lines, "\n") .. "\n")
  write(dir .. "/run.sh", RUNNER)
  os.execute(("rm -rf '%s'"):format(folder))
end

if arg[1] == "pmu" and arg[2] then
  build_for_pmu(arg[2])
elseif #arg == 0 or math.tointeger(arg[1]) and math.tointeger(arg[2]) then
  run(arg[1] and sample(math.tointeger(arg[1]), math.tointeger(arg[2])) or MUTANTS.list)
  print(("%d passed, %d failed, %d skipped"):format(count.passed, count.failed, count.skipped))
  os.exit(count.failed == 0 and count.passed > 0)
else
  io.stderr:write("usage: lua5.4 spec/mutants.lua [COUNT SEED | pmu DIR]\n")
  os.exit(2)
end
