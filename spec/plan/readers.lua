--- Readers of the texts that a plan writes: strict, so that what they read is well formed.
local M <const> = {}

--- The value of a JSON text; null becomes json_null. Raises if the text is not JSON.
M.json_null = {}

function M.read_json(text)
  local at = 1
  local value
  local function fail(what) error(("%s at %d: %s"):format(what, at, text:sub(at, at + 20)), 0) end
  local function skip() at = text:find("%S", at) or #text + 1 end
  local function take(pattern)
    local found <const> = text:match("^" .. pattern, at)
    if found then at = at + #found end
    return found
  end
  local function string_literal()
    local out <const> = {}
    at = at + 1
    while not take '"' do
      local plain <const> = take '[^"\\%c]+'
      if plain then out[#out + 1] = plain
      elseif take "\\u" then out[#out + 1] = utf8.char(tonumber(take "%x%x%x%x", 16))
      elseif take "\\" then out[#out + 1] = take '["\\]' or fail "escape"
      else fail "string" end
    end
    return table.concat(out)
  end
  local function list(close, each)
    at = at + 1
    skip()
    while not take(close) do
      each()
      skip()
      if not take "," and text:sub(at, at) ~= close then fail "comma" end
      skip()
    end
  end
  function value()
    skip()
    local c <const> = text:sub(at, at)
    if c == '"' then return string_literal() end
    if take "true" then return true end
    if take "false" then return false end
    if take "null" then return M.json_null end
    local out <const> = {}
    if c == "[" then
      list("]", function() out[#out + 1] = value() end)
      return out
    elseif c == "{" then
      list("}", function()
        local key <const> = text:sub(at, at) == '"' and string_literal() or fail "key"
        skip()
        if not take ":" then fail "colon" end
        assert(out[key] == nil, key .. " twice")
        out[key] = value()
      end)
      return out
    end
    return tonumber(take "%-?%d+%.?%d*[eE]?[+-]?%d*") or fail "value"
  end
  local v <const> = value()
  skip()
  if at <= #text then fail "rest" end
  return v
end

--- The elements of an XML text in order, {name, attributes, text}; raises where tags do not match.
function M.read_xml(text)
  local open <const>, all <const> = {}, {}
  local at = 1
  while at <= #text do
    local plain <const> = text:match("^[^<]+", at) or ""
    assert(not plain:gsub("&%a+;", ""):find "[&>%c]" or not plain:find "%S", "unescaped: " .. plain)
    at = at + #plain
    if #open > 0 then open[#open].text = open[#open].text .. plain end
    if at > #text then break end
    local close <const>, name <const>, rest <const>, single <const>, stop <const> = text:match("^<(/?)([%w]+)([^<>]-)(/?)>()", at)
    assert(name, "no tag at " .. text:sub(at, at + 30))
    at = stop
    if close == "/" then
      assert(table.remove(open).name == name, "end of " .. name)
    else
      local e <const> = {name = name, text = ""}
      for k, v in rest:gmatch '([%w-]+)="([^"]*)"' do e[k] = v end
      all[#all + 1] = e
      if single == "" then open[#open + 1] = e end
    end
  end
  assert(#open == 0, "unfinished")
  return all
end

return M
