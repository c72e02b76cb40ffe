--- The inducing points of a sparse model: places z (m, d) whose m values stand for those of all rows. They are given, or chosen
-- when data arrive; chosen ones are chosen again for other data until a fit or an assignment has moved them.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local inducing_points <const> = require "gibbous.gp.inducing"
local kernels <const> = require "gibbous.kernels"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local raised <const> = require "gibbous.base.raised"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local store <const> = require "gibbous.store.classes"

---@class gibbous.places
---@field points gibbous.param|nil  (m, d); nil before data arrive
---@field count integer             m
---@field select string             "kmeans", "greedy" or "random"
---@field learn boolean             whether a fit moves them
---@field seed integer              of the choice
local Places <const> = {__name = "gibbous.places"}

local M <const> = {}

-- Fields: those that scripts read; given: the points were given; chosen: their unconstrained values as they were chosen, nil:
-- they stay whatever data arrive.
local PUBLIC <const> = {points = true, count = true, select = true, learn = true, seed = true}

local function fields(p) return rawget(p, "_fields") end

local function new(f) return setmetatable({_fields = f}, Places) end

function Places:__index(key)
  if PUBLIC[key] then return fields(self)[key] end
  object.no_field("inducing points", key, PUBLIC)
end

function Places:__newindex(key)
  core.raise("option", ("field '%s' of inducing points cannot be assigned; m:set(\"inducing.points\", z) moves them"):format(
    tostring(key)))
end

function Places:__children()
  local p <const> = fields(self).points
  return p and {{"points", p}} or {}
end

--- An independent copy. copies: param.copies().
function Places:__copy(copies)
  local out <const> = shallow_copy(fields(self))
  out.points = out.points and (copies or param.copies())(out.points)
  return new(out)
end

function Places:__tostring()
  local f <const> = fields(self)
  return ("%s, %s"):format(counted(f.count, "inducing point"), f.given and "given" or f.select)
end

--- From here on they stay where they are, whatever data arrive.
function M.keep(self) fields(self).chosen = nil end

--- Do the places stand where they were chosen?
local function stands(f) return f.chosen ~= nil and f.points.raw:eq(f.chosen):all() end

local function box_of(f, z)
  local p <const> = param.hyper(z, "points", {fixed = not f.learn}, 2)
  param.set_still(p)
  return p
end

--- Standard deviations of the columns (1, d), 1 where a column does not vary.
local function spreads(x)
  local s <const> = x:std(1, {ddof = 0})
  return core.where(s:gt(0), s, 1.0):reshape(1, x.shape[2]):eval()
end

--- Raises that so many rows, of these words, cannot have f.count places.
local function refuse(f, rows, words, what)
  core.raise("shape", ("%s: %s for %s: choose at most %d, inducing = %d"):format(what, counted(f.count, "inducing point"),
    counted(rows, words), rows, rows), {distinct = rows})
end

--- Rows or centroids of x, chosen with these options; where too few rows differ, an error in the words of a model's options.
local function selected(f, x, opts, what)
  local ok <const>, z <const> = pcall(inducing_points, x, f.count, opts)
  if ok then return z end
  local distinct <const> = raised.is(z, "shape") and rawget(z, "distinct")
  if not distinct then error(z, 0) end
  refuse(f, distinct, "distinct row", what)
end

--- Places for x (n, d) of f64: chosen by k-means in standard deviations of the columns, so that units do not matter.
local function chosen(f, x, kernel, what)
  if f.count > #x then refuse(f, #x, "row", what) end
  if f.select == "greedy" then return selected(f, x, {method = "greedy", kernel = kernel()}, what) end
  if f.select == "random" then return selected(f, x, {method = "random", seed = f.seed}, what) end
  local unit <const> = spreads(x)
  return (selected(f, (x / unit):eval(), {seed = f.seed}, what) * unit):eval()
end

--- Settles the places for data x (n, d). kernel(): the kernel with which "greedy" compares rows; what: the model's maker;
-- pretended: only their shape matters, nothing is computed.
function M.settle(self, x, kernel, what, pretended)
  local f <const> = fields(self)
  local p <const> = f.points
  if p and p.shape[2] ~= x.shape[2] then
    core.raise("shape", ("%s: the inducing points have %s, x has %s"):format(what, counted(p.shape[2], "column"),
      counted(x.shape[2], "column")))
  end
  if #x == 0 or p and not stands(f) then return end
  local wide <const> = x:to{dtype = "f64"}
  local z <const> = pretended and core.zeros(f.count, x.shape[2], {dtype = "f64"}):eval() or chosen(f, wide:eval(), kernel, what)
  if p == nil or #p ~= #z then f.points = box_of(f, z)
  else p.value = z end
  f.chosen = f.points.raw:detach()
end

--- The places (m, d) like x.
function M.like(self, x) return columns.like(self.points.value, x) end

--- What one of their unconstrained values counts in, for optimisers: the usual spread of a column of x.
function M.unit(x)
  local v <const> = math.sqrt((spreads(x:to{dtype = "f64"}) ^ 2):mean():item())
  return v > 0 and v < math.huge and v or 1.0
end

-- Options -----------------------------------------------------------------------------------------------------------------------

local SELECT <const> = {"kmeans", "greedy", "random"}

--- Rules (gibbous.options) of the options of models that have them.
M.spec = {inducing = "any", select = SELECT, learn = "boolean", seed = "integer"}

--- The places that checked options ask for: inducing = m, a tensor (m, d) or a gb.param. what: the model's maker.
function M.of(o, what)
  local v <const>, f <const> = o.inducing, {select = o.select or SELECT[1], learn = o.learn ~= false, seed = o.seed or 0}
  local m <const> = type(v) == "number" and options.whole(v)
  if m then
    if m < 1 then core.raise("option", ("%s: inducing must be 1 or more, got %d"):format(what, m)) end
    f.count = m
    return new(f)
  end
  if v == nil or core.as_tensor(v) == nil then
    core.raise("option", ("%s: inducing is needed: a number of points, inducing = 500, or places (m, d); got %s"):format(what,
      v == nil and "none" or type(v) == "table" and columns.got(v) or options.got(v)))
  end
  if o.select then core.raise("option", what .. ": select chooses points by their number; these are given") end
  if param.is(v) then
    if v.ndim ~= 2 then core.raise("shape", what .. ": inducing must be (m, d), got shape " .. tostring(v.shape)) end
    f.points = param.set_still(v)
  else
    local z <const> = kernels.points(v, what .. ": inducing"):to{dtype = "f64"}:eval()
    if not z:isfinite():all() then core.raise("nan", what .. ": an inducing point is not finite") end
    f.points = box_of(f, z)
  end
  f.given, f.count = true, #f.points
  if f.count == 0 then core.raise("option", what .. ": inducing has no rows") end
  return new(f)
end

store.class("gibbous.places", {
  write = function(w, p, path)
    return {count = p.count, select = p.select, learn = p.learn, seed = p.seed, given = fields(p).given,
      points = w:value(p.points, path .. ".points")}
  end,
  read = function(r, d)
    local p <const> = d.points ~= nil and r:of(d.points, "gibbous.param") or nil
    local fits <const> = math.type(d.count) == "integer" and d.count > 0 and (p == nil or p.ndim == 2 and #p == d.count)
      and type(d.learn) == "boolean" and math.type(d.seed) == "integer"
    for _, word in ipairs(SELECT) do
      if fits and word == d.select then
        return new{count = d.count, select = d.select, learn = d.learn, seed = d.seed, given = d.given == true or nil,
          points = p and param.set_still(p)}
      end
    end
    r:fail "its inducing points make no sense"
  end,
})

return M
