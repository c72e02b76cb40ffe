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
end)
