--- :tour - ten steps through the library: each is shown, Enter runs it, q ends. What it makes are variables of the session.
local M <const> = {}

--- Text and code of each step, and what is typed where that is no Lua. A step may use what those before it made.
M.steps = {
  {"Tensors are made by gb. An expression is computed when it is looked at.",
    "x = gb.linspace(0, 6, 40)\nx:sin()"},
  {"Data with noise: a seed makes random numbers the same in every run.",
    "y = x:sin() + 0.1 * gb.randn(40, {seed = 1})\ngb.plot.figure{}:scatter(x, y)"},
  {"A model of y: a kernel says how alike values at two points are.",
    "m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}\nm:fit(x, y)"},
  {"What the fit found.", "m"},
  {"Predictions with intervals, also where there is no data.",
    "p = m:predict(gb.tensor{3, 6.5, 9})\np:interval(0.95)"},
  {"A picture of it; fig:save \"figure.svg\" writes a file.", "gb.plot.posterior(m)"},
  {"Kernels can be added, multiplied, and written as functions.",
    "gb.kernels.linear{} + gb.kernels.periodic{period = 2} * gb.kernels.rbf{}"},
  {"A matrix that is only multiplied is never stored: 20,000 x 20,000 here.",
    "K = gb.kernels.matern52{}(gb.rand(20000, 3, {seed = 2, dtype = \"f32\"}))\n"
      .. "gb.plan(K:matmul(gb.ones(20000, 1, {dtype = \"f32\"})))"},
  {"An error says what is wrong, and what to write instead.",
    "gb.gp.exact{kernel = gb.kernels.rbf{}, nois = 0.1}"},
  {"Every name explains itself; Tab completes; :help lists the commands of the prompt.",
    "print(require \"gibbous.commands.help\" \"gb.gp.exact\")", "?gb.gp.exact"},
}

local PROMPT <const> = "Enter runs it, q ends: "

--- Runs a step as the prompt would: its last line is an expression. An error is shown and ends nothing, but an interrupt does.
local function run(code)
  local prompt <const> = require "gibbous.prompt"
  local before <const>, last <const> = code:match "^(.*\n)([^\n]*)$"
  local chunk <const> = assert(load((before or "") .. "return " .. (last or code), "=tour", "t"))
  local results <const> = table.pack(pcall(chunk))
  local err <const> = results[2]
  if results[1] then return prompt.print(table.unpack(results, 2, results.n)) end
  if require "gibbous.base.raised".is(err, "interrupted") then error(err, 0) end
  print(tostring(err))
end

--- read(): a line that was typed, nil at the end of input.
function M.run(read)
  for i, step in ipairs(M.steps) do
    print(("\n%d of %d  %s\n"):format(i, #M.steps, step[1]))
    print(((step[3] or step[2]):gsub("%f[^\n\0]", "  ")))
    io.write("\n", PROMPT)
    io.stdout:flush()
    local line <const> = read()
    if not line or line:match "^%s*q" then return print "the tour ends here" end
    run(step[2])
  end
  print "\nthat was the tour; gibbous example lists scripts to go on from"
end

return M
