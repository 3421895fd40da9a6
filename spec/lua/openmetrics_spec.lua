-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/openmetrics_spec.lua - tests of the text for Prometheus against the rules of OpenMetrics 1.0.

require "spec.core.support"
local openmetrics = require "pmlua.internal.serve.openmetrics"

local additive = { created = true, registered = true, callback = true }
local INTEGER <const> = "^%d+$"

--- The type of an event: a counter is an integer sum that never falls, if it is known not to be a level.
local function type_of(row, text)
  local is_sum = additive[row.kind] and row.type == "int64" and math.type(row.value) ~= "float"
  if not is_sum or row.instant then return "gauge" end
  if row.instant == nil then return "unknown" end
  return text:find(INTEGER) and not row.falls and "counter" or "gauge"
end

--- The lines of one event in both forms.
local function lines(row, labels, text, since)
  local kind, name = type_of(row, text), "sde_" .. row.name:gsub("%W+", "_")
  local series = "{" .. labels .. 'event="' .. row.name .. '"} '
  if kind == "counter" then
    name = name:gsub("_total$", "")
    local value = name .. "_total" .. series .. text .. "\n"
    return ("# TYPE %s counter\n# HELP %s sums\n%s"):format(name, name, value)
      .. (since and name .. "_created" .. series .. since .. "\n" or "") .. "# EOF\n",
      ("# TYPE %s_total counter\n# HELP %s_total sums\n%s"):format(name, name, value)
  end
  for _, suffix in ipairs { "total", "count", "sum", "bucket", "created", "info" } do
    if name:find("_" .. suffix .. "$") then name = name .. "_value" break end
  end
  local rest = ("# HELP %s sums\n%s%s%s\n"):format(name, name, series, text)
  return ("# TYPE %s %s\n%s# EOF\n"):format(name, kind, rest),
    ("# TYPE %s %s\n%s"):format(name, kind == "gauge" and kind or "untyped", rest)
end

describe("The text for Prometheus", function()
  it("has the type, name, labels and value that follow from an event, for every kind of event", function()
    local values = { [5] = "5", [0] = "0", [-1] = "-1", [2.5] = "2.5", [math.huge] = "+Inf", [-math.huge] = "-Inf",
      ["9223372036854775807"] = "9223372036854775807", ["-3"] = "-3", ["1\nevil 2"] = "NaN", ["0x1"] = "NaN" }
    local programs = { [""] = {}, ['program="P",pid="7",'] = { "program", "P", "host", false, "pid", 7 },
      ['program="a\\"b\\\\c\\nd",'] = { "program", 'a"b\\c\nd' } }
    local names, n = { "L::e", "L::e_total", "L::a.b_sum", "L::e_created", "L::sums" }, 0
    for _, kind in ipairs { "created", "registered", "callback", "count", "quantile", "set", "group" } do
      for k = 1, 18 do
        local row = { kind = kind, type = ({ "int64", "double", "float" })[k % 3 + 1], falls = k > 9, description = "sums" }
        if k // 3 % 3 > 0 then row.instant = k // 3 % 3 == 1 end
        for value, text in pairs(values) do
          for labels, program in pairs(programs) do
            n = n + 1
            row.name, row.value = names[n % #names + 1], value
            local since = n % 2 == 0 and 12.5 or nil
            local families = openmetrics.new()
            assert.is_true(families:event(program, row, since))
            local modern, old = lines(row, labels, text, since)
            assert.equal(modern, families:text "openmetrics")
            assert.equal(old, families:text "text")
          end
        end
      end
    end
    assert.is_false(openmetrics.new():event({}, { name = "L::e", kind = "created", type = "int64" }))
  end)

  it("has a summary of each recorder, without the quantiles that it lacks", function()
    local families = openmetrics.new()
    assert.is_true(families:event({ "pid", 1 }, { name = "L::r",
      recorder = { count = 3, min = -1, median = 0.5, max = 7, dropped = 2 } }, 4))
    families:event({}, { name = "L::r", recorder = { count = 0, dropped = 0 } })
    assert.equal([[
# TYPE pmlua_recorder_dropped counter
# HELP pmlua_recorder_dropped values that recorders dropped
pmlua_recorder_dropped_total{pid="1",event="L::r"} 2
pmlua_recorder_dropped_total{event="L::r"} 0
# TYPE sde_L_r summary
# HELP sde_L_r software-defined event
sde_L_r{pid="1",event="L::r",quantile="0"} -1
sde_L_r{pid="1",event="L::r",quantile="0.5"} 0.5
sde_L_r{pid="1",event="L::r",quantile="1"} 7
sde_L_r_count{pid="1",event="L::r"} 3
sde_L_r_created{pid="1",event="L::r"} 4
sde_L_r_count{event="L::r"} 0
# EOF
]], families:text "openmetrics")
  end)

  it("has families of different types under different names, a unit only where the name has one, and those of others", function()
    local others = openmetrics.new()
    others:own("host_memory_bytes", "gauge", 'say "x"\\', {}, 1)
    others:info { "program", "P" }
    local families = openmetrics.new(others)
    families:event({}, { name = "L::e", kind = "set", instant = true, value = 1 })
    families:event({}, { name = "L::e", kind = "created", type = "int64", instant = false, value = 2 })
    families:own("threads_up", "gauge", "", {}, 3)
    local function order(form)
      local list = {}
      for _, family in ipairs(families:sorted()) do list[#list + 1] = family.name end
      return table.concat(list, " "), families:text(form)
    end
    local list, modern = order "openmetrics"
    assert.equal("pmlua_host_memory_bytes pmlua_program pmlua_threads_up sde_L_e sde_L_e_counter", list)
    local own = [[
# TYPE pmlua_threads_up gauge
pmlua_threads_up 3
# TYPE sde_L_e gauge
# HELP sde_L_e software-defined event
sde_L_e{event="L::e"} 1
]]
    local of_others = [[
# TYPE pmlua_host_memory_bytes gauge
# UNIT pmlua_host_memory_bytes bytes
# HELP pmlua_host_memory_bytes say \"x\"\\\\
pmlua_host_memory_bytes 1
# TYPE pmlua_program info
# HELP pmlua_program programs that answer questions
pmlua_program_info{program="P"} 1
]]
    assert.equal(of_others .. own .. [[
# TYPE sde_L_e_counter counter
# HELP sde_L_e_counter software-defined event
sde_L_e_counter_total{event="L::e"} 2
# EOF
]], modern)
    for _, unit in ipairs { "seconds", "bytes", "watts", "joules", "hertz", "celsius" } do
      local one = openmetrics.new()
      one:own("x_" .. unit, "gauge", "", {}, 0)
      assert.matches(("# UNIT pmlua_x_%s %s\n"):format(unit, unit), one:text "openmetrics", 1, true)
    end
    assert.equal(of_others:gsub("# UNIT [^\n]*\n", ""):gsub('\\"', '"'):gsub("pmlua_program info", "pmlua_program_info gauge")
      :gsub("HELP pmlua_program ", "HELP pmlua_program_info ") .. own .. [[
# TYPE sde_L_e_counter_total counter
# HELP sde_L_e_counter_total software-defined event
sde_L_e_counter_total{event="L::e"} 2
]], (families:text "text"))
  end)
end)
