-- SPDX-License-Identifier: BSD-3-Clause
-- spec/tally.lua - running of programs with a time limit, and counts of their checks.
--
-- A program counts its own checks: its last line is `N passed, N failed, N skipped`, and its status is 77 if all checks were
-- skipped. Any other program is one check. Failures and skips are listed at the end with the reasons, because readers of a long
-- log read its end.

local M = { passed = 0, failed = 0, skipped = 0 }
local fails, skips, unsteady = {}, {}, {}
local most_lines = 12 -- lines for the failure of one program

-- Lines that report a failure: of TAP, of a nested tally, of a sanitizer.
local telling = { "^not ok", "^failed: ", "^==%d+==ERROR", "runtime error:", "^WARNING: ThreadSanitizer", "ended with status" }

--- Run a shell command for at most so many seconds; its output and its status. The output goes through a file: a
--- process that outlives the command would hold a pipe open.
function M.sh(command, seconds)
  local file = os.tmpname()
  local line = "timeout -k 5 %d sh -c '%s' </dev/null >%s 2>&1"
  local _, what, code = os.execute(line:format(seconds, command:gsub("'", "'\\''"), file))
  local f <close> = assert(io.open(file, "rb"))
  local out = f:read("a")
  os.remove(file)
  if what == "signal" then code = 128 + code end
  return out, code
end

function M.now()
  local f <close> = io.open("/proc/uptime")
  return f:read("n")
end

--- Add to the sums and print a line.
function M.say(name, p, f, s, seconds)
  M.passed, M.failed, M.skipped = M.passed + p, M.failed + f, M.skipped + s
  io.write(("%-34s %5d passed %3d failed %3d skipped  %5.1f s\n"):format(name, p, f, s, seconds))
  io.flush()
end

local function keep(list, name, text)
  list[#list + 1] = { name = name, text = text, number = #list }
end

--- The kept lines, in the order of names.
local function print_kept(list, what)
  table.sort(list, function(a, b) return a.name < b.name or a.name == b.name and a.number < b.number end)
  for _, kept in ipairs(list) do print(("%s: %s: %s"):format(what, kept.name, kept.text)) end
end

function M.skip(name, reason)
  keep(skips, name, reason)
end

--- Keep the lines to repeat at the end: the lines of @out that report a failure, or else its last line.
function M.fail(name, out)
  local lines, last = {}, "it said nothing"
  for line in out:gmatch("[^\n]+") do
    last = line
    for _, pattern in ipairs(telling) do
      if line:find(pattern) then
        lines[#lines + 1] = line
        break
      end
    end
  end
  if #lines == 0 then lines[1] = last end
  for k = 1, math.min(#lines, most_lines) do keep(fails, name, (lines[k]:gsub("^failed: ", ""))) end
  if #lines > most_lines then keep(fails, name, ("and %d more lines"):format(#lines - most_lines)) end
end

--- Count a program by its output (a sanitizer may add to it) and its exit; a crash, or an end without a count, is a
--- failure. Returns whether everything passed.
function M.count(name, out, code, seconds)
  local p, f, s = ("\n" .. out):match(".*\n(%d+) passed, (%d+) failed, (%d+) skipped\n")
  p, f, s = tonumber(p) or 0, tonumber(f) or 0, tonumber(s) or 0
  if code == 77 and s == 0 then s = 1 end
  if f == 0 and (code ~= 0 and code ~= 77 or p + s == 0) then
    f = 1
    out = out .. ("%s ended with status %d%s\n"):format(name, code, code == 124 and " (out of time)" or "")
  end
  if f > 0 then
    io.write(out)
    M.fail(name, out)
  end
  for reason in out:gmatch("[^\n]*SKIP[^\n]*") do M.skip(name, reason) end
  M.say(name, p, f, s, seconds)
  return f == 0
end

--- Count a command that passes or fails as a whole.
function M.whole(name, out, code, seconds)
  if code ~= 0 then
    io.write(out)
    M.fail(name, out)
  end
  M.say(name, code == 0 and 1 or 0, code == 0 and 0 or 1, 0, seconds)
end

--- The current counts, for M.revert().
function M.mark()
  return { passed = M.passed, failed = M.failed, skipped = M.skipped, fails = #fails, skips = #skips }
end

--- Restore the counts at @mark; returns the failures since then, as text.
function M.revert(mark)
  M.passed, M.failed, M.skipped = mark.passed, mark.failed, mark.skipped
  local texts = {}
  for k = mark.fails + 1, #fails do texts[#texts + 1], fails[k] = fails[k].text, nil end
  for k = mark.skips + 1, #skips do skips[k] = nil end
  return table.concat(texts, "\n    ")
end

--- A job failed beside others, with @first, and passed alone, with @second; @times in this checkout.
function M.unsteady(name, times, first, second)
  keep(unsteady, name, ("%s\n  beside others:\n    %s\n  alone:\n    %s"):format(
    times < 3 and "failed, then passed alone" or times .. " times by now: it must be mended", first, second))
end

--- Print the reasons and the closing line, and exit; @may_skip: a run in which everything was skipped succeeds.
function M.finish(may_skip)
  print_kept(skips, "skipped")
  print_kept(unsteady, "unsteady")
  print_kept(fails, "failed")
  print(("%d passed, %d failed, %d skipped"):format(M.passed, M.failed, M.skipped))
  os.exit(M.failed == 0 and (M.passed > 0 or may_skip == true))
end

return M
