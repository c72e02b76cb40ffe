--- An error of one rank is that of all.
local ranks <const> = dofile "tests/mpi/support.lua"
local mpirun <const>, with_folder <const> = ranks.mpirun, ranks.with_folder

describe("ranks", function()
  it("raise the error of one together, and go on", function()
    local parts <const> = {
      ["nan"] = "nan: k-means: the point in row 127 is not finite in column 2 (rank 2 of 3)",
      ["nan in f32"] = "nan: k-means: the point in row 127 is not finite in column 2 (rank 2 of 3)",
      ["nan in a score"] = "nan: k-means: the point in row 127 is not finite in column 2 (rank 2 of 3)",
      ["weight"] = "nan: k-means: the weight of point 121 is negative or not finite (rank 2 of 3)",
      ["weights"] = "shape: fit: option 'weights' must have one number a row, 60, got shape 3 (rank 2 of 3)",
      ["width"] = "shape: k-means: points of 4 columns, those of rank 0 have 3 (rank 2 of 3)",
      ["width of a score"] = "shape: score: points of 4 columns, the centroids have 3 (rank 2 of 3)",
      ["width of a batch"] = "shape: k-means: points of 4 columns, those of rank 0 have 3 (rank 2 of 3)",
      ["dtype"] = "dtype: k-means: points that are computed in f32, those of rank 0 in f64 (rank 2 of 3)",
      ["no points"] = "option: fit: the points must be a tensor (n, d) or a list of such tensors, got string (rank 2 of 3)",
      ["no list"] = "option: partial_fit: the points must be a tensor (n, d) or a list of such tensors, got table (rank 2 of 3)",
      ["empty"] = "shape: k-means: 0 points cannot be 4 clusters",
      ["few"] = "shape: k-means: 180 points cannot be 181 clusters",
      ["budget"] = "refused: plan refused: fit: k-means takes",
      ["k"] = "option: k-means: option 'k' differs from that of rank 0 (rank 2 of 3)",
      ["n_init"] = "option: k-means: option 'n_init' differs from that of rank 0 (rank 2 of 3)",
      ["start"] = "shape: fit: the start must be 4x3",
      ["function"] = "callback: ",
      ["second run"] = "callback: ",
      ["allocations"] = "true",
      ["at the end"] = "",
    }
    with_folder(function(folder, read)
      local _, err <const>, code <const> = mpirun(3, "tests/mpi/errors.lua", folder)
      assert.equal(0, code, err)
      local first <const> = read(0)
      assert.equal(first, read(1))
      assert.equal(first, read(2))
      local seen = 0
      for name, told in first:gmatch "([^:\n]+): ([^\n]*)" do
        -- without the names and lines of tensors: ": x 5x4 (tests/mpi/errors.lua:43)"
        local text <const> = told:gsub(": [%w_]+ [%dx]+ %(tests/mpi/errors%.lua:%d+%)", "")
          :gsub(" %(tests/mpi/errors%.lua:%d+%)", "")
        assert.is_true(parts[name] ~= nil and text:find(parts[name], 1, true) == 1, name .. ": " .. text)
        seen = seen + 1
      end
      local wanted = 0
      for _ in pairs(parts) do wanted = wanted + 1 end
      assert.equal(wanted, seen)
    end)
  end)
end)
