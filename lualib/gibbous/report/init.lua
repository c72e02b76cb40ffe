--- gb.report{...}: one HTML file of texts, tables, values and figures, which needs no network, with what it was made from at its
-- end.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

---@class gibbous.report
local Report <const> = {__name = "gibbous.report"}
local methods <const> = object.methods(Report, "a report", "r")

function Report.__index(_, key)
  if methods[key] then return methods[key] end
  object.no_field("a report", key, methods)
end

function Report.__newindex(_, key) core.raise("option", ("'%s' of a report cannot be assigned to"):format(tostring(key))) end

function Report:__tostring()
  return ("report '%s': %d parts; r:save \"report.html\" writes it"):format(rawget(self, "_title"), #rawget(self, "_parts"))
end

local function add(self, part)
  local parts <const> = rawget(self, "_parts")
  parts[#parts + 1] = part
  return self
end

local function check_string(v, what)
  if type(v) ~= "string" then core.raise("option", ("%s: a string expected, got %s"):format(what, options.shown(v))) end
  return v
end

--- r:heading(text): a title of what follows. All methods chain.
function methods.heading(self, text) return add(self, {kind = "heading", text = check_string(text, "report:heading")}) end

--- r:text(text): paragraphs, apart by empty lines.
function methods.text(self, text) return add(self, {kind = "text", text = check_string(text, "report:text")}) end

--- r:code(text): a text as it stands, such as a script or a log.
function methods.code(self, text) return add(self, {kind = "code", text = check_string(text, "report:code")}) end

-- Tables ----------------------------------------------------------------------------------------------------------------------

local function is_plain(v) return type(v) == "table" and getmetatable(v) == nil end

local function sorted_keys(t)
  local out <const> = {}
  for key in pairs(t) do out[#out + 1] = tostring(key) end
  table.sort(out)
  return out
end

--- Names of all records, sorted.
local function names_of(records)
  local all <const> = {}
  for _, record in ipairs(records) do
    for key in pairs(record) do all[key] = true end
  end
  return sorted_keys(all)
end

--- A matrix or vector as rows of numbers.
local function of_tensor(t)
  if t.ndim == 2 then return t:totable() end
  if t.ndim ~= 1 then
    core.raise("shape", ("report:table: a matrix or a vector expected, got shape %s"):format(tostring(t.shape)))
  end
  local out <const> = {}
  for i, v in ipairs(t:totable()) do out[i] = {v} end
  return out
end

--- Headings and rows of a frame.
local function of_frame(f)
  local lists <const>, rows <const> = {}, {}
  for k, name in ipairs(f.names) do
    local v <const> = f:col(name)
    lists[k] = type(v) == "table" and v or v:totable()
  end
  for i = 1, #f do
    rows[i] = {}
    for k, list in ipairs(lists) do rows[i][k] = list[i] end
  end
  return f.names, rows
end

--- Headings and rows of the parameters of a model, as print shows them, without columns that are empty.
local function of_model(m)
  local all <const>, used <const> = require "gibbous.gp.report.summary".rows(m), {}
  for k in ipairs(all[1]) do
    for i = 2, #all do used[k] = used[k] or all[i][k] ~= "" end
  end
  local rows <const> = {}
  for i, row in ipairs(all) do
    rows[i] = {}
    for k, cell in ipairs(row) do rows[i][#rows[i] + 1] = used[k] and (tonumber(cell) or cell) or nil end
  end
  return rows[1], {table.unpack(rows, 2)}
end

local of_class <const> = {frame = of_frame, ["gp.exact"] = of_model, ["gp.multitask"] = of_model}

--- Headings and rows of what was given: rows of cells, the first one the headings unless o.columns has them; records; a tensor; a
-- frame; the parameters of a model.
local function headed(given, o)
  local columns <const> = o.columns or nil
  local of <const> = of_class[core.type(given)]
  if of then
    if columns then core.raise("option", "report:table: columns is for records and rows; a frame and a model have their own") end
    return of(given)
  end
  local t <const> = core.as_tensor(given)
  if t and not is_plain(given) then given = of_tensor(t) end
  if not is_plain(given) or not is_plain(given[1]) then
    core.raise("option", ("report:table: a list of rows, of records, a tensor, a frame or a model expected, got %s"):format(
      core.type(given)))
  end
  if #given[1] == 0 and next(given[1]) ~= nil then
    local names <const>, rows <const> = columns or names_of(given), {}
    for i, record in ipairs(given) do
      rows[i] = {}
      for k, name in ipairs(names) do rows[i][k] = record[name] end
    end
    return names, rows
  end
  if columns then return columns, given end
  if t then
    local names <const> = {}
    for k = 1, #given[1] do names[k] = tostring(k) end
    return names, given
  end
  return given[1], {table.unpack(given, 2)}
end

--- r:table(rows, o): rows of cells, the first the headings; or records, a matrix, a frame, or a model, whose parameters are told.
-- o: columns (headings, or the fields of records in order), caption, note. A click on a heading sorts. A cell is a number, string,
-- boolean, nil, or {text = ..., value = ..., strong = true}.
function methods.table(self, rows, opts)
  local o <const> = options.parse(opts, {columns = is_plain, caption = "string", note = "string"}, "report:table")
  local top <const>, body <const> = headed(rows, o)
  return add(self, {kind = "table", top = top, rows = body, caption = o.caption or nil, note = o.note or nil})
end

--- r:values{name = value}: a list of facts, by name. o: caption.
function methods.values(self, values, opts)
  local o <const> = options.parse(opts, {caption = "string"}, "report:values")
  if not is_plain(values) then
    core.raise("option", ("report:values: a table of values by name expected, got %s"):format(core.type(values)))
  end
  local rows <const> = {}
  for i, name in ipairs(sorted_keys(values)) do rows[i] = {name, values[name]} end
  return add(self, {kind = "values", rows = rows, caption = o.caption or nil})
end

--- r:figure(fig, o): a figure of gb.plot, as it is now. o: caption, width, height in points.
function methods.figure(self, fig, opts)
  local o <const> = options.parse(opts, {caption = "string", width = "positive", height = "positive"}, "report:figure")
  if core.type(fig) ~= "figure" then
    core.raise("option", ("report:figure: a figure of gb.plot expected, got %s"):format(core.type(fig)))
  end
  local path <const> = os.tmpname()
  os.remove(path)
  local _ <close> = setmetatable({}, {__close = function() os.remove(path .. ".svg") end})
  fig:save(path .. ".svg", {width = o.width or nil, height = o.height or nil})
  local f <close> = assert(io.open(path .. ".svg", "rb"))
  return add(self, {kind = "figure", svg = f:read "a", caption = o.caption or nil})
end

-- Output ----------------------------------------------------------------------------------------------------------------------

--- Writes the report, whole or not at all.
function methods.save(self, path)
  check_string(path, "report:save")
  core.text_write(path, require "gibbous.report.html"(rawget(self, "_title"), rawget(self, "_parts"), rawget(self, "_about")))
  return self
end

--- The script that runs, its text and digest; nil at the prompt.
local function script()
  local args <const> = rawget(_G, "arg")
  local path <const> = type(args) == "table" and args[0]
  local f <close> = type(path) == "string" and io.open(path, "rb") or nil
  local content <const> = f and f:read "a"
  return content and path, content
end

--- What a report of a script was made from, as facts: taken when it is saved, so that all data that were read are there.
local function provenance()
  local path <const>, content <const> = script()
  local _ <const>, seed <const> = core.figure_origin()
  local facts <const> = {gibbous = core.version, commit = core.build.commit, ["made at"] = os.date "!%Y-%m-%d %H:%M:%S UTC",
    ["seed of gb.seed"] = seed, ["script"] = path, ["SHA-256 of the script"] = content and core.sha256(content)}
  for file, digest in pairs(require "gibbous.data.seen".digests()) do facts["SHA-256 of " .. file] = digest end
  return {facts = facts, machine = require "gibbous.commands.doctor".facts(), script = content}
end

--- A report. o: title; about: a function that gives {facts, machine, script}, what it was made from, false: left out.
local function new(_, opts)
  local o <const> = options.parse(opts, {title = "string", about = "function"}, "gb.report")
  return setmetatable({_title = o.title or "Report", _parts = {}, _about = o.about == nil and provenance or o.about or nil}, Report)
end

local M <const> = require "gibbous.base.names"({}, "gb.report")
getmetatable(M).__call = new
return M
