--- The verbs of `gibbous sweep` that look at a store and change nothing in it.
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.failure"
local results <const> = require "gibbous.sweep.results"
local script <const> = require "gibbous.sweep.script"
local store <const> = require "gibbous.sweep.store"
local words_of <const> = require "gibbous.sweep.words"

local M <const> = {verbs = {}}

--- A store to look at: of a script, which gets the words behind it, or by its folder. Gives the store, and the study where there is a
-- script.
function M.open(where, o, rest)
  if store.is(where) then
    if rest and rest[1] then core.raise("option", ("nothing is expected behind STORE, got '%s'"):format(rest[1])) end
    return store.open(where, "read"), nil
  end
  local study <const>, code <const> = script.load(where, rest)
  return store.open(script.folder(study, o.store), "read"), study, code
end

--- "a,b" as a list; nil where the option is not given.
local function list_of(text)
  if not text then return nil end
  local out <const> = {}
  for name in text:gmatch "[^,]+" do out[#out + 1] = name:match "^%s*(.-)%s*$" end
  return out
end

--- A level of significance.
local function level_of(v)
  if v > 0 and v < 1 then return v end
  core.raise("option", ("--level is between 0 and 1, got %g"):format(v))
end

local function one_of(value, list, name)
  for _, one in ipairs(list) do
    if one == value then return value end
  end
  core.raise("option", ("--%s is one of %s, got '%s'"):format(name, table.concat(list, ", "), value))
end

--- The class of --class, nil where it is not given.
function M.class(o) return o.class and one_of(o.class, failure.classes, "class") end

--- Prints a text, or writes it where --out says.
local function give(text, path)
  if path then core.text_write(path, text) else io.write(text) end
  return true
end

function M.verbs.table(words)
  local forms <const> = require "gibbous.sweep.table"
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", rows = "string", cols = "string", group = "string",
    metric = "string", goal = "string", where = "string", fmt = "string", level = "number", se = "flag", sd = "flag",
    out = "string"}, "SCRIPT|STORE")
  if o.se and o.sd then core.raise("option", "--se or --sd, not both") end
  local fmt <const> = one_of(o.fmt or "text", forms.forms, "fmt")
  local self <close> = M.open(where, o, rest)
  local trials <const> = results.where(results.of(self), o.where)
  local metric <const>, goal <const> = results.chosen(self, trials, o.metric, o.goal)
  local group <const> = list_of(o.group)
  local t <const> = require "gibbous.sweep.comparison".of(trials, {rows = list_of(o.rows), columns = list_of(o.cols), group = group,
    metric = metric, goal = goal, level = level_of(o.level or 0.05)})
  return give(forms.text(t, {fmt = fmt, spread = o.sd and "sd" or "se", group = group}), o.out)
end

function M.verbs.export(words)
  local export <const> = require "gibbous.sweep.export"
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", fmt = "string", out = "string", reports = "flag",
    all = "flag"}, "SCRIPT|STORE")
  local ending <const> = o.out and o.out:match "%.(%w+)$"
  local fmt <const> = one_of(o.fmt or (ending == "json" or ending == "jsonl") and ending or "csv",
    {"optuna", table.unpack(export.forms)}, "fmt")
  local self <close>, study = M.open(where, o, rest)
  if fmt == "optuna" then return give(require "gibbous.sweep.optuna"(self, study), o.out) end
  return give(export.text(self, {fmt = fmt, reports = o.reports, all = o.all}), o.out)
end

--- The trial of a number, as a word says it.
function M.trial(self, word)
  local number <const> = math.tointeger(tonumber(word))
  local t <const> = number and results.of(self, "number = ?", number)[1]
  if not t then core.raise("index", ("there is no trial %s in %s; gibbous sweep ls lists them"):format(word or "", self.folder)) end
  return t
end

function M.verbs.diff(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string"}, "SCRIPT|STORE", "two numbers of trials")
  if #rest ~= 2 then core.raise("option", ("it compares two trials, got %d numbers"):format(#rest)) end
  local self <close> = M.open(where, o)
  print(require "gibbous.sweep.difference"(self, M.trial(self, rest[1]), M.trial(self, rest[2])))
  return true
end

function M.verbs.plot(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", kind = "string", metric = "string", goal = "string",
    x = "string", y = "string", where = "string", out = "string"}, "SCRIPT|STORE")
  local self <close> = M.open(where, o, rest)
  local fig <const> = require "gibbous.sweep.figures".of(self, {kind = o.kind or "parallel", metric = o.metric, goal = o.goal,
    x = o.x, y = o.y, where = o.where})
  if o.out then fig:save(o.out) else fig:show() end
  return true
end

function M.verbs.watch(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string"}, "SCRIPT|STORE")
  local self <close> = M.open(where, o, rest)
  return require "gibbous.sweep.watch"(self)
end

function M.verbs.report(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", out = "string"}, "SCRIPT|STORE")
  local self <close> = M.open(where, o, rest)
  local path <const> = o.out or (self:value "name" or "sweep") .. ".html"
  require "gibbous.sweep.report"(self):save(path)
  print(path)
  return true
end

return M
