-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/balance/report.lua - write course.dat, effect.dat and shares.dat, and print the closing tables.
--
-- Try:  pmlua scripts/balance.lua --quick --no-plot && head results/balance/latest/effect.dat

local M = {}

local function find(run, p, balanced)
  for _, c in ipairs(run.cells) do
    local q = c.p
    local same_delta = balanced == "no" or q.delta == p.delta
    if q.platform == p.platform and q.noise == p.noise and q.balanced == balanced and same_delta then return c end
  end
end

--- The effect of balancing in each round, compared with the same noise without it: percent of energy and of time.
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
    { "delta", "%", "margin, as a share of the reference frequency" },
    { "noise", "%", "standard deviation of each rank's work" },
    { "before", "J", "energy per iteration, all ranks at the reference" }, { "after", "J", "energy per iteration, balanced" },
    { "saved", "%", "energy saved, mean of the rounds" }, { "saved_least", "%", "least saved in a round" },
    { "saved_most", "%", "most saved in a round" }, { "lost", "%", "time lost, mean of the rounds" },
    { "lost_least", "%", "least lost in a round" }, { "lost_most", "%", "most lost in a round" },
    { "time_before", "ms", "mean time of an iteration" }, { "time_after", "ms", "mean time of an iteration, balanced" },
    { "changes", "", "changes of frequency, per rank and 100 iterations" },
  }, rows = rows }
end

local function course_table(lab)
  return { columns = {
    { "delta", "%", "margin, as a share of the reference frequency" },
    { "noise", "%", "standard deviation of each rank's work" },
    { "rank", "", "rank 1 begins with the most work" }, { "iteration", "", "number in the first round" },
    { "frequency", "GHz", "frequency at which it computed" }, { "computing", "%", "share of the iteration spent computing" },
  }, rows = lab.course }
end

local function shares_table(lab)
  local rows = {}
  for _, balanced in ipairs { "no", "yes" } do
    for _, row in ipairs(lab.shares[balanced] or {}) do rows[#rows + 1] = row end
  end
  return { columns = {
    { "balanced", "text", "whether frequencies were set" }, { "thread", "", "thread 1 computes most" },
    { "repetitions", "", "iterations of the last round" },
    { "computing", "%", "share of an iteration spent computing, median" }, { "waiting", "%", "the rest of the iteration" },
    { "frequency", "GHz", "frequency in force, median" }, { "decided", "GHz", "chosen for the next iteration, median" },
    { "least", "GHz", "lowest chosen" }, { "most", "GHz", "highest chosen" },
  }, rows = rows }
end

--- Write the tables into the run's folder, and print the effect and the threads.
function M.write(run, lab)
  local effect, shares = effect_table(run), shares_table(lab)
  run:write_table("effect.dat", effect)
  run:write_table("course.dat", course_table(lab))
  run:write_table("shares.dat", shares)
  if #effect.rows > 0 then
    run:say_table("Simulated ranks, balanced and not balanced", effect, { "delta", "noise", "before", "after", "saved",
      "time_before", "time_after", "lost", "changes" })
  end
  if #shares.rows > 0 then run:say_table("Threads of this process", shares) end
  local can = lab.can
  if can and not can.writes then
    run:warn("frequencies cannot be set on this machine, so the threads' controller makes a dry run: " .. can.why)
  end
end

return M
