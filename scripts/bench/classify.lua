-- Classification and counts: NLPD and accuracy of gb.gp.classifier and gb.gp.laplace on held-out rows, beside GPyTorch's
-- variational models on the same rows.
-- Run: build/gibbous scripts/bench/classify.lua [breast_cancer] [digits] [counts] --python peers/bin/python
--   [--sklearn peers/bin/python] [--digits 600] [--seed 0] [--seeds 1] [--inference auto|laplace|svgp]
-- python: one with torch and gpytorch; sklearn: one with scikit-learn, by default the same. Sets: breast_cancer (569 x 30, two
-- classes, 30 % held out) and digits (1,797 x 64, ten classes, --digits rows to train on) of scikit-learn, inputs standardised on
-- the training rows; counts (400 x 2 to train on, 400 held out) drawn from a Poisson model by the seed. Of several seeds the mean
-- of the differences of NLPD is printed with its standard error.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{python = "", sklearn = "", digits = 600, seed = 0, seeds = 1, inference = "auto"}
assert(o.python ~= "", "--python: a Python with torch, gpytorch and scikit-learn (scripts/bench/peers/README.md)")

local folder <const> = os.tmpname() .. ".d"
assert(os.execute("mkdir -p " .. support.quoted(folder)))
local peer <const> = here .. "/peers/classify.py"

io.stdout:setvbuf "line"

local function run(python, ...)
  local words <const> = {support.quoted(python), support.quoted(peer)}
  for _, w in ipairs{...} do words[#words + 1] = support.quoted(w) end
  local pipe <const> = assert(io.popen(table.concat(words, " ") .. " 2>/dev/null"))
  local text <const> = pipe:read "a"
  assert(pipe:close(), "the peer failed: " .. table.concat(words, " "))
  return text
end

local function path(name, part) return ("%s/%s.%s.npy"):format(folder, name, part) end

--- Training and test rows of a set, x standardised on the training rows.
local function split(x, y, train, seed)
  local order <const> = core.randperm(#x, {seed = seed})
  local function rows(from, to)
    local at <const> = order:slice(1, from, to)
    return x:index(1, at):eval(), y:index(1, at):eval()
  end
  local tx <const>, ty <const> = rows(1, train)
  local sx <const>, sy <const> = rows(train + 1, #x)
  local scaled <const>, scaler <const> = gb.data.standardize(tx)
  return {x = scaled:eval(), y = ty}, {x = scaler:apply(sx):eval(), y = sy}
end

local function counts(seed)
  local x <const> = gb.rand(800, 2, {seed = seed + 1}) * 4
  local f <const> = (1.5 * x:select(2, 1)):sin() + (x:select(2, 2)):cos() + 1
  return x:eval(), gb.likelihoods.poisson():draw(f, seed + 2):eval()
end

local function model(kind)
  local kernel <const> = gb.kernels.rbf{lengthscale = gb.param(5, {min = 0})}
  if kind == "poisson" then
    return gb.gp.laplace{kernel = gb.kernels.rbf{}, mean = gb.means.constant(), likelihood = gb.likelihoods.poisson()}
  end
  return gb.gp.classifier{kernel = kernel, mean = kind == "bernoulli" and gb.means.constant() or nil, inference = o.inference}
end

--- Fits both to the training rows and prints their figures; the NLPD of ours less that of the peer.
local function compare(name, kind, train, test)
  for part, of in pairs{train = train, test = test} do
    core.npy_write(path(name, "x." .. part), of.x)
    core.npy_write(path(name, "y." .. part), of.y)
  end
  local start <const> = core.clock()
  local m <const> = model(kind)
  local info <const> = m:fit(train.x, train.y)
  local seconds <const> = core.clock() - start
  local s <const> = m:score(test.x, test.y)
  local text <const> = run(o.python, "fit", folder, name, kind)
  local nlpd <const>, accuracy <const>, took <const> = text:match "(%S+) (%S+) (%S+)%s*$"
  print(("%-14s %5d %5d   %8.4f  %8.4f %8.1f s   %8.4f  %8.4f %8.1f s   %s"):format(name, #train.x, train.x.shape[2], s.nlpd,
    s.accuracy or 0 / 0, seconds, tonumber(nlpd), tonumber(accuracy) or 0 / 0, tonumber(took),
    s.nlpd <= tonumber(nlpd) and "no worse" or "worse"))
  io.stderr:write(tostring(info), "\n")
  return s.nlpd - tonumber(nlpd)
end

local KINDS <const> = {breast_cancer = "bernoulli", digits = "softmax", counts = "poisson"}
local TRAIN <const> = {breast_cancer = 398, digits = math.tointeger(o.digits), counts = 400}

--- Training and test rows of a set by a seed.
local function data_of(name, seed)
  if name == "counts" then
    local x <const>, y <const> = counts(seed)
    return split(x, y, TRAIN[name], seed)
  end
  local y <const> = gb.data.read(path(name, "y"))
  return split(gb.data.read(path(name, "x")), (name == "digits" and y + 1 or y):eval(), TRAIN[name], seed)
end

--- The mean of the differences and its standard error, by the seeds.
local function summary(name, differences)
  local mean <const> = gb.tensor(differences):mean():item()
  local spread <const> = ((gb.tensor(differences) - mean) ^ 2):sum():item() / (#differences - 1)
  print(("%-14s mean difference of NLPD over %d seeds: %.5f, standard error %.5f"):format(name, #differences, mean,
    math.sqrt(spread / #differences)))
end

run(o.sklearn ~= "" and o.sklearn or o.python, "data", folder)
print "set                n     d   gibbous: nlpd, accuracy, fit   gpytorch: nlpd, accuracy, fit"
for _, name in ipairs(#words > 0 and words or {"breast_cancer", "digits", "counts"}) do
  local differences <const> = {}
  for seed = o.seed, o.seed + o.seeds - 1 do
    differences[#differences + 1] = compare(name, assert(KINDS[name], "no such set: " .. name), data_of(name, math.tointeger(seed)))
  end
  if #differences > 1 then summary(name, differences) end
end
os.execute("rm -r " .. support.quoted(folder))
