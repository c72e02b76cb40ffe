--- What makes two trials one: their parameters, and the code that they run. The code is the text of the study's function, without
-- comments and spaces, and of what it reaches: upvalues, and globals that the script made. So a longer grid or another comment
-- keeps finished trials, and another step in the function does not.
local core <const> = require "gibbous.core"
local lexer <const> = require "gibbous.prompt.lexer"

local M <const> = {}

local sources <const> = {}                 -- texts of files, by path

local function lines_of(path)
  if sources[path] == nil then
    local f <const> = io.open(path, "rb")
    local list <const> = {}
    for line in (f and f:read "a" .. "\n" or ""):gmatch "(.-)\n" do list[#list + 1] = line end
    if f then f:close() end
    sources[path] = list
  end
  return sources[path]
end

local opens <const> = {["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true}
local closes <const> = {["end"] = true, ["until"] = true}

--- The position of the token that ends the block which the token at 'at' opens; nil where it is not there.
local function block_end(tokens, at)
  local depth = 0
  for i = at, #tokens do
    local t <const> = tokens[i]
    if t.kind == "keyword" then depth = depth + (opens[t.text] and 1 or closes[t.text] and -1 or 0) end
    if depth == 0 then return i end
  end
  return nil
end

local function joined(tokens, from, to)
  local out <const> = {}
  for i = from, to do out[#out + 1] = tokens[i].kind ~= "comment" and tokens[i].text or nil end
  return table.concat(out, " ")
end

--- The only 'function' of the first line; nil where there are several.
local function head(tokens, text)
  local line <const>, found = #text:match "^[^\n]*", nil
  for i, t in ipairs(tokens) do
    if t.from > line then break end
    if t.kind == "keyword" and t.text == "function" then
      if found then return nil end
      found = i
    end
  end
  return found
end

--- The tokens of the function that begins on the first of these lines, one space apart: those of all lines where several do.
local function plain(text)
  local tokens <const> = lexer.tokens(text)
  local first <const> = head(tokens, text)
  return joined(tokens, first or 1, first and block_end(tokens, first) or #tokens)
end

--- The text of a Lua function; of a chunk without a file, its code.
local function text_of(f)
  local info <const> = debug.getinfo(f, "S")
  if info.what == "C" then return "C" end
  local path <const> = info.source:match "^@(.*)"
  if not path then return string.dump(f, true) end
  local lines <const> = lines_of(path)
  return plain(table.concat(lines, "\n", info.linedefined, math.min(info.lastlinedefined, #lines)))
end

--- Is it a function of the library, or of Lua?
local function is_library(f)
  local source <const> = debug.getinfo(f, "S").source
  return source:match "^=%[C%]" ~= nil or source:match "^=gibbous/" ~= nil
end

local function describe(v, name, out, seen)
  local kind <const> = type(v)
  if kind == "table" or kind == "function" then
    if seen[v] then return end
    seen[v] = true
  end
  if kind == "function" then
    if is_library(v) then return end
    out[#out + 1] = name .. " = " .. text_of(v)
    for i = 1, math.huge do
      local up <const>, value <const> = debug.getupvalue(v, i)
      if not up then break end
      if up ~= "_ENV" then describe(value, name .. "." .. up, out, seen) end
    end
  elseif kind == "table" then
    if getmetatable(v) ~= nil then return end          -- objects of the library are made by code that is described
    local keys <const> = {}
    for key in next, v do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do describe(v[key], ("%s[%s]"):format(name, tostring(key)), out, seen) end
  elseif kind ~= "userdata" and kind ~= "thread" then
    out[#out + 1] = name .. " = " .. tostring(v)
  end
end

--- The digest of the code of a study. globals: the names that were there before its script ran.
function M.code(sweep, globals)
  local out <const>, seen <const>, names <const> = {}, {}, {}
  describe(sweep.run, "run", out, seen)
  for name in pairs(_G) do
    if type(name) == "string" and not globals[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do describe(_G[name], name, out, seen) end
  return core.sha256(table.concat(out, "\n")):sub(1, 16)
end

--- The identity of a trial: 16 hexadecimal digits.
function M.trial(params, code) return core.sha256(code .. core.json_encode(params)):sub(1, 16) end

--- The seed of a trial, 1 .. 2^53: the same for any order and any number of processes. It does not depend on the code.
function M.seed(params, study_seed)
  local digits <const> = core.sha256(("%d %s"):format(study_seed, core.json_encode(params)))
  return (math.tointeger(tonumber(digits:sub(1, 13), 16)) or 0) + 1
end

--- What a cell, the parameters without those of repeats, is called in the store.
function M.cell(cell) return core.json_encode(cell) end

return M
