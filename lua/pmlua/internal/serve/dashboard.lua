-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/dashboard.lua - a Grafana dashboard and Prometheus alerts, generated from families of metrics.
--
-- Try:  pmlua serve SOLVER --dashboard solver.json

local json = require "pmlua.json"

local M = {}

local WIDTH <const>, HEIGHT <const> = 12, 8 -- the size of a panel, in the 24 columns of Grafana

local units = { seconds = "s", bytes = "bytes", watts = "watt", joules = "joule", hertz = "hertz", celsius = "celsius" }

local function query(expression, legend) return { expr = expression, legendFormat = legend } end

--- The queries of a family, and the unit of the axis; nil: it has no panel.
local function queries_of(family)
  local series = family.samples[1].labels:find 'section="' and "{{program}} {{section}}" or "{{program}} {{pid}}"
  local name, unit = family.name, units[family.unit] or "short"
  if family.kind == "counter" then return { query(("rate(%s_total[$__rate_interval])"):format(name), series) }, "cps" end
  if family.kind == "gauge" or family.kind == "unknown" then return { query(name, series) }, unit end
  if family.kind ~= "summary" then return nil end
  return { query(name .. '{quantile=~"0.25|0.5|0.75"}', series .. " {{quantile}}") }, unit
end

local function panel_of(family, n, queries, unit)
  local targets = json.array()
  for i, q in ipairs(queries) do
    targets[i] = { refId = string.char(64 + i), expr = q.expr, legendFormat = q.legendFormat,
      datasource = { type = "prometheus", uid = "${source}" } }
  end
  return { id = n, type = "timeseries", title = family.name, description = family.help, targets = targets,
    datasource = { type = "prometheus", uid = "${source}" },
    fieldConfig = { defaults = { unit = unit }, overrides = json.array() },
    gridPos = { x = (n - 1) % 2 * WIDTH, y = (n - 1) // 2 * HEIGHT, w = WIDTH, h = HEIGHT } }
end

--- A dashboard with a panel for each family: rates of counters, values of gauges, quartiles of recorders and sections.
---@param families pmlua.Families
---@param title string
---@return string json for Grafana's import
function M.grafana(families, title)
  local panels = json.array()
  for _, family in ipairs(families:sorted()) do
    local queries, unit = queries_of(family)
    if queries then panels[#panels + 1] = panel_of(family, #panels + 1, queries, unit) end
  end
  return json.encode { title = title, tags = json.array { "pmlua" }, schemaVersion = 39, refresh = "5s", panels = panels,
    time = { from = "now-15m", to = "now" },
    templating = { list = json.array { { name = "source", type = "datasource", query = "prometheus", label = "Data source" } } } }
end

local function alert(name, expression, wait, summary)
  return ("  - alert: %s\n    expr: '%s'\n    for: %s\n    annotations:\n      summary: '%s'\n"):format(name,
    (expression:gsub("'", "''")), wait, (summary:gsub("'", "''")))
end

--- Alerts on programs that do not answer and on watch rules. The condition of a rule is Lua, which Prometheus cannot evaluate: an
--- alert reports a rule that fails, was cancelled, or no longer runs.
---@param families pmlua.Families
---@return string yaml for rule_files of Prometheus
function M.alerts(families)
  local out = { "groups:\n- name: pmlua\n  rules:\n",
    alert("PmluaProgramSilent", "pmlua_program_up == 0", "10s", "{{ $labels.program }} ({{ $labels.pid }}) does not answer") }
  local runs = families.by_name.pmlua_rule_runs
  for i, sample in ipairs(runs and runs.samples or {}) do
    local labels = "{" .. sample.labels:gsub(',?pid="%d+"', "") .. "}"
    local rule = "rule {{ $labels.rule }} of {{ $labels.program }}"
    out[#out + 1] = alert(("PmluaRule%dFailed"):format(i), ("pmlua_rule_failed%s == 1"):format(labels), "0s", rule .. " failed")
    out[#out + 1] = alert(("PmluaRule%dStopped"):format(i), ("increase(pmlua_rule_runs_total%s[5m]) == 0"):format(labels), "1m",
      rule .. " no longer runs")
  end
  return table.concat(out)
end

return M
