-- Figures: in the terminal, or as SVG, PNG and PDF by the name of the file.
local gb = require "gibbous"

local x = gb.linspace(0, 6, 30)
local y = x:sin() + 0.1 * gb.randn(30, {seed = 1})
local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
m:fit(x, y)

local fig = gb.plot.posterior(m, {title = "what the model knows"})
print(fig:text(72, 18))                              -- fig:show() at a terminal
fig:save "posterior.svg"

gb.plot.figure{title = "by hand", xlabel = "x", ylabel = "y"}
  :line(x, x:sin(), {label = "sin"})
  :scatter(x, y, {label = "data"})
  :save "by_hand.svg"
print "posterior.svg and by_hand.svg are written"
