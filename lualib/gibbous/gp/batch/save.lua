--- b:save and its way back through gb.load: the make once, and of each model its data, unconstrained parameters and report.
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.batch.fit"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.observations"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local steps <const> = require "gibbous.gp.batch.steps"
local subject <const> = require "gibbous.tensor.subject"

local NAME <const> = "gibbous.gp.batch"
local PARTS <const> = {"kernel", "mean", "likelihood"}

local M <const> = {}

--- A report without its history.
local function brief(info)
  local out <const> = shallow_copy(info)
  out.history = {}
  return setmetatable(out, getmetatable(info))
end

--- Models one after the other: numbers, rows, names and reports as lists, theta, x and y as tensors.
local function columns(models, w)
  local out <const> = {numbers = {}, rows = {}, names = {}, reports = {}}
  local thetas <const>, xs <const>, ys <const> = {}, {}, {}
  for i, m in ipairs(models) do
    if m then
      local f <const>, k <const> = model.fields(m), #out.numbers + 1
      out.numbers[k], out.rows[k], out.names[k] = i, #f.x, f.names or false
      out.reports[k] = w:record(brief(f.info), "report")
      thetas[k], xs[k], ys[k] = steps.theta(m), scaling.held(m, "x"), scaling.held(m, "y")
    end
  end
  if #thetas > 0 then
    out.theta, out.x, out.y = w:value(core.stack(thetas, 1):eval(), "theta"), w:value(core.cat(xs, 1):eval(), "x"),
      w:value(core.cat(ys, 1):eval(), "y")
  end
  return out
end

--- Writes the batch of these fields. Histories of fits are not kept.
function M.write(f, path, opts)
  local save <const>, store <const> = require "gibbous.gp.save", require "gibbous.store.classes"
  options.parse(opts, {}, "save")
  subject.path(path, "b:save(path)")
  local w <const>, t <const> = store.writer(), model.fields(f.template)
  local described <const> = {class = NAME, objects = w.objects, count = #f.models,
    standardize = scaling.write(w, t.standardize, "standardize")}
  for _, one in ipairs(f.models) do
    if one then w.columns = model.fields(one).x.shape[2] end
  end
  for _, part in ipairs(PARTS) do described[part] = w:value(t[part], part) end
  described.models = columns(f.models, w)
  local info <const> = f.info
  described.info = info and {failed = w:value(info.failed, "failed"), interrupted = info.interrupted, seconds = info.seconds}
  save.write(path, described, w.tensors)
end

--- A model with the data and parameters of a file.
local function rebuilt(template, x, y, theta, names, info)
  local m <const> = model.copy(template)
  observations.take(m, x, y, "load")
  local f <const> = model.fields(m)
  f.names = names or nil
  frames.label(m)
  f.likelihood:set_floor(f.y)
  steps.set(m, theta)
  f.active, f.info = "direct", info
  return m
end

local function is_tensor(v, axes) return core.type(v) == "tensor" and v.ndim == axes and v.dtype == "f64" end

--- The models of a description, by number, and their reports.
local function models_of(r, d, template)
  local of <const>, out <const>, reports <const> = r:list(d.models), {}, {}
  local numbers <const>, rows <const>, names <const> = r:list(of.numbers), r:list(of.rows), r:list(of.names)
  local x <const>, y <const>, theta <const> = r:value(of.x), r:value(of.y), r:value(of.theta)
  for i = 1, d.count do out[i] = false end
  local at = 0
  for k, i in ipairs(numbers) do
    local n <const> = rows[k]
    local fits <const> = math.type(n) == "integer" and n > 0 and out[i] == false and is_tensor(x, 2) and is_tensor(y, 1)
      and is_tensor(theta, 2) and at + n <= #x and #x == #y and #theta == #numbers
    if not fits then r:fail "the data of its models do not go together" end
    reports[i] = r:value(r:list(of.reports)[k])
    out[i] = rebuilt(template, x:slice(1, at + 1, at + n):eval(), y:slice(1, at + 1, at + n):eval(),
      theta:select(1, k):totable(), names[k], reports[i])
    at = at + n
  end
  return out, reports
end

--- The reader of such files; new(template, models, info): the batch.
function M.reads(new)
  require("gibbous.gp.store").reads(NAME, function(r, d)
    if math.type(d.count) ~= "integer" or d.count < 0 then r:fail "it does not say how many models it has" end
    local template <const> = require("gibbous.gp.exact.class").new{kernel = r:of(d.kernel, "gibbous.kernel"),
      mean = r:of(d.mean, "gibbous.mean"), likelihood = r:of(d.likelihood, "gibbous.likelihood"), solver = "direct",
      standardize = scaling.read(r, d.standardize, true)}
    local models <const>, reports <const> = models_of(r, d, template)
    local told <const> = d.info and r:list(d.info)
    local info <const> = told and fit.report(d.count, reports, r:value(told.failed), told.interrupted, told.seconds)
    return new(template, models, info)
  end)
end

return M
