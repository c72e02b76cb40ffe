--- Noise with a variance for each task; the last column of the inputs is the task.
local columns <const> = require "gibbous.kernels.columns"
local tasks <const> = require "gibbous.kernels.tasks"

--- The variances (n) of observations at x (n, d), of tasks x[i][d].
local function variance(self, x)
  local d <const>, v <const> = x.shape[2], self.noise.value
  local each <const> = columns.like(v, x)
  return each:index(1, tasks.positions(columns.take(x, {d}), v.numel, "the noise of each task"))
end

--- The fields of a likelihood of these variances, a gb.param (T).
return function(noise)
  return {kind = "tasks", noise = noise, variance = variance, new_variance = variance}
end
