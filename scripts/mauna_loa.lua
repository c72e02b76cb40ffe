-- Forecast of the atmosphere's CO2: fits a composite kernel to the monthly record of Mauna Loa, holds out the last ten
-- years, and says how good the forecast was. Run: build/gibbous scripts/mauna_loa.lua [mauna_loa.svg]
-- Model after Rasmussen & Williams (2006), section 5.4.3. Data and citation: scripts/data/README.md.
local gb <const> = require "gibbous"
local K <const> = gb.kernels

local record <const> = gb.data.read "mauna_loa_co2.csv"
local t <const>, y <const> = record:col "decimal_date", record:col "co2_ppm"
local held_out <const> = 120
local cut <const> = #t - held_out
local t_train <const>, y_train <const> = t:slice(1, 1, cut), y:slice(1, 1, cut)
local t_test <const>, y_test <const> = t:slice(1, cut + 1, -1), y:slice(1, cut + 1, -1)

print(("Mauna Loa, monthly CO2: %d months from %.2f; fitted to %.2f, the last %d months held out.\n"):format(
  #t, t[1]:item(), t[cut]:item(), held_out))

local trend <const> = K.rbf{variance = 50 ^ 2, lengthscale = 50}:named "trend"
local season <const> = (2 ^ 2 * K.rbf{lengthscale = 90}
  * K.periodic{period = gb.param(1, {fixed = true}), lengthscale = 1.3}):named "season"
local medium <const> = K.rational_quadratic{variance = 0.5 ^ 2, lengthscale = 1, alpha = 1}:named "medium"

local model <const> = gb.gp.exact{
  kernel = trend + season + medium,
  mean = gb.means.constant(y_train:mean():item()),
  noise = 0.2 ^ 2,
}
print(model:fit(t_train, y_train, {restarts = 1, seed = 1}))

-- Every fitted number with its unit.
local units <const> = {variance = "ppm^2", noise = "ppm^2", value = "ppm", lengthscale = "years", period = "years", alpha = ""}
local list <const>, names <const> = gb.params(model)
print(("\n%-34s %12s  %s"):format("parameter", "value", "unit"))
for i, p in ipairs(list) do
  local name <const> = names[i]
  local unit = units[name:match "[%w_]+$"]
  if name == "kernel.season[2].lengthscale" then unit = "(of the circle's radius)" end
  print(("%-34s %12.5g  %s%s"):format(name, p.value:item(), unit, p.fixed and " (fixed)" or ""))
end

local score <const> = model:score(t_test, y_test)
print(("\nlog marginal likelihood  %.2f nats on %d months"):format(model:log_marginal_likelihood():item(), cut))
print(("held-out RMSE            %.2f ppm over %d months"):format(score.rmse, score.n))
print(("95 %% band covers         %.0f %% of the held-out months"):format(100 * score.coverage95))
print(("held-out NLPD            %.3f nats a month"):format(score.nlpd))

-- The forecast people ask for uses all the data.
local full <const> = model:condition(t_test, y_test)
local years <const> = gb.tensor{2030.5, 2035.5}
local ahead <const> = full:predict(years)
local lo <const>, hi <const> = ahead:interval(0.95)
gb.eval(ahead.mean, lo, hi)
print "\nforecast from the whole record"
for i = 1, #years do
  print(("  mid %d   %.1f ppm, 95 %% between %.1f and %.1f"):format(math.floor(years[i]:item()), ahead.mean[i]:item(),
    lo[i]:item(), hi[i]:item()))
end
print ""

local xs <const> = gb.linspace(1958, 2036, 1200)
local p <const> = model:predict(xs)
local band_lo <const>, band_hi <const> = p:interval(0.95)
local path <const> = arg and arg[1] or "mauna_loa.svg"
gb.plot.figure{title = ("Mauna Loa CO2: fitted to %.0f, forecast after"):format(t[cut]:item()), xlabel = "year",
    ylabel = "CO2 (ppm)"}
  :band(xs, band_lo, band_hi, {label = "95 % band", colour = "blue"})
  :scatter(t_train, y_train, {label = "fitted months", size = 2.5, colour = "orange"})
  :scatter(t_test, y_test, {label = "held-out months", size = 2.5, colour = "green"})
  :line(xs, p.mean, {label = "forecast", width = 1, colour = "blue"})
  :save(path)
  :show()
print("wrote " .. path)
