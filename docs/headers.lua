-- SPDX-License-Identifier: BSD-3-Clause
-- docs/headers.lua - the C interface as its headers describe it: a family for each header, with its declarations and what
-- the comments above them say.
--
-- Try:  pmlua -e 'package.path = "docs/?.lua;" .. package.path
--                 for _, f in ipairs(require "headers".families()) do print(f.name, f.summary) end'

local M = {}

---@class Item a comment and the declarations right below it
---@field prose? string
---@field code string
---@field functions string[] names of those that it declares
---@field documented table<string, boolean> functions that a comment beside their declaration explains

---@class Family
---@field name string of the header, without .h
---@field path string
---@field include string what a program writes: <pml.h>
---@field summary string
---@field about string
---@field items Item[]

--- The text of a comment without its frame.
local function uncommented(comment)
  local text = comment:gsub("^/%*+ ?\n?", ""):gsub("%s*%*+/%s*$", ""):gsub("\n %* ?", "\n"):gsub("^ %* ?", "")
  return (text:gsub("%s+$", ""))
end

--- A declaration without the body of its inline functions.
local function without_bodies(code)
  code = code:gsub("(static inline [^{;]-)%s*%b{}", "%1;"):gsub("PML_ALWAYS_INLINE ", ""):gsub("%s*PML_NAMESAKE%b()", "")
  return (code:gsub("PML_API ([^;]*;)", function(declaration) return (declaration:gsub("\n        ", "\n")) end))
end

--- Split a header at blank lines, but not inside the bodies of functions.
local function paragraphs(text)
  local list, lines, depth = {}, {}, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    if line == "" and depth == 0 then
      list[#list + 1] = #lines > 0 and table.concat(lines, "\n") or nil
      lines = {}
    else
      lines[#lines + 1] = line
      depth = depth + select(2, line:gsub("{", "")) - select(2, line:gsub("}", ""))
    end
  end
  if #lines > 0 then list[#list + 1] = table.concat(lines, "\n") end
  return list
end

-- Lines that the page omits: guards, includes, marks for C++, internal names.
local function is_inner(line)
  return line:find "^#ifn?def" or line:find "^#endif" or line:find "^#include" or line:find "^#undef" or line:find "^#if "
    or line:find "^#else" or line:find "_DECLS$" or line:find "^#define %w+_H$" or line:find "^#pragma"
    or line:find "^#define [%w_]+%(%.%.%.%) [%w_]+_of_c%("
end

local function declares(code, item)
  code = ("\n" .. code):gsub("\n#define [^\n]*\\\n.-[^\\]\n", "\n"):gsub("\n#define [^\n]*", "")
  code = code:gsub("%f[%w]%l+ [%w_]+ %b{};?", "")
  for declaration, beside in code:gmatch "([^;]*;)([^\n]*)" do
    local name = declaration:gsub("/%*.-%*/", ""):match "%f[%w_](pml%l*_[%w_]+)%("
    if name and not name:find "^pml__" and not declaration:find "typedef" then
      item.functions[#item.functions + 1] = name
      item.documented[name] = item.prose ~= nil or beside:find "/%*" ~= nil
    end
  end
end

local function item_of(paragraph)
  local comment, code = paragraph:match "^(/%*.-%*/)\n?(.*)$"
  if not comment or code:find "^[^\n]*%*/" then comment, code = nil, paragraph end
  local kept = {}
  for line in (code .. "\n"):gmatch "(.-)\n" do
    if not is_inner(line) then kept[#kept + 1] = line end
  end
  code = without_bodies(table.concat(kept, "\n")):gsub("^%s+", ""):gsub("%s+$", "")
  local item = { prose = comment and uncommented(comment), code = code, functions = {}, documented = {} }
  declares(code, item)
  return item
end

-- Internal items: names with pml__ or PML__, declarations shared inside pmlua, and lines that only separate items.
local function is_private(item)
  local code = item.code
  return code:find "^PML__SHARED" or code:find "^struct pml__" or code:find "^#define PML__" or code:find "^extern"
    or #item.functions == 0 and code:find "pml__[%w_]+%(" or (item.prose or ""):find "^%-%-%-"
end

--- The documented content of a header.
---@param path string
---@return Family
function M.read(path)
  local f <close> = assert(io.open(path, "rb"))
  local family = { path = path, name = path:match "([%w_]+)%.h$", items = {} }
  family.include = path:find "^core/adapter/pml_" and "<" .. path:match "core/(.*)" .. ">"
    or path == "bindings/pmlua.h" and "<pmlua.h>" or "<pml.h>"
  for _, paragraph in ipairs(paragraphs(f:read "a")) do
    local head = paragraph:match("(/%*%s[%s*]*" .. path:gsub("%p", "%%%0") .. " %- .-%*/)")
    local item = item_of(paragraph)
    if head then
      local text = uncommented(head):gsub("^%s*" .. path:gsub("%p", "%%%0") .. " %- ", "")
      family.summary, family.about = text:match "^(.-)%.%f[%s%z] *\n*(.*)$"
      family.summary = (family.summary or text):gsub("%s+", " ")
    elseif not is_private(item) and (item.code ~= "" or not (item.prose or "SPDX"):find "^SPDX") then
      family.items[#family.items + 1] = item
    end
  end
  return family
end

--- Split prose into entries ("name - purpose"), points ("- this"), paragraphs, and code. Code is indented by at least three
-- blanks, or by two after an empty line (where the frame of the comment removed one).
---@param text string
---@return { kind: "entry"|"point"|"code"|"paragraph", name?: string, text: string }[]
function M.parts(text)
  local parts, last = {}, nil
  local function add(part)
    parts[#parts + 1], last = part, part
  end
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local name, about = line:match "^(pml[%w_, ]-)%s+%- (.*)$"
    local point = line:match "^%- (.*)$"
    if line == "" then
      last = nil
    elseif name then
      add { kind = "entry", name = name, text = about }
    elseif point then
      add { kind = "point", text = point }
    elseif line:find "^%s%s%s" or line:find "^%s%s" and (not last or last.kind == "code") then
      if not last or last.kind ~= "code" then add { kind = "code", margin = #line:match "^%s*" } end
      last.text = (last.text and last.text .. "\n" or "") .. line:sub(math.min(last.margin, #line:match "^%s*") + 1)
    elseif last and last.kind ~= "code" then
      last.text = last.text .. "\n" .. line:gsub("^%s+", "")
    else
      add { kind = "paragraph", text = line }
    end
  end
  return parts
end

-- Headers that users include in addition to pml.h and its includes.
local MORE = { "core/base/pml_value.h", "core/adapter/pml_workload.h", "core/adapter/pml_probe.h", "bindings/pmlua.h" }

--- All public families: the includes of pml.h, workloads, and pmlua.h.
---@return Family[]
function M.families()
  local families, seen = {}, {}
  local function add(path)
    if seen[path] or path:find "/pml%.h$" or path:find "pml_api%.h$" then return end
    seen[path] = true
    families[#families + 1] = M.read(path)
  end
  local f <close> = assert(io.open "core/pml.h")
  for path in f:read "a":gmatch '\n#include "([^"]+)"' do add("core/" .. path) end
  for _, path in ipairs(MORE) do add(path) end
  table.sort(families, function(a, b) return a.name < b.name end)
  return families
end

return M
