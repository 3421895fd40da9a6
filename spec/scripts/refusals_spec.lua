-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/refusals_spec.lua - experiments refuse what they do not know or cannot do, in one line that names it.

local tables = require "spec.scripts.tables"

local refusals = {
  balance = { ["--ranks 1"] = "--ranks needs", ["--bound 120"] = "--bound needs",
    ["--min 4"] = "--min must be below --reference", ["--threads many"] = "'many'" },
  cause = { ["--runs 7"] = "--runs needs" },
  core_to_core = { ["--cpus 60000"] = "cpu 60000", ["--cpus 0-x"] = "0-x", ["--cpus ,"] = "--cpus", ["--cpus 3-1"] = "3-1",
    ["--trips 0"] = "--trips", ["--patience soon"] = "'soon'" },
  counted = { ["--kernels sort"] = "unknown sort", ["--kernels ,"] = "--kernels", ["--length 0"] = "--length",
    ["--length 1000001"] = "--length needs", ["--order 201"] = "--order needs", ["--flags=nosuch.c"] = "cannot be built" },
  event_flow = { ["--ranks 17"] = "--ranks needs", ["--steps 0"] = "--steps needs", ["--event page-fautls"] = "page-fautls" },
  host_metrics = { ["--metrics nosuch_metric"] = "plugin host has no metric 'nosuch_metric'",
    ["--every soon"] = "--every is 'soon'", ["--seconds 0"] = "--seconds needs a number from 0.01 to 3600" },
  intercept_overhead = { ["--threads 0"] = "--threads: 0", ["--threads 1,,2"] = "--threads: nothing",
    ["--threads 2,2"] = "2 is given twice", ["--threads 65"] = "--threads: 65", ["--ways sundial"] = "unknown sundial",
    ["--event no-such-event"] = "--event" },
  kernel_sweep = { ["--kernels sine"] = "unknown sine", ["--precisions half"] = "unknown half",
    ["--builds 1024"] = "unknown 1024", ["--longest 31"] = "--longest needs", ["--longest=-1"] = "--longest needs",
    ["--copies 100000"] = "--copies needs", ["--flop-events ,"] = "--flop-events", ["--kernels ,"] = "--kernels is empty" },
  library_time = { ["--program sundial"] = "unknown sundial", ["nosuchcommand-1"] = "command not found",
    ["--limit 0 true"] = "--limit", ["--top 0 true"] = "--top", ["--nosuch true"] = "--nosuch", ["A=1 true"] = "'='",
    ["/etc"] = "is a folder" },
  memory_bandwidth = { ["--megabytes 0"] = "--megabytes", ["--megabytes x"] = "'x'" },
  memory_latency = { ["--strides 12"] = "multiple of 8", ["--strides ,"] = "--strides", ["--largest 0"] = "--largest",
    ["--largest 100000000"] = "memory that is available", ["--steps none"] = "'none'" },
  multiplex = { ["--model 0"] = "--model", ["--model 4 --turn 0"] = "--turn", ["--milliseconds x"] = "'x'" },
  noise = { ["--cpus 60000"] = "cpu 60000", ["--cpus ,"] = "--cpus", ["--plant 5"] = "PERIOD:LENGTH",
    ["--plant 10:6"] = "at most half", ["--quantum 1"] = "--quantum", ["--threshold 0"] = "--threshold",
    ["--threshold 1"] = "raise --threshold" },
  plugin_overhead = { ["--subjects sundial"] = "unknown sundial", ["--scale 0"] = "--scale needs",
    ["--scale much"] = "--scale needs" },
  read_overhead = { ["--n 0"] = "--n", ["--nb 0"] = "--nb", ["--n 1000000"] = "--n", ["--stream-n=-3"] = "--stream-n",
    ["--context-events 9"] = "--context-events", ["--iterations 0"] = "--iterations", ["--iterations many"] = "--iterations",
    ["--image /nowhere.ppm"] = "/nowhere.ppm", ["--image /tmp"] = "/tmp", ["--image /dev/null"] = "not a PNM file",
    ["--events perf::TASK-CLOK"] = "TASK-CLOCK", ["--no-such-option"] = "no-such-option",
    ["--events " .. ("perf::TASK-CLOCK,"):rep(9)] = "at most 8" },
  recorder_overhead = { ["--threads 9"] = "--threads: 9", ["--threads 0"] = "--threads: 0",
    ["--threads 1,,2"] = "--threads: nothing", ["--threads 2,2"] = "2 is given twice", ["--threads two"] = "two",
    ["--type string"] = "type is string", ["--library libfoo"] = "--library", ["--rounds 0"] = "--rounds" },
  residuals = { ["--solvers gauss"] = "gauss", ["--part 0"] = "part", ["--tolerance 2"] = "tolerance", ["--s 99"] = "--s",
    ["--watch 1e301"] = "watch" },
  ring = { ["--ranks 65"] = "--ranks needs", ["--ranks 1"] = "--ranks", ["--mpi lam"] = "--mpi is lam" },
  roofline = { ["--place x:1"] = "x:1", ["--place x:-1:2"] = "x:-1:2", ["--place x:1:2:half"] = "half",
    ["--place /nonexistent"] = "nonexistent", ["--counts sim"] = "--counts needs", ["--report /nonexistent"] = "--report",
    ["--builds 7"] = "unknown 7", ["--copies 100000"] = "--copies needs" },
  scaling = { ["--program lu"] = "--program is lu", ["--mpi lam"] = "--mpi is lam", ["--ranks 0"] = "--ranks",
    ["-- ./nothing"] = "./nothing" },
  slow_calls = { ["--requests 3"] = "--requests needs" },
  task_lengths = { ["--contractions t2_9"] = "t2_9", ["--contractions ,"] = "--contractions is empty",
    ["--occupied 0"] = "--occupied", ["--contractions t2_8,t2_8"] = "twice", ["--virtual 513"] = "--virtual",
    ["--tile 65"] = "--tile", ["--unpaired 7"] = "--unpaired", ["--threads 0"] = "--threads",
    ["--blas /nonexistent.so"] = "/nonexistent.so", ["--blas ''"] = "blas is empty" },
  timers = { ["--clocks sundial"] = "unknown sundial", ["--clocks ,"] = "--clocks", ["--reads 1"] = "--reads needs",
    ["--threads 100000"] = "--threads needs", ["--reads many"] = "'many'" },
  until_certain = { ["--spread 0"] = "--spread", ["--most 3"] = "--most", ["--power 100"] = "--power" },
  watchpoint = { ["--writes 1"] = "--writes needs", ["--chunk 0"] = "--chunk needs", ["--regions many"] = "'many'" },
}

describe("scripts/", function()
  for name, arguments in pairs(refusals) do
    it(name .. ".lua refuses what it does not know, in one line", function() tables.refuses(name, arguments) end)
  end
end)
