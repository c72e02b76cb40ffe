--- gb.cli{...}: the words of a script, declared once: types, help, errors and completion.
--
--   local o = gb.cli{"Fits a model to data sets.", {"file", help = "tables to read", n = "+"}, lr = {0.1, "learning rate"},
--     kernel = {default = "rbf", choices = {"rbf", "matern32"}}, json = {false, "prints the result as JSON"}}
--
-- The words are those of the script's 'arg': --lr=0.05, --lr 0.05, --no-json for a switch that is on; all others, and those behind
-- a --, go by their place.
local core <const> = require "gibbous.core"
local declarations <const> = require "gibbous.cli.declarations"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local positional <const> = require "gibbous.cli.positional"

local USAGE <const> = 2                    -- the exit status where the words are wrong

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

--- The value of a text; label: what it is called, "--lr" or "FILE".
local function value_of(label, row, text)
  local v <const> = readers[row.type](text)
  if v == nil then refuse(("%s needs %s, got '%s'"):format(label, expected[row.type], text)) end
  if row.min and v < row.min or row.max and v > row.max then
    refuse(("%s must be %s, got %s"):format(label, row.min and row.max and ("from %g to %g"):format(row.min, row.max)
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
  refuse(("%s must be one of %s, got '%s'%s"):format(label, table.concat(list, ", "), text,
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

--- Is a word no option: a text, a number below 0, or "-", which often means standard input?
local function is_plain(word) return not word:match "^%-" or word == "-" or tonumber(word) ~= nil end

--- The values of options by name, and the words that are none.
local function read_options(rows, words, has_places)
  local out <const>, others <const>, i = {}, {}, 1
  while i <= #words do
    local word <const> = words[i]
    local long <const>, short <const> = word:match "^%-%-([^=]+)", word:match "^%-(%a)$"
    if has_places and word == "--" then
      table.move(words, i + 1, #words, #others + 1, others)
      break
    elseif has_places and is_plain(word) then
      others[#others + 1] = word
    elseif not long and not short then
      refuse(("'%s' is no option: options begin with --"):format(word))
    else
      local name <const>, off <const> = resolve(rows, long or short, short ~= nil)
      local row <const>, text = rows[name], word:match "="  and word:match "=(.*)$"
      if row.type == "boolean" and not text then
        out[name] = not off
      else
        if not text then
          i, text = i + 1, words[i + 1]
          if text == nil then refuse(("%s needs %s"):format(dashed(name), expected[row.type])) end
        end
        out[name] = value_of(dashed(name), row, text)
      end
    end
    i = i + 1
  end
  return out, others
end

--- The values of words by their place, into 'out'.
local function read_places(out, places, words)
  local shares <const> = positional.shares(places, words, function(row) return expected[row.type] end, refuse)
  for _, row in ipairs(places) do
    local values <const> = {}
    for k, text in ipairs(shares[row.name]) do values[k] = value_of(row.name:upper(), row, text) end
    if row.list then out[row.name] = values
    elseif values[1] ~= nil then out[row.name] = values[1]
    else out[row.name] = row.default end
  end
end

local function read(rows, places, words)
  local out <const>, others <const> = read_options(rows, words, #places > 0)
  for name, row in pairs(rows) do
    if out[name] == nil then
      if row.required then refuse(("%s is missing: it needs %s"):format(dashed(name), expected[row.type])) end
      out[name] = row.default
    end
  end
  read_places(out, places, others)
  return out
end

-- Help ------------------------------------------------------------------------------------------------------------------------

local function sorted(rows)
  local names <const> = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- "rbf|matern32"
local function listed(choices)
  local list <const> = {}
  for i, one in ipairs(choices) do list[i] = tostring(one) end
  return table.concat(list, "|")
end

--- Is it a switch that is on unless it is given, so that "--no-NAME" is what a script wants to be told?
local function is_on(row) return row.type == "boolean" and row.default == true end

local function negated(name) return "--no-" .. name:gsub("_", "-") end

--- "--lr NUMBER", "--json", "--[no-]cache", "--kernel rbf|matern32"
local function form(name, row)
  local long <const> = is_on(row) and "--[no-]" .. dashed(name):sub(3) or dashed(name)
  local head <const> = (row.short and "-" .. row.short .. ", " or "") .. long
  if row.choices then return head .. " " .. listed(row.choices) end
  return row.type == "boolean" and head or head .. " " .. row.type:upper()
end

local function help(rows, places, about)
  local usage <const> = {("usage: gibbous %s [options]"):format(rawget(_G, "arg") and arg[0] or "SCRIPT")}
  local cells <const> = {}
  local function add(head, row)
    local notes <const> = {row.help}
    if row.required then notes[#notes + 1] = "(needed)"
    elseif row.default ~= nil then notes[#notes + 1] = ("(%s unless given)"):format(tostring(row.default)) end
    cells[#cells + 1] = {head, table.concat(notes, " ")}
  end
  for _, row in ipairs(places) do
    usage[#usage + 1] = positional.form(row)
    add(row.choices and ("%s %s"):format(row.name:upper(), listed(row.choices)) or row.name:upper(), row)
  end
  for _, name in ipairs(sorted(rows)) do add(form(name, rows[name]), rows[name]) end
  cells[#cells + 1] = {"--help", "shows this"}
  local width = 0
  for _, cell in ipairs(cells) do width = math.max(width, #cell[1]) end
  local lines <const> = {table.concat(usage, " "), about}
  for _, cell in ipairs(cells) do lines[#lines + 1] = ("  %-" .. width .. "s  %s"):format(cell[1], cell[2]) end
  return table.concat(lines, "\n")
end

--- What shells complete: the options, the values of the one before, and words that have a place.
local function completions(rows, places)
  local lines <const> = {"--help"}
  for _, name in ipairs(sorted(rows)) do
    lines[#lines + 1] = dashed(name)
    if is_on(rows[name]) then lines[#lines + 1] = negated(name) end
    for _, one in ipairs(rows[name].choices or {}) do lines[#lines + 1] = ("%s=%s"):format(dashed(name), tostring(one)) end
  end
  for _, row in ipairs(places) do
    for _, one in ipairs(row.choices or {}) do lines[#lines + 1] = tostring(one) end
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

--- The values of a script's words, by name. given: a text about the script first; then words that have a place, {name, default=,
-- help=, type=, choices=, min=, max=, n=}; and options by name: {default, help} or {default=, help=, type=, choices=, required=,
-- min=, max=, short=}. n: "?", "*", "+" or how many; without it one word. Words that are wrong end the script with status 2, --help
-- with 0.
---@param given table
return function(given)
  if type(given) ~= "table" or getmetatable(given) ~= nil then
    core.raise("option", "gb.cli takes a table: gb.cli{\"what the script does\", lr = {0.1, \"learning rate\"}}, got "
      .. core.type(given))
  end
  local rows <const>, places <const>, about <const> = declarations(given)
  local words <const> = {}
  for i, word in ipairs(rawget(_G, "arg") or {}) do words[i] = word end
  if os.getenv "GIBBOUS_COMPLETE" then
    print(completions(rows, places))
    os.exit(0, true)
  end
  for _, word in ipairs(words) do
    if word == "--" and #places > 0 then break end
    if word == "--help" or word == "-h" then
      print(help(rows, places, about))
      os.exit(0, true)
    end
  end
  local self <const> = setmetatable({}, Options)
  local values <const> = read(rows, places, words)
  for _, row in ipairs(places) do rows[row.name] = row end
  private[self] = {rows = rows, values = values}
  return self
end
