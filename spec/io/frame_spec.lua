local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local nan <const> = 0 / 0

--- A list where NaN is "nan", to be compared.
local function plain(t)
  local out <const> = {}
  for i, v in ipairs(type(t) == "table" and t or t:totable()) do out[i] = v ~= v and "nan" or v end
  return out
end

local function sites()
  return gb.data.frame{site = {"b", "a", "b", "c", "a"}, v = {3, 1, 2, nan, 5}, ok = {true, false, true, true, false},
    at = gb.range(1, 5)}
end

describe("gb.data.frame", function()
  it("makes a frame of vectors and lists", function()
    local f <const> = gb.data.frame({b = {1, 2}, a = gb.tensor{3, 4}, c = {"x", "y"}, d = {true, false}},
      {names = {"b", "a", "d", "c"}})
    assert.same({"b", "a", "d", "c"}, f.names)
    assert.same({"f64", "bool"}, {f.b.dtype, f.d.dtype})
    assert.same({"x", "y"}, f.c)
    assert.equal(2, #f)
    assert.equal("i64", gb.data.frame{id = {1, (1 << 53) + 1}}.id.dtype)
    assert.equal(0, #gb.data.frame{})
    assert.equal("frame of 0 rows, 0 columns", tostring(gb.data.frame{}))
    assert.equal(0, #gb.data.frame{a = {}}.a)
  end)

  it("says what cannot be a column", function()
    local function make(t, o) return function() gb.data.frame(t, o) end end
    raises("option", "column 'a': a vector or a list expected, got string", make{a = "x"})
    raises("shape", "column 'a': a vector expected, got shape 2x1", make{a = gb.ones(2, 1)})
    raises("shape", "column 'a' has 2 rows, 'b' has 1", make{a = {1, 2}, b = {1}})
    raises("option", "column 'a': entry 2 is of type string, the others are numbers", make{a = {1, "x"}})
    raises("option", "column 'a': entry 2 is of type number, the others are strings", make{a = {"x", 1}})
    raises("option", "column 'a': numbers, strings or booleans expected, got table", make{a = {{}}})
    raises("option", "names lacks column 'b'", make({a = {1}, b = {1}}, {names = {"a"}}))
    raises("option", "there is no column 'c'", make({a = {1}}, {names = {"c"}}))
    raises("option", "column 'a' is named twice", make({a = {1}}, {names = {"a", "a"}}))
    raises("option", "columns have names", make{{1}})
  end)

  it("is written and read back", function()
    local path <const> = support.path ".csv"
    gb.data.write(path, sites())
    assert.equal("at,ok,site,v\n1,true,b,3\n2,false,a,1\n3,true,b,2\n4,true,c,NaN\n5,false,a,5\n", support.read(path))
    raises("option", "entry 1 holds a NUL", gb.data.write, path, gb.data.frame{a = {"x\0"}})
    support.sweep()
  end)
end)

describe("a frame", function()
  it("prints its types and first rows", function()
    assert.equal([[
frame of 5 rows, 4 columns
   at     ok  site    v
  f64   bool  text  f64
    1   true  b       3
    2  false  a       1
    3   true  b       2
    4   true  c       -
    5  false  a       5]], tostring(sites()))
    local many <const> = {}
    for i = 1, 30 do many[("name%02d"):format(i)] = gb.full({25}, 1.5) end
    local text <const> = tostring(gb.data.frame(many))
    assert.matches("\n  %.%. 15 rows more\n  %.%. 18 columns more: name13, name14, ", text)
    for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 100, line) end
    assert.matches("\n  an overlong cell that %.%.$", tostring(gb.data.frame{a = {"an overlong cell that is not shown whole"}}))
    assert.matches(("\xFF"):rep(22) .. "%.%.$", tostring(gb.data.frame{a = {("\xFF"):rep(60)}}))
  end)

  it("fits the window", function()
    local wide <const> = {}
    for i = 1, 9 do wide["column" .. i] = {i} end
    support.with(require "gibbous.text.window", {columns = function() return 40 end}, function()
      for line in tostring(gb.data.frame(wide)):gmatch "[^\n]+" do assert.is_true(#line <= 70, line) end
      assert.matches("5 columns more: column5, column6, column7, column8, column9$", tostring(gb.data.frame(wide)))
    end)
  end)

  it("gives its first rows", function()
    near({1, 2}, sites():head(2).at, 0)
    near({1, 2, 3}, sites():head(-2).at, 0)
    assert.equal(5, #sites():head())
    assert.equal(0, #sites():head(0))
    assert.equal(0, #sites():head(-9))
    raises("option", "head: a whole number expected, got number 1.5", function() sites():head(1.5) end)
  end)

  it("is filtered by a mask or a function of the row", function()
    local f <const> = sites()
    near({1, 5}, f:filter(f.v:gt(2)).at, 0)
    local g <const> = f:filter(function(row) return row.site == "a" and not row.ok end)
    near({2, 5}, g.at, 0)
    assert.same({"a", "a"}, g.site)
    assert.equal(0, #f:filter(f.v:gt(9)).site)
    raises("option", "there is no column 'sit' (did you mean 'site'?)", f.filter, f, function(row) return row.sit end)
    raises("option", "a row cannot be assigned to", f.filter, f, function(row) row.v = 1 end)
    raises("option", "a mask (a tensor of bool) or a function of the row expected, got a tensor of f64", f.filter, f, f.v)
    raises("shape", "a mask (5) expected, got shape 2", f.filter, f, gb.ones(2):gt(0))
  end)

  it("is sorted by a column, stable, NaN last", function()
    local f <const> = sites()
    near({2, 3, 1, 5, 4}, f:sort("v").at, 0)
    near({5, 1, 3, 2, 4}, f:sort("v", {descending = true}).at, 0)
    near({2, 5, 1, 3, 4}, f:sort("site").at, 0)
    near({4, 1, 3, 2, 5}, f:sort("site", {descending = true}).at, 0)
    near({2, 5, 1, 3, 4}, f:sort("ok").at, 0)
  end)

  it("selects, adds and renames columns", function()
    local f <const> = sites()
    assert.same({"v", "at"}, f:select{"v", 1}.names)
    local g <const> = f:with{z = f.at * 2, v = {"p", "q", "r", "s", "t"}, a = gb.ones(5)}
    assert.same({"at", "ok", "site", "v", "a", "z"}, g.names)
    near({2, 4, 6, 8, 10}, g.z, 0)
    assert.same({"p", "q", "r", "s", "t"}, g.v)
    assert.same({"at", "ok", "place", "v"}, f:rename{site = "place"}.names)
    assert.same({"at", "ok", "site", "v"}, f.names)
    raises("shape", "with: the frame has 5 rows, column 'z' 2", f.with, f, {z = {1, 2}})
    raises("option", "with: columns have names, {name = ...}", f.with, f, {{1}})
    raises("option", "rename: 'site' needs a name, a string", f.rename, f, {site = 1})
    raises("option", "there is no column 'sit' (did you mean 'site'?)", f.rename, f, {sit = "x"})
    raises("option", "select: a list of names or numbers expected, got string", f.select, f, "v")
  end)

  it("keeps a faulty column, which raises where it is looked at", function()
    local lines <const> = {"v,w"}
    for i = 1, 30 do lines[#lines + 1] = i .. "," .. i end
    lines[18] = "oops,17"
    local path <const> = support.write(support.path ".csv", table.concat(lines, "\n") .. "\n")
    local g <const> = gb.data.read(path):sort("w", {descending = true}):head(20)
    near({30, 29}, g.w:slice(1, 1, 2), 0)
    raises("format", ":18 has 'oops'", function() return g.v end)
    assert.matches("mixed", tostring(g))
    support.sweep()
  end)

  it("gives tensors that know the names of their columns", function()
    local named <const> = require "gibbous.frame.named"
    assert.same({"v", "at"}, named.of(sites():col{"v", 1}))
    assert.same({"site=a", "site=b", "site=c"}, named.of((sites():one_hot "site")))
    local f <const> = gb.data.frame{year = {1, 2, 3, 4}, ["CO2 in ppm"] = {5, 6, 0 / 0, 7}, month = {1, 2, 2, 1}}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    m:fit(f.year, f:col "CO2 in ppm", {steps = 1, missing = "mask"})
    local path <const> = support.path ".svg"
    gb.plot.posterior(m):save(path)
    assert.matches(">year<", support.read(path))
    assert.matches(">CO2 in ppm<", support.read(path))
    raises("option", "fit: the frame's column of targets is named behind it: m:fit(frame, \"year\"), got tensor", m.fit, m, f,
      f.year)
    local two <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    two:fit(f:col{"year", "month"}, f.year, {steps = 1})
    gb.plot.posterior(two):save(path)
    assert.matches(">month<", support.read(path))
    support.sweep()
  end)
end)

describe("groups of a frame", function()
  it("have statistics of what is there, by key in order", function()
    local g <const> = sites():group "site"
    assert.same({"a", "b", "c"}, g:mean().site)
    assert.same({3.0, 2.5, "nan"}, plain(g:mean().v))
    assert.same({6.0, 5.0, 0.0}, plain(g:sum().v))
    assert.same({1.0, 2.0, "nan"}, plain(g:min().v))
    assert.same({5.0, 3.0, "nan"}, plain(g:max().v))
    near({math.sqrt(8), math.sqrt(0.5)}, g:std().v:slice(1, 1, 2), 1e-15)
    assert.same({0.0, 1.0, 1.0}, plain(g:mean().ok))
    assert.same({2, 2, 1}, g:count().count:totable())
    assert.equal("3 groups of equal site", tostring(g))
  end)

  it("are of several keys, also of numbers and missing ones", function()
    local f <const> = gb.data.frame{a = {2, 1, nan, 2, 1}, b = {"x", "x", "y", "x", "y"}, n = {1, 2, 3, 4, 5}}
    local s <const> = f:group{"a", "b"}:sum()
    assert.same({1.0, 1.0, 2.0, "nan"}, plain(s.a))
    assert.same({"x", "y", "x", "y"}, s.b)
    near({2, 5, 5, 3}, s.n, 0)
    assert.same({"a", "b", "n"}, s.names)
    assert.equal(0, #gb.data.frame{a = {}, b = {}}:group "a":count())
    raises("option", "group: a name or a list of names expected", f.group, f, {})
    raises("option", "a group of rows has no field 'men' (did you mean 'mean'?)", function() return f:group "a".men end)
  end)

  it("keep integers whole", function()
    local big <const> = (1 << 53) + 1
    local f <const> = gb.data.frame{k = {"a", "a", "b"}, id = gb.tensor({big, 2, -big}, {dtype = "i64"})}
    assert.same({big + 2, -big}, f:group "k":sum().id:totable())
    assert.same({2, -big}, f:group "k":min().id:totable())
    assert.same({big, -big}, f:group "k":max().id:totable())
  end)
end)

describe("joins of frames", function()
  local function other() return gb.data.frame{site = {"a", "b", "b"}, height = {10, 20, 30}, word = {"p", "q", "r"}} end

  it("are of rows with equal keys, in order", function()
    local j <const> = sites():join(other(), {on = "site"})
    near({1, 1, 2, 3, 3, 5}, j.at, 0)
    near({20, 30, 10, 20, 30, 10}, j.height, 0)
    assert.same({"at", "ok", "site", "v", "height", "word"}, j.names)
    assert.equal(0, #sites():head(0):join(other(), {on = "site"}))
  end)

  it("keep rows of the left that have no partner", function()
    local j <const> = sites():join(other(), {on = {"site"}, how = "left"})
    assert.same({20.0, 30.0, 10.0, 20.0, 30.0, "nan", 10.0}, plain(j.height))
    assert.same({"q", "r", "p", "q", "r", "", "p"}, j.word)
    assert.same({"nan", "nan"}, plain(sites():head(2):join(other():head(0), {on = "site", how = "left"}).height))
  end)

  it("keep integers beyond 2^53 and truth values where every row has a partner, and refuse to round them", function()
    local big <const> = (1 << 53) + 1
    local f <const> = gb.data.frame{k = {1, 2}}
    local other <const> = gb.data.frame{k = {2, 1}, id = {big, -big}, ok = {true, false}}
    local j <const> = f:join(other, {on = "k", how = "left"})
    assert.same({"i64", "bool"}, {j.id.dtype, j.ok.dtype})
    assert.same({-big, big}, j.id:totable())
    local more <const> = gb.data.frame{k = {1, 7}}
    raises("dtype", "join: column 'id' holds integers beyond 2^53, which have no missing value, and row 2 has no partner: how = "
      .. "\"inner\" leaves the row out, f:select{...} the column", more.join, more, other, {on = "k", how = "left"})
    local small <const> = gb.data.frame{k = {1}, id = gb.tensor({1 << 53}, {dtype = "i64"})}
    assert.same({2.0 ^ 53, "nan"}, plain(more:join(small, {on = "k", how = "left"}).id))
  end)

  it("are of several keys, of numbers as of words; NaN equals nothing", function()
    local a <const> = gb.data.frame{k = {1, 2, nan}, w = {"x", "x", "x"}, p = {1, 2, 3}}
    local b <const> = gb.data.frame{k = gb.tensor({2, 1, 2}, {dtype = "i64"}), w = {"x", "y", "x"}, q = {4, 5, 6}}
    local j <const> = a:join(b, {on = {"k", "w"}})
    near({{2, 4}, {2, 6}}, j:col{"p", "q"}, 0)
    assert.equal(0, #a:join(gb.data.frame{k = {nan}, z = {1}}, {on = "k"}))
    local split <const> = gb.data.frame{a = {"1:", "1"}, b = {"1", ":1"}, n = {1, 2}}
    assert.equal(2, #split:join(split:rename{n = "m"}, {on = {"a", "b"}}))
  end)

  it("say what does not fit", function()
    local f <const> = sites()
    raises("option", "join: both frames have a column 'at': f:rename{at", f.join, f, f, {on = "site"})
    raises("dtype", "join: column 'site' is text on the left and f64 on the right", f.join, f, gb.data.frame{site = {1}},
      {on = "site"})
    raises("option", "join: on = \"name\"", f.join, f, f)
    raises("option", "join: a frame expected, got table", f.join, f, {}, {on = "site"})
  end)
end)

describe("categories of a frame", function()
  it("are codes from 1, and one-hot rows", function()
    local codes <const>, categories <const> = sites():encode "site"
    assert.same({{2, 1, 2, 3, 1}, "i32", {"a", "b", "c"}}, {codes:totable(), codes.dtype, categories})
    local rows <const>, same <const> = sites():one_hot "ok"
    near({{0, 1}, {1, 0}, {0, 1}, {0, 1}, {1, 0}}, rows, 0)
    assert.same({false, true}, same)
    raises("nan", "encode: column 'v' is missing in row 4", function() sites():encode "v" end)
    raises("nan", "one_hot: column 'v' is missing in row 4", function() sites():one_hot "v" end)
  end)
end)

describe("frame:describe", function()
  it("has a row a column", function()
    local d <const> = sites():describe()
    assert.same({"at", "ok", "site", "v"}, d.column)
    assert.same({"f64", "bool", "text", "f64"}, d.type)
    assert.same({0.0, 0.0, 0.0, 1.0}, plain(d.missing))
    assert.same({"nan", "nan", 3.0, "nan"}, plain(d.distinct))
    assert.same({3.0, 0.6, "nan", 2.75}, plain(d.mean))
    assert.same({3.0, 1.0, "nan", 2.5}, plain(d.median))
    assert.same({5.0, 1.0, "nan", 5.0}, plain(d.max))
    assert.same({1.0, 0.0, "nan", 1.0}, plain(d.min))
    near(sites().v:index(1, gb.tensor({1, 2, 3, 5}, {dtype = "i64"})):std(1), d.sd[4], 1e-15)
    assert.equal(0, #gb.data.frame{}:describe())
  end)
end)

describe("lists of a frame", function()
  --- The code of the error of f() where only so many more bytes are free; nothing is held behind it.
  local function refused(bytes, f)
    local old <const> = support.leave_room(bytes)
    local before <const> = gb.memory.report().used
    local ok <const>, err <const> = pcall(f)
    gb.memory.limit(old)
    collectgarbage()
    collectgarbage()
    assert.is_true(gb.memory.report().used <= before)      -- a refusal first gives back what others keep for later
    return ok or err.code
  end

  -- Bytes of the host: of columns on another device it has copies of what was looked at.
  local on_host <const> = os.getenv "GIBBOUS_DEVICE" == nil and it or pending
  on_host("are refused beyond the limit of memory, before they are made", function()
    local n <const>, words <const> = 20000, {}
    for i = 1, n do words[i] = "w" .. i % 100 end
    local path <const> = support.path ".csv"
    gb.data.write(path, gb.data.frame{w = words, v = gb.range(1, n)})
    local f <const> = gb.data.frame{v = gb.range(1, n), k = gb.range(1, n) % 7}
    local read <const> = gb.data.read(path)
    support.sweep()
    assert.equal("oom", refused(1 << 20, function() return f:group "k" end))
    assert.equal("oom", refused(1 << 20, function() return f:encode "k" end))
    assert.equal("oom", refused(1 << 20, function() return f:one_hot "k" end))
    assert.equal("oom", refused(1 << 20, function() return f:join(f, {on = "v"}) end))
    assert.equal("oom", refused(1 << 20, function() return read.w end))
    assert.equal(7, #f:group "k")
    assert.equal("w1", read.w[1])
    local head <const> = read:head(15000)
    assert.equal("oom", refused(1 << 17, function() return head.w end))
    assert.equal("w1", head.w[1])
  end)
end)
