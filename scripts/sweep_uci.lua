--- A study of the customary data sets: kernels by test error over the customary splits.
--   gibbous sweep run scripts/sweep_uci.lua -j 2        killed? the same line goes on
--   gibbous sweep table scripts/sweep_uci.lua --rows data --cols kernel --metric nlpd
-- GIBBOUS_DATA names the folder of the data sets; those that are missing are left out, and said.
local gb <const> = require "gibbous"

local found <const> = {}
for _, name in ipairs(gb.data.sets()) do found[name] = true end
local sets <const> = {}
for _, name in ipairs{"yacht", "energy", "concrete", "airfoil", "wine"} do
  if found[name] then sets[#sets + 1] = name else io.stderr:write("sweep_uci: no data set '", name, "' is found: left out\n") end
end
if #sets == 0 then
  io.stderr:write("sweep_uci: no data set is found: GIBBOUS_DATA names their folder\n")
  os.exit(2)
end

return gb.sweep{
  name = "uci", space = {data = sets, kernel = {"rbf", "matern32", "matern52"}}, repeats = {split = gb.sweep.range(1, 5)},
  budget = {time = "10m"}, metric = "nlpd", goal = "min",
  run = function(p, trial)
    local train <const>, test <const> = gb.data.set(p.data):split(p.split, {standardize = true})
    local m <const> = gb.gp.exact{kernel = gb.kernels[p.kernel]{ard = true}, noise = 0.1}
    local info <const> = m:fit(train.x, train.y, {steps = 50, restarts = 0, seed = trial.seed})
    local s <const> = m:score(test.x, test.y)
    return {rmse = s.rmse, nlpd = s.nlpd, steps = info.iterations, seconds = info.seconds}
  end,
}
