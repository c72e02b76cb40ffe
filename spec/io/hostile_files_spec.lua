--- Files that are damaged, and places where nothing can be written: an error that names the file, and nothing left behind.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

local function file(text, ending) return support.write(support.path(ending), text) end

--- A file of each format, as its writer makes it: by ending, the path.
local function samples()
  local words <const>, out <const> = {}, {}
  for i = 1, 40 do words[i] = "word " .. i end
  local frame <const> = gb.data.frame{a = gb.range(1, 40), b = words}
  for _, ending in ipairs{".csv", ".json", ".jsonl"} do
    out[ending] = support.path(ending)
    gb.data.write(out[ending], frame)
  end
  out[".tsv"] = file((support.read(out[".csv"]):gsub(",", "\t")), ".tsv")
  out[".npy"] = support.path ".npy"
  gb.data.write(out[".npy"], gb.rand(7, 5, {seed = 1}))
  for _, ending in ipairs{".npz", ".safetensors"} do
    out[ending] = support.path(ending)
    gb.data.write(out[ending], {a = gb.rand(7, 5, {seed = 1}), b = gb.ones(3)})
  end
  out[".db"] = support.path ".db"
  os.remove(out[".db"])
  local db <close> = core.database(out[".db"], "create")
  db:run "CREATE TABLE t (x REAL, w TEXT)"
  for i = 1, 40 do db:run("INSERT INTO t VALUES (?, ?)", i / 8, words[i]) end
  return out
end

--- A few bytes changed, or the end cut off.
local function damaged(bytes)
  if math.random(3) == 1 then return bytes:sub(1, math.random(0, #bytes - 1)) end
  for _ = 1, math.random(3) do
    local at <const> = math.random(#bytes)
    bytes = bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ (1 << math.random(0, 7))) .. bytes:sub(at + 1)
  end
  return bytes
end

describe("a damaged file", function()
  after_each(support.sweep)

  it("of any format is read, or refused by an error that names it, and leaves nothing", function()
    local codes <const> = {format = true, io = true, option = true, oom = true, index = true}
    math.randomseed(11)
    for ending, path in pairs(samples()) do
      local whole <const>, options <const> = support.read(path), ending == ".db" and {query = "SELECT * FROM t"} or {}
      collectgarbage()
      collectgarbage()
      local before <const>, refused = gb.memory.report().used, 0
      for _ = 1, 150 do
        support.write(path, damaged(whole))
        local ok <const>, err <const> = pcall(gb.data.read, path, options)
        if not ok then
          refused = refused + 1
          assert.is_true(codes[err.code], ("%s: %s: %s"):format(ending, tostring(err.code), tostring(err)))
          assert.is_truthy(err.message:find(path, 1, true), err.message)
        end
      end
      assert.is_true(refused > 0, ending .. ": none was refused")
      collectgarbage()
      collectgarbage()
      assert.equal(before, gb.memory.report().used, ending)
    end
  end)

  it("is told by file and line where it is text", function()
    raises("format", ".csv:3: a NUL byte", gb.data.read, file("a,b\n1,2\n3,\0\n", ".csv"))
    raises("format", ".tsv:3: expected 2 fields, got 3", gb.data.read, file("a\tb\n1\t2\n3\t4\t5\n", ".tsv"))
    raises("format", ".jsonl:2: not JSON", gb.data.read, file('{"a": 1}\n{"a": "\0"}\n', ".jsonl"))
    raises("format", ".csv:2: a row of more than 16777216 bytes", gb.data.read, file("a\n" .. ("x"):rep(17 << 20), ".csv"))
  end)
end)

-- Places -----------------------------------------------------------------------------------------------------------------------

--- Writes files of each format into the folder arg[1] before and after a command of the shell, which makes that impossible; prints
-- what was raised, and what became of the files.
local SCRIPT <const> = [[
local gb <const>, core <const> = require "gibbous", require "gibbous.core"
local dir <const>, spoil <const> = arg[1], arg[2]
local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end
local function value(ending, n)
  local list <const> = {}
  for i = 1, n do list[i] = i / 7 end
  local t <const> = gb.tensor(list)
  if ending == ".npy" then return t end
  return (ending == ".npz" or ending == ".safetensors") and {a = t} or gb.data.frame{a = t}
end
local endings <const>, old <const> = {".csv", ".json", ".jsonl", ".npy", ".npz", ".safetensors"}, {}
for _, ending in ipairs(endings) do
  local path <const> = dir .. "/x" .. ending
  gb.data.write(path, value(ending, 10))
  old[ending] = read(path)
end
assert(os.execute(spoil))
local files <const> = table.concat(core.glob(dir .. "/*"), " ")
for _, ending in ipairs(endings) do
  local path <const> = dir .. "/x" .. ending
  local ok <const>, err <const> = pcall(gb.data.write, path, value(ending, 50000))
  print(ending, ok, err and err.code, err and err.message, read(path) == old[ending])
end
print(table.concat(core.glob(dir .. "/*"), " ") == files and "the same files" or "other files")
]]

--- Runs the script in a file system of its own, which is gone with the process; nil where the system makes none.
local function run_in_small(spoil)
  local dir <const> = os.tmpname()
  os.remove(dir)
  assert(os.execute("mkdir " .. dir))
  local script <const> = file(SCRIPT, ".lua")
  for _, how in ipairs{"unshare -m", "unshare -Urm"} do
    if os.execute(("%s mount -t tmpfs -o size=256k none %s 2>/dev/null"):format(how, dir)) then
      local program <const> = ("%s sh -c 'mount -t tmpfs -o size=256k none %s && exec \"$@\"' sh %s"):format(how, dir,
        process.binary)
      local out <const>, errors <const>, rc <const> = process.run({script, dir, (spoil:gsub("DIR", dir))}, {program = program})
      os.remove(dir)
      assert.equal(0, rc, errors)
      return out, dir
    end
  end
  os.remove(dir)
  return nil
end

local function expect_refusals(spoil, why)
  local out <const>, dir <const> = run_in_small(spoil)
  if out == nil then return pending "no file system can be mounted here" end
  for _, ending in ipairs{".csv", ".json", ".jsonl", ".npy", ".npz", ".safetensors"} do
    assert.is_truthy(out:find(("%s\tfalse\tio\tcannot write '%s/x%s': %s\ttrue\n"):format(ending, dir, ending, why), 1, true), out)
  end
  assert.matches("the same files", out, 1, true)
end

describe("what cannot be written", function()
  after_each(support.sweep)

  it("for the disk is full leaves the old file and no other", function()
    expect_refusals("cat /dev/zero >DIR/filler 2>/dev/null; true",
      "No space left on device; free some, or write elsewhere: nothing was changed")
  end)

  it("for the file system is only read leaves the old file and no other", function()
    expect_refusals("mount -o remount,ro DIR", "Read-only file system; write to another folder")
  end)

  it("for the folder is another user's says so", function()
    local dir <const> = os.tmpname()
    os.remove(dir)
    assert(os.execute(("mkdir %s && chmod 555 %s"):format(dir, dir)))
    local ok <const>, err <const> = pcall(gb.data.write, dir .. "/x.npy", gb.ones(2))
    local left <const> = #core.glob(dir .. "/*")
    os.execute("rm -r " .. dir)
    if ok then return pending "this user may write everywhere" end
    assert.same({"io", 0}, {err.code, left})
    assert.matches("Permission denied; write to another folder", err.message, 1, true)
  end)
end)
