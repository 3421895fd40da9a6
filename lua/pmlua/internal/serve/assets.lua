-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/assets.lua - the page of running programs: HTML, style and script, as a browser gets them.
--
-- Try:  pmlua serve --page
--
-- The script inserts text from programs as text only (textContent), never as HTML.

local M = {}

M["/"] = { text = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pmlua</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#series" id="skip">Skip to the series</a>
<header>
<h1>pmlua</h1>
<label>Program <select id="program"><option value="">all</option></select></label>
<span id="state" role="status">connecting</span>
<button id="theme" aria-label="Switch between light and dark">&#9680;</button>
</header>
<main>
<section aria-label="Series">
<p class="bar"><input id="filter" type="search" placeholder="filter series" aria-label="filter series">
<span id="count"></span></p>
<div class="scroll"><table id="series"><thead><tr><th>Series</th><th>Value</th><th>per s</th></tr></thead><tbody></tbody></table>
</div>
</section>
<section aria-label="Chart">
<p class="bar">
<label>Last <select id="span"><option value="60">minute</option><option value="300">5 minutes</option>
<option value="3600">hour</option><option value="86400">day</option><option value="2678400">month</option></select></label>
<label><input id="rates" type="checkbox"> rates of counters</label>
<button id="pause" aria-pressed="false">Pause</button>
<button id="all" hidden>Whole range</button>
<button id="csv">CSV</button> <button id="png">PNG</button>
</p>
<canvas id="chart" height="300" tabindex="0" role="img" aria-label="the selected series over time; arrow keys move, + and - zoom,
 Escape shows the whole range"></canvas>
<p id="legend" class="hint">Select series in the table; drag in the chart to zoom, or use its arrow keys, + and -.</p>
<canvas id="histogram" height="90" role="img" aria-label="distribution of the shown values of the first selected series"></canvas>
</section>
<section aria-label="Sections and call tree">
<h2>Sections</h2>
<div class="scroll"><table id="sections"><thead><tr><th>Section</th><th>Calls</th><th>Time, s</th><th>Mean, s</th><th>Share</th>
</tr></thead><tbody></tbody></table></div>
<details id="tree"><summary>Call tree</summary>
<p class="hint" id="treestate">Calls since it was opened. Meanwhile each call costs the program some 130 instructions more.</p>
<div class="scroll"><table><thead><tr><th>Call path</th><th>Calls</th><th>Inclusive, s</th><th>Exclusive, s</th><th>Share</th>
</tr></thead><tbody></tbody></table></div>
</details>
</section>
<section aria-label="Rules">
<h2>Rules</h2>
<div class="scroll"><table id="rules"><thead><tr><th>Rule</th><th>Event</th><th>Runs</th><th>Value</th><th></th></tr></thead>
<tbody></tbody></table></div>
<pre id="said" hidden></pre>
<details id="editor"><summary>New rule</summary>
<form id="rule">
<label>Name <input name="name" autocomplete="off" maxlength="60"></label>
<label>Event <input name="event" list="events" autocomplete="off" required></label>
<label>Every <input name="every" value="1s" size="6" autocomplete="off" required></label>
<datalist id="events"></datalist>
<label class="wide"><code>function(value, series)</code><textarea name="code" rows="4" spellcheck="false" required
 placeholder='if value &gt; 100 then pml.live.stop_run "too large" end'></textarea><code>end</code></label>
<button>Save</button> <button type="button" id="abandon" hidden>Leave it unchanged</button>
<p id="wrong" role="alert"></p>
</form>
<p class="hint">Runs inside the program on its service thread, as in pmlua attach, until pmlua serve or the program ends.</p>
</details>
</section>
<section aria-label="Prompt">
<h2>Lua inside the program</h2>
<pre id="output" tabindex="0"></pre>
<form class="line" id="prompt"><input id="code" autocomplete="off" spellcheck="false" aria-label="Lua code"
 placeholder='pml.sde.find "LIB::EVENT":read()'><button>Run</button></form>
<p class="hint" id="candidates">Tab completes, the arrow keys recall. Choose a program first if there are several.</p>
</section>
</main>
<script src="/page.js"></script>
<script src="/program.js"></script>
</body>
</html>
]] }

M["/page.css"] = { type = "text/css; charset=utf-8", text = [[
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e3e7eb); --paper: light-dark(#fff, #15181c);
  --line: light-dark(#d8dee4, #333a42); --faint: light-dark(#5c6670, #9aa5b0); --mark: light-dark(#0b5cad, #79b8ff); }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.45 "DejaVu Sans", Helvetica, Arial, sans-serif; color: var(--ink); background: var(--paper); }
header, .bar { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; }
header { padding: 0.4rem 1rem; border-bottom: 1px solid var(--line); }
h1, h2 { font-size: 1.05rem; margin: 0.6rem 0 0.3rem; }
h1 { margin: 0; }
#state { margin-left: auto; color: var(--faint); }
main { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0 1.5rem; padding: 0 1rem 2rem; }
main > section:nth-child(3) { grid-row: span 2; }
@media (max-width: 800px) { main { grid-template-columns: minmax(0, 1fr); } main > section:nth-child(3) { grid-row: auto; } }
.scroll { max-height: 22rem; overflow: auto; contain: content; }
table { border-collapse: collapse; width: 100%; font-size: 0.85rem; }
th, td { text-align: right; padding: 0.1rem 0.4rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td:first-child { white-space: normal; overflow-wrap: anywhere; }
thead th { position: sticky; top: 0; background: var(--paper); }
#series tbody tr { cursor: pointer; }
tr[aria-selected=true] { outline: 2px solid var(--mark); outline-offset: -2px; }
.hint, #count { color: var(--faint); font-size: 0.85rem; margin: 0.2rem 0; }
canvas { width: 100%; display: block; }
pre { max-height: 12rem; min-height: 3rem; overflow: auto; border: 1px solid var(--line); padding: 0.4rem; margin: 0 0 0.4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem; }
form { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; }
form.line { flex-wrap: nowrap; gap: 0.4rem; }
form.line input { flex: 1; min-width: 0; }
form input { max-width: 100%; }
.wide, textarea { width: 100%; }
textarea { display: block; font-family: monospace; }
input, select, button, textarea { font: inherit; color: inherit; background: var(--paper); }
input, select, button, textarea { border: 1px solid var(--faint); padding: 0.1rem 0.4rem; }
button, summary { cursor: pointer; }
summary { font-weight: 600; margin: 0.6rem 0 0.3rem; }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 1px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; background: var(--paper); }
.wrong, #wrong { color: light-dark(#b3261e, #ff8a80); margin: 0; overflow-wrap: anywhere; white-space: normal; text-align: left; }
progress { width: 5rem; max-width: 20vw; }
@media (max-width: 500px) { main { padding: 0 0.5rem 2rem; } th, td { padding: 0.1rem 0.2rem; } progress { width: 2.5rem; }
  #tree :is(th, td):nth-child(5) { display: none; } #tree td:first-child { min-width: 6rem; } }
]] }

M["/page.js"] = { type = "text/javascript; charset=utf-8", text = [==[
"use strict";
const get = (id) => document.getElementById(id);
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const MONTH = 31 * 86400; // s, that are kept of a selected series
const ROWS = 200; // of the table; a filter finds the others
const series = []; // {name, labels, unit, help, rising, row}
const selected = []; // numbers of series, from 0
const points = new Map(); // number of a series -> {times, values}
let values = [], before = [], timeNow = 0, timeBefore = 0, programs = [], paused = false, zoom = null;

const headers = { Authorization: "Bearer " + location.hash.slice(1) };
const ask = async (path, body) => {
  const reply = await fetch(path, { headers, cache: "no-store", ...(body && { method: "POST", body: JSON.stringify(body) }) });
  if (reply.status == 401) throw new Error("the address lacks the token: use the one that pmlua serve printed");
  if (!reply.ok) throw new Error(path + ": status " + reply.status);
  return reply.json();
};

const show = (v) => v == null ? "-" : Number.isInteger(v) && Math.abs(v) < 1e15 ? String(v)
  : v.toPrecision(6).replace(/\.?0+($|e)/, "$1");
const cell = (row, text) => { const td = row.insertCell(); td.textContent = text; return td; };
const label = (s, name) => (s.labels.match('(?:^|,)' + name + '="((?:[^"\\\\]|\\\\.)*)"') || [])[1];
const titleOf = (s) => {
  const what = label(s, "event") || label(s, "section") || s.name, quantile = label(s, "quantile");
  const statistic = s.name.match(/_(count|sum)$/);
  return what + (statistic ? " " + statistic[1] : "") + (quantile ? " q" + quantile : "");
};
const isShown = (s) => {
  const pid = get("program").value, text = get("filter").value.toLowerCase();
  return (!pid || label(s, "pid") == pid) && (!text || (s.name + s.labels + titleOf(s)).toLowerCase().includes(text));
};

// --- the table of series ---

const toggle = async (i) => {
  const at = selected.indexOf(i);
  if (at >= 0) selected.splice(at, 1);
  else { if (selected.length == COLOURS.length) selected.shift(); selected.push(i); await loadHistory([i]); }
  fillTable(); draw();
};
// One row can be reached by Tab; the arrow keys move on from it.
let reached = -1;
const fillTable = () => {
  const body = get("series").tBodies[0], isFocused = body.contains(document.activeElement);
  body.replaceChildren();
  inSight.disconnect();
  let n = 0;
  const isOwn = (i) => series[i].name.startsWith("pmlua_");
  const order = series.map((_, i) => i).sort((a, b) => isOwn(a) - isOwn(b));
  for (const s of series) s.row = null;
  order.forEach((i) => {
    const s = series[i];
    if (!isShown(s) || ++n > ROWS) return;
    s.row = body.insertRow();
    s.row.tabIndex = i == reached || n == 1 ? 0 : -1;
    s.row.title = s.name + "{" + s.labels + "}" + (s.help ? "\n" + s.help : "");
    s.row.ariaSelected = selected.includes(i);
    s.row.onclick = () => toggle(i);
    s.row.onfocus = () => { reached = i; };
    cell(s.row, titleOf(s) + (get("program").value || programs.length < 2 ? "" : " (" + label(s, "program") + ")"));
    cell(s.row, ""); cell(s.row, "");
    inSight.observe(s.row);
  });
  get("count").textContent = n > ROWS ? `the first ${ROWS} of ${n} series` : `${n} series`;
  if (isFocused) series[reached]?.row?.focus();
  updateTable();
};
get("series").onkeydown = (event) => {
  const row = event.target.closest("tbody tr");
  if (!row) return;
  if (event.key == "Enter" || event.key == " ") row.click();
  else if (event.key == "ArrowDown") row.nextElementSibling?.focus();
  else if (event.key == "ArrowUp") row.previousElementSibling?.focus();
  else return;
  event.preventDefault();
};
get("skip").onclick = (event) => { get("series").querySelector("tbody tr")?.focus(); event.preventDefault(); };
// Only the rows that the scrolled box shows are changed, because the browser lays out the whole table for each.
const inSight = new IntersectionObserver((entries) => {
  for (const e of entries) e.target.inSight = e.isIntersecting;
  updateTable();
}, { root: get("series").parentElement, rootMargin: "100px" });
const updateTable = () => {
  const span = timeNow - timeBefore;
  series.forEach((s, i) => {
    if (!s.row?.inSight) return;
    const text = show(values[i]), rate = s.rising && span > 0 && before[i] != null && values[i] != null
      ? show((values[i] - before[i]) / span) : "";
    if (s.row.cells[1].textContent != text) s.row.cells[1].textContent = text;
    if (s.row.cells[2].textContent != rate) s.row.cells[2].textContent = rate;
  });
};

// --- programs ---

const fillPrograms = () => {
  const select = get("program");
  const names = programs.map((p) => p.pid + " " + p.name + (p.up ? "" : " (silent)")).join("\n");
  if (select.dataset.names == names) return;
  select.dataset.names = names;
  const chosen = select.value;
  select.replaceChildren(new Option("all", ""));
  for (const p of programs) select.add(new Option(`${p.name} (${p.pid})${p.up ? "" : ", silent"}`, p.pid));
  select.value = [...select.options].some((o) => o.value == chosen) ? chosen : "";
  fillTable(); // titles have the program's name if there are several
};

// --- the chart ---

const loadHistory = async (wanted) => {
  for (const i of wanted) { // what its log has comes with one series
    const [times, values] = await ask("/history?series=" + (i + 1) + "&since=" + (timeNow - MONTH));
    points.set(i, { times, values });
  }
};
const remember = () => {
  for (const i of selected) {
    const p = points.get(i);
    if (!p) continue;
    p.times.push(timeNow); p.values.push(values[i] ?? null);
    while (p.times[0] < timeNow - MONTH) { p.times.shift(); p.values.shift(); }
  }
};
const range = () => zoom || [timeNow - Number(get("span").value), timeNow];
const drawnPoints = (i) => {
  const [from, to] = range(), p = points.get(i), out = [], rates = get("rates").checked && series[i].rising;
  for (let k = 0; p && k < p.times.length; k++) {
    if (p.times[k] < from || p.times[k] > to) continue;
    if (!rates) out.push([p.times[k], p.values[k]]);
    else if (k > 0 && p.values[k] != null && p.values[k - 1] != null && p.times[k] > p.times[k - 1])
      out.push([p.times[k], (p.values[k] - p.values[k - 1]) / (p.times[k] - p.times[k - 1])]);
  }
  return out;
};
const prepare = (id) => {
  const canvas = get(id), scale = devicePixelRatio || 1, height = Number(canvas.getAttribute("data-height") || canvas.height);
  canvas.setAttribute("data-height", height);
  const context = canvas.getContext("2d"), wide = Math.round(canvas.clientWidth * scale), high = Math.round(height * scale);
  if (canvas.width != wide || canvas.height != high) {
    canvas.width = wide; canvas.height = high;
    canvas.style.height = height + "px";
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, height);
  context.font = "12px DejaVu Sans, Helvetica, Arial, sans-serif";
  return [context, canvas.clientWidth, height];
};
const ticks = (low, high, n) => {
  const step = 10 ** Math.floor(Math.log10((high - low) / n));
  const factor = [1, 2, 5, 10].find((f) => (high - low) / (f * step) <= n);
  const out = [];
  for (let v = Math.ceil(low / (factor * step)); v * factor * step <= high; v++) out.push(v * factor * step);
  return out;
};
const limits = (list) => {
  let low = Infinity, high = -Infinity;
  for (const [, v] of list) if (v != null) { low = Math.min(low, v); high = Math.max(high, v); }
  return low > high ? [0, 1] : low == high ? [low - (Math.abs(low) / 10 || 1), high + (Math.abs(high) / 10 || 1)] : [low, high];
};
// Two axes if two series are selected, one otherwise.
const draw = () => {
  const [c, width, height] = prepare("chart"), two = selected.length == 2;
  const ink = getComputedStyle(document.body).color, line = getComputedStyle(get("output")).borderTopColor;
  const left = 62, right = two ? 62 : 8, top = 8, bottom = 24, [from, to] = range();
  const lists = selected.map(drawnPoints), x = (t) => left + (t - from) / (to - from) * (width - left - right);
  const scales = two ? lists.map(limits) : [limits(lists.flat())];
  const y = (v, k) => {
    const [low, high] = scales[two ? k : 0];
    return height - bottom - (v - low) / (high - low) * (height - top - bottom);
  };
  c.fillStyle = ink; c.textAlign = "center";
  for (const t of ticks(from, to, Math.max(2, Math.floor(width / 130)))) {
    c.fillRect(x(t), height - bottom, 1, 4);
    const text = to - from > 86400 ? "toLocaleDateString" : "toLocaleTimeString";
    c.fillText(new Date(t * 1000)[text](), Math.min(Math.max(x(t), left + 30), width - 34), height - 6);
  }
  scales.forEach((scale, k) => {
    c.textAlign = k ? "left" : "right";
    for (const v of ticks(scale[0], scale[1], 5)) {
      c.fillStyle = line;
      if (!k) c.fillRect(left, y(v, k), width - left - right, 1);
      c.fillStyle = two ? COLOURS[k] : ink;
      c.fillText(show(Number(v.toPrecision(6))), k ? width - right + 6 : left - 6, y(v, k) + 4);
    }
  });
  lists.forEach((list, k) => {
    c.strokeStyle = COLOURS[k]; c.lineWidth = 1.5; c.beginPath();
    let open = false;
    for (const [t, v] of list) {
      if (v == null) { open = false; continue; }
      open ? c.lineTo(x(t), y(v, k)) : c.moveTo(x(t), y(v, k));
      open = true;
    }
    c.stroke();
  });
  const legend = get("legend");
  if (selected.length) {
    legend.replaceChildren(...selected.map((i, k) => {
      const span = document.createElement("span"), s = series[i];
      const unit = get("rates").checked && s.rising ? " per s" : s.unit ? ", " + s.unit : "";
      span.textContent = "\u2014 " + titleOf(s) + unit + "   ";
      span.style.color = COLOURS[k];
      return span;
    }));
  }
  drawHistogram(lists[0] || []);
};
const drawHistogram = (list) => {
  const [c, width, height] = prepare("histogram"), found = list.map((p) => p[1]).filter((v) => v != null);
  if (found.length < 2) return;
  const [low, high] = limits(list), bins = new Array(24).fill(0), left = 62;
  for (const v of found) bins[Math.min(23, Math.floor((v - low) / (high - low) * 24))]++;
  const most = Math.max(...bins), wide = (width - left - 8) / 24;
  c.fillStyle = COLOURS[0];
  bins.forEach((n, k) => c.fillRect(left + k * wide, height - 18 - n / most * (height - 30), wide - 1, n / most * (height - 30)));
  c.fillStyle = getComputedStyle(document.body).color;
  c.textAlign = "right"; c.fillText(most + " of " + found.length, left - 4, 22);
  c.textAlign = "left"; c.fillText(show(low), left, height - 4);
  c.textAlign = "right"; c.fillText(show(high), width - 8, height - 4);
};
const timeAt = (event) => {
  const box = get("chart").getBoundingClientRect(), [from, to] = range(), right = selected.length == 2 ? 62 : 8;
  return from + (event.clientX - box.left - 62) / (box.width - 62 - right) * (to - from);
};
let dragFrom = null;
get("chart").onpointerdown = (event) => { dragFrom = timeAt(event); };
get("chart").onpointerup = (event) => {
  const ends = [dragFrom, timeAt(event)].sort((a, b) => a - b);
  if (dragFrom != null && ends[1] - ends[0] > 0.5) showRange(ends);
  dragFrom = null;
};
const showRange = (ends) => { zoom = ends; get("all").hidden = !ends; draw(); };
get("all").onclick = () => showRange(null);
get("chart").onkeydown = (event) => {
  const [from, to] = range(), step = (to - from) / 4;
  const ends = { ArrowLeft: [from - step, to - step], ArrowRight: [from + step, to + step],
    "+": [from + step, to - step], "-": [from - 2 * step, to + 2 * step], Escape: null }[event.key];
  if (ends === undefined || ends && (ends[1] - ends[0] < 0.5 || ends[1] - ends[0] > MONTH)) return;
  event.preventDefault();
  showRange(ends);
};
get("pause").onclick = () => {
  paused = !paused;
  get("pause").ariaPressed = paused;
  get("pause").textContent = paused ? "Go on" : "Pause";
};
const save = (name, url) => { const a = document.createElement("a"); a.href = url; a.download = name; a.click(); };
const csvText = () => {
  const rows = new Map(), quote = (t) => '"' + t.replaceAll('"', '""') + '"';
  selected.forEach((i, k) => {
    for (const [t, v] of drawnPoints(i)) {
      if (!rows.has(t)) rows.set(t, []);
      rows.get(t)[k] = v;
    }
  });
  return ["time_s", ...selected.map((i) => quote(series[i].name + "{" + series[i].labels + "}"))].join() + "\n" + [...rows]
    .sort((a, b) => a[0] - b[0]).map(([t, list]) => [t, ...selected.map((_, k) => list[k] ?? "")].join() + "\n").join("");
};
get("csv").onclick = () => save("series.csv", URL.createObjectURL(new Blob([csvText()], { type: "text/csv" })));
get("png").onclick = () => save("series.png", get("chart").toDataURL());
get("filter").oninput = fillTable;
get("program").onchange = () => { fillTable(); fillSections(); fillRules(); };
get("span").onchange = get("rates").onchange = draw;
addEventListener("resize", draw);

// Light and dark: as the system, unless the button has chosen the other one; as on the documentation's pages.
const root = document.documentElement;
try { root.dataset.theme = localStorage.getItem("pmlua-theme") || ""; } catch (_) { /* no storage */ }
get("theme").onclick = () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const next = (root.dataset.theme || system) == "dark" ? "light" : "dark";
  root.dataset.theme = next == system ? "" : next;
  try { localStorage.setItem("pmlua-theme", root.dataset.theme); } catch (_) { /* no storage: the choice ends with the page */ }
  draw();
};
matchMedia("(prefers-color-scheme: dark)").onchange = draw;

]==] }

M["/program.js"] = { type = M["/page.js"].type, text = require "pmlua.internal.serve.assets_program" }

return M
