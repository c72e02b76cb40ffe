local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local support <const> = require "spec.support"

-- Ctrl-C every five seconds ends calls that take long; what does not end for five minutes hangs. The program is a copy, called by
-- its name alone: texts of errors become paths in the calls, and must name none of the tree.
local STORM <const> = [[
cd %s || exit 2
export ASAN_OPTIONS="$ASAN_OPTIONS:allocator_may_return_null=1:hard_rss_limit_mb=4000"
cp %s/spec/host/hostile_calls.lua . || exit 2
%s hostile_calls.lua %d %d trace >out 2>err & p=$!
i=0
while kill -0 $p 2>/dev/null; do
  sleep 0.1; i=$((i + 1))
  [ $((i %% 50)) = 0 ] && kill -INT $p
  [ $i = 3000 ] && kill -KILL $p
done
wait $p]]

local function last_lines(path)
  local lines <const> = {}
  for line in support.read(path):gmatch "[^\n]+" do
    lines[#lines + 1] = line
    if #lines > 40 then table.remove(lines, 1) end
  end
  return table.concat(lines, "\n")
end

describe("the library", function()
  after_each(support.sweep)

  it("survives any call of any of its functions and metamethods", function()
    local calls <const> = math.tointeger(os.getenv "GIBBOUS_FUZZ_CALLS") or 6000
    local first <const> = math.tointeger(os.getenv "GIBBOUS_FUZZ_SEED") or 1
    local here <const> = process.here()
    local left, seed = calls, first
    while left > 0 do
      local dir <const> = os.tmpname()
      os.remove(dir)
      assert(os.execute("mkdir " .. dir))
      local _, how <const>, code <const> = os.execute(STORM:format(dir, here, process.binary, seed, math.min(left, 3000)))
      local report <const> = ("seed %d: %s %d\n%s"):format(seed, how, code, last_lines(dir .. "/err"))
      assert.equal("exit 0", ("%s %d"):format(how, code), report)
      assert.is_true(math.tointeger(support.read(dir .. "/out"):match "functions (%d+)") > 1000)
      assert.same({}, core.glob(dir .. "/hostile.*"), "files that are left")
      assert(os.execute("rm -r " .. dir))
      left, seed = left - 3000, seed + 1
    end
  end)

  it("hands out no metatable, and checks what its metamethods are given", function()
    local gb <const> = require "gibbous"
    local a <const> = gb.eye(2)
    for name, v in pairs{tensor = a, shape = a.shape, plan = gb.plan(a), factor = core.factor(a),
      error = select(2, pcall(gb.zeros, -7)),
      memory_report = gb.memory.report(), preconditioner = core.jacobi(a)} do
      assert.equal(name, getmetatable(v))
      assert.is_false(pcall(setmetatable, v, nil))
      for event, f in pairs(debug.getmetatable(v)) do
        if type(f) == "function" and event ~= "__concat" and event ~= "__eq" then
          assert.is_false((pcall(f, "abc", -1)), name .. event)
          assert.is_false((pcall(f)), name .. event)
        end
      end
    end
    assert.equal("2x3", tostring(gb.zeros(2, 3).shape))
    assert.equal(3, gb.zeros(2, 3).shape[-1])
    assert.matches("^table: 0x%x+x2$", tostring(setmetatable({{}, 2}, debug.getmetatable(a.shape))))
  end)
end)

-- Values that a finalizer makes while the state closes have no finalizer of their own; what is older than the library is
-- finalised after it.
describe("a closing state", function()
  after_each(support.sweep)

  local function run(text) return process.run{support.write(support.path ".lua", text)} end

  it("lets finalizers use the library, and keeps nothing that they made", function()
    local out <const>, err <const>, code <const> = run[[
      local gb = require "gibbous"
      local K = gb.kernels
      G = setmetatable({}, {__gc = function()
        local x <const> = gb.rand(6, 2, {seed = 1})
        KEPT = {x, gb.plan(x:sum()), gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(x, x:sum(2)), gb.plot.figure{}}
        print(gb.solvers.cg{}:solve(x:matmul(x:t()) + gb.eye(6), x:sum(2)):sum().shape, KEPT[3]:predict(x).mean:sum():item() > 0)
      end})]]
    assert.equal("", err)
    assert.equal("()\ttrue\n", out)
    assert.equal(0, code)
  end)

  it("refuses the library to finalizers that come after its end", function()
    local out <const>, err <const>, code <const> = run[[
      local gb
      G = setmetatable({}, {__gc = function() print(pcall(gb.rand, 3)) print(pcall(KEPT.sum, KEPT)) print(KEPT:close()) end})
      gb = require "gibbous"
      KEPT = gb.rand(3)]]
    assert.equal("", err)
    assert.equal("false\tthe library is closed: its state is going\nfalse\tthe library is closed: its state is going\n\n", out)
    assert.equal(0, code)
  end)

  it("refuses to load the library in a finalizer", function()
    local out <const> = run[[
      G = setmetatable({}, {__gc = function() print(select(2, pcall(require, "gibbous.core"))) end})]]
    assert.equal("the library cannot be loaded in a finalizer\n", out)
  end)
end)
