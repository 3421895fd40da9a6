-- SPDX-License-Identifier: BSD-3-Clause
-- bindings/command/compile.lua - compile Lua modules to a C file with the data that bindings/command/compiled.c reads.
--
-- Usage: lua5.4 bindings/command/compile.lua OUT RELEASE FOLDER FILE...
--
-- RELEASE is the output of this Lua's -v. FILEs are named relative to FOLDER. The data, in the byte order of this machine:
--
--     header  u32 magic, u32 modules, u32 place of RELEASE, u32 bytes before the name of a chunk's source
--     entries for each module, sorted by name: u64 hash of the source, u32 bytes of the source, u32 place of the name,
--             u32 place of the chunk, u32 bytes of the chunk
--     RELEASE and names, each with a zero behind it; chunks
--
-- A chunk is the result of string.dump(), with debug information, but without the name of its source: the command inserts the
-- path of the source that it found.

local out, release, folder = arg[1], arg[2], arg[3]

local MAGIC <const> = 0x314c4d50 -- "PML1"
local HEAD <const>, ENTRY <const> = 16, 24
local NAMED <const> = "@pmlua"
-- lundump.h: signature, version, format, data, three sizes, an integer, a number; one byte for the number of upvalues.
local BEFORE <const> = 4 + 1 + 1 + 6 + 3 + 8 + 8 + 1

--- As holds() of compiled.c.
local function hash(text)
  local h = 0xcbf29ce484222325 ~ #text
  local padded = text .. ("\0"):rep(-#text % 8)
  for at = 1, #padded, 8 do
    h = (h ~ string.unpack("=I8", padded, at)) * 0x9e3779b97f4a7c15
    h = h ~ h >> 32
  end
  return h
end

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

--- The chunk of a source without its name.
local function compiled(text, path)
  assert(load(text, "@" .. path, "t")) -- its messages name the file
  local name = string.char(0x80 | #NAMED + 1) .. NAMED -- a size of 7 bits
  local chunk = string.dump(assert(load(text, NAMED, "t")))
  assert(chunk:sub(BEFORE + 1, BEFORE + #name) == name, "this Lua writes chunks in another format")
  return chunk:sub(1, BEFORE) .. chunk:sub(BEFORE + #name + 1)
end

local modules = {}
for i = 4, #arg do
  local text = read(folder .. "/" .. arg[i])
  local name = arg[i]:gsub("%.lua$", ""):gsub("^pmlua/init$", "pmlua"):gsub("/", ".")
  modules[#modules + 1] = { name = name, hash = hash(text), bytes = #text, chunk = compiled(text, folder .. "/" .. arg[i]) }
end
table.sort(modules, function(a, b) return a.name < b.name end)

local parts, at = {}, HEAD + ENTRY * #modules
local function add(text)
  parts[#parts + 1] = text
  at = at + #text
  return at - #text
end
local head = string.pack("=I4I4I4I4", MAGIC, #modules, add(release .. "\0"), BEFORE)
for _, m in ipairs(modules) do m.name_at = add(m.name .. "\0") end
local entries = {}
for i, m in ipairs(modules) do
  entries[i] = string.pack("=I8I4I4I4I4", m.hash, m.bytes, m.name_at, add(m.chunk), #m.chunk)
end

--- Quote bytes as C strings; escapes have three digits, so that the next character cannot extend them.
local function quoted(bytes)
  local lines = {}
  local function escape(c) return ("\\%03o"):format(c:byte()) end
  for from = 1, #bytes, 512 do lines[#lines + 1] = ('"%s"'):format(bytes:sub(from, from + 511):gsub("[^%w ]", escape)) end
  return table.concat(lines, "\n")
end

local data = head .. table.concat(entries) .. table.concat(parts)
local f <close> = assert(io.open(out, "wb"))
assert(f:write("_Alignas(16) const char compiled_chunks[] =\n", quoted(data), ";\n"))
