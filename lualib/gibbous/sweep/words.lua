--- The words of a command: one that says what it is about, options, and the rest.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

--- The value of an option as its rule wants it.
local function value_of(name, v, rule)
  if v == nil then core.raise("option", ("--%s needs a value"):format(name)) end
  if rule == "string" then return v end
  local n <const> = tonumber(v)
  local whole <const> = n and math.tointeger(n)
  if rule == "count" and whole and whole > 0 then return whole end
  if rule == "number" and n then return n end
  core.raise("option", ("--%s needs a %s, got '%s'"):format(name, rule == "count" and "whole number above 0" or "number", v))
end

local function named(name, rules)
  if rules[name] then return rules[name] end
  local near <const> = options.nearest(name, rules)
  local known <const> = {}
  for one in pairs(rules) do known[#known + 1] = (#one == 1 and "-" or "--") .. one end
  table.sort(known)
  core.raise("option", ("there is no option '%s'%s; known: %s"):format(name, near and (", did you mean '%s'?"):format(near) or "",
    table.concat(known, ", ")))
end

--- Is a word that begins as a short option a number below zero or one without a value, as "-inf"? Numbers of digits never begin so.
local function is_number(word, rules)
  local name <const> = word:lower():match "^%-(%a+)$"
  return (name == "inf" or name == "infinity" or name == "nan") and not rules[word:sub(2, 2)]
end

--- words: of the command line. rules: "string", "count", "number" or "flag" by the name of an option: --name value, --name=value,
-- -n value, -nvalue. first: what the first word is, in words; it must be there. more: what the others are, where there must be
-- one.
---@return string first
---@return table options
---@return string[] rest
return function(words, rules, first, more)
  local o <const>, rest <const>, i = {}, {}, 1
  while i <= #words do
    local word <const> = words[i]
    local name, v = word:match "^%-%-([%w-]+)=(.*)$"
    name = name or word:match "^%-%-([%w-]+)$"
    if not name and not is_number(word, rules) then name, v = word:match "^%-(%a)(.*)$" end
    if v == "" and not word:find("=", 1, true) then v = nil end
    if word == "--" then
      for k = i + 1, #words do rest[#rest + 1] = words[k] end
      break
    elseif name then
      local rule <const> = named(name, rules)
      if rule == "flag" then
        if v ~= nil then core.raise("option", ("--%s takes no value"):format(name)) end
        o[name] = true
      else
        if v == nil then i, v = i + 1, words[i + 1] end
        o[name] = value_of(name, v, rule)
      end
    else
      rest[#rest + 1] = word
    end
    i = i + 1
  end
  local subject <const> = table.remove(rest, 1)
  if not subject then core.raise("option", ("it needs %s"):format(first)) end
  if more and #rest == 0 then core.raise("option", ("it needs %s behind %s"):format(more, first)) end
  return subject, o, rest
end
