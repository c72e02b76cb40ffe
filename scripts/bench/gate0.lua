-- The first question to a Gaussian process: with hyper-parameters fixed, does it say what others say? Log marginal likelihood,
-- mean, variance and marginal NLPD on five sets, against the figures that scripts/bench/peers/gate0.py wrote.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/gate0.lua [figures.csv]
-- Figures not given: spec/gp/model/gate0.csv, with the hyper-parameters, versions and first test points of each set.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gate0 <const> = require "gate0_cases"

local missed = 0
print "relative differences"
local head <const> = "%-10s %6s  %-22s %13s %13s %13s %13s  %s"
print(head:format("set", "n", "figures of", "log p(y)", "mean", "y_var", "nlpd", "largest"))
for _, row in ipairs(gate0.compare(arg[1] or here .. "/../../spec/gp/model/gate0.csv")) do
  if row.left_out then
    print(("%-10s left out: %s"):format(row.set, row.left_out))
  else
    local ok <const> = row.worst <= 1e-6
    if not ok then missed = missed + 1 end
    print(("%-10s %6d  %-22s %13.2e %13.2e %13.2e %13.2e  %.2e  %s"):format(row.set, row.n, row.source, row.log_marginal,
      row.mean, row.y_var, row.nlpd, row.worst, ok and "PASS" or "MISS"))
  end
end
os.exit(missed == 0)
