--- gb.cli{...}: the options of a script, declared once: types, help, errors and completion.
--
--   local o = gb.cli{"Fits a model to a data set.", data = {"kin40k", "name of the set"}, lr = {0.1, "learning rate"},
--     kernel = {default = "rbf", choices = {"rbf", "matern32"}}, json = {false, "prints the result as JSON"}}
--
-- The words are those of the script's 'arg': --lr=0.05, --lr 0.05, --no-json for a switch that is on.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"

local USAGE <const> = 2                    -- the exit status where the words are wrong

local row_spec <const> = {default = "any", help = "string", type = {"string", "integer", "number", "boolean"}, choices = "table",
  required = "boolean", min = "number", max = "number", short = "string"}

-- Declarations ----------------------------------------------------------------------------------------------------------------

local function type_of(v)
  return math.type(v) or type(v)
end

local types <const> = {integer = "integer", float = "number", string = "string", boolean = "boolean"}

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
  local sample = o.default
  if sample == nil and o.choices then sample = o.choices[1] end
  o.type = o.type or types[type_of(sample)] or "string"
  if o.short and not o.short:match "^%a$" then core.raise("option", ("gb.cli: short of %s must be a letter"):format(name)) end
  return o
end

local function declarations(given)
  local rows <const>, about = {}, nil
  for key, v in pairs(given) do
    if key == 1 and type(v) == "string" then
      about = v
    elseif type(key) ~= "string" or not key:match "^[%a][%w_]*$" then
      core.raise("option", ("gb.cli: options have names, got the key %s"):format(tostring(key)))
    elseif key == "help" then
      core.raise("option", "gb.cli: --help is there already")
    else
      rows[key] = declared(key, v)
    end
  end
  return rows, about
end

-- Values ----------------------------------------------------------------------------------------------------------------------

--- Ends the script: its words are wrong.
local function refuse(text)
  io.stderr:write(("%s: %s; --help lists the options\n"):format(rawget(_G, "arg") and arg[0] or "gibbous", text))
  os.exit(USAGE, true)
end

local function dashed(name) return "--" .. name:gsub("_", "-") end

local readers <const> = {
  string = function(v) return v end,
  integer = function(v) return math.tointeger(tonumber(v)) end,
  number = function(v)
    local n <const> = tonumber(v)
    return n and n == n and n or nil
  end,
  boolean = function(v)
    if v == "true" or v == "yes" or v == "1" then return true end
    if v == "false" or v == "no" or v == "0" then return false end
    return nil
  end,
}

local expected <const> = {string = "a text", integer = "a whole number", number = "a number", boolean = "true or false"}

local function value_of(name, row, text)
  local v <const> = readers[row.type](text)
  if v == nil then refuse(("%s needs %s, got '%s'"):format(dashed(name), expected[row.type], text)) end
  if row.min and v < row.min or row.max and v > row.max then
    refuse(("%s must be %s, got %s"):format(dashed(name), row.min and row.max and ("from %g to %g"):format(row.min, row.max)
      or row.min and ("%g or more"):format(row.min) or ("%g or less"):format(row.max), text))
  end
  if not row.choices then return v end
  local known <const> = {}
  for _, one in ipairs(row.choices) do
    if one == v then return v end
    known[tostring(one)] = true
  end
  local near <const> = options.nearest(text, known)
  local list <const> = {}
  for i, one in ipairs(row.choices) do list[i] = tostring(one) end
  refuse(("%s must be one of %s, got '%s'%s"):format(dashed(name), table.concat(list, ", "), text,
    near and (", did you mean '%s'?"):format(near) or ""))
end

--- The declared name of what a word calls an option, and whether it says no.
local function resolve(rows, word, is_short)
  for name, row in pairs(rows) do
    if is_short and row.short == word or not is_short and dashed(name) == "--" .. word:gsub("_", "-") then return name, false end
  end
  local off <const> = not is_short and word:match "^no%-(.*)$"
  if off then
    local name <const> = resolve(rows, off, false)
    if rows[name].type == "boolean" then return name, true end
  end
  local near <const> = options.nearest(word, rows)
  refuse(("there is no option '%s%s'%s"):format(is_short and "-" or "--", word,
    near and (", did you mean '%s'?"):format(dashed(near)) or ""))
end

local function read(rows, words)
  local out <const>, i = {}, 1
  while i <= #words do
    local word <const> = words[i]
    local long <const>, short <const> = word:match "^%-%-([^=]+)", word:match "^%-(%a)$"
    if not long and not short then refuse(("'%s' is no option: options begin with --"):format(word)) end
    local name <const>, off <const> = resolve(rows, long or short, short ~= nil)
    local row <const>, text = rows[name], word:match "="  and word:match "=(.*)$"
    if row.type == "boolean" and not text then
      out[name] = not off
    else
      if not text then
        i, text = i + 1, words[i + 1]
        if text == nil then refuse(("%s needs %s"):format(dashed(name), expected[row.type])) end
      end
      out[name] = value_of(name, row, text)
    end
    i = i + 1
  end
  for name, row in pairs(rows) do
    if out[name] == nil then
      if row.required then refuse(("%s is missing: it needs %s"):format(dashed(name), expected[row.type])) end
      out[name] = row.default
    end
  end
  return out
end

-- Help ------------------------------------------------------------------------------------------------------------------------

local function sorted(rows)
  local names <const> = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- "--lr NUMBER", "--json", "--kernel rbf|matern32"
local function form(name, row)
  local head <const> = (row.short and "-" .. row.short .. ", " or "") .. dashed(name)
  if row.choices then
    local list <const> = {}
    for i, one in ipairs(row.choices) do list[i] = tostring(one) end
    return head .. " " .. table.concat(list, "|")
  end
  return row.type == "boolean" and head or head .. " " .. row.type:upper()
end

local function help(rows, about)
  local lines <const> = {("usage: gibbous %s [options]"):format(rawget(_G, "arg") and arg[0] or "SCRIPT")}
  if about then lines[#lines + 1] = about end
  local width = #"--help"
  for name, row in pairs(rows) do width = math.max(width, #form(name, row)) end
  for _, name in ipairs(sorted(rows)) do
    local row <const> = rows[name]
    local notes <const> = {row.help}
    if row.required then notes[#notes + 1] = "(needed)"
    elseif row.default ~= nil then notes[#notes + 1] = ("(%s unless given)"):format(tostring(row.default)) end
    lines[#lines + 1] = ("  %-" .. width .. "s  %s"):format(form(name, row), table.concat(notes, " "))
  end
  lines[#lines + 1] = ("  %-" .. width .. "s  shows this"):format "--help"
  return table.concat(lines, "\n")
end

--- What shells complete: the options, or the values of the one before.
local function completions(rows)
  local lines <const> = {"--help"}
  for _, name in ipairs(sorted(rows)) do
    lines[#lines + 1] = dashed(name)
    for _, one in ipairs(rows[name].choices or {}) do lines[#lines + 1] = ("%s=%s"):format(dashed(name), tostring(one)) end
  end
  return table.concat(lines, "\n")
end

-- Results ---------------------------------------------------------------------------------------------------------------------

local Options <const> = {__name = "gibbous.cli_options"}

local private <const> = setmetatable({}, {__mode = "k"})     -- values and declarations by name, of each

--- nil: an option without a default that was not given.
function Options.__index(self, key)
  local o <const> = private[self]
  if not o.rows[key] then object.no_field("what gb.cli gave", key, o.rows) end
  return o.values[key]
end

function Options.__newindex(_, key) core.raise("option", ("the option '%s' cannot be assigned to"):format(tostring(key))) end

function Options:__pairs() return next, private[self].values, nil end

--- The values of a script's options, by name. given: a text about the script first, and a declaration by name: {default, help} or
-- {default=, help=, type=, choices=, required=, min=, max=, short=}. Words that are wrong end the script with status 2, --help
-- with 0.
---@param given table
return function(given)
  if type(given) ~= "table" or getmetatable(given) ~= nil then
    core.raise("option", "gb.cli takes a table: gb.cli{\"what the script does\", lr = {0.1, \"learning rate\"}}, got "
      .. core.type(given))
  end
  local rows <const>, about <const> = declarations(given)
  local words <const> = {}
  for i, word in ipairs(rawget(_G, "arg") or {}) do words[i] = word end
  if os.getenv "GIBBOUS_COMPLETE" then
    print(completions(rows))
    os.exit(0, true)
  end
  for _, word in ipairs(words) do
    if word == "--help" or word == "-h" then
      print(help(rows, about))
      os.exit(0, true)
    end
  end
  local self <const> = setmetatable({}, Options)
  private[self] = {rows = rows, values = read(rows, words)}
  return self
end
