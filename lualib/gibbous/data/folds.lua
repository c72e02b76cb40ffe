--- Rows divided into folds: lists of {train =, test =}, positions of rows (i64) in order. A function of the options alone.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local SPEC <const> = {k = "count", seed = "integer"}

local function positions(list) return core.tensor(list, {dtype = "i64"}):reshape(#list):eval() end

--- How many rows: a number, or what has rows.
local function count(n, what)
  if options.integral(n) and n >= 0 then return math.tointeger(n) end
  local t <const> = type(n) ~= "number" and core.as_tensor(n)
  if t and t.ndim >= 1 then return #t end
  if type(n) == "table" and (getmetatable(n) == nil or require "gibbous.frame".is(n)) then return #n end
  core.raise("option", ("%s: a number of rows, a tensor with rows or a frame expected, got %s"):format(what, options.shown(n)))
end

local function check_k(k, n, what)
  if k < 2 then core.raise("option", ("%s: option 'k' must be 2 or more, got %d"):format(what, k)) end
  if k > n then core.raise("option", ("%s: %d folds of %d rows leave some empty"):format(what, k, n)) end
end

--- Folds from fold_of[i], the fold in which row i is tested.
local function folds_of(fold_of, k)
  local out <const> = {}
  for f = 1, k do
    local train <const>, test <const> = {}, {}
    for i, own in ipairs(fold_of) do
      local list <const> = own == f and test or train
      list[#list + 1] = i
    end
    out[f] = {train = positions(train), test = positions(test)}
  end
  return out
end

--- k folds (o.k, 5) of n rows, or of the rows of x: each row is tested once, in a fold that o.seed (0) draws; the sizes differ by
-- one at most.
function M.kfold(n, opts)
  local what <const> = "gb.data.kfold"
  local o <const> = options.parse(opts, SPEC, what)
  local rows <const>, k <const> = count(n, what), o.k or 5
  check_k(k, rows, what)
  local fold_of <const> = {}
  for i, row in ipairs(core.randperm(rows, {seed = o.seed or 0}):totable()) do fold_of[row] = (i - 1) % k + 1 end
  return folds_of(fold_of, k)
end

--- The rows of each label, labels in order of their first row.
local function rows_by_label(labels, what)
  local t <const> = core.as_tensor(labels)
  if t and t.ndim ~= 1 then core.raise("shape", ("%s: labels (n) expected, got shape %s"):format(what, tostring(t.shape))) end
  local list <const> = t and t:totable() or labels
  if type(list) ~= "table" or getmetatable(list) ~= nil then
    core.raise("option", ("%s: labels must be a vector or a list, got %s"):format(what, core.type(labels)))
  end
  local at <const>, groups <const> = {}, {}
  for i, label in ipairs(list) do
    if label ~= label then core.raise("nan", ("%s: the label of row %d is NaN"):format(what, i)) end
    if not at[label] then
      groups[#groups + 1] = {}
      at[label] = groups[#groups]
    end
    table.insert(at[label], i)
  end
  return groups, #list
end

--- k folds (o.k, 5) in which every label, of a vector or a list, has its share: of each label, and in all, the numbers of rows
-- tested in two folds differ by one at most. o.seed (0).
function M.stratified(labels, opts)
  local what <const> = "gb.data.stratified"
  local o <const> = options.parse(opts, SPEC, what)
  local groups <const>, n <const> = rows_by_label(labels, what)
  local k <const> = o.k or 5
  check_k(k, n, what)
  local fold_of <const> = {}
  local dealt = 0                            -- the next label goes on where the last one ended
  for g, rows in ipairs(groups) do
    for _, i in ipairs(core.randperm(#rows, {seed = (o.seed or 0) * 1000003 + g}):totable()) do
      fold_of[rows[i]] = dealt % k + 1
      dealt = dealt + 1
    end
  end
  return folds_of(fold_of, k)
end

local function range(a, b) return core.range(a, b, 1, {dtype = "i64"}):eval() end

--- k folds (o.k, 5) of n rows in the order of time: each tests the rows that follow those it is trained on, and the last one ends
-- with the last row. o.test: rows of a test, n / (k + 1) unless it is said; o.gap (0): rows left out before a test; o.window: the
-- most rows to train on, all that came before unless it is said.
function M.time_ordered(n, opts)
  local what <const> = "gb.data.time_ordered"
  local o <const> = options.parse(opts, {k = "count", test = "count", gap = "count", window = "count"}, what)
  local rows <const>, k <const>, gap <const> = count(n, what), o.k or 5, o.gap or 0
  if k < 1 then core.raise("option", what .. ": option 'k' must be 1 or more, got 0") end
  local test <const> = o.test or rows // (k + 1)
  if test < 1 or o.window == 0 or rows - k * test - gap < 1 then
    core.raise("option", ("%s: %d tests of %d rows with a gap of %d leave nothing to train on: there are %d rows"):format(what, k,
      test, gap, rows))
  end
  local out <const> = {}
  for f = 1, k do
    local first <const> = rows - (k - f + 1) * test + 1
    local last <const> = first - 1 - gap
    out[f] = {train = range(math.max(1, o.window and last - o.window + 1 or 1), last), test = range(first, first + test - 1)}
  end
  return out
end

return M
