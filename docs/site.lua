-- SPDX-License-Identifier: BSD-3-Clause
-- docs/site.lua - the documentation as a folder of HTML that any browser reads without a server: the pages of docs/, the
-- reference, figures, the theme, and the index of the search. It fails if a link leads nowhere or if no menu has a page.
--
-- Try:  pmlua docs/site.lua build/site

local cjson = require "cjson"
local core = require "pmlua.core"
local lfs = require "lfs"
local file = require "pmlua.internal.file"
local markdown = require "markdown"

local out = ... or "build/site"

-- The menu's first level. A chapter's entries are the links of its index.md, below the headings above them.
local MENU = { "index.md", "getting-started.md", "packages.md", "compatibility.md", "how/index.md", "concepts/index.md",
  "experiments/index.md", "reference/index.md" }
local GALLERY <const> = "gallery/index.md" -- written by make gallery

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

local function write(path, text)
  for at in path:gmatch "()/" do lfs.mkdir(path:sub(1, at - 1)) end
  assert(file.write(path, text))
end

local function files(folder, ending)
  local list = {}
  for name in lfs.dir("docs/" .. folder) do
    if name:sub(-#ending) == ending then list[#list + 1] = folder .. name end
  end
  return list
end

--- The path from the site's root of what a page links to, and the anchor.
local function resolve(from, target)
  local path, anchor = target:match "^([^#]*)(.*)$"
  if path == "" then return from, anchor end
  path = from:gsub("[^/]*$", "") .. path
  local n
  repeat path, n = path:gsub("[^/]+/%.%./", "", 1) until n == 0
  return path, anchor
end

local function root(path) return ("../"):rep(select(2, path:gsub("/", ""))) end

local function html_of(path) return (path:gsub("%.md$", ".html")) end

local function load_pages()
  local pages = {}
  for path, text in pairs(require "reference") do pages[path] = { text = text } end
  for _, folder in ipairs { "", "how/", "concepts/", "experiments/", "gallery/" } do
    for _, path in ipairs(files(folder, ".md")) do pages[path] = { text = read("docs/" .. path) } end
  end
  for path, page in pairs(pages) do
    page.path, page.links = path, {}
    local html = markdown.html(page.text, function(target)
      if not target:find "^https?:" then page.links[#page.links + 1] = target end
      if target:find "%.png$" then return target, (">I4I4"):unpack(read("docs/" .. resolve(path, target)), 17) end
      return (target:gsub("%.md%f[#\0]", ".html"))
    end)
    page.html, page.headings, page.title = html.html, html.headings, html.title
  end
  return pages
end

--- Chapters: { path, groups = { { PATH, ..., title? } }, has = { PATH = true }, size }.
local function load_menu(pages)
  local menu, seen = {}, {}
  local function entry(path, title)
    local page = assert(pages[path], path .. " is in the menu, but there is no such page")
    seen[path], page.short = true, title and markdown.plain(markdown.html(title).html) or page.title
    return path
  end
  if pages[GALLERY] then table.insert(MENU, #MENU, GALLERY) end
  for i, path in ipairs(MENU) do
    local chapter = { path = entry(path, path == "index.md" and "Overview"), groups = { {} }, has = { [path] = true }, size = 0 }
    for line in (path:find "/" and pages[path].text or ""):gmatch "[^\n]+" do
      local heading, title, target = line:match "^## (.*)$", line:match "^[-|] %[(.-)%]%(([%w_./-]+%.md)%)"
      if heading then chapter.groups[#chapter.groups + 1] = { title = heading } end
      if target then
        local to = entry(resolve(path, target), title)
        table.insert(chapter.groups[#chapter.groups], to)
        chapter.has[to], chapter.size = true, chapter.size + 1
      end
    end
    menu[i] = chapter
  end
  for path in pairs(pages) do assert(seen[path], path .. ": no index.md links to this page") end
  return menu
end

local function check_links(pages)
  for path, page in pairs(pages) do
    for _, target in ipairs(page.links) do
      local to, anchor = resolve(path, target)
      local found = pages[to] and (anchor == "" or pages[to].html:find(('id="%s"'):format(anchor:sub(2)), 1, true))
        or lfs.attributes("docs/" .. to, "mode") == "file" and not to:find "%.md$"
      assert(found, ("%s: the link to %s leads nowhere"):format(path, target))
    end
  end
end

local function item(page, to)
  local here = page.path == to.path and ' aria-current="page"' or ""
  return ('<a href="%s%s"%s>%s</a>'):format(root(page.path), html_of(to.path), here, markdown.escaped(to.short))
end

-- The menu of a page: all chapters, and the entries of the page's chapter. A long chapter shows only the page's group.
local function nav(page, menu, pages)
  local lines = {}
  for _, chapter in ipairs(menu) do
    lines[#lines + 1] = "<li>" .. item(page, pages[chapter.path])
    if chapter.has[page.path] then
      for _, group in ipairs(chapter.groups) do
        local links, open = {}, chapter.size < 50 or page.path == chapter.path
        for i, path in ipairs(group) do links[i], open = "<li>" .. item(page, pages[path]), open or path == page.path end
        local list = "<ul>" .. table.concat(links, "\n") .. "</ul>"
        lines[#lines + 1] = group.title and ("<details%s><summary>%s</summary>%s</details>"):format(
          open and " open" or "", group.title, list) or list
      end
    end
  end
  return table.concat(lines, "\n")
end

local function contents(page)
  local lines = {}
  for _, heading in ipairs(page.headings) do
    if heading.level == 2 or heading.level == 3 then
      lines[#lines + 1] = ('<li class="h%d"><a href="#%s">%s</a>'):format(heading.level, heading.id,
        markdown.escaped(heading.title:gsub("%(.*", "()")))
    end
  end
  return #lines > 1 and '<ul>' .. table.concat(lines, "\n") .. "</ul>" or ""
end

--- The index of the search, a script because browsers read no other file from file://: an entry per heading.
local function index(pages)
  local rows = {}
  for path, page in pairs(pages) do
    for _, heading in ipairs(page.headings) do
      rows[#rows + 1] = cjson.encode { html_of(path) .. (heading.level > 1 and "#" .. heading.id or ""), heading.title,
        heading.level > 1 and page.title or "", (heading.text:sub(1, 2000):gsub("[\x80-\xff]*$", "")) }
    end
  end
  table.sort(rows)
  return "pmluaIndex = [\n" .. table.concat(rows, ",\n") .. "\n]\n"
end

local function main()
  local pages = load_pages()
  local menu = load_menu(pages)
  check_links(pages)
  local template = read "docs/theme/page.html"
  for path, page in pairs(pages) do
    local values = { title = markdown.escaped(page.title), root = root(path), nav = nav(page, menu, pages), content = page.html,
      contents = contents(page), version = core.version }
    write(out .. "/" .. html_of(path), (template:gsub("{{(%l+)}}", values)))
  end
  write(out .. "/search-index.js", index(pages))
  for _, path in ipairs(files("theme/", ".css")) do write(out .. "/" .. path, read("docs/" .. path)) end
  for _, path in ipairs(files("theme/", ".js")) do write(out .. "/" .. path, read("docs/" .. path)) end
  for _, path in ipairs(files("gallery/", ".png")) do write(out .. "/" .. path, read("docs/" .. path)) end
end

main()
