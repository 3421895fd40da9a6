-- SPDX-License-Identifier: BSD-3-Clause
-- docs/markdown.lua - the Markdown of these pages as HTML: headings, paragraphs, lists of one level, tables, code, images,
-- links, emphasis, and lines of HTML. It has no nested lists, quotations or numbered lists, because no page has any.
--
-- Try:  lua5.4 -e 'package.path = "docs/?.lua"; print(require "markdown".html "# Title\n\nSome *words*.")'

local highlight = require "highlight"

local M = {}

local function escaped(text) return highlight(text, "text") end
M.escaped = escaped

local inline

-- Each function gets the text and the position of its first character, and returns HTML and the position after it, or nil.
local SPANS = {
  ["\\"] = function(s, at)
    local char = s:match("^\\(%p)", at)
    if char then return escaped(char), at + 2 end
  end,
  ["`"] = function(s, at)
    local ticks = s:match("^`+", at)
    local first, last = s:find("%f[`]" .. ticks .. "%f[^`]", at + #ticks)
    if first then return "<code>" .. escaped(s:sub(at + #ticks, first - 1)) .. "</code>", last + 1 end
  end,
  ["["] = function(s, at, page)
    local text, target, after = s:match("^(%b[])(%b())()", at)
    if not text then return end
    return ('<a href="%s">%s</a>'):format(page.link(target:sub(2, -2)), inline(text:sub(2, -2), page)), after
  end,
  ["!"] = function(s, at, page)
    local text, target, after = s:match("^!(%b[])(%b())()", at)
    if not text then return end
    local file, width, height = page.link(target:sub(2, -2))
    local image = ('<img src="%s" alt="%s" width="%d" height="%d">'):format(file, escaped(text:sub(2, -2)), width, height)
    return ('<a class="figure" href="%s">%s</a>'):format(file, image), after
  end,
  ["<"] = function(s, at, page)
    local tag, after = s:match("^(</?%a[^>]*>)()", at)
    local id = tag and tag:match '^<a id="([^"]+)">$'
    if id then return ('<a id="%s">'):format(page.name(9, id, id, 1)), after end
    if tag then return tag, after end
  end,
  ["&"] = function(s, at)
    local entity, after = s:match("^(&#?%w+;)()", at)
    if entity then return entity, after end
  end,
  ["*"] = function(s, at, page)
    local text, after = s:match("^%*%*(%S.-)%*%*()", at)
    if text then return "<strong>" .. inline(text, page) .. "</strong>", after end
    text, after = s:match("^%*(%f[^%s*].-%f[%s*])%*()", at)
    if text then return "<em>" .. inline(text, page) .. "</em>", after end
  end,
}

function inline(s, page)
  local parts, at = {}, 1
  while at <= #s do
    local special = s:find("[\\`%[!<&*]", at) or #s + 1
    parts[#parts + 1] = escaped(s:sub(at, special - 1))
    if special > #s then break end
    local html, after = SPANS[s:sub(special, special)](s, special, page)
    parts[#parts + 1] = html or escaped(s:sub(special, special))
    at = after or special + 1
  end
  return table.concat(parts)
end

local ENTITIES = { ["&#124;"] = "|", ["&lt;"] = "<", ["&gt;"] = ">", ["&quot;"] = '"', ["&amp;"] = "&" }

--- Text without marks, for titles and the index of the search.
---@param s string Markdown, or HTML
---@return string
function M.plain(s)
  s = s:gsub("</t[dh]>", " "):gsub("<[^>]*>", ""):gsub("&#?%w+;", ENTITIES)
  return (s:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local function slug(title)
  return (M.plain(title):lower():gsub("[^%w_%- ]", ""):gsub("[%- ]+", "-"))
end

-- Blocks. Each function gets the page (its lines, the number `at` of the next line), and adds HTML if the block begins there.
local BLOCKS = {}

BLOCKS[1] = function(page)
  local line = page.lines[page.at]
  if line:find "^%s*$" then page.at = page.at + 1 return true end
  local anchor = line:match '^<a id="([^"]+)"></a>$'
  if anchor then page.anchors[#page.anchors + 1], page.at = anchor, page.at + 1 return true end
  if not line:find "^<!%-%-" then return end
  while not page.lines[page.at]:find("-->", 1, true) do page.at = page.at + 1 end
  page.at = page.at + 1
  return true
end

-- The anchor above a heading, or its words, give its id. An anchor above code or in a paragraph is a heading of
-- level 9, which only the search shows.
BLOCKS[2] = function(page)
  local marks, title = page.lines[page.at]:match "^(#+) (.*)$"
  if not marks then return end
  local html = inline(title, page)
  local id = page.name(#marks, table.remove(page.anchors) or slug(html), M.plain(html), 2)
  page.at = page.at + 1
  page.add(('<h%d id="%s">%s<a class="anchor" href="#%s" aria-label="link to this section">#</a></h%d>'):format(
    #marks, id, html, id, #marks))
  return true
end

BLOCKS[3] = function(page)
  local language = page.lines[page.at]:match "^```(%l*)$"
  if not language then return end
  local names = {}
  for i, id in ipairs(page.anchors) do names[i] = ('<a id="%s"></a>'):format(page.name(9, id, id, 2)) end
  page.anchors = {}
  page.add(table.concat(names))
  local code = {}
  page.at = page.at + 1
  while page.lines[page.at] ~= "```" do
    code[#code + 1] = assert(page.lines[page.at], "a block of code has no end")
    page.at = page.at + 1
  end
  page.at = page.at + 1
  page.add(('<pre class="%s"><code>%s</code></pre>'):format(language, highlight(table.concat(code, "\n"), language)))
  return true
end

BLOCKS[4] = function(page)
  local code = {}
  while (page.lines[page.at] or ""):find "^    " do
    code[#code + 1] = page.lines[page.at]:sub(5)
    page.at = page.at + 1
  end
  if #code == 0 then return end
  page.add('<pre class="sh"><code>' .. highlight(table.concat(code, "\n"), "sh") .. "</code></pre>")
  return true
end

local function cells(line, tag, page)
  local row = {}
  line = line:gsub("^|%s*", ""):gsub("%s*|%s*$", ""):gsub("\\|", "\0") .. "|"
  for cell in line:gmatch "%s*(.-)%s*|" do
    row[#row + 1] = ("<%s>%s</%s>"):format(tag, inline((cell:gsub("%z", "|")), page), tag)
  end
  return "<tr>" .. table.concat(row) .. "</tr>"
end

BLOCKS[5] = function(page)
  if not (page.lines[page.at]:find "^|" and (page.lines[page.at + 1] or ""):find "^|[-| :]+|$") then return end
  page.add('<div class="table"><table><thead>' .. cells(page.lines[page.at], "th", page) .. "</thead><tbody>")
  page.at = page.at + 2
  while (page.lines[page.at] or ""):find "^|" do
    page.add(cells(page.lines[page.at], "td", page))
    page.at = page.at + 1
  end
  page.add "</tbody></table></div>"
  return true
end

BLOCKS[6] = function(page)
  if not page.lines[page.at]:find "^%- " then return end
  page.add "<ul>"
  while (page.lines[page.at] or ""):find "^%- " do
    local item = { page.lines[page.at]:sub(3) }
    page.at = page.at + 1
    while (page.lines[page.at] or ""):find "^  +%S" do
      item[#item + 1] = page.lines[page.at]:match "^ *(.*)$"
      page.at = page.at + 1
    end
    page.add("<li>" .. inline(table.concat(item, "\n"), page) .. "</li>")
    if page.lines[page.at] == "" and (page.lines[page.at + 1] or ""):find "^%- " then page.at = page.at + 1 end
  end
  page.add "</ul>"
  return true
end

BLOCKS[7] = function(page)
  local text = {}
  repeat
    text[#text + 1] = page.lines[page.at]
    page.at = page.at + 1
    local line = page.lines[page.at] or ""
  until line == "" or line:find "^```" or line:find "^#+ " or line:find "^%- " or line:find "^<!%-%-"
  page.add("<p>" .. inline(table.concat(text, "\n"), page) .. "</p>")
  return true
end

---@class Page
---@field html string
---@field title string
---@field headings { level: integer, id: string, title: string, text: string }[] with the plain text up to the next heading

local function new_page(text, link)
  local page = { lines = {}, at = 1, out = {}, anchors = {}, headings = {} }
  page.link = link or function(target) return target, 0, 0 end
  for line in (text:gsub("\n?$", "\n")):gmatch "(.-)\n" do page.lines[#page.lines + 1] = line end
  function page.add(html) page.out[#page.out + 1] = html end
  -- Note a heading in the next piece of HTML, whose text begins in this piece (1) or in the following one (2).
  function page.name(level, id, title, from)
    local n = 0
    for _, other in ipairs(page.headings) do n = n + (other.name == id and 1 or 0) end
    local unique = n == 0 and id or ("%s-%d"):format(id, n + 1)
    page.headings[#page.headings + 1] = { level = level, name = id, id = unique, title = title, at = #page.out + 1,
      from = #page.out + from }
    return unique
  end
  return page
end

--- A page as HTML.
---@param text string
---@param link? fun(target: string): string, integer?, integer? the address of a link or an image, width and height of an image
---@return Page
function M.html(text, link)
  local page = new_page(text, link)
  while page.at <= #page.lines do
    local block = 1
    while not BLOCKS[block](page) do block = block + 1 end
  end
  for i, heading in ipairs(page.headings) do
    local after = i + 1
    while page.headings[after] and page.headings[after].at == heading.at do after = after + 1 end
    local last = page.headings[after] and page.headings[after].at - 1 or #page.out
    heading.text = M.plain(table.concat(page.out, " ", heading.from, last))
  end
  return { html = table.concat(page.out, "\n"), headings = page.headings,
    title = page.headings[1] and page.headings[1].title or "" }
end

return M
