local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function file(text, ending) return support.write(support.path(ending or ".csv"), text) end

describe("gb.data.read", function()
  after_each(support.sweep)

  it("reads a heading and numbers", function()
    local f <const> = gb.data.read(file "year,ppm\n1958.2,315.71\n1958.3,317.45\n")
    assert.equal(2, #f)
    assert.same({"year", "ppm"}, f.names)
    near({1958.2, 1958.3}, f:col "year", 0)
    near({{315.71, 1958.2}, {317.45, 1958.3}}, f:col{"ppm", "year"}, 0)
    near({315.71, 317.45}, f:col(-1), 0)
    assert.equal("f64", f:col(1).dtype)
  end)

  it("takes names from outside, and skips lines", function()
    local f <const> = gb.data.read(file "a title\nno,heading,fits\n1,2\n3,4\n", {skip = 2, names = {"x", "y"}})
    near({2, 4}, f:col "y", 0)
  end)

  it("finds the delimiter, and knows several spellings of not available", function()
    local f <const> = gb.data.read(file "a;b\n1;NA\n;2\n?;-99\n", {na = "-99"})
    local a <const>, b <const> = f:col "a":totable(), f:col "b":totable()
    assert.is_true(a[1] == 1 and a[2] ~= a[2] and a[3] ~= a[3])
    assert.is_true(b[1] ~= b[1] and b[2] == 2 and b[3] ~= b[3])
  end)

  it("keeps a column of words as words", function()
    local f <const> = gb.data.read(file "who,n\nada,1\ngrace,2\n")
    assert.same({"ada", "grace"}, f:col "who")
    raises("format", "column 'who' holds text", f.col, f, {"who", "n"})
  end)

  it("names file, line and cell where a column is not all numbers", function()
    local lines <const> = {"v"}
    for i = 1, 30 do lines[#lines + 1] = tostring(i) end
    lines[18] = "oops"
    local f <const> = gb.data.read(file(table.concat(lines, "\n") .. "\n"))
    raises("format", ":18 has 'oops'", f.col, f, "v")
  end)

  it("names file and line of a ragged row", function()
    raises("format", ":3: expected 2 fields, got 3", gb.data.read, file "a,b\n1,2\n1,2,3\n")
  end)

  it("names the nearest column", function()
    local f <const> = gb.data.read(file "lengthscale,v\n1,2\n")
    raises("option", "no column 'lenghtscale' (did you mean 'lengthscale'?)", f.col, f, "lenghtscale")
    raises("index", "column 3 of a frame with 2 columns", f.col, f, 3)
  end)

  it("says where it looked for a file", function()
    raises("io", "cannot find 'no-such-file.csv' in .", gb.data.read, "no-such-file.csv")
    raises("option", "unknown option 'delimeter', did you mean 'delimiter'?", gb.data.read, "x", {delimeter = ","})
  end)

  it("a frame is a value", function()
    local f <const> = gb.data.read(file "a\n1\n")
    raises("option", "cannot be assigned", function() f.a = 1 end)
    raises("option", "columns are f:col(name)", function() return f.a end)
  end)
end)

describe("gb.data.write", function()
  after_each(support.sweep)

  it("keeps type and shape in .npy", function()
    for _, t in ipairs{gb.randn(3, 4, {seed = 1}), gb.randn(5, {seed = 2, dtype = "f32"}), gb.range(1, 6):to{dtype = "i64"},
      gb.tensor{1, -1, 2}:gt(0), gb.tensor(7)} do
      local path <const> = support.path ".npy"
      gb.data.write(path, t)
      local back <const> = gb.data.read(path)
      assert.equal(t.dtype, back.dtype)
      assert.equal(tostring(t.shape), tostring(back.shape))
      assert.is_true(back:equal(t))
    end
  end)

  it("writes numbers to .csv that read back the same", function()
    local t <const> = gb.randn(4, 2, {seed = 3})
    local path <const> = support.path ".csv"
    gb.data.write(path, t)
    local f <const> = gb.data.read(path, {names = {"a", "b"}})
    near(t, f:col{"a", "b"}, 0)
  end)

  it("writes a frame with its names", function()
    local f <const> = gb.data.read(file "b,a\n1,2.5\n3,0.1\n")
    local path <const> = support.path ".csv"
    gb.data.write(path, f)
    assert.equal("b,a\n1,2.5\n3,0.1\n", support.read(path))
  end)

  it("writes views as they look", function()
    local path <const> = support.path ".npy"
    gb.data.write(path, gb.range(1, 6):reshape(2, 3):t())
    near({{1, 4}, {2, 5}, {3, 6}}, gb.data.read(path), 0)
  end)

  it("refuses formats it does not know", function()
    raises("option", "cannot tell the format of 'x.mat'", gb.data.write, "x.mat", gb.ones(2))
    raises("option", "a tensor or frame expected, got string", gb.data.write, "x.csv", "text")
  end)
end)

describe("gb.data.standardize", function()
  it("centres and scales by column, and undoes it", function()
    local x <const> = gb.tensor{{1, 10, 5}, {2, 20, 5}, {3, 60, 5}}
    local xs <const>, scaler <const> = gb.data.standardize(x)
    near({0, 0, 0}, xs:mean(1), 1e-15)
    near({1, 1, 0}, xs:std(1, {ddof = 0}), 1e-14)
    near(x, scaler:undo(xs), 1e-13)
    near(xs:slice(1, 2, 2), scaler:apply(x:slice(1, 2, 2)), 1e-14)
    near({2 / 3 * 4}, scaler:undo_var(gb.tensor{{4, 0, 0}}):slice(2, 1, 1), 1e-13)
  end)

  it("takes a vector", function()
    local ys <const>, scaler <const> = gb.data.standardize(gb.tensor{2, 4, 6})
    near({-math.sqrt(1.5), 0, math.sqrt(1.5)}, ys, 1e-14)
    near({2, 4, 6}, scaler:undo(ys), 1e-14)
  end)
end)

describe("gb.data.split", function()
  local x <const> = gb.range(1, 20):reshape(20, 1)
  local y <const> = x:squeeze(2) * 10

  it("gives every row to train or test, x and y together", function()
    local train <const>, test <const> = gb.data.split(x, y, {test = 0.25, seed = 3})
    assert.equal(15, #train.x)
    assert.equal(5, #test.y)
    near(train.x:squeeze(2) * 10, train.y, 0)
    local all <const> = gb.cat({train.y, test.y}, 1):sort(1)
    near(y, all, 0)
  end)

  it("is a function of the seed; a count is a count", function()
    local _, a <const> = gb.data.split(x, y, {test = 4, seed = 1})
    local _, b <const> = gb.data.split(x, y, {test = 4, seed = 1})
    local _, c <const> = gb.data.split(x, y, {test = 4, seed = 2})
    assert.equal(4, #a.y)
    assert.is_true(a.y:equal(b.y))
    assert.is_false(a.y:equal(c.y))
  end)

  it("refuses what leaves nothing", function()
    raises("option", "20 test rows of 20 leave nothing", gb.data.split, x, y, {test = 20})
    raises("shape", "x has 20 rows, y has 3", gb.data.split, x, gb.ones(3))
  end)
end)
