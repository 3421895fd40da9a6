-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/assets_program.lua - the second script of the page of running programs: sections, rules, call tree,
-- prompt, and polling.
--
-- Try:  pmlua serve --page
--
-- It follows /page.js (pmlua.internal.serve.assets), whose names it uses.

return [==[
"use strict";
// The program that rules, call tree and prompt are for: the one that is chosen, or the only one.
const target = () => Number(get("program").value) || (programs.length == 1 ? programs[0].pid : 0);

// --- sections ---

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
// --- rules ---

let ownRules = [], edited = null, rulesOf = 0, rulesAsked = 0; // ownRules were made on a page, and can be changed
const button = (parent, text, label, action) => {
  const b = document.createElement("button");
  b.textContent = text; b.ariaLabel = label; b.onclick = action;
  parent.append(b);
};
const ruleRow = (r, event, value, isOwn) => {
  const body = get("rules").tBodies[0], row = body.insertRow();
  cell(row, r.name || "rule"); cell(row, event.replace(/^sde:::/, "")); cell(row, show(r.fired)); cell(row, value);
  const last = cell(row, "");
  if (isOwn) {
    button(last, "Edit", "Edit rule " + r.name, () => editRule(r));
    button(last, "Remove", "Remove rule " + r.name, () => removeRule(r));
  } else last.textContent = "from a file";
  if (!r.error) return;
  const error = cell(body.insertRow(), r.error);
  error.colSpan = 5; error.className = "wrong";
};
const fillRules = () => {
  const body = get("rules").tBodies[0];
  if (body.contains(document.activeElement)) return; // its buttons are in use
  body.replaceChildren();
  for (const p of programs) {
    if (get("program").value && p.pid != get("program").value) continue;
    for (const r of p.rules) ruleRow(r, r.event, r.last == null ? "-" : show(r.last), false);
  }
  if (rulesOf == target()) for (const r of ownRules) ruleRow(r, r.event, r.last || "-", true);
  get("events").replaceChildren(...[...new Set(series.map((s) => label(s, "event")).filter((e) => e))].slice(0, ROWS)
    .map((e) => new Option(e)));
};
const loadRules = async () => {
  const pid = target(), asked = ++rulesAsked;
  if (!pid) { rulesOf = 0; return; }
  const reply = await ask("/rules?pid=" + pid);
  if (asked != rulesAsked) return; // a later answer is newer
  if (!reply.ok) { get("wrong").textContent = reply.text; return; }
  ownRules = reply.rules; rulesOf = pid;
  get("said").hidden = !reply.output.length;
  get("said").textContent = reply.output.join("\n");
};
const editRule = (r) => {
  const form = get("rule");
  edited = r;
  for (const name of ["name", "event", "every", "code"]) form.elements[name].value = r ? r[name] : { every: "1s" }[name] || "";
  get("editor").open = r != null;
  get("editor").firstElementChild.textContent = r ? "Edit rule " + r.name : "New rule";
  get("abandon").hidden = !r;
  get("wrong").textContent = "";
  (r ? form.elements.code : get("editor").firstElementChild).focus();
};
const sendRule = async (rule, done) => {
  if (!target()) { get("wrong").textContent = "choose a program first"; return; }
  get("wrong").textContent = "";
  try {
    const reply = await ask("/rules", { pid: target(), ...rule });
    if (reply.ok) done(); else { get("editor").open = true; get("wrong").textContent = reply.text; }
    await loadRules();
    fillRules();
  } catch (e) { get("wrong").textContent = e.message; }
};
const removeRule = (r) => {
  document.activeElement.blur();
  sendRule({ id: r.id, remove: true }, () => { if (edited && edited.id == r.id) editRule(null); });
};
get("rule").onsubmit = (event) => {
  event.preventDefault();
  sendRule({ ...Object.fromEntries(new FormData(get("rule"))), ...(edited && { id: edited.id }) }, () => editRule(null));
};
get("abandon").onclick = () => editRule(null);

// --- the call tree ---

const folded = new Set(); // paths whose children are hidden
let treeShown = "";
const fillTree = (nodes) => {
  const body = get("tree").querySelector("tbody"), names = [], focused = document.activeElement?.dataset?.path;
  const all = nodes.filter((n) => n.depth == 0).reduce((sum, n) => sum + n.inclusive_s, 0);
  let hidden = Infinity;
  body.replaceChildren();
  nodes.forEach((n, i) => {
    names.length = n.depth;
    names.push(n.name);
    if (n.depth > hidden) return;
    hidden = Infinity;
    const path = names.join("\n"), hasChildren = i + 1 < nodes.length && nodes[i + 1].depth > n.depth;
    if (folded.has(path)) hidden = n.depth;
    const row = body.insertRow(), bar = document.createElement("progress"), first = cell(row, "");
    row.dataset.path = path; row.tabIndex = 0;
    first.textContent = (hasChildren ? folded.has(path) ? "\u25b8 " : "\u25be " : "\u2003") + n.name;
    first.style.paddingLeft = Math.min(n.depth, 12) * 0.8 + 0.4 + "rem";
    if (hasChildren) row.ariaExpanded = !folded.has(path);
    cell(row, show(n.count) + (n.running ? " + " + n.running : "")).title = n.running + " of them still run";
    cell(row, show(Number(n.inclusive_s.toPrecision(4)))); cell(row, show(Number(n.exclusive_s.toPrecision(4))));
    bar.max = all || 1; bar.value = n.exclusive_s; bar.title = (100 * n.exclusive_s / (all || 1)).toFixed(1) + " % exclusive";
    cell(row, "").append(bar);
    if (path == focused) row.focus();
  });
};
const loadTree = async () => {
  const state = get("treestate"), pid = target();
  if (!pid) { state.textContent = "Choose a program first."; return; }
  const reply = await ask("/tree?pid=" + pid);
  if (!reply.ok) { state.textContent = reply.text; return; }
  if (treeShown != pid) { treeShown = pid; folded.clear(); }
  state.textContent = "Calls since it was opened. Meanwhile each call costs the program some 130 instructions more."
    + (reply.paths > reply.nodes.length ? ` The first ${reply.nodes.length} of ${reply.paths} paths.` : "");
  get("tree").nodes = reply.nodes;
  fillTree(reply.nodes);
};
const fold = (row, isFolded) => {
  if (!row.ariaExpanded) return;
  if (isFolded ?? !folded.has(row.dataset.path)) folded.add(row.dataset.path); else folded.delete(row.dataset.path);
  row.focus();
  fillTree(get("tree").nodes);
};
get("tree").onclick = (event) => { const row = event.target.closest("tbody tr"); if (row) fold(row); };
get("tree").onkeydown = (event) => {
  const row = event.target.closest("tbody tr");
  if (!row) return;
  if (event.key == "ArrowDown") row.nextElementSibling?.focus();
  else if (event.key == "ArrowUp") row.previousElementSibling?.focus();
  else if (event.key == "ArrowLeft") fold(row, true);
  else if (event.key == "ArrowRight") fold(row, false);
  else if (event.key == "Enter" || event.key == " ") fold(row);
  else return;
  event.preventDefault();
};
const inTurn = async () => { // what costs the program a question each, once a second, while it can be seen
  try {
    if (!document.hidden && !paused) {
      await loadRules();
      fillRules();
      if (get("tree").open) await loadTree();
    }
  } catch (_) { /* the state line says it */ }
  setTimeout(inTurn, 1000);
};
get("tree").ontoggle = () => { if (get("tree").open) loadTree().catch(() => {}); };

// --- the prompt ---

const history = [];
let recalled = 0;
const print = (text) => {
  const output = get("output");
  output.append(text + "\n");
  output.scrollTop = output.scrollHeight;
};
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

let rounds = 0, timeDrawn = 0; // the chart is drawn 5 times a second at most
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
      if (selected.length && !zoom && timeNow - timeDrawn >= 0.2) { timeDrawn = timeNow; draw(); }
      if (rounds++ % 5 == 0) fillSections();
    }
    const up = programs.filter((p) => p.up).length;
    get("state").textContent = programs.length ? `${up} of ${programs.length} programs answer` : "no program can be asked";
    wait = Math.max(50, data.next_s * 1000 + 5); // just behind the next reading
  } catch (e) { get("state").textContent = e.message; }
  setTimeout(poll, document.hidden ? 5000 : wait);
};
poll();
inTurn();
]==]
