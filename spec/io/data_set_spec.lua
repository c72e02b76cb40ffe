--- Data sets by name: where they are looked for, what they hold, what is said of those that are missing.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

describe("gb.data.set", function()
  -- A folder with a set of 6 rows, 2 inputs, 2 splits, seen by a process of its own: GIBBOUS_DATA is read where it starts.
  local process <const> = require "spec.process"
  local folder, made

  local function write(name, text)
    made[#made + 1] = folder .. "/" .. name
    support.write(folder .. "/" .. name, text)
  end

  local function run(code)
    local path <const> = support.write(support.path ".lua", 'local gb = require "gibbous"\n' .. code)
    local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DATA=" .. folder})
    assert.equal(0, rc, errors)
    return out
  end

  before_each(function()
    folder, made = os.tmpname(), {}
    os.remove(folder)
    os.execute("mkdir -p " .. folder .. "/toy " .. folder .. "/bare " .. folder .. "/bad")
    write("toy/data.csv", "1,10,5\n2,20,7\n3,30,9\n4,40,11\n5,50,13\n6,60,15\n")
    write("toy/test_mask.csv", "1,0\n0,0\n0,1\n0,1\n0,0\n0,0\n")
    write("toy/citation.txt", "Nobody (2000)\n")
    write("bare/data.csv", "length,weight,price\n1,2,3\n2,3,4\n")
    write("bad/data.csv", "1,2\n3,4\n")
    write("bad/test_mask.csv", "0\n")
  end)

  after_each(function()
    for _, path in ipairs(made) do os.remove(path) end
    os.execute(("rmdir %s/* %s"):format(folder, folder))
    support.sweep()
  end)

  it("knows whose measurements the sets of papers are", function()
    local uci <const> = "UCI Machine Learning Repository"
    local known <const> = {
      {"airfoil", "Brooks, Pope & Marcolini (1989), Airfoil Self-Noise, " .. uci},
      {"bike", "Fanaee-T & Gama (2013), Bike Sharing, " .. uci},
      {"concrete", "Yeh (1998), Concrete Compressive Strength, " .. uci},
      {"elevators", "Camacho (1998), Elevators, collected by Torgo"},
      {"energy", "Tsanas & Xifara (2012), Energy Efficiency, " .. uci},
      {"kin40k", "Schwaighofer & Tresp (2003), kin40k, after the kin family of DELVE"},
      {"protein", "Rana (2013), Physicochemical Properties of Protein Tertiary Structure, " .. uci},
      {"pumadyn32nm", "Ghahramani (1996), the pumadyn family of DELVE"},
      {"wine", "Cortez, Cerdeira, Almeida, Matos & Reis (2009), Wine Quality, " .. uci},
      {"yacht", "Gerritsma, Onnink & Versluis (1981), Yacht Hydrodynamics, " .. uci},
    }
    local want <const> = {}
    for i, row in ipairs(known) do
      os.execute(("mkdir -p %s/%s"):format(folder, row[1]))
      write(row[1] .. "/data.csv", "1,2,3\n3,4,5\n")
      want[i] = ("%s: 2 rows, 2 columns, f64, 0 splits\n%s\n"):format(row[1], row[2])
    end
    assert.equal(table.concat(want), (run([[
      for _, name in ipairs(gb.data.sets()) do
        if name ~= "toy" and name ~= "bare" and name ~= "bad" then print(gb.data.set(name)) end
      end]])))
  end)

  it("is found by name, with its splits, names and citation", function()
    assert.equal("bad,bare,toy\n6 2 2 V1,V2,V3 Nobody (2000) f64\n2 2 0 length,weight,price |\nf32 6x2 6\n", run [[
      print(table.concat(gb.data.sets(), ","))
      local s = gb.data.set "toy"
      print(s.n, s.d, s.splits, table.concat(s.names, ","), s.citation, s.x.dtype)
      local b = gb.data.set "bare"
      print(b.n, b.d, b.splits, table.concat(b.names, ","), b.citation .. "|")
      gb.config{dtype = "f32"}
      local f = gb.data.set "toy"
      print(f.x.dtype, f.x.shape, #f.y)]]:gsub("\t", " "))
  end)

  it("splits by the masks, standardised by the training rows alone", function()
    assert.equal("ok\n", run [[
      local s = gb.data.set "toy"
      local train, test = s:split(1)
      assert(train.y:equal(gb.tensor{7, 9, 11, 13, 15}) and test.x:equal(gb.tensor{{1, 10}}))
      assert(train.scaler_y == nil)
      train, test = s:split(2, {standardize = true})
      assert(#test.y == 2 and math.abs(train.x:mean(1):abs():max():item()) < 1e-15)
      assert((train.y:std{ddof = 0} - 1):abs():item() < 1e-14)
      assert(test.scaler_y:undo(test.y):allclose(gb.tensor{9, 11}))
      assert(test.scaler_x:undo(test.x):allclose(gb.tensor{{3, 30}, {4, 40}}))
      local sd = gb.tensor{5, 7, 13, 15}:std{ddof = 0}:item()
      assert(math.abs(train.scaler_y:undo_var(gb.tensor{1}):item() - sd^2) < 1e-12)
      local a, b = s:split(1.0)
      assert(#a.y == 5 and #b.y == 1)
      print "ok"]])
  end)

  it("says what is wrong, and where a set should be", function()
    local out <const> = run [[
      for _, f in ipairs{
        function() return gb.data.set "toi" end, function() return gb.data.set "yacht" end,
        function() return gb.data.set "../toy" end, function() return gb.data.set "bad" end,
        function() return gb.data.set("toy", {dtpye = "f32"}) end, function() return gb.data.set "toy":split(3) end,
        function() return gb.data.set "toy":split(0) end, function() return gb.data.set "toy":split(1.5) end,
        function() return gb.data.set "bare":split(1) end, function() return gb.data.set "toy".split_s end,
        function() gb.data.set "toy".x = 1 end} do
        local ok, err = pcall(f)
        print(ok, err.code, err.message)
      end]]
    local lines <const> = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    local function says(i, code, text)
      assert.matches("^false\t" .. code .. "\t", lines[i])
      assert.is_true(lines[i]:find(text, 1, true) ~= nil, lines[i])
    end
    says(1, "io", "there is no data set 'toi' in .")
    says(1, "io", "did you mean 'toy'?")
    says(2, "io", "put yacht/data.csv.gz (comma-separated, no heading, last column = target) and yacht/test_mask.csv.gz")
    says(2, "io", folder)
    says(3, "io", "there is no data set '../toy'")
    says(4, "format", "test_mask.csv: 2 rows expected, one a row of the data, got 1")
    says(5, "option", "unknown option 'dtpye', did you mean 'dtype'?")
    says(6, "index", "toy: split 1 to 2 expected, got 3")
    says(7, "index", "toy: split 1 to 2 expected, got 0")
    says(8, "index", "toy: split 1 to 2 expected, got 1.5")
    says(9, "option", "bare has no test_mask.csv.gz; gb.data.split(x, y) splits at random")
    says(10, "option", "a data set has no field 'split_s' (did you mean 'splits'?)")
    says(11, "option", "a data set is a value and cannot be assigned to")
  end)

  it("reads the customary sets", function()
    local here <const> = {}
    for _, name in ipairs(gb.data.sets()) do here[name] = true end
    if not here.yacht then return pending "GIBBOUS_DATA names no folder with yacht" end
    local s <const> = gb.data.set "yacht"
    assert.same({308, 6, 10}, {s.n, s.d, s.splits})
    for i = 1, 10 do
      local train <const>, test <const> = s:split(i, {standardize = true})
      assert.equal(308, #train.y + #test.y)
      near(0, train.y:mean(), 1e-13)
    end
  end)
end)

describe("data sets in this process", function()
  local folder <const> = os.tmpname()

  local function write(name, text)
    os.execute(("mkdir -p %s/%s"):format(folder, name:match "^(.*)/"))
    support.write(folder .. "/" .. name, text)
  end

  local function here(f)
    return support.with(os, {getenv = function(name) return name == "GIBBOUS_DATA" and folder or nil end}, f)
  end
  local function set(name, o) return here(function() return gb.data.set(name, o) end) end
  local function said(code, name) return (raises(code, "", set, name).message:gsub(folder:gsub("%W", "%%%0"), "FOLDER")) end

  setup(function()
    os.remove(folder)
    write("b.set-1/data.csv", "1,10,5\n2,20,7\n3,30,9\n")
    write("b.set-1/test_mask.csv", "1,0\n0,1\n0,0\n")
    write("b.set-1/citation.txt", "Nobody (2000)  \n\n")
    write("both/data.csv", "1,2\n")
    -- 7,8 and 9,9.
    write("both/data.csv.gz",
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x33\xd7\xb1\xe0\xb2\xd4\xb1\xe4\x02\x00\x8f\x27\x8b\x12\x08\x00\x00\x00")
    -- 1,2 and 3,4.
    write("packed/data.csv.gz",
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x33\xd4\x31\xe2\x32\xd6\x31\xe1\x02\x00\x47\x93\x6c\xaf\x08\x00\x00\x00")
    write("narrow/data.csv", "1\n2\n")
    write("odd/data.csv", "1,2\n3,4\n")
    write("odd/test_mask.csv", "2\n0\n")
    write("short/data.csv", "1,2\n3,4\n")
    write("short/test_mask.csv", "1\n0\n0\n")
    write("energy/data.csv", "1,2\n3,4\n")
    write("empty/other.csv", "1,2\n")
  end)
  teardown(function() os.execute("rm -r " .. folder) end)

  it("are found once each, in any of both spellings, and say what they are", function()
    local script <const> = rawget(_G, "arg")
    support.with(_G, {arg = {}}, function()
      assert.same({"b.set-1", "both", "energy", "narrow", "odd", "packed", "short"}, here(gb.data.sets))
    end)
    assert.equal(script, rawget(_G, "arg"))
    local s <const> = set "b.set-1"
    assert.equal("b.set-1: 3 rows, 2 columns, f64, 2 splits\nNobody (2000)", tostring(s))
    assert.equal("odd: 2 rows", tostring(set "energy"):gsub("^energy: (%d rows).*", "odd: %1"))
    assert.equal("packed: 2 rows, 1 column, f32, 0 splits", tostring(set("packed", {dtype = "f32"})))
    assert.same({2, "f32", "f32", 8}, {set "both".n, set("both", {dtype = "f32"}).x.dtype, set("both", {dtype = "f32"}).y.dtype,
      set "both".y[1]:item()})
    assert.same({{1, 10}, {2, 20}, {3, 30}}, s.x:totable())
    assert.same({5, 7, 9}, s.y:totable())
    local train <const>, test <const> = s:split(2)
    assert.same({{{1, 10}, {3, 30}}, {5, 9}, {{2, 20}}, {7}}, {train.x:totable(), train.y:totable(), test.x:totable(),
      test.y:totable()})
    train.x, train.y = nil, nil
    assert.is_nil(next(train))
    assert.equal("split is a method of a data set: write d:split(...) with a colon, not d.split(...)",
      raises("option", "", s.split, 1).message)
    assert.equal("split: option 'standardize' must be a boolean, got number 1",
      raises("option", "", s.split, s, 1, {standardize = 1}).message)
    assert.equal("b.set-1: split 1 to 2 expected, got nil", raises("index", "", s.split, s).message)
  end)

  it("are refused by file and reason", function()
    assert.equal("FOLDER/narrow/data.csv: 2 columns or more expected, got 1", said("format", "narrow"))
    assert.equal("FOLDER/odd/test_mask.csv: 0 or 1 expected in every cell", said("format", "odd"))
    assert.equal("FOLDER/short/test_mask.csv: 2 rows expected, one a row of the data, got 3", said("format", "short"))
    support.with(_G, {arg = {}}, function()
      local ending <const> = " (GIBBOUS_DATA adds directories; gb.data.sets() lists what is found)"
      for name, near in pairs{pakced = ", did you mean 'packed'?", yach = ", and none 'yacht', which you may mean",
        zzzzzzz = "", empty = "",
        ["../" .. folder .. "/odd"] = "",
        [".hidden"] = "", ["both/"] = ", did you mean 'both'?"} do
        assert.equal(("there is no data set '%s' in ., FOLDER%s%s"):format(name:gsub(folder:gsub("%W", "%%%0"), "FOLDER"), near,
          ending), said("io", name))
      end
      assert.equal("data set 'wine' (Cortez, Cerdeira, Almeida, Matos & Reis (2009), Wine Quality, UCI Machine Learning "
        .. "Repository) is not in ., FOLDER: put "
        .. "wine/data.csv.gz (comma-separated, no heading, last column = target) and wine/test_mask.csv.gz (ten columns, 1 marks "
          .. "a test row) into one of "
        .. "them, or name their folder in GIBBOUS_DATA", said("io", "wine"))
    end)
    assert.equal("gb.data.set: option 'dtype' must be one of f64, f32, got string f16",
      raises("option", "", set, "odd", {dtype = "f16"}).message)
  end)
end)
