--- Fits over the ranks that mpirun starts have the bits of one process.
local process <const> = require "spec.process"
local ranks <const> = dofile "tests/mpi/support.lua"
local mpirun <const>, with_folder <const> = ranks.mpirun, ranks.with_folder

--- Results by case, and the labels of all ranks in order.
local function fits_of(ranks, read)
  local results <const>, labels <const> = {}, {}
  for rank = 0, ranks - 1 do
    for name, text, own in read(rank):gmatch "([^:\n]+): ([^#\n]*)#([^\n]*)" do
      results[name] = results[name] or text
      assert.equal(results[name], text)
      labels[name] = (labels[name] or "") .. (own ~= "" and own .. "," or "")
    end
  end
  return results, labels
end

local function each(f)
  local want, want_labels
  for ranks = 1, 4 do
    with_folder(function(folder, read)
      local _, err <const>, code <const> = f(ranks, folder)
      assert.equal(0, code, err)
      local results <const>, labels <const> = fits_of(ranks, read)
      want, want_labels = want or results, want_labels or labels
      assert.same(want, results)
      assert.same(want_labels, labels)
    end)
  end
  local count = 0
  for _ in pairs(want) do count = count + 1 end
  assert.equal(18, count)
end

describe("ranks", function()
  it("of any number and division have the bits of one process", function()
    each(function(ranks, folder)
      if ranks == 1 then return process.run{"tests/mpi/fits.lua", folder} end
      return mpirun(ranks, "tests/mpi/fits.lua", folder)
    end)
  end)

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
