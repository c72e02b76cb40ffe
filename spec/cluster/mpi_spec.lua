--- gb.mpi in a program that mpirun did not start, and in one whose library is not there. tests/mpi has what several ranks do.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local raises <const> = require("spec.support").raises

describe("gb.mpi", function()
  it("is one rank without mpirun", function()
    assert.same({0, 1}, {gb.mpi.rank(), gb.mpi.size()})
    assert.same({0, 1, 0, 0}, {core.ranks()})
    core.ranks_agree()
    local x <const> = gb.randn(200, 3, {seed = 1}):eval()
    for _, dtype in ipairs{"f32", "f64"} do
      local one <const> = gb.kmeans{k = 4, seed = 2}:fit(x:to(dtype))
      local all <const> = gb.kmeans{k = 4, seed = 2, ranks = true}:fit(x:to(dtype))
      assert.is_true(one.centroids:equal(all.centroids) and one.labels:equal(all.labels))
      assert.equal(one.inertia, all.inertia)
      assert.equal(one:score(x), all:score(x))
      assert.matches("200 rows of 3 columns here, inertia", tostring(all), 1, true)
    end
  end)

  it("shares rows", function()
    assert.same({1, 10}, {gb.mpi.share(10)})
    assert.same({1, 0}, {gb.mpi.share(0)})
    for _, bad in ipairs{-1, 2.5, 0 / 0, "ten", {}} do
      raises("option", "gb.mpi.share: a whole number of rows expected, 0 or more, got ", function() gb.mpi.share(bad) end)
    end
    raises("option", "got nil", function() gb.mpi.share() end)
  end)

  it("says what is wrong at its own line", function()
    local x <const> = gb.randn(20, 3, {seed = 1}):eval()
    local km <const> = gb.kmeans{k = 4, ranks = true}
    local err <const> = raises("shape", "fit: the points must be a tensor (n, d), got shape 20", function()
      km:fit(x:select(2, 1))
    end)
    assert.matches("mpi_spec.lua:%d+$", err.line)
    raises("shape", "k-means: 3 points cannot be 4 clusters", function() km:fit(x:slice(1, 1, 3)) end)
    raises("shape", "k-means: 0 points cannot be 4 clusters", function() km:fit(gb.zeros(0, 3)) end)
    raises("option", "algorithm = 'minibatch' is of one rank", function()
      gb.kmeans{k = 2, ranks = true, algorithm = "minibatch"}
    end)
    raises("option", "ranks", function() gb.kmeans{k = 2, ranks = 3} end)
    raises("index", "MPI begins by itself", function() return gb.mpi.init end)
    raises("index", "gb.kmeans{ranks = true} takes all ranks", function() return gb.mpi.world end)
    raises("index", "did you mean gb.mpi.rank?", function() return gb.mpi.rnk end)
  end)

  it("says what is missing", function()
    local script <const> = [[
      local gb = require "gibbous"
      print(gb.mpi.available())
      for _, f in ipairs{gb.mpi.rank, gb.mpi.size, function() gb.mpi.share(3) end,
        function() gb.kmeans{k = 1, ranks = true}:fit(gb.ones(3, 1)) end} do
        print(select(2, pcall(f)).message)
      end]]
    for env, why in pairs{["GIBBOUS_MPI=/nowhere/mpi.so"] = "no MPI: /nowhere/mpi.so: cannot open",
      ["GIBBOUS_MPI=off"] = "no MPI: it is switched off by the environment, GIBBOUS_MPI=off"} do
      local out <const> = process.run({"-e", script}, {env = env .. " OMPI_COMM_WORLD_SIZE=4"})
      local lines <const> = {}
      for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
      assert.equal(5, #lines, out)
      assert.equal(1, lines[1]:find("false\t" .. why, 1, true), lines[1])
      for i = 2, 5 do
        local started <const> = "this process has been started as one of several (OMPI_COMM_WORLD_SIZE=4), but there is " .. why
        assert.is_true(lines[i]:find(started, 1, true) ~= nil, lines[i])
        assert.is_true(lines[i]:find("Debian: libopenmpi-dev), with -DGB_MPI=ON", 1, true) ~= nil, lines[i])
      end
    end
  end)

  it("is no part of the program", function()
    local out <const> = process.run({process.binary}, {program = "ldd"})
    assert.matches("libc%.so", out)
    assert.is_nil(out:find("mpi", 1, true))
  end)

  it("is not kept in files", function()
    local path <const> = os.tmpname()
    gb.kmeans{k = 2, seed = 1, ranks = true}:fit(gb.randn(20, 2, {seed = 1})):save(path)
    local km <const> = gb.load(path)
    os.remove(path)
    assert.is_nil(rawget(km, "_fields").o.ranks)
  end)
end)
