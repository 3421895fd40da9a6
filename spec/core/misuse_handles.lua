-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_handles.lua - handles of every kind, for misuse_calls.lua; reads that script's arguments.

local core = require "pmlua.core"

local dir, server, workload = arg[1], arg[2], arg[3] ~= "-" and arg[3] or nil
local M = {}

local function trace()
  local path = os.tmpname()
  os.remove(path)
  path = dir .. "/" .. path:match("[^/]*$")
  assert(os.execute("mkdir -p '" .. path .. "'"))
  return assert(core.trace.create(path, { metrics = { { name = "m" } } }))
end

local function filter()
  local path = dir .. "/misuse.filter"
  local f <close> = assert(io.open(path, "w"))
  f:write("SCOREP_REGION_NAMES_BEGIN EXCLUDE a*\nSCOREP_REGION_NAMES_END\n")
  f:close()
  return assert(core.filter.open(path))
end

--- A plugin can be open only once: this closes the previous handle. Nil if the plugins of the specs are not built.
local loaded
function M.substrate()
  if loaded then loaded:close() end
  loaded = core.substrate.load("nothing", { path = (os.getenv "PMLUA_BUILD" or "build") .. "/spec/plugins" })
  return loaded
end

--- The recording of `true`; nil if the library cannot be preloaded here.
local function recording()
  local folder = os.tmpname()
  os.remove(folder)
  folder = dir .. "/" .. folder:match("[^/]*$")
  os.execute(("mkdir -p '%s'; LD_PRELOAD=$(realpath %s/preload/libpmlua-record.so) PMLUA_RECORD_DIR='%s' true 2>/dev/null")
    :format(folder, os.getenv("PMLUA_BUILD") or "build", folder))
  local path = io.popen(("ls '%s'/*.pmlog 2>/dev/null"):format(folder)):read("l")
  return path and assert(core.recording.open(path))
end

--- Pieces at their places, with zeros between them.
local function placed(size, pieces)
  local out, at = {}, 0
  for _, piece in ipairs(pieces) do
    out[#out + 1] = ("\0"):rep(piece[1] - at) .. piece[2]
    at = piece[1] + #piece[2]
  end
  return table.concat(out) .. ("\0"):rep(size - at)
end

-- The log that a watched process leaves: its head and entry, then a head, 4096 lanes of 64 bytes, one chunk of 16384; one
-- access.
local function watchpoints()
  local path = dir .. "/watchpoints"
  local f <close> = assert(io.open(path, "wb"))
  local bytes = 4096 + 4096 * 64 + 16384
  local log = placed(65536, { { 0, string.pack("<c8I4", "PMLUALOG", 3) }, { 56, string.pack("<d", 1e9) },
    { 116, string.pack("<I4", 1) }, { 4096, string.pack("<I4I4I8I8I8", 13, 0, 0, 65536, bytes) } })
  local head = string.pack("<I4I4I4I4i4", 1, 1, 1, 1, 42)
  local lane = string.pack("<I4I4I8I8I8I4I4", 42, 0, 1, 0, 0, 1, 1)
  local chunk = string.pack("<I4I4I8I8I8", 0, 1, 0, 7, 8)
  f:write(log, head, ("\0"):rep(4096 - #head), lane, ("\0"):rep(4096 * 64 - #lane), chunk, ("\0"):rep(16384 - #chunk))
  f:close()
  return assert(core.watchpoint.load(path))
end

local function link() return assert(core.link.connect(server)) end

-- A process has only one interception: this closes the previous handle. No library has the name, so nothing is intercepted; only
-- the functions themselves are tried.
local installed
function M.interception()
  if installed then installed:close() end
  installed = assert(core.intercept.install { lib = "libnothing-is-called-so" })
  return installed
end

--- Only 16 consumers of events can exist: each of these two functions closes its previous handle.
local tuned, balanced
function M.tune()
  if tuned then tuned:close() end
  tuned = assert(core.tune.open { rules = { { region = "misuse", threads = 2, enter = function() end } }, dry_run = true })
  return tuned
end
function M.balancer()
  if balanced then balanced:close() end
  balanced = assert(core.balance.open { sync = { "misuse" }, reference = 3e9, min = 1e9, dry_run = true })
  return balanced
end

local plugins = 0
local function plugin()
  plugins = plugins + 1
  return assert(core.plugin.provide { name = "misuse" .. plugins, kind = "code", every = 0.01, events = { { name = "e" } },
    text = "return { events = { 'e' }, collect = function() return { e = 1 } end }" })
end

local function tracereader()
  local path = os.tmpname()
  os.remove(path)
  path = dir .. "/" .. path:match "[^/]*$"
  assert(os.execute("mkdir -p '" .. path .. "'"))
  local t <close> = assert(core.trace.create(path))
  local l = assert(t:location("main"))
  assert(l:enter(core.region.intern("misuse")) and l:leave(core.region.intern("misuse")))
  assert(t:close())
  return assert(core.trace.open(path .. "/traces.otf2"))
end

--- One of each kind.
function M.all()
  local h = {}
  h.counter = assert(core.counter.open("task-clock"))
  h.sampler = assert(core.sampler.open("page-faults", { period = 1000, max = 10 }))
  h.group = assert(core.group.open { "task-clock", "page-faults" })
  h.eventset = assert(core.eventset.open { "task-clock", "clock::ns" })
  h.samples = assert(core.samples.new(8))
  h.samples:push(3)
  h.trace = trace()
  h.location = assert(h.trace:location("main"))
  h.tracereader = tracereader()
  local library = assert(core.sde.library("MISUSE"))
  h.sdelibrary = library
  h.sdecounter = assert(library:counter("COUNTER"))
  h.recorder = assert(library:recorder("RECORDER", { type = "int64", cap = 1000 }))
  h.recorder:push(3)
  h.countingset = assert(library:set("SET"))
  h.countingset:insert("element", 1)
  h.sdeevent = assert(core.sde.find("MISUSE::COUNTER"))
  h.section = assert(core.section.define { label = "misuse", record = true })
  h.sectionscope = assert(h.section:enter())
  h.profile = assert(core.profile.open())
  h.recording = recording()
  h.buffer = assert(core.buffer.open { records = 256, threads = 2 })
  h.luasubstrate = assert(core.substrate.each { enter = function() end, flush = function() return { 1 } end })
  h.substrateplugin = M.substrate()
  h.tune, h.balancer = M.tune(), M.balancer()
  h.controller = core.balance.controller { reference = 3e9 }
  h.interception = M.interception()
  h.filter = filter()
  h.summary = assert(core.summary.open())
  h.rows = assert(core.rows.open { sections = { { "misuse", "text" } }, events = { { "e", "e" } },
    columns = { { field = "section", name = "s" }, { field = "process", name = "p" }, { field = "events", name = "e" } } })
  h.link = link()
  h.command = assert(core.command.spawn { "/bin/true" })
  h.watchpoints = watchpoints()
  h.plugin = plugin()
  h.flow = assert(core.flow.open { metrics = { "misuse" } })
  h.workload = workload and assert(core.workload.load(workload)) or nil
  return h
end

return M
