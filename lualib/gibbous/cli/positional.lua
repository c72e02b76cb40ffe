--- Words of a script that have a place instead of a name: FILE, FILE..., [OUT].
local core <const> = require "gibbous.core"

local M <const> = {}

-- How many words each n takes; a whole number takes so many.
local COUNTS <const> = {["?"] = {0, 1}, ["*"] = {0, math.huge}, ["+"] = {1, math.huge}}

--- The least and the largest number of words of a declaration.
local function bounds(row)
  if row.n == nil then return row.default == nil and 1 or 0, 1 end
  local known <const> = COUNTS[row.n]
  if known then return known[1], known[2] end
  return row.n, row.n
end

--- Is its value a list?
local function is_list(row) return row.n ~= nil and row.n ~= "?" end

--- The rule of n (gibbous.options).
function M.count(v)
  if COUNTS[v] or math.type(v) == "integer" and v > 0 then return true end
  return false, '"?" (one or none), "*" (any number), "+" (one or more) or a whole number above 0'
end

--- Checks a list of declarations {name, ...} in order.
function M.check(list)
  local open
  for _, row in ipairs(list) do
    row.least, row.most = bounds(row)
    row.list = is_list(row)
    if row.most == math.huge then
      if open then
        core.raise("option", ("gb.cli: '%s' and '%s' both take any number of words, so which are whose is not known"):format(open,
          row.name))
      end
      open = row.name
    end
  end
end

--- "FILE", "FILE...", "[OUT]", "[FILE...]", "X X"
function M.form(row)
  local word <const> = row.name:upper()
  if row.most == math.huge then return row.least == 0 and ("[%s...]"):format(word) or word .. "..." end
  if row.least == 0 then return ("[%s]"):format(word) end
  return (word .. (" " .. word):rep(row.least - 1))
end

--- What it needs, in words: "a text", "2 words, each a number". kind: of one.
local function needs(row, kind)
  if row.least > 1 then return ("%d words, each %s"):format(row.least, kind) end
  return row.most == math.huge and ("one or more words, each %s"):format(kind) or kind
end

--- Which words each of the declarations gets: those that come first take what they need, and of the rest as many as they can. Calls
-- refuse(text) where there are too few words or too many. kind(row): what one word is, in words.
---@return table<string, string[]>
function M.shares(list, words, kind, refuse)
  local left = #words
  for _, row in ipairs(list) do left = left - row.least end
  local out <const>, at = {}, 0
  for _, row in ipairs(list) do
    local count <const> = math.min(row.least + math.max(left, 0), row.most)
    if at + row.least > #words then
      refuse(("%s is missing: it needs %s"):format(row.name:upper(), needs(row, kind(row))))
    end
    left = left - (count - row.least)
    out[row.name] = table.move(words, at + 1, at + count, 1, {})
    at = at + count
  end
  if at < #words then
    local forms <const> = {}
    for i, row in ipairs(list) do forms[i] = M.form(row) end
    refuse(("there is no place for '%s': the words are %s"):format(words[at + 1], table.concat(forms, " ")))
  end
  return out
end

return M
