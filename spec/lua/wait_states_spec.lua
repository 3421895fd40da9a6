-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wait_states_spec.lua - each wait state, where the times of all calls are planted: its wait to the microsecond, and
-- nothing where a condition does not hold.

local support = require "spec.core.support"
local critical_path = require "pmlua.analysis.critical_path"
local pml = require "pmlua"
local waits = require "pmlua.analysis.waits"

-- spec/otf2_waits.py plants these, in ms, and nothing else.
local PLANTED <const> = {
  ["late sender MPI_Recv 1 0"] = 40 - 10 + 2130 - 2124, ["late sender MPI_Recv 0 1"] = 2440 - 2435 + 2461 - 2455,
  ["late sender MPI_Waitall 1 2"] = 2270 - 2250, ["late receiver MPI_Waitall 0 1"] = 2320 - 2310 + 2360 - 2345,
  ["late receiver MPI_Waitall 0 2"] = 2330 - 2320, ["creation MPI_Intercomm_create 1 0"] = 2420 - 2417,
  ["creation MPI_Intercomm_create 2 0"] = 2420 - 2415, ["late receiver MPI_Send 0 1"] = 260 - 210,
  ["late receiver MPI_Wait 0 1"] = 370 - 320,
  ["late sender MPI_Wait 1 0"] = 760 - 720, ["barrier MPI_Barrier 0 2"] = 850 - 810, ["barrier MPI_Barrier 1 2"] = 850 - 820,
  ["barrier MPI_Barrier 0 1"] = 2240 - 2220, ["barrier MPI_Barrier 2 1"] = 2240 - 2215,
  ["late broadcast MPI_Bcast 0 2"] = 950 - 910 + 1020 - 1010, ["early reduce MPI_Reduce 0 2"] = 1130 - 1110,
  ["n to n MPI_Allreduce 0 1"] = 1240 - 1210, ["n to n MPI_Allreduce 2 1"] = 1240 - 1230,
  ["early scan MPI_Scan 1 0"] = 1340 - 1320, ["early scan MPI_Scan 2 0"] = 1340 - 1310, ["barrier MPI_Wait 0 1"] = 1440 - 1410,
  ["creation MPI_Comm_dup 0 2"] = 1550 - 1510, ["creation MPI_Comm_dup 1 2"] = 1550 - 1520,
  ["fence MPI_Win_fence 0 2"] = 1660 - 1610, ["fence MPI_Win_fence 1 2"] = 1660 - 1630,
  ["late post MPI_Win_start 0 1"] = 1840 - 1810 + 2481 - 2475,
  ["late complete MPI_Win_wait 1 0"] = 1870 - 1850,
  ["late sender MPI_Probe 1 0"] = 2050 - 2010, ["late sender MPI_Probe 1 2"] = 2490 - 2485,
  ["lock contention MPI_Win_lock 2 0"] = 2526 - 2516, ["lock contention MPI_Win_unlock 2 0"] = 2545 - 2535,
  ["lock contention MPI_Win_flush 2 0"] = 2565 - 2555, ["lock contention MPI_Win_lock 1 0"] = 2579 - 2573,
  ["lock contention MPI_Win_lock 2 1"] = 2590 - 2574,
}

local function ms(s) return math.floor(1e3 * s + 0.5) end

describe("Wait states", function()
  local reader, missing

  setup(function()
    local folder = support.folder() .. "/waits"
    local code, _, err = support.shell("/usr/bin/python3 spec/otf2_waits.py " .. folder)
    missing = code ~= 0 and err:find "No module named" and "python3-otf2 is not installed"
    if missing then return end
    assert.are.equal(0, code, err)
    reader = assert(pml.trace.open(folder .. "/traces.otf2"))
  end)
  teardown(function() if reader then reader:close() end end)

  local it_is = support.it_unless(function() return missing end)

  it_is("are the planted ones, and no others", function()
    local found = {}
    for _, w in ipairs(assert(waits.of(reader))) do
      local key = ("%s %s %d %d"):format(w.kind, w.region, w.rank, w.for_rank)
      found[key] = (found[key] or 0) + ms(w.wait_s)
    end
    assert.are.same(PLANTED, found)
  end)

  it_is("are caused by the late rank's region: all of the wait, of each", function()
    for _, w in ipairs(assert(waits.of(reader))) do
      local sum = 0
      for _, c in ipairs(w.causes) do sum = sum + c.wait_s end
      assert.is_true(math.abs(sum - w.wait_s) < 1e-6, ("%s %s: %g of %g"):format(w.kind, w.path, sum, w.wait_s))
    end
  end)

  it_is("are dropped, the shorter ones, if there are more than the limit: the sums stay the same", function()
    local all, sums = assert(waits.of(reader))
    assert.are.same({ waits = 0, wait_s = 0.0, most_s = 0.0 }, sums.dropped)
    local n, total = 0, 0.0
    for _, w in ipairs(all) do n, total = n + w.waits, total + w.wait_s end
    assert.is_near(total, sums.wait_s, 1e-9)
    local function key_of(w) return table.concat({ w.kind, w.location, w.for_location, w.path, w.for_path }, ",") end
    for most = 2, #all + 1 do
      local given = {}
      local kept, none = assert(waits.of(reader, nil, most, function(sum) given[#given + 1] = sum end))
      assert.is_true(#kept <= most and none.dropped.waits == 0, #kept)
      local added = {}
      for _, list in ipairs { kept, given } do
        for _, w in ipairs(list) do
          local by_cause = 0.0
          for _, c in ipairs(w.causes) do by_cause = by_cause + c.wait_s end
          assert.is_near(w.wait_s, by_cause, 1e-6)
          local sum = added[key_of(w)] or { 0, 0.0 }
          added[key_of(w)] = { sum[1] + w.waits, sum[2] + w.wait_s }
        end
      end
      for _, w in ipairs(all) do
        local sum = added[key_of(w)]
        assert.are.equal(w.waits, sum[1])
        assert.is_near(w.wait_s, sum[2], 1e-9)
      end
      local few, of = assert(waits.of(reader, nil, most))
      local waits_n, wait_s = of.dropped.waits, of.dropped.wait_s
      for _, w in ipairs(few) do
        waits_n, wait_s = waits_n + w.waits, wait_s + w.wait_s
        for _, a in ipairs(all) do
          if a.kind == w.kind and a.location == w.location and a.for_location == w.for_location and a.path == w.path
            and a.for_path == w.for_path then
            assert.is_true(w.wait_s <= a.wait_s + 1e-9 and a.wait_s - w.wait_s <= of.dropped.most_s + 1e-9, w.path)
          end
        end
      end
      assert.is_true(#few <= most and (#few == #all) == (of.dropped.waits == 0), #few)
      assert.are.equal(n, waits_n, most)
      assert.is_near(total, wait_s, 1e-9)
      assert.is_near(total, of.wait_s, 1e-9)
      assert.are.equal(#sums.late, #of.late)
      for i, late in ipairs(of.late) do
        assert.are.equal(sums.late[i].cause, late.cause)
        assert.is_near(sums.late[i].wait_s, late.wait_s, 1e-9)
      end
      -- the longest is far above the others, and is never dropped
      assert.are.equal(all[1].wait_s, few[1].wait_s)
    end
    local facts = assert(require("pmlua.internal.trace.facts").read(reader, {}, { waits = true, sums = 4, pairs = 1 }))
    assert.are.equal(1, #facts.messages)
    local text = require("pmlua.internal.trace.causes").of_waits(facts)
    assert.is_truthy(text:find "%d waits of shorter sums, .- in all, which were not kept: each sum is at most .- too small", text)
  end)

  it_is("are all in JSON and CSV, like messages, with few of them in memory at once", function()
    local report = require "pmlua.internal.trace.report"
    local function shown(few, o)
      local pieces = {}
      o.where, o.sums, o.senders = {}, few and 4 or nil, few and 1 or nil
      assert(report.write(reader, o, function(...) for _, piece in ipairs { ... } do pieces[#pieces + 1] = piece end end))
      return table.concat(pieces)
    end
    local function json(few)
      local all, sums = require "cjson".decode(shown(few, { json = true, waits = true })), {}
      for _, w in ipairs(all.waits) do
        local key = table.concat({ w.kind, w.path, w.for_path, w.rank, w.for_rank }, ",")
        sums[key] = { (sums[key] or { 0 })[1] + w.waits, (sums[key] or { 0, 0 })[2] + ms(w.wait_s) }
      end
      return { sums, all.messages, all.regions, all.oddities }, #all.waits
    end
    local all, n = json(false)
    local parts, n_of_parts = json(true)
    assert.are.same(all, parts)
    assert.is_true(n_of_parts >= n and n > 4, n_of_parts)
    for which, seconds in pairs { waits = 6, causes = 4 } do
      local function sums_of(few)
        local sums = {}
        for line in shown(few, { csv = true, table = which }):gmatch "\n([^\n]+)" do
          local cells = {}
          for cell in line:gmatch "[^,]*" do cells[#cells + 1] = cell end
          local wait = ms(tonumber(table.remove(cells, seconds)))
          if which == "waits" then table.remove(cells, 5) end -- how many
          local key = table.concat(cells, ",")
          sums[key] = (sums[key] or 0) + wait
        end
        return sums
      end
      assert.are.same(sums_of(false), sums_of(true))
    end
    assert.are.equal(shown(false, { csv = true, table = "messages" }), shown(true, { csv = true, table = "messages" }))
    assert.are.equal(shown(false, { top = 20 }), shown(true, { top = 20 }))
  end)

  it_is("put no waiting of these kinds on the critical path", function()
    local path, all = assert(critical_path.of(reader)), {}
    for _, r in ipairs(path.regions) do all[r.region] = ms(r.path_s) end
    -- each of their calls ends 1 or 2 ms after its wait; receives also take the 20 and 10 ms of the long sends, and 5 of a
    -- receive that its sender completes with another
    for region, most in pairs {
      MPI_Recv = 45, MPI_Wait = 6, MPI_Barrier = 6, MPI_Win_fence = 2, MPI_Comm_dup = 2, MPI_Probe = 2 } do
      assert.is_true((all[region] or 0) <= most, ("%s: %s ms"):format(region, all[region]))
    end
    local unknown = {} -- MPI_File_open at the end of the path, and neighbours of rank 0
    for _, r in ipairs(path.regions) do unknown[r.region] = r.unknown and ms(r.path_s) or nil end
    assert.are.same({ MPI_File_open = 100, MPI_Neighbor_allgather = 8 }, unknown)
    assert.are.equal(108, ms(path.unknown_s))
  end)
end)
