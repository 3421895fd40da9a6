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
<title>pmlua</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
</head>
<body>
<header>
<h1>pmlua</h1>
<label>Program <select id="program"><option value="">all</option></select></label>
<span id="state" role="status">connecting</span>
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
<option value="3600">hour</option></select></label>
<label><input id="rates" type="checkbox"> rates of counters</label>
<button id="pause" aria-pressed="false">Pause</button>
<button id="all" hidden>Whole range</button>
<button id="csv">CSV</button> <button id="png">PNG</button>
</p>
<canvas id="chart" height="300" aria-label="the selected series over time"></canvas>
<p id="legend" class="hint">Select series in the table; drag in the chart to zoom.</p>
<canvas id="histogram" height="90" aria-label="distribution of the shown values of the first selected series"></canvas>
</section>
<section aria-label="Sections">
<h2>Sections</h2>
<div class="scroll"><table id="sections"><thead><tr><th>Section</th><th>Calls</th><th>Time, s</th><th>Mean, s</th><th>Share</th>
</tr></thead><tbody></tbody></table></div>
<h2>Rules</h2>
<div class="scroll"><table id="rules"><thead><tr><th>Rule</th><th>Event</th><th>Runs</th><th>Last error</th></tr></thead>
<tbody></tbody></table></div>
</section>
<section aria-label="Prompt">
<h2>Lua inside the program</h2>
<pre id="output" tabindex="0"></pre>
<form id="prompt"><input id="code" autocomplete="off" spellcheck="false" aria-label="Lua code"
 placeholder='pml.sde.find "LIB::EVENT":read()'><button>Run</button></form>
<p class="hint" id="candidates">Tab completes, the arrow keys recall. Choose a program first if there are several.</p>
</section>
</main>
<script src="/page.js"></script>
</body>
</html>
]] }

M["/page.css"] = { type = "text/css; charset=utf-8", text = [[
:root { --ink: #222; --paper: #fff; --line: #ddd; --faint: #666; --mark: #005a94; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #16181a; --line: #3a3d40; --faint: #999; --mark: #56b4e9; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.45 "DejaVu Sans", Helvetica, Arial, sans-serif; color: var(--ink); background: var(--paper); }
header, .bar { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; }
header { padding: 0.4rem 1rem; border-bottom: 1px solid var(--line); }
h1, h2 { font-size: 1.05rem; margin: 0.6rem 0 0.3rem; }
h1 { margin: 0; }
#state { margin-left: auto; color: var(--faint); }
main { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0 1.5rem; padding: 0 1rem 2rem; }
@media (max-width: 800px) { main { grid-template-columns: minmax(0, 1fr); } }
.scroll { max-height: 22rem; overflow: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.85rem; }
th, td { text-align: right; padding: 0.1rem 0.4rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
thead th { position: sticky; top: 0; background: var(--paper); }
#series tbody tr { cursor: pointer; }
tr[aria-selected=true] { outline: 2px solid var(--mark); outline-offset: -2px; }
.hint, #count { color: var(--faint); font-size: 0.85rem; margin: 0.2rem 0; }
canvas { width: 100%; display: block; }
pre { max-height: 12rem; min-height: 3rem; overflow: auto; border: 1px solid var(--line); padding: 0.4rem; margin: 0 0 0.4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem; }
form { display: flex; gap: 0.4rem; }
form input { flex: 1; min-width: 0; }
input, select, button { font: inherit; color: inherit; background: var(--paper); }
input, select, button { border: 1px solid var(--faint); padding: 0.1rem 0.4rem; }
progress { width: 5rem; }
]] }

M["/page.js"] = { type = "text/javascript; charset=utf-8", text = [==[
"use strict";
const get = (id) => document.getElementById(id);
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
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
const fillTable = () => {
  const body = get("series").tBodies[0];
  body.replaceChildren();
  let n = 0;
  const isOwn = (i) => series[i].name.startsWith("pmlua_");
  const order = series.map((_, i) => i).sort((a, b) => isOwn(a) - isOwn(b));
  for (const s of series) s.row = null;
  order.forEach((i) => {
    const s = series[i];
    if (!isShown(s) || ++n > ROWS) return;
    s.row = body.insertRow();
    s.row.tabIndex = 0;
    s.row.title = s.name + "{" + s.labels + "}" + (s.help ? "\n" + s.help : "");
    s.row.ariaSelected = selected.includes(i);
    s.row.onclick = () => toggle(i);
    s.row.onkeydown = (event) => { if (event.key == "Enter") toggle(i); };
    cell(s.row, titleOf(s) + (get("program").value || programs.length < 2 ? "" : " (" + label(s, "program") + ")"));
    cell(s.row, ""); cell(s.row, "");
  });
  get("count").textContent = n > ROWS ? `the first ${ROWS} of ${n} series` : `${n} series`;
  updateTable();
};
const updateTable = () => {
  const span = timeNow - timeBefore;
  series.forEach((s, i) => {
    if (!s.row) return;
    const text = show(values[i]), rate = s.rising && span > 0 && before[i] != null && values[i] != null
      ? show((values[i] - before[i]) / span) : "";
    if (s.row.cells[1].textContent != text) s.row.cells[1].textContent = text;
    if (s.row.cells[2].textContent != rate) s.row.cells[2].textContent = rate;
  });
};

// --- sections, rules, programs ---

const fillSections = () => {
  const found = new Map();
  series.forEach((s, i) => {
    const match = s.name.match(/^pmlua_section_seconds_(count|sum)$/);
    if (!match || get("program").value && label(s, "pid") != get("program").value) return;
    const key = label(s, "pid") + " " + label(s, "section");
    if (!found.has(key)) found.set(key, { section: label(s, "section"), program: label(s, "program") });
    found.get(key)[match[1]] = values[i];
  });
  const rows = [...found.values()].filter((r) => r.count != null).sort((a, b) => b.sum - a.sum);
  const most = rows.length ? rows[0].sum : 1, body = get("sections").tBodies[0];
  body.replaceChildren();
  for (const r of rows.slice(0, ROWS)) {
    const row = body.insertRow(), bar = document.createElement("progress");
    cell(row, programs.length < 2 ? r.section : r.section + " (" + r.program + ")");
    cell(row, show(r.count)); cell(row, show(r.sum)); cell(row, r.count ? show(r.sum / r.count) : "-");
    bar.max = most || 1; bar.value = r.sum;
    cell(row, "").append(bar);
  }
};
const fillRules = () => {
  const body = get("rules").tBodies[0];
  body.replaceChildren();
  for (const p of programs) for (const r of p.rules) {
    const row = body.insertRow();
    cell(row, r.name); cell(row, r.event); cell(row, show(r.fired)); cell(row, r.error || "-");
  }
};
const fillPrograms = () => {
  const select = get("program");
  const names = programs.map((p) => p.pid + " " + p.name + (p.up ? "" : " (silent)")).join("\n");
  if (select.dataset.names == names) return;
  select.dataset.names = names;
  const chosen = select.value;
  select.replaceChildren(new Option("all", ""));
  for (const p of programs) select.add(new Option(`${p.name} (${p.pid})${p.up ? "" : ", silent"}`, p.pid));
  select.value = [...select.options].some((o) => o.value == chosen) ? chosen : "";
};

// --- the chart ---

const loadHistory = async (wanted) => {
  const columns = await ask("/history?series=" + wanted.map((i) => i + 1) + "&since=" + (timeNow - 3600));
  wanted.forEach((i, k) => points.set(i, { times: columns[0].slice(), values: columns[k + 1] }));
};
const remember = () => {
  for (const i of selected) {
    const p = points.get(i);
    if (!p) continue;
    p.times.push(timeNow); p.values.push(values[i] ?? null);
    while (p.times[0] < timeNow - 3600) { p.times.shift(); p.values.shift(); }
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
  canvas.width = canvas.clientWidth * scale; canvas.height = height * scale;
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
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
  const [c, width, height] = prepare("chart"), style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line"), two = selected.length == 2;
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
    c.fillText(new Date(t * 1000).toLocaleTimeString(), Math.min(Math.max(x(t), left + 30), width - 34), height - 6);
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
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
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
  if (dragFrom != null && ends[1] - ends[0] > 0.5) { zoom = ends; get("all").hidden = false; draw(); }
  dragFrom = null;
};
get("all").onclick = () => { zoom = null; get("all").hidden = true; draw(); };
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
get("program").onchange = () => { fillTable(); fillSections(); };
get("span").onchange = get("rates").onchange = draw;
addEventListener("resize", draw);

// --- the prompt ---

const history = [];
let recalled = 0;
const print = (text) => {
  const output = get("output");
  output.append(text + "\n");
  output.scrollTop = output.scrollHeight;
};
const target = () => Number(get("program").value) || (programs.length == 1 ? programs[0].pid : 0);
get("prompt").onsubmit = async (event) => {
  event.preventDefault();
  const code = get("code").value;
  if (!code.trim()) return;
  history.push(code); recalled = history.length;
  get("code").value = "";
  print("> " + code);
  if (!target()) return print("choose a program first");
  try { const reply = await ask("/ask", { pid: target(), text: code }); print(reply.text); } catch (e) { print(e.message); }
};
get("code").onkeydown = async (event) => {
  if (event.key == "ArrowUp" || event.key == "ArrowDown") {
    recalled = Math.min(Math.max(recalled + (event.key == "ArrowUp" ? -1 : 1), 0), history.length);
    get("code").value = history[recalled] || "";
    event.preventDefault();
  } else if (event.key == "Tab" && target() && get("code").value) {
    event.preventDefault();
    const code = get("code").value;
    const reply = await ask("/complete", { pid: target(), text: code });
    const words = reply.ok ? reply.text.split("\n").filter((w) => w) : [];
    get("candidates").textContent = words.slice(0, 20).join("  ") || "no candidates";
    let common = words[0] || "";
    for (const w of words) while (!w.startsWith(common)) common = common.slice(0, -1);
    for (let n = Math.min(common.length, code.length); n > 0; n--)
      if (code.endsWith(common.slice(0, n))) { get("code").value = code + common.slice(n); break; }
  }
};

// --- polling ---

let rounds = 0;
const poll = async () => {
  let wait = 1000;
  try {
    const data = await ask("/data?known=" + series.length);
    const isNew = data.time_s != timeNow;
    for (const s of data.series) series.push(s);
    programs = data.programs;
    fillPrograms();
    if (isNew && !paused) {
      before = values; timeBefore = timeNow; values = data.values; timeNow = data.time_s;
      remember();
      if (data.series.length) fillTable(); else updateTable();
      if (selected.length && !zoom) draw();
      if (rounds++ % 5 == 0) { fillSections(); fillRules(); }
    }
    const up = programs.filter((p) => p.up).length;
    get("state").textContent = programs.length ? `${up} of ${programs.length} programs answer` : "no program can be asked";
    wait = Math.max(100, data.every_s * 1000);
  } catch (e) { get("state").textContent = e.message; }
  setTimeout(poll, document.hidden ? 5000 : wait);
};
poll();
]==] }

return M
