--- What a script declares of its words (gb.cli), checked: options by name, and words that have a place.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local positional <const> = require "gibbous.cli.positional"

local row_spec <const> = {default = "any", help = "string", type = {"string", "integer", "number", "boolean"}, choices = "table",
  required = "boolean", min = "number", max = "number", short = "string"}
local place_spec <const> = {default = "any", help = "string", type = {"string", "integer", "number"}, choices = "table",
  min = "number", max = "number", n = positional.count}

local function type_of(v)
  return math.type(v) or type(v)
end

local types <const> = {integer = "integer", float = "number", string = "string", boolean = "boolean"}

--- The type of the values of a declaration: as it says, else that of its default or of its choices.
local function type_by_sample(o)
  local sample = o.default
  if sample == nil and o.choices then sample = o.choices[1] end
  return o.type or types[type_of(sample)] or "string"
end

--- A declaration with its type: from {default, help}, or the fields of row_spec.
local function declared(name, row)
  if type(row) ~= "table" then row = {row} end
  local o
  if row[1] ~= nil or row[2] ~= nil then
    o = {default = row[1], help = row[2]}
    if #row > 2 then
      core.raise("option", ("gb.cli: %s is {default, help}, or a table of default, help, type, choices, required, min, max, short")
        :format(name))
    end
    for key in pairs(row) do
      if math.type(key) ~= "integer" then o[key] = row[key] end
    end
  else
    o = row
  end
  o = options.parse(o, row_spec, "gb.cli: " .. name)
  o.type = type_by_sample(o)
  if o.short and not o.short:match "^%a$" then core.raise("option", ("gb.cli: short of %s must be a letter"):format(name)) end
  return o
end

--- A word that has a place, from {name, help = ...}.
local function placed(row)
  local name <const>, rest <const> = row[1], {}
  if type(name) ~= "string" or not name:match "^[%a][%w_]*$" or row[2] ~= nil then
    core.raise("option", ("gb.cli: a word by its place is {\"name\", help = ...}, got %s"):format(
      row[2] ~= nil and "two words" or options.shown(name)))
  end
  for key, v in pairs(row) do
    if key ~= 1 then rest[key] = v end
  end
  local o <const> = options.parse(rest, place_spec, "gb.cli: " .. name)
  if o.default ~= nil and o.n ~= nil and o.n ~= "?" then
    core.raise("option", ("gb.cli: %s: a default is for one word, n = \"?\""):format(name))
  end
  o.name, o.type = name, type_by_sample(o)
  return o
end

--- Options by name, words by their place in order, and the text about the script.
return function(given)
  local rows <const>, places <const>, about = {}, {}, nil
  for i, v in ipairs(given) do
    if i == 1 and type(v) == "string" then
      about = v
    elseif type(v) == "table" and getmetatable(v) == nil then
      places[#places + 1] = placed(v)
    else
      core.raise("option", ("gb.cli: options have names, got the key %d"):format(i))
    end
  end
  for key, v in pairs(given) do
    if math.type(key) == "integer" and key >= 1 and key <= #given then goto continue end
    if type(key) ~= "string" or not key:match "^[%a][%w_]*$" then
      core.raise("option", ("gb.cli: options have names, got the key %s"):format(tostring(key)))
    elseif key == "help" then
      core.raise("option", "gb.cli: --help is there already")
    end
    rows[key] = declared(key, v)
    ::continue::
  end
  local taken <const> = {}
  for _, row in ipairs(places) do
    if rows[row.name] or taken[row.name] or row.name == "help" then
      core.raise("option", ("gb.cli: '%s' is declared twice"):format(row.name))
    end
    taken[row.name] = true
  end
  positional.check(places)
  return rows, places, about
end
