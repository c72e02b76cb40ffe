-- The Lua blocks of the README, of the guides and of the stories run as they stand: those of a page one after another, as one
-- script in a folder of its own, after what the page takes for given.
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"

local stories <const> = {"keops_oom", "koila", "kmeans_memory", "online_learning", "kernel_matrix", "seed_size"}

-- What the blocks of a page take for given.
local given <const> = {
  ["README.md"] = "local loss = gb.ones(3):sum()",
  ["docs/architecture.md"] = "local x, y, v = gb.randn(20, 3), gb.randn(10, 3), gb.randn(10, 1)",
  ["docs/guide/kmeans.md"] = [[
local n, noise = 64, 0.1
local x, z, at = gb.randn(2000, 4, {seed = 1}):eval(), gb.randn(10, 4, {seed = 2}):eval(), gb.rand(5, 4, {seed = 4})
local y, lengthscale = x:sum(2):eval(), gb.ones(4)
local function rows(first, last) return gb.randn(64, 4, {seed = 3}):slice(1, first, last):eval() end
gb.data.write("rows.npy", x)
gb.data.write("a.npy", x)
gb.data.write("b.npy", x)]],
}

local function of_ranks(block) return block:find("gb.mpi", 1, true) end

local function is_study(block) return block:find("return gb.sweep{", 1, true) end

-- Blocks for which something must be there.
local function lacking(block)
  if block:find("cuda:", 1, true) then return (gb.devices().kinds.cuda.count or 0) < 2 and "no two GPUs" end
  if of_ranks(block) then return not gb.mpi.available() and "no MPI" end
  if block:find("small.bytes == plan.peak", 1, true) then return os.getenv "GIBBOUS_DEVICE" and "they are bytes of the host" end
end

local function blocks(page, language)
  local out <const> = {}
  for block in ("\n" .. support.read(page)):gmatch("\n```" .. (language or "lua") .. "\n(.-)\n```") do out[#out + 1] = block end
  return out
end

local pages <const> = {"README.md", "docs/architecture.md"}
for _, name in ipairs{"cuda", "devices", "embedding", "folds", "kmeans", "lua", "models", "plans", "solvers",
  "sweeps"} do
  pages[#pages + 1] = "docs/guide/" .. name .. ".md"
end
for _, name in ipairs(stories) do pages[#pages + 1] = "docs/stories/" .. name .. ".md" end

describe("the blocks of", function()
  local folder <const> = os.tmpname()

  setup(function()
    os.remove(folder)
    assert(os.execute(("mkdir '%s'"):format(folder)))
  end)

  teardown(function() assert(os.execute(("rm -r '%s'"):format(folder))) end)

  --- Runs a script in the folder: output, errors, exit status.
  local function run(code)
    support.write(folder .. "/page.lua", code)
    return process.run({"page.lua"}, {program = ("sh -c 'cd \"%s\" && exec \"%s\" \"$@\"' sh"):format(folder, process.binary)})
  end

  for _, page in ipairs(pages) do
    local list <const> = blocks(page)
    if #list > 0 then
      it(page .. " run", function()
        local parts <const> = {'local gb = require "gibbous"', given[page] or ""}
        for _, block in ipairs(list) do
          local own <const> = of_ranks(block) and "do\n%s\nend" -- its names are those of one of several processes
            or is_study(block) and ";(function()\n%s\nend)()" or "%s"
          if not lacking(block) then parts[#parts + 1] = own:gsub("%%s", function() return block end) end
        end
        local _, errors <const>, rc <const> = run(table.concat(parts, "\n"))
        assert.equal(0, rc, errors)
      end)
    end
  end

  it("the guide of sweeps, as studies and command lines, run", function()
    local page <const> = "docs/guide/sweeps.md"
    support.write(folder .. "/study.lua", blocks(page)[1])
    support.write(folder .. "/rates.lua", blocks(page)[2])
    local lines <const> = blocks(page, "sh")
    lines[#lines + 1] = "gibbous sweep run rates.lua"
    local script <const> = "set -e\ngibbous() { '" .. process.binary .. "' \"$@\"; }\n" .. table.concat(lines, "\n")
    support.write(folder .. "/lines.sh", script)
    local program <const> = ("sh -c 'cd \"%s\" && exec sh lines.sh'"):format(folder)
    local out <const>, errors <const>, rc <const> = process.run({}, {program = program})
    assert.equal(0, rc, errors)
    assert.truthy(out:find("kernels: 24 trials: 24 ok", 1, true), out)
    assert.truthy(out:find("trial 3: the same bits again", 1, true), out)
    assert.truthy(support.read(folder .. "/table.tex"):find("\\begin{tabular}{lrr}", 1, true))
  end)

  it("pages are found", function()
    local count = 0
    for _, page in ipairs(pages) do count = count + #blocks(page) end
    assert.is_true(count >= 17, tostring(count))
  end)
end)

describe("a story", function()
  for _, name in ipairs(stories) do
    it(name .. " has a page with its parts, which names the script", function()
      local text <const> = support.read("docs/stories/" .. name .. ".md")
      for _, part in ipairs{"\n## Elsewhere\n", "\n## Here\n", "\n## Run it\n", "\n## What it does not show\n",
        "scripts/stories/" .. name .. ".lua", " printed"} do
        assert.is_truthy(text:find(part, 1, true), part)
      end
    end)
  end
end)
