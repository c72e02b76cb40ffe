--- Constructors of base kernels from rows. A row is what the kernels of one kind share:
--   form(self, x, z)   the matrix (n, m) without the variance, from the columns that the kernel looks at; x and z are the
--                      same handle for k(x)
--   diag(self, x)      its diagonal (n); nil = ones
--   hyper              {name = default}: positive numbers, or lists where 'each' says so
--   each               {name = true}: may be one per column; 'ard' names those that ard = true gives each column
--   choices            {{name, default, rule}}: whole numbers that are not fitted
--   variance = false   for kernels that have none of their own
--   claims = true      its only column belongs to it (task numbers)
--   blind = true       looks at no column
--   scaled = true      its lengthscales are in units of x: fits may start them at distances of points (gp/fit/starts.lua)
--   own = true         made by gb.kernels.define
--   rough              its functions have no derivative: what to take instead, or a function of the kernel that gives it, nil where
--                      they have one
--   presents           stands for its only part, whose parameters and paths it has (kernels/gradients.lua): a function of the
--                      kernel that gives that part as the script gave it
--   setup(self, o)     what else an option table asks for; 'options' are the rules of such options
--   methods            of kernels of this kind alone
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

local function rules(row)
  local spec <const> = {active_dims = "table"}
  if row.variance ~= false then spec.variance = "any" end
  for name in pairs(row.hyper or {}) do spec[name] = "any" end
  for _, choice in ipairs(row.choices or {}) do spec[choice[1]] = choice[3] end
  for name, rule in pairs(row.options or {}) do spec[name] = rule end
  if row.ard then
    spec.ard = function(v)
      return v == true or options.integral(v) and v >= 1, "true, or the number of columns, 1 or more"
    end
  end
  return spec
end

--- A hyper-parameter's box, its number of elements checked.
local function box(kind, row, name, v)
  local p <const> = param.hyper(v, name)
  if p.ndim == 0 or (row.each and row.each[name]) then return p end
  local listed <const> = name == "variance" and row.each and row.each.lengthscale
  core.raise("shape", ("gb.kernels.%s: '%s' must be one number, got %d%s"):format(kind, name, p.numel,
    listed and "; lengthscale may be one per column" or ""))
end

--- 'v' for each of 'width' columns.
local function repeated(kind, name, v, width)
  if param.is(v) or type(v) == "table" then
    local given <const> = param.is(v) and v.numel or #v
    if not (param.is(v) and v.ndim == 0) and given == width then return v end
    core.raise("shape", ("gb.kernels.%s: ard = %d, but '%s' has %d"):format(kind, width, name, given))
  end
  local list <const> = {}
  for i = 1, width do list[i] = v end
  return list
end

--- Carries out 'ard': now where the number of columns is given, else when data arrives.
local function set_ard(self, row, o, values)
  for _, name in ipairs(row.ard) do
    local v <const> = values[name]
    if type(o.ard) == "number" then
      values[name] = repeated(self.kind, name, v, o.ard)
    elseif type(v) == "number" then
      local f <const> = kernel.fields(self)
      f.pending = f.pending or {}
      table.insert(f.pending, name)
    elseif param.is(v) and v.ndim == 0 then
      core.raise("option", ("gb.kernels.%s: ard = true gives each column a %s of its own; '%s' is one shared gb.param")
        :format(self.kind, name, name))
    end
  end
end

--- Settings, hyper-parameters and columns of 'self' from checked options.
function M.configure(self, o)
  local row <const> = self.row
  local values <const> = {}
  for name, default in pairs(row.hyper or {}) do values[name] = o[name] or default end
  if o.ard then set_ard(self, row, o, values) end
  if row.variance ~= false then values.variance = o.variance or 1.0 end
  for name, v in pairs(values) do
    self.hyper[name] = param.set_open(box(self.kind, row, name, v), not o[name])
  end
  local f <const> = kernel.fields(self)
  for _, choice in ipairs(row.choices or {}) do f[choice[1]] = math.tointeger(o[choice[1]] or choice[2]) end
  f.active_dims = columns.check_list(o.active_dims, "gb.kernels." .. self.kind)
  if row.setup then row.setup(self, o) end
  return self
end

--- The constructor of kernels of a row. 'what' names it in messages.
function M.constructor(kind, row, what)
  local spec <const> = rules(row)
  if row.methods then object.guard(kernel.Kernel, "a kernel", "k", row.methods) end
  return function(opts)
    local o <const> = options.parse(opts, spec, what or "gb.kernels." .. kind)
    return M.configure(kernel.new(kind, row), o)
  end
end

return M
