-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/workloads_spec.lua - tests of the shipped workloads, run as experiments run them: known results, hits of each site,
-- phases in order, and refusals of wrong options.

local support = require "spec.core.support"
local it = support.it
local core = support.core

--- The path of a new file with this text.
local function file(text) return support.spit(support.folder() .. "/image", text) end

--- A run of a workload: its results by name, the number of samples of each site, and how many hits were skipped; or why not.
local function run(name, options, capacity)
  local w <close> = assert(core.workload.load(("%s/workloads/%s.so"):format(support.build, name)))
  local samples = {}
  for i = 1, #w.sites do samples[i] = assert(core.samples.new(capacity or 4)) end
  local out, err, code = w:run { operation = "empty", samples = samples, options = options, phases = 4096 }
  if not out then return nil, err, code end
  local r, last = { sampled = {}, skipped = out.skipped, phases = #out.phases, samples = samples }, 0
  for _, p in ipairs(out.phases) do
    assert.is_true(p.region > 0 and last <= p.enter and p.enter <= p.leave, name .. ": a phase after the other")
    last = p.leave
  end
  for i, s in ipairs(samples) do r.sampled[i] = #s end
  for _, result in ipairs(out.results) do r[result.name] = result.value end
  return r
end

local function refuses(name, options, says, wanted)
  local r, err, code = run(name, options)
  assert.is_nil(r, name)
  assert.truthy(err:find(says, 1, true), err)
  assert.equal(wanted or code, code, err)
end

--- Runs whose results are known: options, and results by name.
local function gives(name, cases, capacity)
  for i, case in ipairs(cases) do
    local r = assert(run(name, case[1], capacity))
    for key, expected in pairs(case[2]) do assert.same(expected, r[key], ("%s %d: %s"):format(name, i, key)) end
  end
end

describe("The workload", function()
  after_each(support.cleanup)

  it("of each name has a line of help, and refuses numbers that its options cannot be", function()
    local real = { tolerance = true, stop = true }
    for _, name in ipairs { "loop", "stream", "chase", "bandwidth", "exchange", "noise", "timers", "recorder", "sobel", "krylov",
      "lu", "tamm", "kernels" } do
      local w <close> = assert(core.workload.load(("%s/workloads/%s.so"):format(support.build, name)))
      assert.equal(name, w.name)
      assert.is_true(#w.help > 0)
      for _, o in ipairs(w.options) do
        for _, bad in ipairs(type(o.default) == "number" and { -1, 0.5, 1e300 } or {}) do
          if not (real[o.name] and bad > 0) then refuses(name, { [o.name] = bad }, o.name, "EINVAL") end
        end
      end
    end
  end)

  it("loop has a sample for each hit, until they are full", function()
    gives("loop", { { { n = 300 }, { sampled = { 300 }, skipped = { 0 }, phases = 1 } },
      { { n = 800 }, { sampled = { 500 }, skipped = { 300 } } } }, 500)
  end)

  it("stream validates its vectors, and is probed at each element of one copy and after each vector", function()
    for _, case in ipairs { { 400, 3, { 400, 3, 3, 3, 3 } }, { 3e6, 2, { 1000, 2, 2, 2, 2 } }, { 1, 1, { 1, 1, 1, 1, 1 } },
      { 1000, 2000, { 1000, 1000, 1000, 1000, 1000 } } } do
      local r = assert(run("stream", { n = case[1], repeats = case[2] }, 1000))
      assert.is_true(r.error < 1e-13)
      assert.same({ case[3], math.max(0, case[2] - 1000) }, { r.sampled, r.skipped[2] })
      assert.equal(0, r.skipped[1])
      assert.equal(math.min(4096, 1 + 4 * case[2]), r.phases)
      for _, rate in ipairs { "copy_rate", "scale_rate", "add_rate", "triad_rate" } do assert.is_true(r[rate] > 0) end
    end
    refuses("stream", { n = 0 }, "n", "EINVAL")
    if support.sanitized then return end
    local script = [[local s = {} for i = 1, 5 do s[i] = pml.samples.new(1) end
      print(select(2, pml.workload.load("%s"):run { operation = "empty", samples = s, options = { n = 1e8 } }))]]
    local out = support.done(support.shell(("ulimit -v 1000000; %s/pmlua -e %s"):format(support.build,
      support.quote(script:format(support.build .. "/workloads/stream.so")))))
    assert.matches("ENOMEM: .*MB", out)
  end)

  it("chase walks through each slot once, on small or huge pages", function()
    for _, bytes in ipairs { 128, 4096, 100000, 5 << 20 } do
      for _, stride in ipairs { 8, 64, 4160 } do
        local r = bytes >= 2 * stride and assert(run("chase", { bytes = bytes, stride = stride }, 100))
        if r then
          assert.same({ bytes // stride, { 100 }, 1 }, { r.cycle, r.sampled, r.phases })
          assert.is_true(r.huge_bytes <= 0 and r.samples[1][1] > 0)
        end
      end
    end
    refuses("chase", { pages = "medium" }, "medium")
    refuses("chase", { stride = 12 }, "multiple", "EINVAL")
    local r, why = run("chase", { bytes = 8 << 20, pages = "huge" })
    if not r then return pending(why) end -- luacheck: ignore 113
    assert.is_true(r.huge_bytes <= 12 << 20)
  end)

  it("bandwidth reads and writes the shares of each thread, and leaves the caller where it was", function()
    local cpus, bytes = core.sys.affinity(), 50 * 4 * 4096
    for threads = 1, math.min(#cpus, 4) do
      for writes = 0, 4 do
        gives("bandwidth", { { { threads = threads, bytes = bytes + 5000, writes = writes }, { sampled = { 5 }, phases = 1,
          written = bytes / 4 * threads * writes, read = bytes / 4 * threads * (4 - writes) } } }, 5)
      end
    end
    assert.same(cpus, core.sys.affinity())
    refuses("bandwidth", { threads = #cpus + 1 }, "threads", "EINVAL")
  end)

  it("exchange answers each store between two cpus, and finds a planted delay", function()
    local cpus = core.sys.affinity()
    refuses("exchange", { from = cpus[1], to = 65535 }, "cpu 65535")
    refuses("exchange", { from = cpus[1], to = cpus[1] }, "two cpus", "EINVAL")
    if not cpus[2] then return pending "this process has one cpu" end -- luacheck: ignore 113
    local function with(more)
      local o = { from = cpus[1], to = cpus[2], patience = 60000 }
      for k, v in pairs(more) do o[k] = v end
      return o
    end
    gives("exchange", { { with {}, { sampled = { 400 }, stores = 2 * 100 * 400, phases = 1 } } }, 400)
    local delayed = assert(run("exchange", with { trips = 1, hold = 50000 }, 400)).samples[1]
    delayed:sort()
    assert.near(50000, core.clock.to_ns(delayed[1]), 2500)
    refuses("exchange", with { trips = 1e9, patience = 20 }, "in time", "ETIMEDOUT")
    assert.same(cpus, core.sys.affinity())
  end)

  local STEP <const> = { checksum = 2400, mean_gradient = 200, width = 4, height = 3, sampled = { 12 } }
  local HALF <const> = { checksum = 24 } -- black is 0 and white is 1
  for kind, image in pairs {
    P2 = { "P2\n4 3\n255\n0 0 100 100\n0 0 100 100\n0 0 100 100\n", STEP },
    ["P2 with comments"] = { "P2 # plain\n# a comment\r\n4# w\n3\t255#m\n0 0 100 #inside\n100\n0 0 100 100 0 0 100 100", STEP },
    P3 = { "P3 4 3 255 " .. ("0 0 0 0 0 0 100 100 100 100 100 100 "):rep(3), STEP },
    P5 = { "P5\n4 3\n255\n" .. ("\0\0dd"):rep(3), STEP },
    ["P5 with 16 bits"] = { "P5\n4 3 1000\n" .. ("\0\0\0\0\0d\0d"):rep(3), STEP },
    ["P5 with comments and a tail"] = { "P5#c\n4 3 255# c\n" .. ("\0\0dd"):rep(3) .. " and more", STEP },
    P6 = { "P6 4 3 255\n" .. ("\0\0\0\0\0\0dddddd"):rep(3), STEP }, P1 = { "P1\n4 3\n1100 11 00\n1100", HALF },
    P4 = { "P4\n4 3\n\xc0\xcf\xc0", HALF },
    ["a dot"] = { "P2 5 5 9 " .. ("0 "):rep(12) .. "9" .. (" 0"):rep(12), { mean_gradient = 9 * (8 + 4 * 2 ^ 0.5) / 25 } },
  } do
    it("sobel reads " .. kind, function()
      local r = assert(run("sobel", { image = file(image[1]) }, 3000))
      for key, expected in pairs(image[2]) do
        if type(expected) == "table" then assert.same(expected, r[key]) else assert.near(expected, r[key], 1e-12) end
      end
    end)
  end

  it("sobel finds the same edges in its own picture everywhere, and refuses other files", function()
    local pixels = 1920 * 1200
    local r = assert(run("sobel", {}, 3000))
    assert.same({ 1920, 1200, 89359089, { 3000 }, { pixels - 3000 }, 1 },
      { r.width, r.height, r.checksum, r.sampled, r.skipped, r.phases })
    assert.is_true(r.edge_pixels > 1e4 and r.edge_pixels < pixels / 2)
    assert.near(r.mean_gradient, r.checksum / pixels, 0.5)
    gives("sobel", { { { every = 1000 }, { sampled = { 2304 }, skipped = { 0 }, checksum = 89359089 } },
      { { width = 1, height = 1 }, { checksum = 0 } } }, 3000)
    local short = file "P5 2 2 255\nabc"
    refuses("sobel", { image = short }, short, "EINVAL")
    refuses("sobel", { image = "/nowhere/image.pgm" }, "/nowhere", "ENOENT")
  end)

  it("krylov solves its system", function()
    local r = assert(run("krylov", { matrix = "poisson2d:20", preconditioner = "ilu0" }))
    assert.same({ 0, 400, { 1, 1 }, 2 }, { r.outcome, r.rows, r.sampled, r.phases })
    assert.is_true(r.true_residual <= 10 * r.final_residual and r.iterations > 0)
    gives("krylov", { { { rhs = "zero" }, { outcome = 0, iterations = 0 } } })
    for option, bad in pairs { matrix = "/nonexistent.mtx", solver = "gauss", preconditioner = "ilu9", rhs = "left" } do
      refuses("krylov", { [option] = bad }, option)
    end
  end)

  it("lu solves systems of all shapes, and is probed in each phase of each panel", function()
    for _, shape in ipairs { { 1, 1 }, { 1, 64 }, { 2, 1 }, { 3, 2 }, { 5, 4 }, { 64, 64 }, { 100, 7 }, { 129, 64 }, { 200, 256 },
      { 96, 32, 5 } } do
      local n, nb, times = shape[1], shape[2], shape[3] or 1
      local r, panels = assert(run("lu", { n = n, nb = nb, repeats = times }, 1000)), (n + nb - 1) // nb
      assert.is_true(r.residual >= 0 and r.residual < 16 and r.rate > 0, r.residual)
      local hits = panels * times
      assert.same({ panels, { hits, hits, hits, hits }, 4 * hits }, { r.panels, r.sampled, r.phases })
    end
    refuses("lu", { n = 0 }, "n", "EINVAL")
    refuses("lu", { nb = 0 }, "nb", "EINVAL")
  end)

  it("tamm makes a task for each block, with the DGEMMs and FLOPs that can be counted by hand", function()
    -- each spin has one tile of occupied orbitals and two tiles of virtual ones: 6 spin cases of 2 x 2 virtual tiles, chains of
    -- 4 where both spins are alike, else of 8; 10 spin cases of o^2 v^4 pairs of operations
    local r = assert(run("tamm", { occupied = 3, virtual = 5, tile = 3, threads = 2, contraction = "t2_8" }))
    assert.same({ 24, 2 * 4 * 4 + 4 * 4 * 8, 8, 20 * 3 ^ 2 * 5 ^ 4, { 1, 1, 1 }, 3 },
      { r.tasks, r.dgemms, r.longest, r.flops, r.sampled, r.phases })
    assert.is_true(r.error < 1e-13)
    refuses("tamm", { contraction = "t2_9" }, "contraction")
    refuses("tamm", { blas = "/nonexistent/libblas.so" }, "/nonexistent")
    refuses("tamm", { blas = "" }, "blas is empty")
    refuses("tamm", { unpaired = 8 }, "", "EINVAL")
  end)

  -- operations, and numbers that are read and written, for each element, as the sources have them
  local FORMULA <const> = { add = { 1, 3 }, mult = { 1, 3 }, fma = { 2, 3 }, divide = { 1, 3 }, sqrt = { 1, 2 }, mix = { 5, 3 },
    copy = { 0, 2 }, load = { 0, 1 }, peak = { 2, 0 } }

  it("kernels reports operations and bytes by its formulas, in each build and precision", function()
    for _, build in ipairs { "scalar", "128", "256", "512" } do
      for kernel, per in pairs(FORMULA) do
        for precision, bytes in pairs { single = 4, double = 8 } do
          local r, why = run("kernels", { kernel = kernel, build = build, precision = precision, n = 768, batch_ns = 5000,
            samples = 3 })
          assert.is_true(r ~= nil or why:find "cannot run" ~= nil, why)
          if r then
            assert.same({ 768 * per[1], 768 * per[2] * bytes, { 3 } }, { r.flops, r.bytes, r.sampled })
            assert.is_true(r.calls >= 1 and r.overhead > 0 and r.spread >= 1 and r.calls_made > 3 * r.calls and r.cores >= 1)
          end
        end
      end
    end
    gives("kernels", { { { copies = 1, batch_ns = 5000 }, { cores = 1, phases = 1 } } })
    for option, bad in pairs { kernel = "sin", precision = "half", build = "1024", copies = 1e5 } do
      refuses("kernels", { [option] = bad }, option)
    end
    refuses("kernels", { kernel = "peak", n = 100 }, "384", "EINVAL") -- its lengths are multiples
  end)
end)
