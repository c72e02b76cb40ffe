--- A small study of instant trials in a folder of its own, for the specs of what is shown of it.
local process <const> = require "spec.process"
local support <const> = require "spec.support"

local M <const> = {}

--- Two data sets, two kernels, six repeats: one cell fails, one trial of another, and a fit that is told on the way.
M.script = [[
local gb = require "gibbous"
local noise = {0.011, -0.013, 0.017, -0.019, 0.023, -0.029}
return gb.sweep{
  name = "study", metric = "nlpd", goal = "min",
  space = {data = {"pol", "kin_40k"}, rank = {0, 15}},
  repeats = {split = gb.sweep.range(1, 6)},
  run = function(p, trial)
    if p.data == "pol" and p.rank == 0 then error("no room for rank " .. p.rank) end
    if p.data == "pol" and p.split == 6 then error "unlucky" end
    local nlpd = (p.rank == 0 and 0.5 or 0.2) + noise[p.split] * (p.rank == 0 and 1 or 0.5)
    for step = 1, 5 do trial:report(step, nlpd + 1 / step) end
    print("log of split " .. p.split)
    return {nlpd = nlpd, rmse = 0.1 + 0.2, fit = {seconds = 1 + p.rank, steps = 40}, converged = true, bad = 0 / 0, name = "a,\"b"}
  end,
}
]]

--- A folder with a script in it. Its fields: path; run(words...): output, errors, status of gibbous sweep WORDS in the folder;
-- close().
function M.folder(script)
  local path <const> = os.tmpname()
  os.remove(path)
  assert(os.execute(("mkdir '%s'"):format(path)))
  support.write(path .. "/study.lua", script or M.script)
  local self <const> = {path = path}
  local program <const> = ("sh -c 'cd \"%s\" && exec \"%s\" \"$@\"' sh"):format(path, process.binary)
  function self.run(...) return process.run({"sweep", ...}, {program = program}) end
  function self.lua(code)
    support.write(path .. "/code.lua", code)
    return process.run({"code.lua"}, {program = program})
  end
  function self.read(name) return support.read(path .. "/" .. name) end
  function self.write(name, text) support.write(path .. "/" .. name, text) end
  function self.close() assert(os.execute(("rm -r '%s'"):format(path))) end
  return self
end

--- The folder of the study, whose trials have run.
function M.ran(script)
  local f <const> = M.folder(script)
  local _, errors <const>, rc <const> = f.run("run", "study.lua", "-j", "2", "--keep-going", "--quiet")
  assert(rc == 0 or rc == 3, errors)
  return f
end

return M
