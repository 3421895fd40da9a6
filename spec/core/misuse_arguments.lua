-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_arguments.lua - valid arguments of every function and method of the bindings, for misuse_calls.lua.

local core = require "pmlua.core"
local values = require "misuse_values"
local NIL, file = values.NIL, values.file

local dir = arg[1]
local values_of, up_to = core.statistics.tally { 1, 2, 2 }
local M = {}

M.names = { "task-clock", "page-faults" }
M.functions = {
  clock = { ticks = {}, ticks_ordered = {}, ns = {}, to_ns = { 1 }, at_ns = { 1 }, realtime_ns = {}, info = {}, rate = {} },
  event = { parse = { "task-clock" }, list = { "task-clock", false }, pmus = {}, has_pmu = {}, set_sysfs = { "/sys" },
            user_only = {}, pmu_traits = {}, usdt = { "/bin/sh", "misuse", "probe" } },
  command = { spawn = { { "/bin/true" }, { environment = { "MISUSE=yes" } } } },
  count = { read = { "/nowhere/counts" }, kinds = {}, here = {} },
  counter = { open = { "task-clock", {} }, exercise = { "chain", 1 } },
  sampler = { open = { "page-faults", { period = 1000, max = 10 } } },
  group = { open = { M.names, {} } },
  eventset = { open = { M.names, {} } },
  region = { intern = { "r", "f.c", 1 }, describe = { 1 }, count = {}, demangle = { "_ZN1a1bEv" } },
  samples = { new = { 4 } },
  samples_log = { open = { dir .. "/nowhere" }, visit = { 1, 1, 4 }, took = { 0.5 }, tell = { 1, 1, 0, "a", "b" }, kept = {},
                  close = {}, left = { dir .. "/nosuch.pmlog" } },
  workload = { load = { "/nowhere/x.so" } },
  trace = { create = { dir, {} }, open = { dir .. "/nosuch.otf2" } },
  section = { define = { { label = "misuse", record = true } }, start = { "misuse" }, stop = { "misuse", {} },
              report = { {} }, reset = {}, enable = { true }, snapshot = { {} }, timeline = { 8 },
              write = { dir .. "/nowhere/sections" } },
  profile = { open = {}, bucket_ns = { 100 } },
  recording = { clock = {}, interfaces = {}, open = { dir .. "/nosuch.pmlog" }, reasons = { dir .. "/nowhere" },
                series = { dir .. "/nowhere/series", dir .. "/nowhere/to" }, waited = { dir .. "/nosuch.pmlog", 0, 0, 1 },
                archive = { dir .. "/nosuch", { { path = dir .. "/nosuch.pmlog", series = {} } }, function() end } },
  buffer = { open = { { records = 256, threads = 2 } } },
  substrate = { load = { "no_such", { path = "/nowhere", directory = "/nowhere" } }, lines = {}, list = {},
                each = { { enter = function() end, flush = function() end } } },
  intercept = { install = { { lib = "libnothing", sym = "f*", ["not"] = "g*" } } },
  filter = { open = { dir .. "/misuse.filter" } },
  tune = { open = { { rules = { { region = "misuse", threads = 2 } }, dry_run = true } }, allowed = {} },
  balance = { open = { { sync = { "misuse" }, dry_run = true } }, controller = { { reference = 3e9 } } },
  sde = { library = { "MISUSE" }, find = { "MISUSE::COUNTER" }, list = {}, hook = { "/nonexistent" }, count = {},
          select = { { "*" }, 10 } },
  sys = { launched = {}, interrupted = {}, on_interrupt = { false }, pid = {}, uname = {}, isatty = { 1 }, columns = { 1 },
          affinity = {}, pin = { 0 },
          sleep = { 0 }, exec = { { "/nowhere/program" }, { MISUSE = "yes" } }, fsync = { dir },
          realpath = { dir }, setid = { dir }, cpu = {}, cpu_time = {},
          nprocs = {}, raise_interrupt = { false }, refusal = {},
          with_point = {}, explained = { "attempt to index a nil value" },
          edit = {}, edit_line = { "> " }, edit_completer = { function() return {} end },
          edit_history = { dir .. "/nowhere/history", 10 }, edit_save = { dir .. "/nowhere/history", 10 },
          at_prompt = { "> " }, private_file = { dir .. "/misuse.private" } },
  log = { read = { dir .. "/nosuch.pmlog" }, history = { dir .. "/nosuch.pmlog" } },
  summary = { open = {}, one = { dir .. "/nosuch.pmlog", "label", true }, cache = { dir .. "/nosuch.pmlog" },
              whole = { dir .. "/nosuch.pmlog" },
              all = { dir .. "/nosuch.pmlog" }, unpack = { "PMLS" }, misuses = {} },
  rows = { open = { { columns = { { field = "time" , name = "t" } }, sections = {}, events = {} } } },
  link = { connect = { "/nowhere/socket" } },
  metrics = { answer = { "PMV1" }, value = { "PMV1", 1 }, lines = {} },
  watchpoint = { available = {}, find = { "/proc/self/exe", "main", false }, load = { "/nowhere/watchpoints" },
                 plan = { dir .. "/nowhere/plan", { { path = "/proc/self/exe", name = "main" } }, 1 } },
  plugin = { load = { { name = "nowhere" } }, find = { "misuse1" }, list = {}, read = { "nowhere.series" },
             provide = { { name = "misuse", kind = "code", text = "return {}", events = { { name = "e" } } } } },
  flow = { open = { { metrics = { "misuse" }, labels = 9 } } },
  live = { start = { { name = "misuse" } }, interruptible = { function() end }, stop = {}, path = {}, folder = {},
           rule = { "rule" }, cancel = { 1 }, own_loop = {}, state = { "return 1" },
           rules = {}, functions = {}, call = { "f", 1 }, stop_run = {}, say = {} },
  file = { open = { "/proc/self/stat" }, read = { "/proc/self/stat", 4096 }, write = { dir .. "/nowhere/f", "text" },
           create = { dir .. "/nowhere/f" }, output = { dir .. "/nowhere/f" }, new = { dir .. "/nowhere/f" },
           names = { dir }, kind = { dir }, folder = { dir .. "/nowhere/f" }, temporary = { dir .. "/nowhere/f" } },
  failure = { new = { { place = "misuse.new", code = "EIO", text = "t", remedy = "r" } }, refuse = { "EIO", "text", "remedy" },
              sentence = { "text" } },
  data = { read = { "return { 1 }", "@misuse", 1 << 20, 1000, 100 } },
  statistics = { quantile = { { 1, 2 }, { 1, 3 }, 0.5 }, bucket = { 17 }, least = { 17 },
                 histogram_quantile = { { [3] = 2 }, 0.5 }, moments = { { 1, 2 } }, median_interval = { { 1, 2, 3, 4, 5 }, 0.95 },
                 plus = { 1, 2 }, add = { { 1 }, { 2 } }, tally = { { 1, 2, 2 } },
                 merge_tallies = { values_of, up_to, values_of, up_to } },
  tool = { run = { { "/nowhere/program" }, {} }, confines = {} },
}
M.slow = {}
for name in ("event.list event.parse clock.info sys.sleep counter.open group.open eventset.open trace.create sampler.open "
  .. "event.set_sysfs samples.new live.start command.spawn section.snapshot watchpoint.find watchpoint.plan plugin.provide "
  .. "tool.run"):gmatch "%S+" do M.slow[name] = true end
-- One list is a walk over all of libpfm4 and tracefs; sleeping sleeps; 2^31 samples may well fit, but take a minute.
M.few = {
  ["event.list"] = { NIL, -1, "a\0b", {}, print },
  ["sys.sleep"] = { NIL, true, -1, 0 / 0, 1 / 0, 1e308, math.maxinteger, math.mininteger, "", "x", {}, print, file },
  ["live.say"] = { NIL, true, {}, print, file }, -- others would hear it
  ["live.stop_run"] = { NIL, true, "a\0b", {}, print, file },
  ["watchpoint.plan"] = { NIL, true, "", "a\0b", {}, { {} }, print, file }, -- a plan leaves a file
  ["samples.new"] = { NIL, true, 0, -1, 1, math.maxinteger, math.mininteger, 1 << 53, 0.5, 0 / 0, "x", {}, print, file },
}
-- These functions also leave files.
for name in ("recording.reasons recording.series recording.waited sys.private_file sys.edit_history sys.edit_save file.write "
  .. "file.create file.output file.new file.folder section.write"):gmatch "%S+" do
  M.few[name] = { NIL, true, "", "a\0b", {}, print, file }
end

--- Options of functions: the arguments before the options ("" if there are none), options that must stand beside them, the names.
M.options = {
  { "counter.open", "task-clock", nil, "pid cpu inherit no_page disabled part" },
  { "group.open", M.names, nil, "pid cpu inherit no_page" },
  { "eventset.open", M.names, nil, "pid cpu inherit no_page ungrouped multiplex cgroup" },
  { "sampler.open", "page-faults", nil, "pid all inherit on_exec address period frequency max" },
  { "section.define", "", { label = "misuse" }, "label type exclusive events record file line" },
  { "section.snapshot", "", nil, "timeline" },
  { "section.stop", "misuse", nil, "operations bytes iterations" },
  { "live.start", "", nil, "name rules unasked" },
  { "buffer.open", "", nil, "records threads" },
  { "substrate.load", "no_such", nil, "path directory" },
  { "substrate.each", "", nil, "enter leave metric flush" },
  { "tune.open", "", { rules = { { region = "misuse", threads = 2 } } }, "rules root cpus dry_run" },
  { "balance.open", "", { sync = { "misuse" }, reference = 3e9, min = 1e9 },
    "sync root cpus dry_run reference min delta last fits window" },
  { "balance.controller", "", { reference = 3e9 }, "reference min delta last fits window" },
  { "intercept.install", "", nil, "lib sym not" },
  { "trace.create", "/nowhere", nil, "metrics process" },
  { "plugin.load", "", { name = "nowhere" }, "name path metrics" },
  { "plugin.provide", "", { name = "misuse", kind = "code", text = "return {", events = { { name = "e" } } },
    "name kind text scope every events" },
}

M.region = core.region.intern("misuse")

--- The methods of each kind of handle with arguments, without the handle itself; some take other handles of @handles.
function M.methods(handles)
  return {
    counter = { read = {}, path = {}, name = {} },
    sampler = { drain = {}, stop = {}, name = {}, counts = {}, sample = { 1 }, fold = { "code" }, place = { "/bin/sh", 1 },
                variable = { "/bin/sh", 1 }, registers = { 1 } },
    group = { read = {} },
    eventset = { start = {}, read = {}, read_ts = {}, stop = {}, reset = {}, accum = { {} }, reader = {}, readings = {},
                 event = { 1 }, parts = { 1 } },
    samples = { capacity = {}, push = { 1 }, clear = {}, copy = {}, append = { handles.samples }, sort = {},
                quantile = { 0.5 }, moments = {}, format = { "1,2,", 1, 2 }, above = { 1, 10 } },
    workload = { run = { { operation = "empty", samples = { handles.samples } } } },
    trace = { location = { "l" }, flush = {}, stats = {}, attach = {}, detach = {}, plugin = { handles.plugin, 0 } },
    tracereader = { about = {}, regions = {}, processes = {}, locations = {}, metrics = {}, system = {}, groups = {},
                    communicators = {}, properties = {}, clocks = {},
                    series = { { metric = "m*", columns = 3, threads = 2, where = { window = { 0, 1 } } } },
                    concurrency = { { columns = 3, where = { region = "r*" } } },
                    each = { function() return false end, { order = "time", where = { kinds = { "enter" }, location = { 1 } } } },
                    group = { { by = { "region", "column" }, columns = 3, sum = { "count" }, quantiles = { 0.5 }, threads = 2,
                                where = { window = { 0, 1 }, region = "r*", process = 1 } } },
                    messages = { { where = { window = { 0, 1 } } } }, paths = { { where = { region = "m*" } } },
                    export = { "folded", io.stderr, { where = { region = "m*" } } } },
    section = { start = {}, stop = { {} }, enter = {}, info = {}, quantile = { 50 } },
    sectionscope = { stop = { { operations = 1 } } },
    profile = { nodes = {}, stats = {}, functions = {} },
    recording = { story = {}, note = { "program" }, sums = {}, profile = {}, flow = { function() end },
                  calls = { { process = {}, name = function() return "l", "f" end } } },
    flow = { stop = {}, graphs = {}, refused = {} },
    luasubstrate = { flush = {}, stats = {} },
    substrateplugin = { record = { true }, stats = {} },
    tune = { stop = {}, lines = {}, log = {}, stats = {} },
    balancer = { stop = {}, lines = {}, log = {}, take = {}, stats = {}, rule = {} },
    controller = { step = { 1, 2, 3 } },
    buffer = { take = { {}, {}, {}, {}, {} }, leave_out = { 1, true }, stats = {} },
    interception = { stats = {} },
    filter = { wants = { "/usr/include/a.h", "a()", "_Z1av" } },
    sdelibrary = { counter = { "COUNTER", {} }, recorder = { "RECORDER", {} }, set = { "SET" },
                   group = { "GROUP", "sum", "COUNTER" }, describe = { "COUNTER", "counts" },
                   unregister = { "COUNTER" }, shutdown = {} },
    sdecounter = { add = { 1 }, read = {}, reset = {}, info = {} },
    watchpoints = { summary = {}, lane = { 1 }, values = { 1 } },
    command = { pid = {}, start = {}, wait = { 5 }, kill = { 0 } },
    recorder = { push = { 1 }, values = { 1, 2 }, quantile = { 50 }, count = {}, dropped = {}, nans = {}, error = {},
                 reset = {}, epoch = {}, info = {} },
    countingset = { insert = { "e", 1 }, remove = { "e", 1 }, values = {}, info = {} },
    sdeevent = { read = {}, write = { 1 }, reset = {}, info = {}, open = {} },
    location = { enter = { M.region }, leave = { M.region }, metric = { { 1 } } },
    summary = { log = { dir .. "/nosuch.pmlog", 1 }, process = { dir .. "/nosuch.pmlog", 1 }, rows = { "call" }, section = { 1 },
                numbers = {}, sections = {} },
    rows = { log = { { path = dir .. "/nosuch.pmlog", threads = true } } },
    link = { ask = { "eval", "1 + 1", 1 }, send = { "eval", "1 + 1", 1 }, receive = { 1 }, ready = {} },
    metricslines = { add = { "name ", 1, 1, true }, text = { { "PMV1" }, "" }, fallen = { { "PMV1" } } },
    plugin = { start = {}, collect = {}, series = {}, info = {}, stop = {} },
  }
end

return M
