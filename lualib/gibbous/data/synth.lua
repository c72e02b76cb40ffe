--- Synthetic tables of the shape of another one: inputs column by column, the target a draw of a known Gaussian process.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local frame <const> = require "gibbous.frame"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local FEATURES <const> = 256                  -- cosines of the draw: Rahimi & Recht (2007), Random Features for Kernel Machines
local ROWS <const> = 8192                     -- rows at a time
local NOISE <const> = 0.1                     -- share of the target's variance

---@class gibbous.data.synth.truth
---@field target string       the column that the process gives
---@field lengthscale number  of the rbf kernel, in standard deviations of each input
---@field noise number        share of the target's variance
---@field seed integer
local Truth <const> = object.record("gibbous.data.synth.truth", "what synthetic data were made from", "")

function Truth.__tostring(self)
  return ("%s: an rbf kernel over the other numbers, lengthscale %.4g of their standard deviations, %.0f %% noise, seed %d"):format(
    self.target, self.lengthscale, 100 * self.noise, self.seed)
end

-- What a column is like --------------------------------------------------------------------------------------------------------

local function item(t) return t:to{dtype = "f64"}:item() end

--- Mean, deviation and range of the numbers that are finite; are they whole?
local function like_numbers(c)
  local v <const> = c.value:to{dtype = "f64"}
  local known <const> = v:index(1, v:abs():lt(math.huge)):eval()
  if #known == 0 then return {name = c.name, mean = 0, sd = 1, low = -4, high = 4} end
  return {name = c.name, mean = item(known:mean()), sd = #known > 1 and item(known:std()) or 0, low = item(known:min()),
    high = item(known:max()), whole = known:floor():eq(known):all()}
end

--- The words of a column, and up to which row each would come if they were sorted. An empty column has the empty word.
local function like_words(c)
  local list <const>, count <const>, words <const> = c.words(), {}, {}
  for _, w in ipairs(list) do
    if not count[w] then words[#words + 1] = w end
    count[w] = (count[w] or 0) + 1
  end
  table.sort(words)
  local upto <const>, total = {}, 0
  for i, w in ipairs(words) do
    total = total + count[w]
    upto[i] = total / #list
  end
  return {name = c.name, words = #words > 0 and words or {""}, upto = upto}
end

local function like_column(c)
  if c.fault then c.fault() end
  if c.value and c.value.dtype == "bool" then
    return {name = c.name, rate = #c.value > 0 and item(c.value:to{dtype = "f64"}:mean()) or 0.5}
  end
  return c.words and not c.date and like_words(c) or like_numbers(c)
end

--- What is known of a table: a list of columns, and how many rows.
local function like_frame(f)
  local out <const> = {}
  for i, c in ipairs(frame.columns(f)) do out[i] = like_column(c) end
  return out, #f
end

--- A set that need not be here: standard normal numbers, as many as it has.
local function like_info(info)
  local out <const> = {}
  for i = 1, info.d + 1 do out[i] = {name = "V" .. i, mean = 0, sd = 1, low = -4, high = 4} end
  return out, info.n
end

-- Drawing ----------------------------------------------------------------------------------------------------------------------

local function draw_words(c, n, seed)
  local out <const> = {}
  for i, u in ipairs(core.rand(n, {seed = seed, dtype = "f64"}):totable()) do
    local low, high = 1, #c.words
    while low < high do
      local middle <const> = (low + high) // 2
      if c.upto[middle] > u then high = middle else low = middle + 1 end
    end
    out[i] = c.words[low]
  end
  return out
end

--- The numbers of a column whose standardised values are z.
local function scaled(c, z)
  local v <const> = (z * c.sd + c.mean):clamp(c.low, c.high)
  return (c.whole and (v + 0.5):floor():clamp(c.low, c.high) or v):eval()
end

--- A draw of the process at the rows of z (n, d): unit variance without noise.
local function process(z, n, d, lengthscale, seed)
  local w <const> = (core.randn(d, FEATURES, {seed = seed, dtype = "f64"}) * (1 / lengthscale)):eval()
  local phase <const> = (core.rand(FEATURES, {seed = seed + 1, dtype = "f64"}) * (2 * math.pi)):eval()
  local a <const> = (core.randn(FEATURES, {seed = seed + 2, dtype = "f64"}) * math.sqrt(2 / FEATURES)):eval()
  local parts <const> = {}
  for from = 1, n, ROWS do
    local some <const> = z:slice(1, from, math.min(n, from + ROWS - 1))
    parts[#parts + 1] = (some:matmul(w) + phase):cos():matmul(a):eval()
  end
  return #parts > 1 and core.cat(parts, 1):eval() or parts[1]
end

local function target_of(columns)
  for i = #columns, 1, -1 do
    if columns[i].sd then return i end
  end
  core.raise("option", "gb.data.synth: no column of numbers, which could be the target")
end

local function draw(columns, n, seed)
  local target <const>, values <const>, names <const>, z <const> = target_of(columns), {}, {}, {}
  for i, c in ipairs(columns) do
    local s <const> = seed * 1000003 + 16 * i
    if c.words then values[i] = draw_words(c, n, s)
    elseif c.rate then values[i] = core.rand(n, {seed = s, dtype = "f64"}):lt(c.rate):eval()
    elseif i ~= target then
      z[#z + 1] = core.randn(n, {seed = s, dtype = "f64"}):eval()
      values[i] = scaled(c, z[#z])
    end
    names[i] = c.name
  end
  if #z == 0 then z[1] = core.randn(n, {seed = seed, dtype = "f64"}):eval() end
  local lengthscale <const> = math.sqrt(#z)
  local f <const> = process(core.stack(z, 2):eval(), n, #z, lengthscale, seed * 1000003)
  local noise <const> = core.randn(n, {seed = seed * 1000003 + 3, dtype = "f64"})
  values[target] = scaled(columns[target], f * math.sqrt(1 - NOISE) + noise * math.sqrt(NOISE))
  local list <const> = {}
  for i, name in ipairs(names) do list[i] = column.of(name, values[i]) end
  return frame.new(list, n), setmetatable({target = names[target], lengthscale = lengthscale, noise = NOISE, seed = seed}, Truth)
end

--- Rows that look like those of a frame, of a file or of a customary set, which need not be here. data: gb.data.
function M.make(like, opts, data)
  local o <const> = options.parse(opts, {n = "count", seed = "count"}, "gb.data.synth")
  local columns, rows
  if frame.is(like) then columns, rows = like_frame(like)
  elseif type(like) ~= "string" then
    core.raise("option", ("gb.data.synth: a frame, a path or the name of a set expected, got %s"):format(core.type(like)))
  elseif require "gibbous.data.registry".citation(like) and not data.exists(like) then
    columns, rows = like_info(data.info(like))
  else
    local f <const> = data.read(like)
    if not frame.is(f) then core.raise("option", ("gb.data.synth: '%s' holds %s, no table"):format(like, core.type(f))) end
    columns, rows = like_frame(f)
  end
  local n <const> = o.n or rows
  if n == 0 then core.raise("option", "gb.data.synth: 0 rows; n = ... says how many, at least 1") end
  return draw(columns, n, o.seed or 0)
end

return M
