--- Data sets in the customary layout: a folder NAME with data.csv.gz (last column = target) and test_mask.csv.gz (one column a
-- split, 1 marks a test row); also .csv. Nothing is downloaded and nothing is kept.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local prepare <const> = require "gibbous.data.prepare"
local registry <const> = require "gibbous.data.registry"

local M <const> = {}

-- Finding -----------------------------------------------------------------------------------------------------------------

local function file_in(folder, stem, exists)
  for _, ending in ipairs{".csv.gz", ".csv"} do
    local path <const> = folder .. "/" .. stem .. ending
    if exists(path) then return path end
  end
  return nil
end

--- Names of the folders with a data file in these places, sorted.
function M.found(places)
  local names <const>, seen <const> = {}, {}
  for _, place in ipairs(places) do
    for _, path in ipairs(core.glob((place:gsub("[*?%[\\]", "\\%0")) .. "/*/data.csv*")) do
      local name <const> = path:match "([^/]+)/data%.csv$" or path:match "([^/]+)/data%.csv%.gz$"
      if name and not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

local function missing(name, places)
  local where <const> = table.concat(places, ", ")
  local known <const> = {}
  for _, one in ipairs(M.found(places)) do known[one] = true end
  if registry.citation(name) then
    core.raise("io", ("data set '%s' (%s) is not in %s: put %s/data.csv.gz (comma-separated, no heading, last column = target) "
      .. "and %s/test_mask.csv.gz (ten columns, 1 marks a test row) into one of them, or name their folder in GIBBOUS_DATA")
      :format(name, registry.citation(name), where, name, name))
  end
  local cited_names <const> = {}
  for _, one in ipairs(registry.names()) do cited_names[one] = true end
  local near <const>, cited <const> = options.nearest(name, known), options.nearest(name, cited_names)
  local hint <const> = near and (", did you mean '%s'?"):format(near)
    or cited and (", and none '%s', which you may mean"):format(cited) or ""
  core.raise("io", ("there is no data set '%s' in %s%s (GIBBOUS_DATA adds directories; gb.data.sets() lists what is found)")
    :format(name, where, hint))
end

-- A set -------------------------------------------------------------------------------------------------------------------

---@class gibbous.data.set
---@field x gibbous.tensor    (n, d)
---@field y gibbous.tensor    (n)
---@field n integer
---@field d integer
---@field splits integer      customary ones; 0 where there is no mask
---@field names string[]      of the d inputs, then of the target; V1, V2, ... where the file has no heading
---@field citation string     "" where unknown; a file citation.txt in the set's folder says it
local Set <const> = {__name = "gibbous.data.set"}
local methods <const> = object.methods(Set, "a data set", "d")

function Set.__index(self, key)
  if methods[key] then return methods[key] end
  local facts <const> = rawget(self, "_facts")
  if facts[key] ~= nil then return facts[key] end
  object.no_field("a data set", key, methods, facts)
end

function Set.__newindex() core.raise("option", "a data set is a value and cannot be assigned to") end

function Set.__tostring(self)
  return ("%s: %s, %s, %s, %s%s"):format(self.name, counted(self.n, "row"), counted(self.d, "column"), self.x.dtype,
    counted(self.splits, "split"),
    self.citation ~= "" and "\n" .. self.citation or "")
end

local function standardized(train, test)
  local x <const>, scaler_x <const> = prepare.standardize(train.x)
  local y <const>, scaler_y <const> = prepare.standardize(train.y)
  return {x = x, y = y, scaler_x = scaler_x, scaler_y = scaler_y},
    {x = scaler_x:apply(test.x):eval(), y = scaler_y:apply(test.y):eval(), scaler_x = scaler_x, scaler_y = scaler_y}
end

--- Split i, 1 .. splits, of the published masks: train, test with .x .y.
-- o: standardize = true brings x and y to zero mean and unit standard deviation on the training rows; .scaler_x and .scaler_y
-- undo it: test.scaler_y:undo(p.mean), test.scaler_y:undo_var(p.y_var).
function methods.split(self, i, opts)
  local o <const> = options.parse(opts, {standardize = "boolean"}, "split")
  local at <const> = options.whole(i)
  if self.splits == 0 then
    core.raise("option", ("%s has no test_mask.csv.gz; gb.data.split(x, y) splits at random"):format(self.name))
  end
  if at == nil or at < 1 or at > self.splits then
    core.raise("index", ("%s: split 1 to %d expected, got %s"):format(self.name, self.splits, tostring(i)))
  end
  local mask <const> = rawget(self, "_masks"):select(2, at)
  local function part(chosen) return {x = self.x:index(1, chosen):eval(), y = self.y:index(1, chosen):eval()} end
  local train <const>, test <const> = part(~mask), part(mask)
  if o.standardize then return standardized(train, test) end
  return train, test
end

local function numbers(data, path)
  local f <const> = data.read(path)
  local all <const> = {}
  for i in ipairs(f.names) do all[i] = i end
  return f:col(all):eval(), f.names
end

--- (n, splits), true for test rows; nil where there is no mask.
local function masks(data, folder, n)
  local path <const> = file_in(folder, "test_mask", data.exists)
  if path == nil then return nil end
  local m <const> = numbers(data, path):to{dtype = "f64"}
  if #m ~= n then core.raise("format", ("%s: %s expected, one a row of the data, got %d"):format(path, counted(n, "row"), #m)) end
  if not (m:eq(0) | m:eq(1)):all() then core.raise("format", ("%s: 0 or 1 expected in every cell"):format(path)) end
  return m:eq(1):eval()
end

--- What a file of the set's folder says, nil where it is not there.
local function said(folder, file)
  local path <const> = folder .. "/" .. file
  if not core.file_exists(path) then return nil end
  return (core.file_lead(path):gsub("%s+$", ""))
end

--- The data file of a set in the places of gb.data, nil where there is none.
local function find(name, places, exists)
  for _, place in ipairs(name:match "^[%w_][%w_.-]*$" and places or {}) do
    local path <const> = file_in(place .. "/" .. name, "data", exists)
    if path then return path, place .. "/" .. name end
  end
  return nil
end

--- What is known of a set (registry): its folder may say more.
function M.info(name, data)
  local path <const>, folder <const> = find(name, data.places(), data.exists)
  return registry.info(name, path,
    folder and {citation = said(folder, "citation.txt"), licence = said(folder, "licence.txt")} or {})
end

--- 'data' is gb.data, whose places are searched.
function M.load(name, opts, data)
  local o <const> = options.parse(opts, {dtype = {"f64", "f32"}}, "gb.data.set")
  local places <const> = data.places()
  local path <const>, folder <const> = find(name, places, data.exists)
  if path == nil then missing(name, places) end
  local all <const>, names <const> = numbers(data, path)
  local width <const> = all.shape[2]
  if width < 2 then core.raise("format", ("%s: 2 columns or more expected, got %d"):format(path, width)) end
  local test <const> = masks(data, folder, #all)
  local t <const> = all:to{dtype = o.dtype or core.config().dtype}
  local facts <const> = {name = name, x = t:slice(2, 1, width - 1):eval(), y = t:select(2, width):eval(), n = #all, d = width - 1,
    splits = test and test.shape[2] or 0, names = names, citation = said(folder, "citation.txt") or registry.citation(name) or ""}
  return setmetatable({_facts = facts, _masks = test}, Set)
end

return M
