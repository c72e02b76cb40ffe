-- Classification and counts: NLPD and accuracy of gb.gp.classifier and gb.gp.laplace on held-out rows, beside GPyTorch's
-- variational models on the same rows.
-- Run: build/gibbous scripts/bench/classify.lua --python peers/bin/python [--sklearn peers/bin/python] [--digits 600] [--seed 0]
--   [--inference auto|laplace|svgp]
-- python: one with torch and gpytorch; sklearn: one with scikit-learn, by default the same. Sets: breast_cancer (569 x 30, two
-- classes, 30 % held out) and digits (1,797 x 64, ten classes, --digits rows to train on) of scikit-learn, inputs standardised on
-- the training rows; counts (400 x 2 to train on, 400 held out) drawn from a Poisson model by the seed.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const> = support.options{python = "", sklearn = "", digits = 600, seed = 0, inference = "auto"}
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
local function split(x, y, train)
  local order <const> = core.randperm(#x, {seed = o.seed})
  local function rows(from, to)
    local at <const> = order:slice(1, from, to)
    return x:index(1, at):eval(), y:index(1, at):eval()
  end
  local tx <const>, ty <const> = rows(1, train)
  local sx <const>, sy <const> = rows(train + 1, #x)
  local scaled <const>, scaler <const> = gb.data.standardize(tx)
  return {x = scaled:eval(), y = ty}, {x = scaler:apply(sx):eval(), y = sy}
end

local function counts()
  local x <const> = gb.rand(800, 2, {seed = o.seed + 1}) * 4
  local f <const> = (1.5 * x:select(2, 1)):sin() + (x:select(2, 2)):cos() + 1
  return x:eval(), gb.likelihoods.poisson():draw(f, o.seed + 2):eval()
end

local function model(kind)
  local kernel <const> = gb.kernels.rbf{lengthscale = gb.param(5, {min = 0})}
  if kind == "poisson" then
    return gb.gp.laplace{kernel = gb.kernels.rbf{}, mean = gb.means.constant(), likelihood = gb.likelihoods.poisson()}
  end
  return gb.gp.classifier{kernel = kernel, mean = kind == "bernoulli" and gb.means.constant() or nil, inference = o.inference}
end

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
end

run(o.sklearn ~= "" and o.sklearn or o.python, "data", folder)
print "set                n     d   gibbous: nlpd, accuracy, fit   gpytorch: nlpd, accuracy, fit"
for _, set in ipairs{{"breast_cancer", "bernoulli", 398}, {"digits", "softmax", math.tointeger(o.digits)}} do
  local name <const> = set[1]
  local x <const>, y = gb.data.read(path(name, "x")), gb.data.read(path(name, "y"))
  if set[2] == "softmax" then y = y + 1 end
  compare(name, set[2], split(x, y:eval(), set[3]))
end
compare("counts", "poisson", split((counts()), select(2, counts()), 400))
os.execute("rm -r " .. support.quoted(folder))
