-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/json_spec.lua - JSON that is indented, and JSON in applications without lua-cjson.

local support = require "spec.core.support"
local json = require "pmlua.json"

describe("JSON", function()
  it("comes back unchanged, with any text", function()
    local bytes = {}
    for i = 0, 127 do bytes[#bytes + 1] = string.char(i) end
    for _, text in ipairs { "", table.concat(bytes), "\n", "a/b", "\u{e9}\u{20ac}\u{1f600}", 'quote " and \\' } do
      assert.same({ text, { [text] = text } }, json.decode(json.encode { text, { [text] = text } }))
    end
    assert.same({ '"a?b"', '"\\n\\u0001"' }, { json.line "a\255b", json.line "\n\1" })
  end)

  it("has null for values without a form in JSON, and numbers that can be read back", function()
    assert.equal("[null, null, null, 1, 0.1, 1e+300, -9223372036854775808]",
      json.line { 0 / 0, 1 / 0, -1 / 0, 1, 0.1, 1e300, math.mininteger })
    for _, v in ipairs { 1 / 3, 2 ^ 53 + 2.0, 5e-324, 1.7976931348623157e308 } do
      assert.equal(v, json.decode(json.encode { v })[1])
    end
  end)

  it("is one line, or indented with keys in order", function()
    local value = { b = { 1, 2 }, a = { x = true }, list = json.array(), none = {} }
    assert.equal('{"a": {"x": true}, "b": [1, 2], "list": [], "none": {}}', json.line(value))
    local long = json.encode { key = ("x"):rep(80), other = ("y"):rep(80) }
    assert.equal(4, select(2, long:gsub("\n", "")))
    assert.is_nil(json.line({ key = ("x"):rep(200), other = "y" }):find "\n")
  end)

  it("is the same if written in pieces", function()
    local function items(list)
      return function()
        local i = 0
        return function() i = i + 1 return list[i] end
      end
    end
    for _, list in ipairs { {}, { { a = 1 } }, { { b = 2, a = 1 }, { c = ("x"):rep(120) }, 3 } } do
      local text = {}
      json.write({ z = 1, rows = items(list)(), a = { 1, 2 } }, function(...) text[#text + 1] = table.concat { ... } end)
      assert.same({ z = 1, rows = list, a = { 1, 2 } }, json.decode(table.concat(text)))
      assert.matches('^{\n  "a": %[1, 2%],\n  "rows": .*,\n  "z": 1\n}\n$', table.concat(text))
    end
    assert.equal("[]", json.line(json.array()))
  end)

  it("is written without any module in C, which is needed only for reading", function()
    local out = support.done(support.pmlua([[-e 'package.preload.cjson = function() error "absent" end]]
      .. [[ local j = require "pmlua.json"]] ..
      [[ print(j.line { 1, "a\n" }, j.decode "1")']]))
    assert.equal('[1, "a\\n"]\tnil\treading JSON needs lua-cjson; apt-get install lua-cjson\tENOTSUP\n', out)
  end)

  it("is read alike by lua-cjson and by the reader in Lua, which accepts nothing else than JSON", function()
    local cjson, own = require "cjson".new(), require "pmlua.internal.readjson"
    for _, text in ipairs {
      '{"a":[1,2.5,-3e2,1E-2,0,-0.5,"\\u00e9\\ud83d\\ude00\\n\\/\\\\\\""],"b":{},"c":[[],[[]]],"d":true,"e":false}',
      ' [ 1 , {"x" : "y"} ]\n', '"x"', "12", json.encode { { deep = { ("z"):rep(300) } }, { 1, 2, { 3 } } } } do
      assert.same(cjson.decode(text), own(text))
    end
    assert.same({ nil, 1, nil }, own "[null, 1, null]")
    for _, text in ipairs { "", "{", "[1,", "[1 2]", '{"a"}', '{"a":}', '{a:1}', "01", "1.", "-", "tru",
      '"\\x"', '"\\u12"', "1 2", "[1,]",
      '{"a":1,}', ("["):rep(1000), "nul", '"a\nb"', '"', "NaN", "0x10", "+1", "'a'" } do
      local read, why = pcall(own, text)
      assert.is_false(read, text)
      assert.matches("^JSON: .* at byte %d+$", why)
    end
  end)
end)
