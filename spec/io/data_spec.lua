local gb <const> = require "gibbous"
local process <const> = require "spec.process"
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

  it("asks which of two columns of one name is meant", function()
    local f <const> = gb.data.read(file "x,y,x\n1,2,3\n")
    assert.same({"x", "y", "x"}, f.names)
    raises("option", ".csv: columns 1, 3 are all called 'x': f:col(1) takes one by its number", f.col, f, "x")
    near({3}, f:col(3), 0)
    near({2}, f:col "y", 0)
  end)

  it("keeps integers whole, truth as truth, and lines inside quotes", function()
    local f <const> = gb.data.read(file 'id,ok,note\n9007199254740993,true,"two\nlines"\n-1,false,b\n')
    assert.equal("i64", f:col "id".dtype)
    assert.equal(9007199254740993, f:col "id":totable()[1])
    assert.equal("bool", f:col "ok".dtype)
    assert.same({"two\nlines", "b"}, f:col "note")
    assert.equal(f:col "note", f:col "note")
    raises("format", ".csv:2 has 'two", f.col, f, {"id", "note"})
    assert.same({}, f.warnings)
    local mixed <const> = gb.data.read(file "id,v,ok\n9007199254740993,0.5,true\n2,1.5,false\n")
    near({{0.5, 1}, {1.5, 0}}, mixed:col{"v", "ok"}, 0)
    raises("dtype", "column 'id' is i64, for f64 would round its integers, and 'v' is f64", mixed.col, mixed, {"id", "ok", "v"})
    assert.equal("i64", mixed:col{"id", "ok"}.dtype)
  end)

  it("names the remedy for decimal commas", function()
    local path <const> = file "x;y\n1,5;2,5\n-3,25;1e-1\n"
    local f <const> = gb.data.read(path)
    raises("format", "column 'x' holds numbers with a decimal comma: " .. path .. ":2 has '1,5'; read it with decimal = \",\"",
      f.col, f, "x")
    near({1.5, -3.25}, gb.data.read(path, {decimal = ","}):col "x", 0)
    assert.same({"1,5", "-3,25"}, gb.data.read(path, {decimal = "."}):col "x")
    raises("option", "decimal must be \".\" or \",\", got 'x'", gb.data.read, path, {decimal = "x"})
    raises("option", "',' cannot be both delimiter and decimal", gb.data.read, path, {decimal = ",", delimiter = ","})
    raises("option", "delimiter must be one character, got ', '", gb.data.read, path, {delimiter = ", "})
  end)

  it("warns, once, of what may be meant otherwise", function()
    local process <const> = require "spec.process"
    local path <const> = file "id,v\n9007199254740993,inf\nNA,2\n"
    local out <const>, errors <const>, rc <const> = process.run{"-e", ([[
      local f = require "gibbous".data.read %q
      print(#f.warnings, f:col "v":max():item())]]):format(path)}
    assert.equal(0, rc, errors)
    assert.equal("2\tinf\n", out)
    assert.equal(("gibbous: warning: %s:2: column 'id': 1 integer is rounded: a column keeps them whole where all its cells are "
      .. "integers of 64 bits\ngibbous: warning: %s:2: column 'v': 1 cell is infinite\n"):format(path, path), errors)
  end)

  it("warns of a column of numbers that a few words make text, by line and cell", function()
    local path <const> = file "a,b\n1,x\noops,2\n4,y\n"
    local f <const> = gb.data.read(path)
    assert.same({path .. ":3: column 'a' is text: 'oops' is not a number, although 2 of its 3 cells are"}, f.warnings)
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}}
    raises("option", "fit: x must be a tensor, got a list of text, whose entry 2 is 'oops'", m.fit, m, f:col "a", gb.ones(3))
    assert.same({}, gb.data.read(file "a\n1\nx\ny\n4\n5\n").warnings)            -- words enough to be meant
    assert.same({}, gb.data.read(file "a\nx\ny\n").warnings)
    local heading <const> = gb.data.read(file "a,2001\n3,4\n5,6\n").warnings
    assert.equal(1, #heading)
    assert.matches("read as data", heading[1])
  end)

  it("reads dates as seconds since 1970, and keeps their text", function()
    local text <const> = "at,v\n2020-02-29,1\n1970-01-02T00:00:01Z,2\nNA,3\n"
    local f <const> = gb.data.read(file(text))
    local at <const> = f.at:totable()
    assert.same({1582934400.0, 86401.0}, {at[1], at[2]})
    assert.is_true(at[3] ~= at[3])
    assert.same({"2020-02-29", "1970-01-02T00:00:01Z", "NA"}, f:text "at")
    local path <const> = support.path ".csv"
    gb.data.write(path, f)
    assert.equal(text, support.read(path))
    assert.same({"2020-02-29", "x"}, gb.data.read(file "at\n2020-02-29\nx\n").at)
    raises("option", "text: column 'v' is f64; f:col(name):totable() is a list of its values", f.text, f, "v")
  end)

  it("reads some of the columns", function()
    local path <const> = file "a,b,c\n1,x,3\n4,y,oops\n"
    local f <const> = gb.data.read(path, {columns = {"b", "a"}})
    assert.same({"b", "a"}, f.names)
    assert.same({"x", "y"}, f.b)
    near({1, 4}, f.a, 0)
    near({1, 4}, gb.data.read(path, {columns = {1}}).a, 0)
    near({1, 4}, gb.data.read(path, {columns = {"p"}, skip = 1, names = {"p", "q", "r"}}).p, 0)
    raises("option", "there is no column 'd'; columns: a, b, c", gb.data.read, path, {columns = {"d"}})
    raises("index", "there is no column 4 among 3", gb.data.read, path, {columns = {4}})
    raises("option", "columns asks for 'z', which is not in names", gb.data.read, path, {columns = {"z"}, names = {"p", "q", "r"}})
    raises("option", "columns must be names or numbers, got boolean", gb.data.read, path, {columns = {true}})
    raises("option", "the list of columns is empty", gb.data.read, path, {columns = {}})
  end)

  it("says what it does not read, and what to do", function()
    raises("format", "not a zip archive, or one that is cut short", gb.data.read, file("PK\3\4\0\0\0", ".npz"))
    raises("format", "a Parquet file: pandas.read_parquet(path)", gb.data.read, file "PAR1")
    raises("option", "dataset = ... is for HDF5 and MATLAB files", gb.data.read, file "a\n1\n", {dataset = "a"})
    raises("format", "text in UTF-16", gb.data.read, file "\xFF\xFEa\0")
    raises("format", "not a NumPy array file", gb.data.read, file("1,2\n", ".npy"))
    raises("format", ":1: a NUL byte: this is not a text file", gb.data.read, file "\0")
  end)

  it("waits for no pipe, and reads no folder or device", function()
    local path <const> = support.path()
    os.remove(path)
    os.execute("mkfifo " .. path)
    local function plain(what, f, ...) raises("io", what, f, ...) end
    plain("it is a pipe, not a plain file", gb.data.read, path)
    plain("it is a pipe", gb.load, path)
    plain("it is a device", gb.data.read, "/dev/zero")
    plain("it is a folder", gb.data.read, "/tmp")
    for _, ending in ipairs{".csv", ".csv.gz", ".npy", ".safetensors"} do
      os.rename(path, path .. ending)
      plain("it is a pipe", gb.data.read, path .. ending)
      if ending ~= ".csv.gz" then
        local v <const> = ending == ".safetensors" and {a = gb.ones(2)} or gb.ones(2)
        plain("it is not a plain file", gb.data.write, path .. ending, v)
      end
      os.rename(path .. ending, path)
    end
    for _, ending in ipairs{".svg", ".png", ".pdf"} do
      os.rename(path, path .. ending)
      plain("it is not a plain file", function() gb.plot.figure{}:line(gb.ones(2), gb.ones(2)):save(path .. ending) end)
      os.rename(path .. ending, path)
    end
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    plain("it is not a plain file", m.save, m, path)
    local plan <const> = gb.plan(gb.ones(3) + 1)
    plain("it is not a plain file", plan.svg, plan, path)
    plain("it is not a plain file", plan.json, plan, path)
    os.remove(path)
    plan:json(path)
    assert.equal(plan:json(), support.read(path))
  end)

  it("a frame is a value", function()
    local f <const> = gb.data.read(file "a\n1\n")
    raises("option", "cannot be assigned", function() f.a = 1 end)
    near({1}, f.a, 0)
    raises("option", "a frame has no column and no method 'hed' (did you mean 'head'?); columns: a", function() return f.hed end)
  end)
end)

describe("gb.data.places", function()
  it("are the working directory, the script's and its data/, and those of GIBBOUS_DATA", function()
    local function places(script, listed)
      return support.with(_G, {arg = {[0] = script}}, function()
        return support.with(os, {getenv = function(name) return name == "GIBBOUS_DATA" and listed or nil end}, gb.data.places)
      end)
    end
    assert.same({".", "/a/b", "/a/b/data"}, places("/a/b/x.lua"))
    assert.same({".", ".", "./data", "/c", "d"}, places("x.lua", "/c:d"))
    assert.same({"."}, places("/a/b/x.txt"))
    assert.same({".", "/c"}, places(nil, "/c"))
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

  it("writes integers to .csv whole, and reads them back so, beside columns of smaller ones", function()
    local big <const> = (1 << 53) + 1
    for _, rows in ipairs{{{big, 1}, {-big, 2}}, {{1, math.maxinteger}, {2, math.mininteger}},
        {{big, 1 << 60}, {big + 2, -(1 << 60)}}} do
      local path <const>, t <const> = support.path ".csv", gb.tensor(rows, {dtype = "i64"})
      gb.data.write(path, t)
      local back <const> = gb.data.read(path):col{1, 2}
      assert.equal("i64", back.dtype)
      assert.same(rows, back:totable())
      local again <const> = support.path ".csv"
      gb.data.write(again, gb.data.read(path, {names = {"a", "b"}}))
      assert.same(rows, gb.data.read(again):col{"a", "b"}:totable())
    end
    for _, other in ipairs{"0.5", "NA", "1e300"} do
      local f <const> = gb.data.read(file("a,b\n9007199254740993,1\n2," .. other .. "\n"))
      raises("dtype", "column 'a' is i64, for f64 would round its integers, and 'b' is f64", f.col, f, {"b", "a"})
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

  it("writes a frame of words and numbers that reads back the same", function()
    local text <const> = 'who,id,ok,"a, b",v\n"ada, ""l""",9007199254740993,true,,0.1\nbob,2,false,"# no\nnote",NaN\n'
    local f <const> = gb.data.read(file(text))
    local path <const> = support.path ".csv"
    gb.data.write(path, f)
    assert.equal(text, support.read(path))
    local odd <const> = gb.data.read(file("v\n" .. ("1\n"):rep(30) .. "oops\n"))
    raises("format", ":32 has 'oops'", gb.data.write, path, odd)
    assert.equal(text, support.read(path))
    gb.data.write(path, f:col "id")
    assert.equal("9007199254740993\n2\n", support.read(path))
  end)

  it("writes words and names that hold what may separate cells, in a lone column too", function()
    local path <const> = support.path ".csv"
    for _, mark in ipairs{",", ";", "\t", "|", " "} do
      local words <const>, name <const> = {"ada" .. mark .. "lovelace", "bob", "1" .. mark .. "2"}, "who" .. mark .. "it is"
      for _, columns in ipairs{{[name] = words}, {[name] = words, v = {1, 2.5, 3}}} do
        gb.data.write(path, gb.data.frame(columns))
        local f <const> = gb.data.read(path)
        assert.same(words, f[name])
        assert.equal(columns.v and 2 or 1, #f.names)
      end
    end
  end)

  it("says which text of a frame is read back as something else, and text = {...} reads it as text", function()
    local path <const> = support.path ".csv"
    local words <const> = {id = {"007", "008", "9"}, yes = {"true", "false", "true"}, day = {"2020-01-01", "2020-01-02", ""},
      few = {"NA", "", "1e999"}, name = {"007", "bond", ""}, v = {1, 2, 3}}
    local _, err <const>, code <const> = process.run{"-e", ([[local gb = require "gibbous"
      gb.data.write(%q, gb.data.frame(%s))]]):format(path, require "gibbous.text.inspect"(words))}
    assert.equal(0, code, err)
    local lines <const> = {}
    for line in err:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    for i, name in ipairs{"day", "few", "id", "yes"} do
      local kind <const> = name == "day" and "dates" or "numbers or truth values"
      assert.equal(("gibbous: warning: %s: column '%s' is text that reads as %s; gb.data.read(path, {text = {\"%s\"}}) keeps it")
        :format(path, name, kind, name), lines[i])
    end
    assert.equal(4, #lines, err)
    assert.equal("f64", gb.data.read(path, {text = {"few"}}).id.dtype)
    local f <const> = gb.data.read(path, {text = {"id", "yes", "day", "few"}})
    for _, name in ipairs{"id", "yes", "day", "few", "name"} do assert.same(words[name], f[name], name) end
    assert.same({}, f.warnings)
    near(words.v, f.v, 0)
    gb.data.write(path, f:select{"name", "v"})                              -- nothing to say, and the same cells
    assert.equal("name,v\n007,1\nbond,2\n,3\n", support.read(path))
  end)

  it("reads columns as text by number and by given names, beside those that are left out", function()
    local path <const> = file "01,1,02\n03,2,04\n"
    assert.same({"02", "04"}, gb.data.read(path, {text = {3}, names = {"a", "b", "c"}}).c)
    local f <const> = gb.data.read(path, {text = {"c"}, columns = {"c", "b"}, names = {"a", "b", "c"}})
    assert.same({"c", "b"}, f.names)
    assert.same({"02", "04"}, f.c)
    near({1, 2}, f.b, 0)
    raises("option", "there is no column 'd'; columns: ", gb.data.read, file "a,b\n1,2\n", {text = {"d"}})
    raises("option", "gb.data.read: text asks for 'd', which is not in names", gb.data.read, path,
      {text = {"d"}, names = {"a", "b", "c"}})
    raises("option", "gb.data.read: text must be names or numbers, got table", gb.data.read, path, {text = {{}}})
    assert.same({"1,5", "2"}, gb.data.read(file "a;b\n1,5;1\n2;1\n", {text = {"a"}}).a)
  end)

  it("writes views as they look", function()
    local path <const> = support.path ".npy"
    gb.data.write(path, gb.range(1, 6):reshape(2, 3):t())
    near({{1, 4}, {2, 5}, {3, 6}}, gb.data.read(path), 0)
  end)

  it("keeps tensors by name, and metadata, in .safetensors", function()
    local path <const> = support.path ".safetensors"
    local tensors <const> = {a = gb.randn(3, 4, {seed = 1}), b = gb.range(1, 3), c = gb.tensor(7), ["d.e"] = gb.ones(2):gt(0),
      half = gb.randn(5, {seed = 2}):to{dtype = "f16"}, brain = gb.randn(5, {seed = 2}):to{dtype = "bf16"}, none = gb.zeros(0, 3),
      turned = gb.randn(2, 3, {seed = 3, dtype = "f32"}):t()}
    gb.data.write(path, tensors, {metadata = {made = "here"}})
    local back <const>, texts <const> = gb.data.read(path)
    assert.same({made = "here"}, texts)
    for name, t in pairs(tensors) do
      assert.equal(t.dtype, back[name].dtype)
      assert.equal(tostring(t.shape), tostring(back[name].shape))
      assert.is_true(back[name]:equal(t), name)
      back[name] = nil
    end
    assert.is_nil(next(back))
    assert.equal("f32", (gb.data.read(path, {dtype = "f32"})).a.dtype)
    assert.equal("bool", (gb.data.read(path, {dtype = "f32"}))["d.e"].dtype)
    local bytes <const> = support.read(path)
    gb.data.write(path, back)
    gb.data.write(path, tensors, {metadata = {made = "here"}})
    assert.equal(bytes, support.read(path))
    gb.data.write(path, {p = gb.param(3)})
    near(3, (gb.data.read(path)).p, 0)
    local plain <const> = support.path ".bin"                 -- known by what is in it
    support.write(plain, support.read(path))
    near(3, (gb.data.read(plain)).p, 0)
  end)

  it("names what is wrong with a .safetensors file, and with what cannot be written to one", function()
    local path <const> = support.path ".safetensors"
    gb.data.write(path, {v = gb.ones(4)})
    local bytes <const> = support.read(path)
    support.write(path, bytes:sub(1, -2))
    raises("format", "within the 31 bytes of data", gb.data.read, path)
    support.write(path, "no")
    raises("format", "8 bytes with the length of the heading expected, the file has 2", gb.data.read, path)
    raises("option", "a table of tensors by name expected, got tensor", gb.data.write, path, gb.ones(2))
    raises("option", "'v' must be a tensor, got string", gb.data.write, path, {v = "x"})
    raises("option", "tensors by name expected, got a key of type number", gb.data.write, path, {gb.ones(2)})
    raises("option", "a name or text holds a NUL", gb.data.write, path, {["a\0b"] = gb.ones(2)})
    raises("option", "a name or text holds a NUL", gb.data.write, path, {}, {metadata = {a = "b\0"}})
    raises("option", "metadata must be strings by name", gb.data.write, path, {}, {metadata = {a = 1}})
    raises("option", "only .safetensors files have metadata", gb.data.write, "x.csv", gb.ones(2), {metadata = {}})
    assert.equal("no", support.read(path))
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

describe("gb.data.write", function()
  it("says what a .csv file holds, and what keeps other shapes", function()
    local err <const> = raises("shape", "", function() gb.data.write("/nowhere/x.csv", gb.zeros(2, 3, 4)) end)
    assert.equal("gb.data.write: a .csv file holds vectors and matrices, got shape 2x3x4; x:reshape(2, -1) is a matrix, "
      .. ".npy keeps the shape", support.shapes_alone(err.message))
    assert.matches("data_spec.lua:%d+", tostring(err))
  end)
end)

describe("gb.data.standardize of difficult columns", function()
  it("takes values whose squares are no numbers", function()
    local plain <const>, unit <const> = gb.data.standardize(gb.tensor{1, 2, 4, 7})
    for _, c in ipairs{{"f64", 1e-200}, {"f64", 3e200}, {"f64", 1e-300}, {"f32", 1e-25}, {"f32", 3e20}} do
      local xs <const>, scaler <const> = gb.data.standardize((gb.tensor{1, 2, 4, 7} * c[2]):to{dtype = c[1]})
      near(plain, xs, 2e-6)
      near(1, scaler.sd:item() / (unit.sd:item() * c[2]), 1e-6)
      near(1, scaler.mean:item() / (unit.mean:item() * c[2]), 1e-6)
    end
    local nan <const> = 0 / 0
    local xs <const>, scaler <const> = gb.data.standardize(gb.tensor{{1e-200, 1, 3e200}, {2e-200, nan, 3e200}, {nan, 4, 3e200}})
    near({-1, 1}, {xs[1][1]:item(), xs[2][1]:item()}, 1e-12)
    near({-1, 1}, {xs[1][2]:item(), xs[3][2]:item()}, 0)
    near({0, 0, 0}, xs:select(2, 3), 0)
    assert.same({1.0, 3e200}, {scaler.sd[3]:item(), scaler.mean[3]:item()})
    assert.is_true(xs[3][1]:isnan():item() and xs[2][2]:isnan():item())
  end)

  it("leaves constant ones 0, whatever their value rounds to", function()
    for _, v in ipairs{0.1, 1e300, -3.3e-310, 0, 123456789.123} do
      local xs <const>, scaler <const> = gb.data.standardize(gb.full({7}, v))
      near(gb.zeros(7), xs, 0)
      near(gb.full({7}, v), scaler:undo(xs), 0)
    end
    near({0}, (gb.data.standardize(gb.tensor{5})), 0)
  end)

  it("keeps missing values missing, and counts them for nothing", function()
    local nan <const> = 0 / 0
    local xs <const>, scaler <const> = gb.data.standardize(gb.tensor{{1, nan}, {nan, 2}, {3, 2}})
    near({2, 2}, scaler.mean, 0)
    near({1, 1}, scaler.sd, 0)
    local v <const> = xs:totable()
    assert.same({-1, 1, 0, 0}, {v[1][1], v[3][1], v[2][2], v[3][2]})
    assert.is_true(v[1][2] ~= v[1][2] and v[2][1] ~= v[2][1])
    raises("nan", "a column has no value that is not NaN", gb.data.standardize, gb.tensor{{1, nan}, {2, nan}})
    raises("nan", "a value is infinite", gb.data.standardize, gb.tensor{1, math.huge})
  end)

  it("takes integers and f32; refuses what has no rows", function()
    local xs <const> = gb.data.standardize(gb.range(1, 3):to{dtype = "i64"})
    near({-math.sqrt(1.5), 0, math.sqrt(1.5)}, xs, 1e-14)
    assert.equal("f32", (gb.data.standardize(gb.randn(5, {dtype = "f32", seed = 1}))).dtype)
    raises("shape", "there are no rows", gb.data.standardize, gb.zeros(0, 2))
    raises("shape", "must have rows, got one number", gb.data.standardize, gb.tensor(2))
    raises("option", "must be a tensor, got string", gb.data.standardize, "x")
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
    raises("option", "'test' must be a fraction below 1 or a whole number of rows, got 2.5", gb.data.split, x, y, {test = 2.5})
    raises("option", "20 test rows of 20 leave nothing", gb.data.split, x, y, {test = 20})
    raises("option", "0 test rows of 1 leave nothing", gb.data.split, gb.ones(1), gb.ones(1))
    raises("option", "2e+300 test rows", gb.data.split, x, y, {test = 2e300})
    raises("option", "must be a tensor, got nil", gb.data.split, x)
    raises("shape", "x has 20 rows, y has 3", gb.data.split, x, gb.ones(3))
  end)
end)

describe("what gb.data says, to the letter", function()
  after_each(support.sweep)

  it("of columns", function()
    local function column(text, name, o)
      local path <const> = file(text)
      local f <const> = gb.data.read(path, o)
      local ok <const>, err <const> = pcall(f.col, f, name)
      assert.is_false(ok)
      return (err.message:gsub(path:gsub("%W", "%%%0"), "FILE"))
    end
    local numbers <const> = "v\n" .. ("1\n"):rep(30) .. "oops\n"
    for _, row in ipairs{
      {"x;y\n1,5;2,5\n", "x",
        "column 'x' holds numbers with a decimal comma: FILE:2 has '1,5'; read it with decimal = \",\" (or, as text, with "
        .. "decimal = \".\")"},
      {numbers, "v", "column 'v' is not all numbers: FILE:32 has 'oops' (1 such cells; name it in na = \"...\" to read it as NaN)"},
      {"a,b\n1,x\n", {"a", "b"},
        "column 'b' holds text and cannot join a tensor: FILE:2 has 'x'; f:encode(name) and f:one_hot(name) make numbers of it"},
      {"id,v\n9007199254740993,0.5\n", {"id", "v"},
        "column 'id' is i64, for f64 would round its integers, and 'v' is f64: they do not go into one "
        .. "tensor; f:col(name):to{dtype = \"f64\"} rounds"},
      {"a,b,a,a\n1,2,3,4\n", "a",
        "FILE: columns 1, 3, 4 are all called 'a': f:col(1) takes one by its number, names = {...} gives them names"},
      {"abc,b\n1,2\n", "abd", "there is no column 'abd' (did you mean 'abc'?); columns: abc, b"},
      {"abc,b\n1,2\n", "qqqqq", "there is no column 'qqqqq'; columns: abc, b"},
      {"a,b\n1,2\n", 0, "column 0 of a frame with 2 columns"},
      {"a,b\n1,2\n", 3, "column 3 of a frame with 2 columns"}, {"a,b\n1,2\n", -3, "column -3 of a frame with 2 columns"},
      {"a,b\n1,2\n", {}, "col: the list of names is empty"}, {"abc,b\n1,2\n", 1.5, "there is no column '1.5'; columns: abc, b"},
    } do assert.equal(row[3], column(row[1], row[2], row[4])) end
    local f <const> = gb.data.read(file "a,,c\n1,2,3\n4,5,6\n")
    assert.equal("frame of 2 rows, 3 columns\n    a   V2    c\n  f64  f64  f64\n    1    2    3\n    4    5    6", tostring(f))
    near({{3, 1}, {6, 4}}, f:col{-1, -3}, 0)
    assert.equal("a frame has no column and no method 'zz'; columns: a, V2, c",
      raises("option", "", function() return f.zz end).message)
    assert.equal("a frame is a value and cannot be assigned to; f:with{name = ...} gives another one",
      raises("option", "", function() f.zz = 1 end).message)
    assert.equal("col is a method of a frame: write f:col(...) with a colon, not f.col(...)",
      raises("option", "", f.col, 1).message)
    assert.is_true(rawequal(f:col(1), f:col "a"))
  end)

  it("of columns of several types", function()
    local f <const> = gb.data.read(file "id,whole,ok,half,wide\n9007199254740993,3,true,0.5,9223372036854775808\n2,-4,false,1,1\n")
    local function types(...) return f:col{...}.dtype end
    assert.same({"i64", "i64", "f64", "f64", "bool", "f64", "i64"},
      {types("id", "whole"), types("id", "ok"), types("half", "whole"), types("half", "ok"),
      types "ok", types("whole", "ok"), types("whole", "id")})
    assert.same({{3, 1, 9007199254740993}, {-4, 0, 2}}, f:col{"whole", "ok", "id"}:totable())
    raises("dtype", "'id' is i64, for f64 would round its integers, and 'wide' is f64", f.col, f, {"id", "wide"})
    raises("dtype", "'id' is i64, for f64 would round its integers, and 'half' is f64", f.col, f, {"half", "id", "whole"})
  end)

  it("of options and paths", function()
    for key, want in pairs{skip = "a whole number, 0 or more", names = "a table", na = "a string", delimiter = "a string",
      decimal = "a string",
      max_ratio = "a positive number"} do
      assert.equal(("gb.data.read: option '%s' must be %s, got number -1"):format(key, want),
        raises("option", "", gb.data.read, "x", {[key] = -1}).message)
    end
    assert.equal("gb.data.read: option 'dtype' must be one of f64, f32, got string f16",
      raises("option", "", gb.data.read, "x", {dtype = "f16"}).message)
    assert.equal("cannot open '/nonexistent/x.csv': No such file or directory",
      raises("io", "", gb.data.read, "/nonexistent/x.csv").message)
    assert.equal("cannot read 'spec': it is a folder, not a plain file", raises("io", "", gb.data.read, "spec").message)
    local path <const> = file "a\n1\n"
    local function with(places, f)
      return support.with(os, {getenv = function(name) return name == "GIBBOUS_DATA" and places or nil end}, f)
    end
    support.with(_G, {arg = {}}, function()
      local name <const> = path:match "[^/]*$"
      assert.equal(1, #with("/nonexistent:" .. path:match "^(.*)/", function() return gb.data.read(name) end))
      assert.equal(("cannot find '%s' in ., /nonexistent (GIBBOUS_DATA adds directories)"):format(name),
        with("/nonexistent", function() return raises("io", "", gb.data.read, name).message end))
    end)
    for f, argument in pairs{read = "path", write = "path", set = "name", info = "name"} do
      raises("option", ("%s: expected a %s, got table; gb.data.%s("):format(f, argument, f), gb.data[f], {})
    end
  end)

  it("of what is written", function()
    for _, row in ipairs{
      {"x.npy", "text", nil, "gb.data.write: a tensor or frame expected, got string"},
      {"x.mat", gb.ones(1), nil, "gb.data.write: cannot tell the format of 'x.mat': expected .npy, .npz, .csv, .json, "
        .. ".jsonl or .safetensors"},
      {"x.csv", gb.ones(1), {metadata = {}}, "gb.data.write: only .safetensors files have metadata"},
      {"x.safetensors", gb.ones(1), nil, "gb.data.write: a table of tensors by name expected, got tensor"},
      {"x.safetensors", {}, {metadata = {[1] = "a"}}, "gb.data.write: metadata must be strings by name"},
      {"x.safetensors", {}, {metadata = {a = 1}}, "gb.data.write: metadata must be strings by name"},
      {"x.safetensors", {}, {metadata = gb.ones(1)},
       "gb.data.write: option 'metadata' must be a table of strings by name, got tensor"},
    } do assert.equal(row[4], raises("option", "", gb.data.write, row[1], row[2], row[3]).message) end
    local path <const> = support.path ".csv"
    gb.data.write(path, gb.tensor{1, 2}, {metadata = false})
    assert.equal("1\n2\n", support.read(path))
    gb.data.write(path, gb.param(7))
    assert.equal("7\n", support.read(path))
  end)

  it("of standardizing and splitting", function()
    local x <const>, y <const> = gb.ones(20), gb.ones(20)
    local function split(test) return raises("option", "", gb.data.split, x, y, {test = test}).message end
    for test, text in pairs{[2.5] = "gb.data.split: option 'test' must be a fraction below 1 or a whole number of rows, got 2.5",
      [1.5] = "gb.data.split: option 'test' must be a fraction below 1 or a whole number of rows, got 1.5",
      [20] = "split: 20 test rows of 20 leave nothing", [21] = "split: 21 test rows of 20 leave nothing",
      [0.99] = "split: 20 test rows of 20 leave nothing",
      [0.02] = "split: 0 test rows of 20 leave nothing",
      [0] = "gb.data.split: option 'test' must be a positive number, got number 0"} do
      assert.equal(text, split(test))
    end
    assert.equal("split: 1 test rows of 1 leave nothing", raises("option", "", gb.data.split, gb.ones(1), gb.ones(1),
      {test = 1}).message)
    assert.equal("split: x must have rows, got one number", raises("shape", "", gb.data.split, gb.tensor(1), y).message)
    assert.equal("split: y must be a tensor, got string", raises("option", "", gb.data.split, x, "y").message)
    local rows <const> = gb.range(1, 20)
    local function test_rows(o) return select(2, gb.data.split(rows, rows, o)).x:totable() end
    for _, row in ipairs{{1, 1}, {1.0, 1}, {2, 2}, {19, 19}, {0.025, 1}, {0.07, 1}, {0.075, 2}, {0.97, 19}} do
      assert.equal(row[2], #test_rows{test = row[1]})
    end
    assert.same(test_rows{test = 2, seed = 0}, test_rows())
    assert.is_true(#test_rows{test = 9, seed = 1} == 9 and not gb.tensor(test_rows{test = 9, seed = 1}):equal(
      gb.tensor(test_rows{test = 9})))
    local xs <const>, scaler <const> = gb.data.standardize(gb.tensor{{1, 5}, {3, 5}})
    assert.same({{-1, 0}, {1, 0}}, xs:totable())
    assert.same({{2, 5}, {1, 1}}, {scaler.mean:totable(), scaler.sd:totable()})
    assert.same({"undo_var is a method of a scaler: write scaler:undo_var(...) with a colon, not scaler.undo_var(...)",
      "apply is a method of a scaler: write scaler:apply(...) with a colon, not scaler.apply(...)"},
      {raises("option", "", scaler.undo_var, 3).message, raises("option", "", scaler.apply, 3).message})
    assert.equal("a scaler has no field 'zzz' (it has apply, mean, sd, undo, undo_var)",
      raises("option", "", function() return scaler.zzz end).message)
    local holes <const> = gb.tensor{{1, 0 / 0}, {3, 4}, {8, 4}}
    local filled <const>, of <const> = gb.data.standardize(holes)
    near({{4, 4}, {math.sqrt(26 / 3), 1}}, {of.mean:totable(), of.sd:totable()}, 1e-14)
    near({-3 / math.sqrt(26 / 3), 0}, {filled[1][1], filled[3][2]}, 1e-14)
    local before <const> = gb.config{dtype = "f32"}
    assert.same({"f32", "f32", "f64"}, {(gb.data.standardize(gb.range(1, 3):to{dtype = "i64"})).dtype,
      (gb.data.standardize(gb.tensor{true, false})).dtype, (gb.data.standardize(gb.ones(2, {dtype = "f64"}))).dtype})
    gb.config(before)
  end)
end)
