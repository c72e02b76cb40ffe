--- Models with the hyper-parameters of a figures file (scripts/bench/peers/gate0.py) against its figures.
local gb <const> = require "gibbous"
local support <const> = require "support"

local M <const> = {}

local function numbers(text)
  local out <const> = {}
  for word in text:gmatch "%S+" do out[#out + 1] = assert(tonumber(word)) end
  return out
end

local function fixed_noise(v) return gb.param(v, {min = 0, fixed = true, name = "noise"}) end

--- Months since 1958 in years, ppm less the mean of the first 'n', split there.
local function co2(n, h)
  local root <const> = debug.getinfo(1, "S").source:match "^@(.*)/scripts/bench/[^/]*$" or "."
  local record <const> = gb.data.read(root .. "/scripts/data/mauna_loa_co2.csv")
  local t, y = record:col "decimal_date" - 1958, record:col "co2_ppm"
  y = y - y:slice(1, 1, n):mean()
  local trend <const>, trend_variance <const>, decay <const>, season <const>, season_variance <const>, noise <const> =
    table.unpack(h)
  local K <const> = gb.kernels
  local kernel <const> = K.rbf{lengthscale = trend, variance = trend_variance}
    + season_variance * K.rbf{lengthscale = decay} * K.periodic{lengthscale = season, period = 1}
  local function part(from, to) return {x = t:slice(1, from, to), y = y:slice(1, from, to)} end
  return kernel, fixed_noise(noise), part(1, n), part(n + 1, -1)
end

local function regression(name, h)
  local set <const>, why <const> = support.set(name)
  if not set then return nil, why end
  local train <const>, test <const> = support.split(set, 1)
  local kernel <const> = gb.kernels.matern32{lengthscale = table.move(h, 1, #h - 2, 1, {}), variance = h[#h - 1]}
  return kernel, fixed_noise(h[#h]), train, test
end

local function figures(name, n, h)
  local kernel, noise, train, test
  if name == "co2" then kernel, noise, train, test = co2(n, h) else kernel, noise, train, test = regression(name, h) end
  if not kernel then return nil, noise end
  local m <const> = gb.gp.exact{kernel = kernel, noise = noise, solver = "direct"}:condition(train.x, train.y)
  local p <const> = m:predict(test.x)
  local e <const> = test.y - p.mean
  local nlpd <const> = (0.5 * (2 * math.pi * p.y_var):log() + 0.5 * e * e / p.y_var):mean()
  return {log_marginal = m:log_marginal_likelihood():item(), nlpd = nlpd:item(), mean = p.mean:totable(),
    y_var = p.y_var:totable()}
end

--- What a model of each set says that is to be had: {set, log_marginal, nlpd, mean, y_var}; lists of the first are of all points.
function M.values(path)
  local file <const>, rows <const>, known <const> = gb.data.read(path), {}, {}
  for i, name in ipairs(file:col "set") do
    local ours <const> = not known[name] and figures(name, math.tointeger(file:col "n"[i]:item()), numbers(file:col "hyper"[i]))
    known[name] = true
    if ours then
      ours.set = name
      rows[#rows + 1] = ours
    end
  end
  return rows
end

local function relative(a, b) return math.abs(a - b) / math.abs(b) end

local function larger(a, b) return b <= a and a or b end       -- NaN wins

--- One row a line of the file: set, source, n, the relative differences log_marginal, mean, y_var (the largest over the points;
-- of the mean relative to its largest value), nlpd, and the worst; or left_out where the set is not to be had.
function M.compare(path)
  local file <const>, rows <const>, known <const> = gb.data.read(path), {}, {}
  local sets <const>, sources <const>, hyper <const> = file:col "set", file:col "source", file:col "hyper"
  for i, name in ipairs(sets) do
    local function at(column) return file:col(column)[i]:item() end
    local n <const> = math.tointeger(at "n")
    local ours, why = known[name], nil
    if not ours then ours, why = figures(name, n, numbers(hyper[i])) end
    known[name] = ours
    local row <const> = {set = name, source = sources[i], n = n, left_out = not ours and why or nil}
    if ours then
      local error_of_mean, largest = 0.0, 0.0
      row.log_marginal, row.nlpd = relative(ours.log_marginal, at "log_marginal"), relative(ours.nlpd, at "nlpd")
      row.y_var = 0.0
      for k = 1, 8 do
        local mean <const> = at("mean_" .. k)
        error_of_mean = larger(error_of_mean, math.abs(ours.mean[k] - mean))
        largest = larger(largest, math.abs(mean))
        row.y_var = larger(row.y_var, relative(ours.y_var[k], at("y_var_" .. k)))
      end
      row.mean = error_of_mean / largest
      row.worst = larger(larger(larger(row.log_marginal, row.nlpd), row.mean), row.y_var)
    end
    rows[i] = row
  end
  return rows
end

return M
