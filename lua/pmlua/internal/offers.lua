-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/offers.lua - the offers of a program to pmlua record, and the command to use: its sections, its symbols,
-- the libraries that it is linked with.
--
-- Try:  for _, row in ipairs(assert(require("pmlua.internal.offers").of("/usr/bin/lua5.4"))) do print(row.name, row.finding) end

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local preload = require "pmlua.internal.preload"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local HEAD <const>, SECTION <const>, SYMBOL <const>, DYNAMIC <const> = 64, 64, 24, 16 -- bytes in an ELF file of 64 bits
local DYNSYM <const>, NEEDED <const> = 11, 1

--- The sections by name, each with its offset, size and type; nil: it is no ELF file of 64 bits, or is damaged.
local function sections_of(text)
  if text:sub(1, 5) ~= "\127ELF\2" or #text < HEAD then return nil end
  local at, size, n, names = string.unpack("<I8", text, 41), string.unpack("<I2I2I2", text, 59)
  if size ~= SECTION or at + n * SECTION > #text or names >= n then return nil end
  local found, all = {}, {}
  for i = 0, n - 1 do
    local name, kind, _, _, offset, bytes = string.unpack("<I4I4I8I8I8I8", text, at + i * SECTION + 1)
    if kind ~= 8 and offset + bytes > #text then return nil end -- 8: it has no bytes in the file
    all[i] = { name = name, kind = kind, at = offset, bytes = bytes }
  end
  for _, s in pairs(all) do
    local name = names and s.name < all[names].bytes and text:match("^%Z*", all[names].at + s.name + 1)
    if name then found[name] = s end
  end
  return found
end

--- The bytes of a section of an ELF file; nil if it lacks the section.
---@param text string the file
---@param name string
---@return string?
function M.section(text, name)
  local s = (sections_of(text) or {})[name]
  return s and text:sub(s.at + 1, s.at + s.bytes)
end

--- The libraries that the program is linked with.
local function needed_of(text, sections)
  local dynamic, strings, names = sections[".dynamic"], sections[".dynstr"], {}
  for at = 0, dynamic and strings and dynamic.bytes - DYNAMIC or -1, DYNAMIC do
    local tag, value = string.unpack("<I8I8", text, dynamic.at + at + 1)
    if tag == NEEDED and value < strings.bytes then names[#names + 1] = text:match("^%Z*", strings.at + value + 1) end
  end
  return names
end

--- The set of names in its dynamic symbol table: functions that it exports, or needs.
local function symbols_of(text, sections)
  local table_, strings, names = sections[".dynsym"], sections[".dynstr"], {}
  for at = 0, table_ and strings and table_.kind == DYNSYM and table_.bytes - SYMBOL or -1, SYMBOL do
    local name = string.unpack("<I4", text, table_.at + at + 1)
    if name < strings.bytes then names[text:match("^%Z*", strings.at + name + 1)] = true end
  end
  return names
end

--- The set of names in the dynamic symbol table of an ELF file; nil for other files.
---@param text string the file
---@return table<string, boolean>?
function M.symbols(text)
  local sections = sections_of(text)
  return sections and symbols_of(text, sections)
end

--- The number of static probes, and the first one as PROVIDER:NAME.
local function probes_of(text, section)
  local at, stop, n, first = section.at, section.at + section.bytes, 0, nil
  while at + 44 <= stop do
    local name, bytes = string.unpack("<I4I4", text, at + 1)
    local provider, probe = text:match("^(%Z+)%z(%Z+)%z", at + 12 + (name + 3 & ~3) + 24 + 1)
    first, n = first or provider and provider .. ":" .. probe, n + 1
    at = at + 12 + (name + 3 & ~3) + (bytes + 3 & ~3)
  end
  return n, first
end

-- ---- interfaces and languages ----

--- Interfaces: patterns of libraries, symbols, and patterns of texts in the program, any of which shows it, and the option for
--- it. The patterns of texts do not match themselves, because pmlua contains them.
local interfaces = {
  { name = "MPI", libraries = { "^libmpi", "^libmpich" }, option = "" },
  { name = "OpenMP", libraries = { "^libgomp", "^libomp%.", "^libiomp5" }, option = "" },
  { name = "Python", libraries = { "^libpython3" }, symbols = { "Py_BytesMain" }, option = " --python" },
  { name = "Lua 5.4", libraries = { "^liblua5%.4", "^liblua%.so%.5%.4" }, symbols = { "lua_setwarnf" }, option = " --lua" },
  { name = "Kokkos", libraries = { "^libkokkoscore" }, texts = { "KOKKOS_TOOLS_LIB[S]" }, option = "" },
  { name = "ITT", libraries = { "^libtbb", "^libittnotify" }, texts = { "INTEL_LIBITTNOTIFY6[4]" }, option = "" },
  { name = "NVTX", libraries = { "^libnvToolsExt" }, texts = { "NVTX_INJECTION64_PAT[H]" }, option = "" },
  { name = "LIKWID markers", libraries = { "^liblikwid" }, symbols = { "likwid_markerStartRegion" }, option = "" },
  { name = "Caliper", libraries = { "^libcaliper" }, symbols = { "cali_begin_region" }, option = "" },
  { name = "PAPI", libraries = { "^libpapi" }, symbols = { "PAPI_hl_region_begin", "PAPI_library_init" }, option = "" },
}

--- The evidence for the interface in a sentence; nil: none.
local function evidence(interface, program)
  for _, library in ipairs(program.needed) do
    for _, pattern in ipairs(interface.libraries) do
      if library:find(pattern) then return "it is linked with " .. library end
    end
  end
  for _, symbol in ipairs(interface.symbols or {}) do
    if program.symbols[symbol] then return "it has the symbol " .. symbol end
  end
  for _, text in ipairs(interface.texts or {}) do
    local found = program.text:match(text)
    if found then return "it contains the text " .. found end
  end
end

--- How the functions of the program can be recorded, and the option for it; nil: they cannot.
local function entries(program)
  local s = program.sections
  if program.symbols.__cyg_profile_func_enter then return "compiled with -finstrument-functions", "" end
  if s.__patchable_function_entries then return "room at the entries (-fpatchable-function-entry)", " --func '*'" end
  if s.__mcount_loc then return "calls at the entries (-mfentry -mrecord-mcount)", " --func '*'" end
  if s.xray_instr_map then return "XRay sleds (-fxray-instrument)", " --func '*'" end
end

local function language(program)
  local s, text = program.sections, program.text
  if s[".go.buildinfo"] or s[".gopclntab"] then return "Go, whose calls do not use the dynamic linker" end
  if text:find "/rust[c]/" then return "Rust; functions are compiled for recording by -Z instrument-xray only" end
  return nil
end

--- Read the program, or of a script its interpreter; nil and why.
local function read(path)
  local place = try(preload.locate(path))
  local text, err = disk.read(place)
  local interpreter = text and text:match "^#![ \t]*([^%s%z]+)"
  if interpreter then text, err = disk.read(interpreter) end
  if not text then return nil, err end
  local sections = sections_of(text)
  if not sections then return refuse("EFORMAT", path .. " is neither an ELF file of 64 bits nor a script of one") end
  return { path = place, text = text, interpreter = interpreter, sections = sections, needed = needed_of(text, sections),
    symbols = symbols_of(text, sections) }
end

---@param path string a program or script, as a shell finds it
---@return { name: string, status: string, finding: string, remedy: string? }[]? rows, pmlua.Failure? failure
M.of = try.catching(function(path)
  local program = try(read(path))
  local rows = {}
  local function row(name, finding, remedy, none)
    rows[#rows + 1] = { name = name, status = finding and "ok" or "missing", finding = finding or none, remedy = remedy }
  end
  local function record(option) return ("pmlua record%s -- %s"):format(option, path) end
  local obstacle = preload.obstacle(program.path)
  local linked = table.concat(program.needed, ", ")
  row("library calls", not obstacle and (linked ~= "" and "linked with " .. linked or "it loads libraries itself"),
    not obstacle and record "" or "pmlua sample -- " .. path, obstacle)
  local how, option = entries(program)
  row("own functions", how, how and not obstacle and record(option) or nil,
    "not compiled for recording: compile it by pmlua cc --functions")
  row("symbols", program.sections[".symtab"] and "its functions have names", nil, "stripped: only exported functions have names")
  row("source lines", program.sections[".debug_info"] and "it has debug information", nil, "none: compile with -g")
  for _, interface in ipairs(interfaces) do
    local found = evidence(interface, program)
    if found then row(interface.name, found, not obstacle and record(interface.option) or nil) end
  end
  local notes = program.sections[".note.stapsdt"]
  local n, first = 0, nil
  if notes then n, first = probes_of(program.text, notes) end
  if first then
    row("static probes", ("it has %d USDT probes, such as %s"):format(n, first),
      ("pmlua record --event usdt:%s:%s -- %s"):format(program.path, first, path))
  end
  local other = language(program)
  if other then row("language", other, "pmlua sample -- " .. path) end
  return rows
end)

return M
