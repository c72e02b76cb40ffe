--- scripts/kmeans_mpi.lua prints the same by any number of ranks.
local process <const> = require "spec.process"
local mpirun <const> = dofile("tests/mpi/support.lua").mpirun

describe("ranks", function()
  it("print what one process prints", function()
    local function said(text) return (text:gsub("rank [^\n]*\n", "")) end
    local alone <const> = process.run{"scripts/kmeans_mpi.lua", "20000"}
    assert.matches("20000 rows of 16 columns, k = 32\ninertia [^\n]* after %d+ iterations\ncentroids %x+\n", alone)
    for _, ranks in ipairs{1, 3} do
      local out <const>, err <const>, code <const> = mpirun(ranks, "scripts/kmeans_mpi.lua", "20000")
      assert.equal(0, code, err)
      assert.equal(said(alone), said(out))
      assert.equal(ranks, select(2, out:gsub("rank %d of " .. ranks .. ": rows %d+ to %d+, (%d+) B beside them, planned %1 B", "")))
    end
  end)
end)
