-- SPDX-License-Identifier: BSD-3-Clause
--- The environment variables that pmlua reads: for the manual page, the documentation, and `pmlua help environment`.
--
--     pmlua help environment

local M = {}

---@class pmlua.cli.Variable
---@field name string
---@field about string a phrase without a full stop at its end

--- The variables, by what they are for.
---@type { title: string, variables: pmlua.cli.Variable[] }[]
M.groups = {
  { title = "Every use of pmlua", variables = {
    { name = "PMLUA_CLOCK", about = "counter or monotonic: the clock to use instead of the one pmlua chooses" },
    { name = "PMLUA_CLOCK_RATE", about = "ticks of the counter per second, where the kernel does not publish them; checked. "
      .. "pmlua sets it for the programs that it records, with a moment (RATE@TICKS:NS), so that they need no system call" },
    { name = "PMLUA_LUA", about = "folder of the Lua modules; by default the folder of the command or library" },
    { name = "LUA_PATH, LUA_CPATH", about = "folders with modules of scripts, searched after pmlua's modules, relative "
      .. "folders last; pmlua loads its own modules from no relative folder. LUA_INIT is ignored" },
    { name = "PMLUA_WRAP_PATH", about = "folders of installed wrappers, separated by colons, searched before pmlua's own" },
    { name = "PMLUA_LIBCLANG", about = "the file of libclang that reads headers for pmlua wrap" },
    { name = "LIBPFM_FORCE_PMU", about = "libpfm4's: the PMU to assume" },
    { name = "CC, CXX", about = "the compilers that pmlua wrap builds wrappers with; without them gcc and g++" },
    { name = "TMPDIR", about = "folder of temporary files; without it /tmp" },
    { name = "XDG_RUNTIME_DIR", about = "folder of the sockets of programs that can be asked; without it "
      .. "/tmp/pmlua-UID. Root sees the programs of all users, unless this names a folder other than /run/user/UID" },
    { name = "XDG_CACHE_HOME", about = "folder in which pmlua record caches its analysis of large programs, so that they start "
      .. "faster the next time; without it ~/.cache" },
    { name = "XDG_STATE_HOME", about = "folder of the prompts' history and of the results of pmlua doctor --verify; without it "
      .. "~/.local/state" },
  } },
  { title = "Programs with sections", variables = {
    { name = "PMLUA_SECTIONS", about = "off: sections do nothing" },
    { name = "PMLUA_REPORT", about = "folder where each process keeps its sections, counters and recorders in a log, however "
      .. "it ends, for pmlua report" },
    { name = "PMLUA_HISTORY", about = "bytes of a log, such as 64M, for the values of software-defined events over time, which "
      .. "the live service of the program keeps; 16M unless it is set, off: none" },
    { name = "PMLUA_MPI_TIMEOUT", about = "seconds that MPI_Init waits for ranks that are not recorded; 10 unless it is set" },
    { name = "PMLUA_REPORT_TIMELINE", about = "on, or the number of enters and leaves of each thread to keep in that "
      .. "log" },
  } },
  { title = "Jobs of MPI under pmlua record", variables = {
    { name = "PMLUA_MPI_TIMEOUT", about = "seconds that MPI_Finalize waits for the measurements of other ranks; without it 10, "
      .. "at most 86400. Ranks that come later are not in the job's summary, and pmlua report reads their logs" },
  } },
  { title = "Programs that pmlua cc --count compiled", variables = {
    { name = "PMLUA_COUNT", about = "report (or -): print what was counted at the exit; off: count nothing; anything else "
      .. "names a file of the counts, kept however the process ends. Where that is there already, as of a parent or of the "
      .. "program before an exec, it is FILE.PID" },
  } },
  { title = "Programs that can be asked while they run", variables = {
    { name = "PMLUA_LIVE_NAME", about = "name of the program; pmlua live sets it" },
    { name = "PMLUA_LIVE_RULES", about = "file of watch rules; pmlua live sets it" },
    { name = "PMLUA_LIVE_PID", about = "process that reports at its end if it registered nothing; pmlua live sets it" },
  } },
  { title = "Metric and substrate plugins", variables = {
    { name = "SCOREP_METRIC_PLUGINS", about = "metric plugins to load, libNAME.so each, or host, process and uncore, which come "
      .. "with pmlua; separated by commas, or by the value of SCOREP_METRIC_PLUGINS_SEP" },
    { name = "SCOREP_METRIC_NAME", about = "metrics requested from the plugin NAME, separated by commas, or by the value of "
      .. "SCOREP_METRIC_NAME_SEP; SCOREP_METRIC_NAME_EVERY: the time between two values of a plugin that comes with pmlua" },
    { name = "SCOREP_SUBSTRATE_PLUGINS", about = "substrate plugins, libscorep_substrate_NAME.so each, separated by commas, or "
      .. "by the value of SCOREP_SUBSTRATE_PLUGINS_SEP. A script loads them into itself, pmlua record into the program; other "
      .. "verbs load none" },
    { name = "SCOREP_EXPERIMENT_DIRECTORY", about = "where substrate plugins write; by default substrates-TIME-PID, of a "
      .. "recorded program substrates-PID in the folder of the results" },
  } },
  { title = "Programs that use libsde", variables = {
    { name = "PAPI_VERBOSE", about = "set: print what is refused on standard error, as libsde does" },
    { name = "PAPI_DEBUG", about = "SDE or ALL: print what libsde's debug build prints" },
  } },
  { title = "Programs that use PMlib", variables = {
    { name = "HWPC_CHOOSER", about = "what to count, as in PMlib: FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE or USER" },
    { name = "PMLUA_CHOOSER_EVENTS", about = "names of the events to count instead of a chooser's" },
    { name = "PMLIB_REPORT", about = "BASIC, DETAIL or FULL: which tables the report has" },
    { name = "BYPASS_PMLIB", about = "set: PMlib's functions do nothing" },
    { name = "OTF_TRACING", about = "off, on or full: write an OTF2 trace" },
    { name = "POWER_CHOOSER", about = "named in the report, which says that no power is measured" },
    { name = "OTF_FILENAME", about = "name of that trace" },
  } },
  { title = "Set by verbs for the programs that they start", variables = {
    { name = "PMLUA_RECORD_*", about = "what pmlua record records: DIR, JOB, LIB, SYM, FUNC, NOT, FILTER, EVENTS, TRACE, FLOW, "
      .. "OVERHEAD and limits" },
    { name = "LUA_INIT_5_4", about = "pmlua record --lua sets it to record an interpreter of Lua, which still runs the "
      .. "user's code in this variable or in LUA_INIT" },
    { name = "PYTHONPATH", about = "pmlua record --python puts a folder in front, whose module sitecustomize records "
      .. "functions" },
    { name = "PMLUA_INSTRUMENT", about = "what pmlua cc --count tells its compiler plugin" },
    { name = "PMLUA_WATCHPOINT_DIR", about = "folder of the plan and the results of pmlua watchpoint" },
    { name = "PMLUA_SIM", about = "folder of the results of pmlua stat --sim; PMLUA_SIM_CACHES and PMLUA_SIM_SECTION: its "
      .. "model of caches, and the section it counts in" },
  } },
}

M.NOTE = "In a set-user-ID program pmlua ignores all of them."

--- Warn about names in the environment that resemble a variable of pmlua; other tools may use other names.
---@param present string[] names that begin with PMLUA_
function M.check(present)
  local names, known = {}, {}
  for _, group in ipairs(M.groups) do
    for _, v in ipairs(group.variables) do
      for name in (v.name .. " " .. v.about):gmatch "PMLUA_([%u_]*[%w_])" do names[#names + 1], known[name] = name, true end
    end
  end
  for _, variable in ipairs(present) do
    local name = variable:sub(7)
    local near = not known[name] and not name:find "^RECORD_" and require "pmlua.internal.nearest"(name, names)
    if near then
      io.stderr:write(("pmlua: warning: no variable %s; did you mean PMLUA_%s?\n"):format(variable, near))
    end
  end
end

--- The variables for a terminal.
function M.text()
  local wrapped, parts = require("pmlua.internal.reference.text").wrapped, {}
  for _, group in ipairs(M.groups) do
    parts[#parts + 1] = group.title .. ":"
    for _, v in ipairs(group.variables) do
      parts[#parts + 1] = ("  %s\n%s"):format(v.name, wrapped(v.about .. ".", 6))
    end
    parts[#parts + 1] = ""
  end
  return table.concat(parts, "\n") .. "\n" .. M.NOTE .. "\n"
end

--- The variables in Markdown.
function M.markdown()
  local table_of, parts = require("pmlua.internal.reference.markdown").table, { "# Environment variables", M.NOTE }
  for _, group in ipairs(M.groups) do
    local rows = {}
    for i, v in ipairs(group.variables) do
      local name = v.name:gsub("([%w_]+)%*?", '<a id="%1"></a>`%0`')
      rows[i] = { name, (v.about:gsub("|", "\\|"):gsub("%*", "\\*")) .. "." }
    end
    parts[#parts + 1] = "## " .. group.title
    parts[#parts + 1] = table_of({ "Variable", "What" }, rows)
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return M
