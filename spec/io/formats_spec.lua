local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local function file(text, ending) return support.write(support.path(ending), text) end

local function plain(t)
  local out <const> = {}
  for i, v in ipairs(type(t) == "table" and t or t:totable()) do out[i] = v ~= v and "nan" or v end
  return out
end

describe(".npz files", function()
  after_each(support.sweep)

  it("keep tensors by name", function()
    local path <const> = support.path ".npz"
    local tensors <const> = {a = gb.randn(3, 4, {seed = 1}),
      n = gb.range(1, 3):to{dtype = "i64"}, t = gb.tensor(7), ok = gb.ones(2):gt(0)}
    gb.data.write(path, tensors)
    local back <const> = gb.data.read(path)
    for name, t in pairs(tensors) do
      assert.is_true(back[name]:equal(t), name)
      assert.equal(t.dtype, back[name].dtype)
    end
    local bytes <const> = support.read(path)
    gb.data.write(path, back)
    assert.equal(bytes, support.read(path))
    assert.equal("f32", gb.data.read(path, {dtype = "f32"}).a.dtype)
    gb.data.write(path, {})
    assert.same({}, gb.data.read(path))
  end)

  it("say what is wrong with them", function()
    local path <const> = support.path ".npz"
    gb.data.write(path, {a = gb.zeros(100)})
    local bytes <const> = support.read(path)
    support.write(path, bytes:sub(1, -30))
    raises("format", "not a zip archive, or one that is cut short: it has no directory", gb.data.read, path)
    support.write(path, (bytes:gsub("a%.npy", "a.txt")))
    raises("format", "'a.txt' is not an array (.npy)", gb.data.read, path)
    support.write(path, bytes:sub(1, 300) .. "\1" .. bytes:sub(302))
    raises("format", "'a.npy': its checksum is wrong: the file is damaged", gb.data.read, path)
    support.write(path, (bytes:gsub("<f8", "|O8")))
    raises("format", ".npz: a.npy: ", gb.data.read, path)
    raises("format", "not a NumPy archive, or one that is damaged", gb.data.read, file("abc", ".npz"))
    raises("format", "a zip archive, read where its name ends in .npz; from a spreadsheet, save as .csv", gb.data.read,
      file(bytes, ".xlsx"))
    raises("option", "a table of tensors by name expected, got tensor", gb.data.write, path, gb.ones(2))
    raises("option", "an array in an .npz file cannot be called '../x'", gb.data.write, path, {["../x"] = gb.ones(2)})
  end)
end)

describe("SQLite files", function()
  after_each(support.sweep)

  local function database()
    local path <const> = support.path ".db"
    os.remove(path)
    local db <close> = core.database(path)
    db:run "CREATE TABLE t (x REAL, word TEXT, id INTEGER, absent REAL)"
    db:run("INSERT INTO t VALUES (1.5, 'a', ?, NULL), (NULL, NULL, ?, NULL), (3, 'c', 3, NULL)", (1 << 53) + 1, 2)
    return path
  end

  it("give the result of a query as a frame", function()
    local f <const> = gb.data.read(database(), {query = "SELECT x, word, id, absent, 2 * x AS twice FROM t"})
    assert.same({"x", "word", "id", "absent", "twice"}, f.names)
    assert.same({1.5, "nan", 3.0}, plain(f.x))
    assert.same({"a", "", "c"}, f.word)
    assert.same({(1 << 53) + 1, 2, 3}, f.id:totable())
    assert.same({"nan", "nan", "nan"}, plain(f.absent))
    assert.equal(0, #gb.data.read(database(), {query = "SELECT * FROM t WHERE x > 9"}))
    local large <const> = gb.data.read(database(), {query = "SELECT 9007199254740993 AS id UNION ALL SELECT NULL"})
    assert.matches(": row 1: column 'id': 1 integer is rounded", large.warnings[1], 1, true)
  end)

  it("give the columns that a table has now, also by a statement that ran before", function()
    local path <const> = support.path ".db"
    os.remove(path)
    local db <close> = core.database(path)
    local function names()
      local out <const> = {}
      for i, column in ipairs(db:columns "SELECT * FROM t") do out[i] = column.name end
      return out
    end
    db:run "CREATE TABLE t (a)"
    assert.same({"a"}, names())
    db:run "ALTER TABLE t ADD COLUMN b"
    assert.same({"a", "b"}, names())
    db:run "ALTER TABLE t RENAME COLUMN a TO c"
    assert.same({"c", "b"}, names())
    db:run "DROP TABLE t"
    db:run "CREATE TABLE t (z)"
    assert.same({"z"}, names())
  end)

  it("in memory, of no bytes, are empty", function()
    local db <close> = core.database_image ""
    assert.same({}, db:rows "SELECT * FROM sqlite_master")
  end)

  it("are only read, and say what they hold", function()
    local path <const> = database()
    raises("option", "a database is read by a query, {query = \"SELECT ... FROM ...\"}; it has t", gb.data.read, path)
    raises("option", "no such column: y; in: SELECT y FROM t", gb.data.read, path, {query = "SELECT y FROM t"})
    raises("io", "readonly", gb.data.read, path, {query = "DELETE FROM t"})
    assert.equal(3, #gb.data.read(path, {query = "SELECT * FROM t"}))
    collectgarbage()
    local old <const> = gb.memory.limit(1 << 20)
    local ok <const>, err <const> = pcall(gb.data.read, path, {query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
      .. "FROM n LIMIT 200000) SELECT i, 'word ' || i AS w FROM n"})
    gb.memory.limit(old)
    assert.same({false, "oom"}, {ok, err.code})
    raises("format", ".db: row 2: column 'v' has strings here, and numbers in the rows before", gb.data.read, path,
      {query = "SELECT 1 AS v UNION ALL SELECT 'x'"})
    raises("option", "query = ... is for SQLite files", gb.data.read, file("a\n1\n", ".csv"), {query = "SELECT 1"})
  end)

  it("that are damaged are refused or read, and never crash", function()
    local path <const> = database()
    local bytes <const> = support.read(path)
    local codes <const> = {format = true, io = true, option = true, nomem = true}
    math.randomseed(7)
    for _ = 1, 400 do
      local n <const> = math.random(1, 3)
      local b = bytes
      for _ = 1, n do
        local at <const> = math.random(20, #b)
        b = b:sub(1, at - 1) .. string.char(math.random(0, 255)) .. b:sub(at + 1)
      end
      if math.random(8) == 1 then b = b:sub(1, math.random(16, #b)) end
      support.write(path, b)
      local ok <const>, err <const> = pcall(gb.data.read, path, {query = "SELECT * FROM t"})
      assert.is_true(ok or codes[err.code] == true, tostring(err))
    end
  end)
end)

describe("JSON files", function()
  after_each(support.sweep)

  it("of an object a line give a frame", function()
    local f <const> = gb.data.read(file('{"b": 1, "a": "x"}\n\n{"a": null, "c": true, "b": 2.5}\r\n{"c": false}', ".jsonl"))
    assert.same({"b", "a", "c"}, f.names)
    assert.same({"x", "", ""}, f.a)
    assert.same({1.0, 2.5, "nan"}, plain(f.b))
    assert.same({"nan", 1.0, 0.0}, plain(f.c))
    assert.equal("bool", gb.data.read(file('{"c": true}\n', ".ndjson")).c.dtype)
    assert.equal((1 << 53) + 1, gb.data.read(file('{"id": 9007199254740993}\n', ".jsonl")).id[1]:item())
    assert.equal(0, #gb.data.read(file("\n", ".jsonl")))
    local mark <const> = "\xEF\xBB\xBF"                        -- a byte order mark, as editors of other systems write it
    assert.equal(2, gb.data.read(file(mark .. '{"b": 1}\n{"b": 2}\n', ".jsonl")).b[2]:item())
    assert.equal(2, gb.data.read(file(mark .. '[{"b": 1}, {"b": 2}]', ".json")).b[2]:item())
    assert.equal(2, gb.data.read(file(mark .. '{"b": [1, 2]}', ".json")).b[2]:item())
    assert.equal("x", gb.data.read(file(mark .. ' "x"', ".json")))
    raises("format", "", gb.data.read, file(mark:sub(1, 2) .. '[{"b": 1}]', ".json"))
    assert.equal(0, #gb.data.read(file(mark, ".jsonl")))
  end)

  it("say which integers are rounded, where a value is missing or is none", function()
    local f = gb.data.read(file('{"id": 9007199254740993}\n{"id": 4611686018427387904}\n{"id": null}\n', ".jsonl"))
    assert.equal("f64", f.id.dtype)
    assert.matches(".jsonl:1: column 'id': 1 integer is rounded: a column keeps them whole", f.warnings[1], 1, true)
    f = gb.data.read(file('[{"id": 1}, {"id": 9007199254740993}, {"id": 0.5}, {"id": -9223372036854775807}]', ".json"))
    assert.matches(".json: row 2: column 'id': 2 integers are rounded", f.warnings[1], 1, true)
    assert.same({}, gb.data.read(file('{"id": 9007199254740993}\n', ".jsonl")).warnings)
  end)

  it("of rows or columns give a frame, others their value", function()
    local f <const> = gb.data.read(file('[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]', ".json"))
    assert.same({{1.0, 2.0}, {"x", "y"}}, {f.a:totable(), f.b})
    assert.same({"x", "y"}, gb.data.read(file('{"a": [1, 2], "b": ["x", "y"]}', ".json")).b)
    assert.same({k = {1, {2}}}, gb.data.read(file('{"k": [1, [2]]}', ".json")))
    assert.equal(3, gb.data.read(file("3", ".json")))
  end)

  it("are no table where an object has other values than lists of one length", function()
    for _, text in ipairs{'{"a": [1, 2], "b": [1]}', '{"a": [1, "x"]}', '{"a": [1, null]}', '{"a": []}', '{"a": [1], "b": 2}',
        '{"a": [[1]]}', '{}', '[]', '[1, 2]', '["x", {}]'} do
      assert.is_table(gb.data.read(file(text, ".json")))
      assert.is_nil(getmetatable(gb.data.read(file(text, ".json"))))
    end
    raises("format", "not JSON", gb.data.read, file('{"a": [1], "a": [2]}', ".json"))
  end)

  -- Bytes of the host: of columns on another device it has copies of what was looked at.
  local on_host <const> = os.getenv "GIBBOUS_DEVICE" == nil and it or pending
  on_host("of any size are read within the limit of memory, and refused beyond it", function()
    local rows <const> = {}
    for i = 1, 60000 do rows[i] = ('{"a": %d, "b": "word %d", "c": %s}'):format(i, i, i % 3 == 0 and "null" or i / 8) end
    local whole <const> = file("[" .. table.concat(rows, ",\n") .. "]", ".json")
    local lines <const> = file(table.concat(rows, "\n"), ".jsonl")
    for _, path in ipairs{whole, lines} do
      collectgarbage()
      local before <const> = gb.memory.report().used
      local f <const> = gb.data.read(path)
      assert.equal(60000, #f)
      assert.same({60000, "word 60000", 59999 / 8}, {f.a[60000]:item(), f.b[60000], f.c[59999]:item()})
      local held <const> = gb.memory.report().used - before        -- columns, and the list of words that was looked at
      assert.is_true(held >= 60000 * 82 and held < 60000 * 110, tostring(held))
    end
    collectgarbage()
    local old <const> = gb.memory.limit(1 << 20)
    local ok <const>, err <const> = pcall(gb.data.read, whole)
    local also <const>, other <const> = pcall(gb.data.read, lines)
    gb.memory.limit(old)
    assert.same({false, "oom", false, "oom"}, {ok, err.code, also, other.code})
  end)

  it("are written so that they read back the same", function()
    local f <const> = gb.data.frame{a = {1, 0 / 0, 0.1}, b = {"x", 'y "\n', "\u{e9}"}, c = {true, false, true},
      id = gb.tensor({(1 << 53) + 1, 2, 3}, {dtype = "i64"})}
    for _, ending in ipairs{".json", ".jsonl", ".ndjson"} do
      local path <const> = support.path(ending)
      gb.data.write(path, f)
      local back <const> = gb.data.read(path)
      assert.same(f.names, back.names)
      assert.same(plain(f.a), plain(back.a))
      assert.same({f.b, f.c:totable(), f.id:totable()}, {back.b, back.c:totable(), back.id:totable()})
    end
    local path <const> = support.path ".jsonl"
    gb.data.write(path, gb.data.frame{a = {}})
    assert.equal("", support.read(path))
    raises("option", "a finite number expected, got inf", gb.data.write, path, gb.data.frame{a = {math.huge}})
    raises("option", "JSON files hold frames, got tensor", gb.data.write, path, gb.ones(2))
    raises("format", "two columns are called 'a'", gb.data.write, path, gb.data.frame{a = {1}, b = {2}}:rename{b = "a"})
    assert.equal("", support.read(path))
  end)

  it("say which line is wrong", function()
    raises("format", ".jsonl:2: not JSON: byte", gb.data.read, file('{"a": 1}\n{"a": \n', ".jsonl"))
    raises("format", ".jsonl:1: an object expected, got number", gb.data.read, file("3\n", ".jsonl"))
    raises("format", ".jsonl:1: an object expected, got a list", gb.data.read, file("[1]\n", ".jsonl"))
    raises("format", ".jsonl:1: 'a' is a list or an object", gb.data.read, file('{"a": [1]}\n', ".jsonl"))
    raises("format", ".jsonl:2: a line of more than 16777216 bytes", gb.data.read,
      file('{"a": 1}\n{"a": "' .. ("x"):rep(17 << 20) .. '"}\n', ".jsonl"))
    raises("format", ".json: row 2: an object expected, got number", gb.data.read, file('[{"a": 1}, 2]', ".json"))
    raises("format", ".json: row 2: not JSON: byte", gb.data.read, file('[{"a": 1}, {"a": tru}]', ".json"))
    raises("format", ".json: not JSON: byte 11: ',' or ']' expected", gb.data.read, file('[{"a": 1} {"a": 2}]', ".json"))
    raises("format", ".json: not JSON: byte 12: the end of the text", gb.data.read, file('[{"a": 1}] 2', ".json"))
    raises("format", ".json: row 1: not JSON", gb.data.read, file('[{"a": 1, "a": 2}]', ".json"))
    raises("format", ".json: not JSON", gb.data.read, file("{", ".json"))
    raises("format", ".jsonl:2: column 'a' has strings here, and numbers in the rows before", gb.data.read,
      file('{"a": 1}\n{"a": "x"}\n', ".jsonl"))
    raises("format", ".jsonl:3: column 'a' has truth values here, and strings", gb.data.read,
      file('{"a": "x"}\n\n{"a": true}\n', ".jsonl"))
  end)
end)

describe("HDF5 and MATLAB files", function()
  it("name the package where their library was not built", function()
    local process <const> = require "spec.process"
    for kind, lead in pairs{hdf5 = "\x89HDF\r\n\x1A\n", matio = "MATLAB 5.0 MAT-file"} do
      local path <const> = file(lead, ".bin")
      local _ <const>, errors <const>, rc <const> = process.run({"-e", ("require 'gibbous'.data.read %q"):format(path)},
        {env = ("GIBBOUS_%s=off"):format(kind:upper())})
      assert.matches(("%s: it is read by libgibbous_%s.so, of the package gibbous-%s, or built where Debian's lib%s-dev is "
        .. "installed"):format(path, kind, kind, kind), errors, 1, true)
      assert.matches("otherwise save each array as .npy", errors, 1, true)
      assert.equal(1, rc)
    end
    support.sweep()
  end)
end)

describe("what cannot be written", function()
  it("is told, and leaves no file", function()
    local f <const> = gb.data.frame{a = {1, 2}}
    for _, path in ipairs{"/dev/full", "/proc/x"} do
      for _, ending in ipairs{".csv", ".json", ".npz", ".npy", ".safetensors"} do
        local v <const> = (ending == ".csv" or ending == ".json") and f or ending == ".npy" and gb.ones(2) or {a = gb.ones(2)}
        local err <const> = select(2, pcall(gb.data.write, path .. "/x" .. ending, v))
        assert.equal("io", err.code)
      end
    end
    raises("option", "frames are written to .csv, .json and .jsonl, got 'x.npy'", gb.data.write, "x.npy", f)
  end)
end)
