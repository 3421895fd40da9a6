-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance/report.lua - course.dat, effect.dat and shares.dat, and what is said at the end.
--
-- Try:  pmlua scripts/balance.lua --quick --no-plot && head results/balance/latest/effect.dat

local tabulate = require "pmlua.tabulate"

local M = {}

local function find(run, p, balanced)
  for _, c in ipairs(run.cells) do
    local q = c.p
    local same_delta = balanced == "no" or q.delta == p.delta
    if q.platform == p.platform and q.noise == p.noise and q.balanced == balanced and same_delta then return c end
  end
end

--- Of each round what balancing changes, against the same noise without it: percent of energy and of time.
function M.effect(run, cell)
  local plain = cell.p.balanced == "yes" and find(run, cell.p, "no")
  local out = { saved = {}, lost = {} }
  for i, r in ipairs(plain and cell.rounds or {}) do
    local before = plain.rounds[i]
    if before and before.extra and r.extra then
      if r.extra.joules then table.insert(out.saved, 100 * (1 - r.extra.joules / before.extra.joules)) end
      table.insert(out.lost, 100 * (r.extra.seconds / before.extra.seconds - 1))
    end
  end
  return out
end

local function spread(list)
  if #list == 0 then return nil, nil, nil end
  local sum, least, most = 0, math.huge, -math.huge
  for _, v in ipairs(list) do sum, least, most = sum + v, math.min(least, v), math.max(most, v) end
  return sum / #list, least, most
end
M.spread = spread

local function mean_of(cell, name)
  local list = {}
  for _, r in ipairs(cell.rounds) do list[#list + 1] = r.extra and r.extra[name] end
  return (spread(list))
end
M.mean_of = mean_of

local function effect_table(run)
  local rows = {}
  for _, c in ipairs(run.cells) do
    if c.p.platform == "simulated" and c.p.balanced == "yes" and #c.rounds > 0 then
      local e, plain = M.effect(run, c), find(run, c.p, "no")
      local saved, saved_least, saved_most = spread(e.saved)
      local lost, lost_least, lost_most = spread(e.lost)
      rows[#rows + 1] = { c.p.delta, c.p.noise, plain and mean_of(plain, "joules"), mean_of(c, "joules"), saved, saved_least,
        saved_most, lost, lost_least, lost_most, plain and mean_of(plain, "seconds") * 1e3, mean_of(c, "seconds") * 1e3,
        mean_of(c, "changes") }
    end
  end
  return { columns = {
    { "delta", "%", "of the reference frequency" }, { "noise", "%", "standard deviation of each rank's work" },
    { "before", "J", "an iteration of all ranks at the reference" }, { "after", "J", "balanced" },
    { "saved", "%", "of the energy, mean of the rounds" }, { "saved_least", "%", "of a round" },
    { "saved_most", "%", "of a round" }, { "lost", "%", "of the time, mean of the rounds" },
    { "lost_least", "%", "of a round" }, { "lost_most", "%", "of a round" },
    { "time_before", "ms", "of an iteration, mean" }, { "time_after", "ms", "balanced" },
    { "changes", "", "of frequency, per rank and 100 iterations" },
  }, rows = rows }
end

local function course_table(lab)
  return { columns = {
    { "delta", "%", "of the reference frequency" }, { "noise", "%", "standard deviation of each rank's work" },
    { "rank", "", "1 begins with most work" }, { "iteration", "", "of the first round" },
    { "frequency", "GHz", "under which it computed" }, { "computing", "%", "of the iteration" },
  }, rows = lab.course }
end

local function shares_table(lab)
  local rows = {}
  for _, balanced in ipairs { "no", "yes" } do
    for _, row in ipairs(lab.shares[balanced] or {}) do rows[#rows + 1] = row end
  end
  return { columns = {
    { "balanced", "text", "whether frequencies were set" }, { "thread", "", "1 computes most" },
    { "repetitions", "", "of the last round" }, { "computing", "%", "of an iteration, median" }, { "waiting", "%", "the rest" },
    { "frequency", "GHz", "in force, median" }, { "decided", "GHz", "for the next repetition, median" },
    { "least", "GHz", "decided" }, { "most", "GHz", "decided" },
  }, rows = rows }
end

local function say(run, title, t, columns)
  local names, rows = {}, {}
  for i, c in ipairs(columns) do
    local name, unit = table.unpack(t.columns[c])
    names[i] = unit:find "^[%%GJm]" and ("%s [%s]"):format(name, unit) or name
  end
  for i, row in ipairs(t.rows) do
    rows[i] = {}
    for k, c in ipairs(columns) do rows[i][k] = row[c] end
  end
  if #rows > 0 then run:say("\n" .. title .. "\n" .. tabulate(names, rows, 1)) end
end

--- Tables into the run's folder, and the effect and the threads on the terminal.
function M.write(run, lab)
  local effect, shares = effect_table(run), shares_table(lab)
  run:write_table("effect.dat", effect)
  run:write_table("course.dat", course_table(lab))
  run:write_table("shares.dat", shares)
  say(run, "simulated ranks, balanced against not", effect, { 1, 2, 3, 4, 5, 11, 12, 8, 13 })
  say(run, "threads of this process", shares, { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
  local can = lab.can
  if can and not can.writes then
    run:warn("frequencies cannot be set here, what the threads' controller decides is a dry run: " .. can.why)
  end
end

return M
