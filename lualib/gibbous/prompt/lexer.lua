--- The tokens of a piece of Lua, finished or not: what the prompt completes in.
local M <const> = {}

local keywords <const> = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until "
  .. "while"):gmatch "%a+" do
  keywords[word] = true
end
M.keywords = keywords

--- The end of a long bracket that opens at 'at', nil where none opens there; and whether it is closed.
local function long_bracket(text, at)
  local level <const> = text:match("^%[(=*)%[", at)
  if level == nil then return nil end
  local _, stop <const> = text:find("]" .. level .. "]", at + #level + 2, true)
  return stop or #text, stop ~= nil
end

--- The end of a quoted string that opens at 'at', and whether it is closed.
local function quoted(text, at)
  local quote <const> = text:sub(at, at)
  local i = at + 1
  while i <= #text do
    local c <const> = text:sub(i, i)
    if c == quote then return i, true end
    if c == "\n" then return i - 1, false end
    i = i + (c == "\\" and 2 or 1)
  end
  return #text, false
end

local function comment(text, at)
  local stop, closed = long_bracket(text, at + 2)
  if stop then return stop, closed end
  stop = text:find("\n", at, true)
  return stop or #text, stop ~= nil
end

local function operator(text, at)
  for _, pattern in ipairs{"^%.%.%.", "^[.=~<>/:]+"} do
    local s <const> = text:match(pattern, at)
    if s == "..." or s and ({[".."] = 1, ["=="] = 1, ["~="] = 1, ["<="] = 1, [">="] = 1, ["//"] = 1, ["::"] = 1, ["<<"] = 1,
      [">>"] = 1})[s] then
      return at + #s - 1
    end
  end
  return at
end

local function number(text, at)
  local stop <const> = text:match("^0[xX][%x.]*()", at) or text:match("^%d+%.?%d*[eE][+-]?%d*()", at)
    or text:match("^%.?%d+%.?%d*()", at)
  return stop and stop - 1
end

--- Kind, end and closedness of the token that begins at 'at'.
local function token(text, at)
  local name <const> = text:match("^[%a_][%w_]*()", at)
  if name then return keywords[text:sub(at, name - 1)] and "keyword" or "name", name - 1, true end
  local digits <const> = number(text, at)
  if digits then return "number", digits, true end
  if text:find("^%-%-", at) then return "comment", comment(text, at) end
  if text:find("^[\"']", at) then return "string", quoted(text, at) end
  local long <const>, closed <const> = long_bracket(text, at)
  if long then return "string", long, closed end
  return "operator", operator(text, at), true
end

--- A list of {kind, text, from, to, closed}; kind: name, keyword, number, string, comment, operator. Closed comments are left out.
function M.tokens(text)
  local list <const> = {}
  local at = text:match "^%s*()"
  while at <= #text do
    local kind <const>, to <const>, closed <const> = token(text, at)
    if kind ~= "comment" or not closed then
      list[#list + 1] = {kind = kind, text = text:sub(at, to), from = at, to = to, closed = closed}
    end
    at = text:match("^%s*()", to + 1)
  end
  return list
end

local openers <const> = {[")"] = "(", ["]"] = "[", ["}"] = "{"}
local closers <const> = {["("] = true, ["["] = true, ["{"] = true}

--- The index of the last operator, from 'at' backwards, before which at most 'most' of the brackets closed are still to be opened.
local function back_to(tokens, at, most)
  local depth = 0
  for i = at, 1, -1 do
    local t <const> = tokens[i]
    if t.kind == "operator" then
      if openers[t.text] then depth = depth + 1 end
      if closers[t.text] then depth = depth - 1 end
      if depth <= most then return i end
    end
  end
  return nil
end

--- The index of the bracket that the one at 'at' closes.
function M.opening(tokens, at) return back_to(tokens, at, 0) end

--- The index of the innermost bracket that is open after the token at 'at'.
function M.enclosing(tokens, at) return back_to(tokens, at, -1) end

--- May the token end an expression that can be called, indexed, or asked for a field?
function M.ends_prefix(t)
  if t == nil then return false end
  return t.kind == "name" or t.kind == "operator" and openers[t.text] ~= nil or t.kind == "string" and t.closed
end

return M
