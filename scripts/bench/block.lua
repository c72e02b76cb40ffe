-- Blocks of right-hand sides: steps of conjugate gradients column by column, and of the block that a fit and a model's weights use.
-- Run: build/gibbous scripts/bench/block.lua [points] [columns of x] [tolerance]
--
-- (K + s I) X = [y, 16 probes] with an RBF kernel on uniform points of the unit cube and lengthscales that grow by column as those
-- of fitted data do, of prior variance 1; f64 with products in f32. The block is the solve behind the likelihood, with its log
-- determinant; y alone by its parts is the solve behind predictions. "-": not within 3,000 steps.
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"

local n <const>, d <const>, tol <const> = tonumber(arg[1]) or 8000, tonumber(arg[2]) or 6, tonumber(arg[3]) or 1e-2
if math.type(n) ~= "integer" or math.type(d) ~= "integer" or n < 2304 or d < 1 or not (tol > 0 and tol < 1) then
  io.stderr:write("usage: block.lua [points, 2304 or more] [columns of x] [tolerance]\n")
  os.exit(2)
end

local x <const> = gb.rand(n, d, {seed = 1}):eval()
local lengthscales <const> = {}
for i = 1, d do lengthscales[i] = 0.3 * 1.6 ^ i end
local k <const> = gb.kernels.rbf{lengthscale = lengthscales}(x)

--- Steps and seconds of f, which gives the record of a solve.
local function measured(f)
  collectgarbage()
  local start <const> = gb.clock()
  local info <const> = f()
  local seconds <const> = gb.clock() - start
  return info.converged and tostring(info.iterations) or "-", ("%.2f"):format(seconds)
end

local rows <const> = {{"noise", "rank", "columns: steps", "seconds", "block: steps", "seconds", "y: steps", "seconds",
  "in parts: steps", "seconds"}}
for _, noise in ipairs{1e-1, 1e-2, 1e-3} do
  local y <const> = ((5 * x:select(2, 1)):sin() + math.sqrt(noise) * gb.randn(n, {seed = 3})):eval()
  local all <const> = gb.cat({y:unsqueeze(2), gb.randn(n, 16, {seed = 4})}, 2):eval()
  local c <const> = k + noise * gb.eye(n)
  for _, rank in ipairs{0, 15, 100} do
    local solver <const> = gb.solvers.cg{tol = tol, max_iter = 3000, probes = 16,
      precond = rank > 0 and gb.precond.pivoted_cholesky{rank = rank} or nil}
    local system <const> = solver:prepare(c, k, noise)
    local row <const> = {("%g"):format(noise), tostring(rank)}
    row[3], row[4] = measured(function() return select(2, system:solve(all)) end)
    row[5], row[6] = measured(function()
      local value <const>, info <const> = solver:objective(c, y, k, noise)
      value:eval()
      return info
    end)
    row[7], row[8] = measured(function() return select(2, system:solve(y)) end)
    row[9], row[10] = measured(function() return select(2, system:solve(y, nil, true)) end)
    rows[#rows + 1] = row
  end
end
print(("n = %d, d = %d, tol = %g, %d threads"):format(n, d, tol, gb.config().threads))
print(table_text(rows))
