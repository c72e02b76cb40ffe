--- The table that require "gibbous" gives: what is written in C at once, every other part when it is first named.
local core <const> = require "gibbous.core"

local gb <const> = {linalg = core.linalg, version = core.version}

-- The first unknown name closes the table.
setmetatable(core.linalg, {__index = function(_, name)
  return require "gibbous.base.names"(core.linalg, "gb.linalg", nil, {inv = "gb.linalg.solve(A, b) is A^-1 b without the inverse",
    inverse = "gb.linalg.solve(A, b) is A^-1 b without the inverse", det = "gb.linalg.logdet(A) of a covariance",
    eig = "gb.linalg.eigh(A) of a symmetric matrix", norm = "x:norm()", matmul = "x:matmul(y)"})[name]
end})

for _, name in ipairs{
  "cat", "clock", "config", "devices", "einsum", "empty", "eval", "eye", "full", "lazy", "linspace", "maximum", "minimum", "ones",
  "plan", "rand", "randn", "randperm", "range", "seed", "sobol", "stack", "tensor", "type", "vmap", "where", "zeros",
} do
  gb[name] = core[name]
end

-- Fields that are not modules of their own: module, field.
local from <const> = {
  bench = {"gibbous.timing", "time"},
  bincount = {"gibbous.tensor.segments", "bincount"},
  cite = {"gibbous.cite", "cite"},
  cdist = {"gibbous.tensor.segments", "cdist"},
  grad = {"gibbous.tensor.gradients", "grad"},
  histogram = {"gibbous.tensor.segments", "histogram"},
  load = {"gibbous.gp", "load"},
  one_hot = {"gibbous.tensor.segments", "one_hot"},
  outer = {"gibbous.tensor.segments", "outer"},
  param = {"gibbous.param", "new"},
  params = {"gibbous.param", "collect"},
  segment_max = {"gibbous.tensor.segments", "segment_max"},
  segment_mean = {"gibbous.tensor.segments", "segment_mean"},
  segment_min = {"gibbous.tensor.segments", "segment_min"},
  segment_sum = {"gibbous.tensor.segments", "segment_sum"},
  silhouette = {"gibbous.kmeans.silhouette", "silhouette"},
  time = {"gibbous.timing", "time"},
}

-- Methods of tensors that are written in Lua, by module; a module is read when one of its methods is first called.
local methods_of <const> = {
  ["gibbous.tensor.activations"] = {"elu", "gelu", "hard_sigmoid", "hard_swish", "hard_tanh", "leaky_relu", "mish", "relu6", "selu",
    "silu", "softsign"},
  ["gibbous.tensor.arrange"] = {"chunk", "gather", "masked_fill", "pad", "roll", "scatter_add", "split", "trace", "tril", "triu",
    "unfold"},
  ["gibbous.tensor.order"] = {"argsort", "median", "nonzero", "quantile", "unique"},
}

for module, names in pairs(methods_of) do
  for _, name in ipairs(names) do
    core.methods[name] = function(...)
      core.methods[name] = require(module)[name]
      return core.methods[name](...)
    end
  end
end

-- Parts of the library: gb.x is require "gibbous.x".
local parts <const> = {
  "bo", "cli", "data", "dispatch", "func", "gp", "kernels", "kmeans", "likelihoods", "means", "memory", "mpi", "nn", "optim",
  "plot", "precond", "priors", "profile", "progress", "report", "solvers", "sweep",
}

local part_of <const> = {}
for _, name in ipairs(parts) do part_of[name] = {"gibbous." .. name} end
for name, row in pairs(from) do part_of[name] = row end

local function present(row)
  return core.source(row[1]) ~= nil
end

local meta <const> = {}

--- Every name of the library that this version has, sorted; for completion.
function meta.__names()
  local names <const> = {}
  for name in pairs(gb) do names[#names + 1] = name end
  for name, row in pairs(part_of) do
    if rawget(gb, name) == nil and present(row) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

function meta.__index(_, name)
  local row <const> = part_of[name]
  if row and present(row) then
    local module <const> = require(row[1])
    local value
    if row[2] then value = rawget(module, row[2]) else value = module end
    if value ~= nil then
      gb[name] = value
      return value
    end
  end
  if row then core.raise("option", ("gb.%s is not in this version"):format(name)) end
  local near <const> = type(name) == "string" and core.nearest(name, meta.__names())
  core.raise("index", ("gb.%s does not exist%s"):format(tostring(name), near and (", did you mean gb.%s?"):format(near)
    or "; at the prompt, gb. and Tab list what there is"))
end

function meta.__tostring() return "gibbous " .. gb.version end

return setmetatable(gb, meta)
