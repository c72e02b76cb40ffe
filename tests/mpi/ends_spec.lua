--- Ranks that end, and others that they leave.
local ranks <const> = dofile "tests/mpi/support.lua"
local mpirun <const> = ranks.mpirun

describe("ranks", function()
  it("end together with an error of one", function()
    local _, err <const>, code <const> = mpirun(3, "tests/mpi/ends.lua", "nan")
    assert.is_true(code ~= 0)
    local text <const> = "k-means: the point in row 107 is not finite in column 2 (rank 1 of 3)"
    local _, times <const> = err:gsub(text:gsub("%p", "%%%0"), "")
    assert.equal(3, times, err)
  end)

  it("end when one of them does", function()
    for _, how in ipairs{"kill", "exit", "close", "error"} do
      local out <const>, err <const>, code <const> = mpirun(2, "tests/mpi/ends.lua", how)
      assert.is_true(code ~= 0, how)
      assert.equal("", out, how)
      assert.equal(how == "error", err:find("of this rank alone", 1, true) ~= nil)
    end
  end)

  it("end well", function()
    local out <const>, _, code <const> = mpirun(2, "tests/mpi/ends.lua", "well")
    assert.equal(0, code)
    assert.matches("rank 0 ends well", out)
    assert.matches("rank 1 ends well", out)
  end)
end)
