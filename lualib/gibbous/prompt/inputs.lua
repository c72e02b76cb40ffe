--- The entries of a session that succeeded, and as a script that does the same.
local core <const> = require "gibbous.core"
local lexer <const> = require "gibbous.prompt.lexer"

local M <const> = {}

local list <const> = {}                    -- {text, values, seed}

-- Random tensors without a seed of their own depend on how many were made before. Where the session made some that the script will
-- not make, its next entry has the call of gb.seed that begins where the session was.
local seed, made = 0, 0                    -- after the last entry that the list has
local left                                 -- the call, after what the list leaves out

--- An entry failed, or a command ran.
function M.left_out()
  local n <const>, count <const> = core.seeded()
  if n ~= seed or count ~= made then left = ("gb.seed(%d, %d)"):format(n, count) end
end

--- Remembers an entry. values: it gave some, which the prompt printed unless a semicolon silenced it.
function M.add(text, values)
  list[#list + 1] = {text = text, values = values, seed = left}
  seed, made = core.seeded()
  left = nil
end

--- The last entry's text, nil before the first.
function M.last() return list[#list] and list[#list].text end

local function compiles(text) return load(text, "=entry", "t") ~= nil end

--- The entry as an expression, where it is one: without its "=" and its last semicolon; and whether that silenced it.
local function expression(text)
  local body <const>, semicolon <const> = text:gsub("^%s*=", ""):gsub("%s+$", ""):match "^(.-)(;*)$"
  if compiles("return " .. body .. "\n") then return body, semicolon ~= "" end
  return nil
end

--- An entry as statements. What it returns is printed, as at the prompt. wrap: the call around its values.
local function statements(entry, wrap)
  local body <const>, silent <const> = expression(entry.text)
  local function shown(values)
    if wrap then values = ("%s(%s)"):format(wrap, values) end
    return (silent and "do local _ = %s end" or "print(%s)"):format(values)
  end
  if body and not (compiles(body) and not entry.values) then return shown(body) end
  if entry.values then return shown(("(function()\n%s\nend)()"):format(entry.text)) end
  return entry.text
end

local opens <const> = {["do"] = 1, ["function"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1}

--- Has it locals or labels of its own, which end with the entry? And the highest number of a result that it names, _ as 1; 0: none.
local function traits(text)
  local depth, has_locals, highest = 0, false, 0
  for _, t in ipairs(lexer.tokens(text)) do
    depth = depth + (t.kind == "keyword" and opens[t.text] or 0)
    if depth == 0 and (t.text == "local" or t.text == "::") then has_locals = true end
    local digits <const> = t.kind == "name" and t.text:match "^_(%d?)$"
    if digits then highest = math.max(highest, digits == "" and 1 or math.tointeger(digits)) end
  end
  return has_locals, highest
end

--- The function of a script that remembers as many results as its entries name.
local function keeper(count)
  local to <const>, from <const> = {}, {}
  for i = count, 2, -1 do to[#to + 1], from[#from + 1] = "_" .. i, "_" .. i - 1 end
  to[#to + 1], to[#to + 2] = "_1", "_"
  from[#from + 1], from[#from + 2] = "(...)", "(...)"
  return ("local function result(...)\n  %s = %s\n  return ...\nend\n"):format(table.concat(to, ", "), table.concat(from, ", "))
end

--- The script.
function M.script()
  local lines <const>, results = {}, 0
  for _, entry in ipairs(list) do results = math.max(results, (select(2, traits(entry.text)))) end
  for i, entry in ipairs(list) do
    local text <const> = statements(entry, results > 0 and "result" or nil)
    lines[i] = (entry.seed and entry.seed .. "\n" or "") .. (traits(text) and ("do\n%s\nend"):format(text) or text)
  end
  return ("local gb = require \"gibbous\"\n%s\n%s\n"):format(results > 0 and keeper(results) or "", table.concat(lines, "\n"))
end

return M
