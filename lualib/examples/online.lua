-- Points that come one after the other: each is appended to the factor that is there, the parameters stay.
local gb = require "gibbous"

local f = function(x) return (3 * x):sin() end
local x = gb.linspace(0, 1, 20)
local m = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = 1e-3}
m:fit(x, f(x))

for i = 1, 5 do
  local at = gb.tensor{1 + 0.2 * i}
  local before = m:predict(at).mean:item()
  m = m:condition(at, f(at))
  print(("at %.1f: %.3f before, %.3f after, %.3f is true"):format(at:item(), before, m:predict(at).mean:item(), f(at):item()))
end
print(m.update)
