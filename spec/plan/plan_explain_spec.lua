--- The reports of a plan: the screen compared whole, JSON and SVG as data, refusals with their ways out.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local readers <const> = require "spec.plan.readers"
local support <const> = require "spec.support"
local raises <const> = support.raises
local K <const> = gb.kernels

local json_null <const>, read_json <const>, read_xml <const> = readers.json_null, readers.read_json, readers.read_xml

-- Plans -------------------------------------------------------------------------------------------------------------------------

local function named(x, name) return core.name(x, name) end

local function streamed()
  local x <const>, y <const> = named(gb.randn(700, 3, {seed = 41}):eval(), "x"), named(gb.randn(900, 3, {seed = 42}):eval(), "y")
  return named(K.rbf{lengthscale = 1.3}(x, y):matmul(named(gb.randn(900, {seed = 43}):eval(), "v")), "z")
end

local function factored()
  local x <const> = named(gb.randn(700, 3, {seed = 41}):eval(), "x")
  return named(gb.linalg.logdet(named(K.rbf{}(x) + gb.eye(700), "K")), "l")
end

--- Columns of a triangular solve: one a test point, so that they can be cut.
local function predicted()
  local x <const>, t <const> = named(gb.randn(300, 3, {seed = 41}):eval(), "x"), named(gb.randn(4000, 3, {seed = 42}):eval(), "t")
  local L <const> = named(gb.linalg.cholesky(K.rbf{}(x) + gb.eye(300)):eval(), "L")
  local V <const> = named(gb.linalg.triangular_solve(L, K.rbf{}(x, t)), "V")
  return named((V * V):sum(1), "variance")
end

local function layered()
  local h = named(gb.lazy(gb.randn(1000, 64, {seed = 41}):eval(), {batch = 1}), "X")
  for i = 1, 6 do h = named(h:matmul(named(gb.randn(64, 64, {seed = 50 + i}):eval(), "W" .. i)):tanh():sort(-1), "h" .. i) end
  return named((h * h):mean(), "loss")
end

--- Scratch, and what it adds to, is the instruction set's affair; the lines of this file move.
local function masked(text)
  local out <const> = {}
  local size <const> = " *%d[%d.e+]* [KMGTPE]?i?B"
  for line in text:gmatch "[^\n]+" do
    line = line:gsub("[%w_/]*ain_spec.lua:%d+", "here"):gsub("~[%d.e-]+ s", "~")
    local class <const> = line:match "^ +[%d.]+ %a+  (%a+)"
    local known <const> = class == "input" or class == "output" or class == "cache" or class == "temp"
    if not known and not line:find "iB: %a" and not line:find "%d+x%d+ in step" then
      line = line:gsub(size, " #"):gsub("^(cpu +budget) #", "%1 as asked"):gsub("fragmentation [%d.]+", "fragmentation #")
    end
    out[#out + 1] = line
  end
  return table.concat(out, "\n") .. "\n"
end

--- A value that exists already would be read instead of planned.
local function forget()
  collectgarbage()
  collectgarbage()
  core.drop_caches()
end

local function explained(y, budget)
  local text <const> = gb.plan(y, {budget = budget}):explain()
  for line in text:gmatch "[^\n]+" do
    assert.is_true(#line <= 100, line)
    assert.is_nil(line:find "[^ -~]", line)
  end
  return masked(text)
end

describe("plan:explain", function()
  local before
  setup(function()
    before = gb.config{threads = 1}
    core.fixed_rates(true)
  end)
  teardown(function()
    gb.config(before)
    core.fixed_rates(false)
  end)
  before_each(forget)

  it("says what streams and is never stored", function()
    assert.equal([[
plan    z 700 f64   3 steps, exact=bits   here
cpu     budget as asked = # arena + # outputs + # caches + # unused
peak # at step 2 "fold rbf d=3", lower bound #, fragmentation # %
buffers
 #  workspace  scratch of step 2                       step 2          here
 #  workspace  scratch of step 1                       step 1          here
 #  workspace  scratch of step 3                       step 3          here
   5.469 KiB  temp       matmul 700x1 f64                        steps 2..3      here
   5.469 KiB  output     z 700 f64                               from step 3     here
 #  in 2 more
inputs  they exist already, pinned or cached: not part of the peak
   21.09 KiB  input      y 900x3 f64                             step 2          here
   16.41 KiB  input      x 700x3 f64                             step 2          here
   7.031 KiB  input      v 900 f64                               step 2          here
 #  in 2 more
streamed, never stored
   4.807 MiB  700x900 in step 2   here
memory held over time, by step; # up to #
          1  |#############.......| #  map elementwise, 2 results       here
          2  |####################| #  fold rbf d=3                     here
          3  |############........| #  map elementwise: z               here
realisations, all of the same bits
  chosen  whole #   ~
   also   windows of 512 of 700 along axis 1 of x #   ~
   also   windows of 8 of 700 along axis 1 of x #   ~
          and 5 between
          and 3 that no budget chooses
smallest budget #
sweep   64 KiB: whole ~
]], explained(streamed(), "1 GiB"))
  end)

  it("says what becomes a cache, and what it overwrites", function()
    assert.equal([[
plan    l () f64   4 steps, exact=bits   here
cpu     budget as asked = # arena + # outputs + # caches + # unused
peak # at step 2 "map rbf d=3: K", lower bound #, fragmentation # %
buffers
   3.738 MiB  cache      K, then cholesky 700x700 f64            from step 2     here
 #  workspace  scratch of step 2                       step 2          here
 #  workspace  scratch of step 1                       step 1          here
 #  in 4 more
inputs  they exist already, pinned or cached: not part of the peak
   16.41 KiB  input      x 700x3 f64                             step 2          here
 #  in 2 more
memory held over time, by step; # up to #
          1  |####################| #  map elementwise, 2 results       here
          2  |####################| #  map rbf d=3: K                   here
          3  |####################| #  cholesky                         here
          4  |####################| #  logdet: l                        here
realisations, all of the same bits
  chosen  whole, caches kept #   ~
   also   whole, packed triangles #   ~
          and 20 that no budget chooses
smallest budget #
sweep   4 MiB: whole, caches kept ~
]], explained(factored(), "64 MiB"))
  end)

  it("says what else there is where everything fits", function()
    assert.equal([[
plan    variance 4000 f64   4 steps, exact=bits   here
cpu     budget as asked = # arena + # outputs + # caches + # unused
peak # at step 2 "map rbf d=3", lower bound #, fragmentation # %
buffers
   9.155 MiB  temp       mul, then V 300x4000 f64                steps 2..4      here
 #  in 9 more
inputs  they exist already, pinned or cached: not part of the peak
   703.1 KiB  input      L 300x300 f64                           step 3          here
   93.75 KiB  input      t 4000x3 f64                            step 2          here
 #  in 5 more
memory held over time, by step; # up to #
          1  |....................| #  map elementwise, 4 results       here
          2  |####################| #  map rbf d=3                      here
          3  |####################| #  triangular_solve: V              here
          4  |####################| #  fold elementwise: variance       here
realisations, all of the same bits
  chosen  whole #   ~
   also   windows of 2048 of 4000 along axis 1 of t #   ~
   also   windows of 256 of 4000 along axis 1 of t #   ~
          and 2 between
          and 23 that no budget chooses
smallest budget #
sweep   1 MiB: windows of 256 ~   2 MiB: windows of 512 ~
        4 MiB: windows of 1024 ~   8 MiB: windows of 2048 ~   16 MiB: whole ~
]], explained(predicted(), "100 MiB"))
  end)

  it("says what runs in windows, and why nothing larger", function()
    assert.equal([[
plan    variance 4000 f64   4 steps, exact=bits   here
cpu     budget as asked = # arena + # outputs + # caches + # unused
peak # at step 2 "map rbf d=3", lower bound #, fragmentation # %
buffers
   2.344 MiB  temp       mul, then V 300x1024 f64 a window       steps 2..4      here
 #  workspace  scratch of step 2                       step 2          here
 #  workspace  scratch of step 1                       step 1          here
 #  workspace  scratch of step 4                       step 4          here
   31.25 KiB  output     variance 4000 f64                       from step 2     here
 #  in 5 more
inputs  they exist already, pinned or cached: not part of the peak
   703.1 KiB  input      L 300x300 f64                           step 3          here
   93.75 KiB  input      t 4000x3 f64                            step 2          here
 #  in 5 more
memory held over time, by step; # up to #
          1  |#...................| #  map elementwise, 4 results       here
  steps 2 to 4 in 4 windows of 1024 of 4000 along axis 1 of t
          2  |####################| #  map rbf d=3                      here
          3  |####################| #  triangular_solve: V              here
          4  |####################| #  fold elementwise: variance       here
realisations, all of the same bits
  chosen  windows of 1024 of 4000 along axis 1 of t #   ~
   no     whole #   ~   over by #
   no     windows of 2048 of 4000 along axis 1 of t #   ~   over by #
   also   windows of 256 of 4000 along axis 1 of t #   ~
          and 1 between
          and 23 that no budget chooses
smallest budget #
sweep   1 MiB: windows of 256 ~   2 MiB: windows of 512 ~
        4 MiB: windows of 1024 ~   8 MiB: windows of 2048 ~   16 MiB: whole ~
]], explained(predicted(), "4 MiB"))
  end)

  it("joins steps where there are many", function()
    assert.equal([[
plan    loss () f64   20 steps, exact=bits   here
cpu     budget as asked = # arena + # outputs + # caches + # unused
peak # at step 3 "sort", lower bound #, fragmentation # %
buffers
     256 KiB  temp       matmul 512x64 f64 a window              steps 1..2      here
     256 KiB  temp       tanh 512x64 f64 a window                steps 2..3      here
     256 KiB  temp       sort 512x64 f64 a window                steps 3..4      here
     256 KiB  temp       sort 512x64 i64 a window                step 3          here
     256 KiB  temp       matmul 512x64 f64 a window              steps 4..5      here
     256 KiB  temp       tanh 512x64 f64 a window                steps 5..6      here
     256 KiB  temp       sort 512x64 f64 a window                steps 6..7      here
     256 KiB  temp       sort 512x64 i64 a window                step 6          here
 #  in 33 more
inputs  they exist already, pinned or cached: not part of the peak
     500 KiB  input      X 1000x64 f64                           step 1          here
      32 KiB  input      W1 64x64 f64                            step 1          here
      32 KiB  input      W2 64x64 f64                            step 4          here
      32 KiB  input      W3 64x64 f64                            step 7          here
 #  in 3 more
memory held over time, by step; # up to #
  steps 1 to 19 in 2 windows of 512 of 1000 along axis 1 of X
       1..2  |##############......| #  map elementwise                  here
       3..4  |####################| #  sort                             here
       5..6  |####################| #  sort                             here
       7..8  |##############......| #  map elementwise                  here
      9..10  |####################| #  sort                             here
     11..12  |####################| #  sort                             here
     13..14  |##############......| #  map elementwise                  here
     15..16  |####################| #  sort                             here
     17..18  |####################| #  sort                             here
         19  |########............| #  fold elementwise                 here
         20  |#...................| #  map elementwise: loss            here
realisations, all of the same bits
  chosen  windows of 512 of 1000 along axis 1 of X #   ~
   no     whole #   ~   over by #
   also   windows of 256 of 1000 along axis 1 of X #   ~
   also   windows of 64 of 1000 along axis 1 of X #   ~
          and 1 between
          and 40 that no budget chooses
smallest budget #
sweep   128 KiB: windows of 64 ~   256 KiB: windows of 128 ~
        512 KiB: windows of 256 ~   1 MiB: windows of 512 ~   2 MiB: whole ~
]], explained(layered(), "800 KiB"))
  end)

  it("says what a run took", function()
    local p <const> = gb.plan(streamed())
    assert.is_nil(p:explain():find "after run")
    p:run()
    local stats <const> = p:stats()
    assert.equal(p.peak, stats.predicted)
    assert.equal(p.peak, stats.measured)
    assert.matches(("after run: predicted %d B, measured %d B, difference 0\n$"):format(p.peak, p.peak), p:explain())
  end)

  it("describes the plan that was made also after its values exist", function()
    local p <const> = gb.plan(predicted(), {budget = "4 MiB"})
    local text <const> = p:explain()
    p:run()
    p:run()
    assert.equal(text, p:explain():gsub("after run[^\n]*\n", ""), nil)
  end)

  it("names the line of each value", function()
    local x <const> = named(gb.randn(700, 3, {seed = 77}):eval(), "x")
    local line <const> = debug.getinfo(1, "l").currentline - 1
    assert.matches(("x 700x3 f64 .*plain_spec.lua:%d\n"):format(line), gb.plan(K.rbf{}(x, x):sum(1)):explain())
  end)

  it("answers for sizes that no memory has", function()
    local n <const> = 2 ^ 31 // 1 | 0
    local x <const>, v <const> = gb.empty(n, 3), gb.empty(n)
    local text <const> = gb.plan(K.rbf{}(x, x):matmul(v), {budget = "1 TiB"}):explain()
    assert.matches("more than 16 EiB  2147483648x2147483648 in step", text)
    assert.matches("48 GiB  input", text)
    local err <const> = raises("refused", "more than 16 EiB", gb.plan, K.rbf{}(x, x) + 1, {budget = "1 TiB"})
    assert.is_nil(err.minimum and err.minimum > 0 and err.minimum or nil)
  end)
end)

describe("plan:json of what waits", function()
  it("lists what is to be computed first, and nothing where there is nothing", function()
    local x <const> = gb.linspace(0, 6, 50):reshape(50, 1):eval()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = gb.solvers.cg{}}:condition(x, x:squeeze(2))
    local p <const> = gb.plan(m:predict(gb.ones(5, 1)).f_var)
    local list <const> = read_json(p:json()).waits
    assert.equal(#p.waits, #list)
    assert.is_true(#list > 0)
    for i, one in ipairs(list) do
      assert.same({p.waits[i].what, p.waits[i].bytes, p.waits[i].minimum}, {one.what, one.bytes, one.minimum})
      assert.is_true(math.abs(one.seconds - p.waits[i].seconds) <= 1e-9 * one.seconds)
    end
    assert.equal(p.steps, #read_json(p:json()).steps)
    assert.is_nil(read_json(gb.plan(x * 2):json()).waits)
  end)
end)

describe("plan:json", function()
  setup(function() core.fixed_rates(true) end)
  teardown(function() core.fixed_rates(false) end)
  before_each(forget)

  local function data(y, budget)
    local p <const> = gb.plan(y, {budget = budget})
    return read_json(p:json()), p
  end

  it("holds what the plan says", function()
    local d <const>, p <const> = data(predicted(), "4 MiB")
    assert.equal(p.peak, d.peak)
    assert.equal(p.peak, d.arena + d.outputs + d.caches)
    assert.equal(p.minimum, d.minimum)
    assert.equal(p.lower_bound, d.lower_bound)
    assert.equal(4 * 2 ^ 20, d.budget)
    assert.equal(p.steps, #d.steps)
    assert.equal("cpu", d.device.name)
    assert.same({what = "variance", dtype = "f64", shape = {4000}, where = d.results[1].where}, d.results[1])
    assert.same(json_null, d.measured)
    local most = 0
    for i, step in ipairs(d.steps) do
      assert.equal(i, step.step)
      assert.equal(p.variants[i], step.what)
      most = math.max(most, step.live)
    end
    assert.equal(d.lower_bound, most)
  end)

  it("lists buffers that share a byte only at different times", function()
    for _, make in ipairs{predicted, layered, factored, streamed} do
      forget()
      local d <const> = data(make(), "16 MiB")
      local top, arena <const> = 0, {}
      for _, b in ipairs(d.buffers) do
        assert.is_true(b.first >= 1 and b.first <= b.last and b.last <= #d.steps, b.what)
        if b.offset ~= json_null then arena[#arena + 1] = b end
      end
      for i, a in ipairs(arena) do
        top = math.max(top, a.offset + a.bytes)
        for k = i + 1, #arena do
          local b <const> = arena[k]
          local apart <const> = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
          assert.is_true(apart or a.last < b.first or b.last < a.first, a.what .. " and " .. b.what)
        end
      end
      assert.is_true(top <= d.arena and top > d.arena - 64)
    end
  end)

  it("says which steps run window by window", function()
    local d <const> = data(predicted(), "4 MiB")
    assert.same({count = 4, of = 1024, extent = 4000, leaf = "t", axis = 1, first = 2, last = 4,
      loops = {{first = 2, last = 4}}, again = {}},
      d.windows)
    assert.same({"before", "window", "window", "window"}, {d.steps[1].when, d.steps[2].when, d.steps[3].when, d.steps[4].when})
    assert.same(json_null, data(predicted(), "100 MiB").windows)
  end)

  it("lists realisations that their own bytes allow, and what a budget would choose", function()
    local d <const> = data(predicted(), "4 MiB")
    local chosen, least, need <const> = 0, math.huge, {}
    for _, o in ipairs(d.realisations) do
      if o.chosen then chosen = chosen + 1 end
      least = math.min(least, o.need)
      need[o.name] = o.need
      assert.equal(o.need <= d.budget, o.fits)
    end
    assert.equal(1, chosen)
    assert.equal(d.minimum, least)
    assert.is_true(#d.sweep >= 4)
    for _, s in ipairs(d.sweep) do
      assert.is_true(need[s.realisation] <= s.budget)
      for _, o in ipairs(read_json(gb.plan(predicted(), {budget = s.budget}):json()).realisations) do
        if o.chosen then assert.equal(s.realisation, o.name) end
      end
    end
  end)

  it("holds what a run took", function()
    local p <const> = gb.plan(layered(), {budget = "800 KiB"})
    p:run()
    local d <const> = read_json(p:json())
    assert.equal(d.measured.predicted, d.measured.bytes)
    assert.equal(p.peak, d.measured.bytes)
    assert.equal(d.windows.count, d.measured.windows)
  end)

  it("writes names as they are, and nothing that is no text", function()
    local d <const> = data(named(gb.ones(3) + 1, 'a "b" \\ \n <ü> \xff'))
    assert.equal('a "b" \\ \n <ü> ?', d.results[1].what)
  end)
end)

describe("plan:svg", function()
  before_each(forget)

  local function count(all, name, class)
    local n = 0
    for _, e in ipairs(all) do if e.name == name and (e.class or ""):find(class, 1, true) then n = n + 1 end end
    return n
  end

  local function texts(all)
    local out <const> = {}
    for _, e in ipairs(all) do if e.name == "text" then out[#out + 1] = e.text end end
    return table.concat(out, "\n")
  end

  it("draws values, budget and windows, and after a run what it took", function()
    local p <const> = gb.plan(predicted(), {budget = "4 MiB"})
    local all <const> = read_xml(p:svg())
    assert.equal("svg", all[1].name)
    assert.equal(1, count(all, "rect", "band"))
    assert.equal(1, count(all, "line", "budget"))
    assert.equal(0, count(all, "line", "measured"))
    assert.is_true(count(all, "rect", "box temp") >= 1)
    assert.matches("4 times: windows of 1024 of 4000 along axis 1 of t", texts(all))
    assert.matches("V 300x1024, 2.344 MiB", texts(all))
    p:run()
    local after <const> = read_xml(p:svg())
    assert.equal(1, count(after, "line", "measured"))
    assert.matches("measured .*difference 0 B", texts(after))
    assert.equal(0, count(read_xml(gb.plan(predicted(), {budget = "100 MiB"}):svg()), "rect", "band"))
  end)

  it("draws boxes inside the picture", function()
    for _, make in ipairs{predicted, layered, factored, streamed} do
      forget()
      local boxes = 0
      for _, e in ipairs(read_xml(gb.plan(make(), {budget = "16 MiB"}):svg())) do
        if e.name == "rect" and (e.class or ""):find "^box" then
          boxes = boxes + 1
          local x <const>, y <const>, w <const>, h <const> = e.x + 0, e.y + 0, e.width + 0, e.height + 0
          assert.is_true(w > 0 and h > 0 and x >= 85 and x + w <= 941 and y >= 75 and y + h <= 387,
            ("%g %g %g %g"):format(x, y, w, h))
        end
      end
      assert.is_true(boxes > 0)
    end
  end)

  it("escapes names", function()
    local text <const> = gb.plan(named(gb.ones(300) + 1, 'a <b> & "c" \1')):svg()
    assert.matches("plan: a &lt;b&gt; &amp; &quot;c&quot; %?", text)
    assert.is_true(#read_xml(text) > 10)
  end)

  it("is drawn for a plan with nothing to do", function()
    assert.is_true(#read_xml(gb.plan(gb.ones(3):eval()):svg()) > 3)
  end)

  it("writes a file, or says why not", function()
    local p <const>, path <const> = gb.plan(streamed()), support.path ".svg"
    assert.is_nil(p:svg(path))
    assert.equal(p:svg(), support.read(path))
    support.sweep()
    raises("io", "cannot write", p.svg, p, "/nowhere/at/all.svg")
  end)
end)

describe("a refusal", function()
  before_each(forget)

  it("lists the ways out with their bytes", function()
    local err <const> = raises("refused", "plan refused: needs ", gb.plan, predicted(), {budget = 1000})
    assert.equal(1000, err.have)
    assert.is_true(err.need > err.minimum and err.minimum > 1000)
    assert.matches("plan_explain_spec.lua:%d+$", select(2, pcall(function() gb.plan(predicted(), {budget = 1000}) end)).line)
    assert.equal(3, #err.options)
    assert.matches("^V is stored %(9.155 MiB%) because triangular_solve is a direct method", err.options[3])
    assert.matches(("^smallest budget that works: .* %%(%d bytes%%): windows of 256 of 4000 along axis 1 of t$"):format(
      err.minimum), err.options[1])
    assert.matches(("^with .* %%(%d bytes%%) it runs as a whole$"):format(err.need), err.options[2])
    for _, option in ipairs(err.options) do assert.is_truthy(err.message:find(option, 1, true)) end
    assert.is_true(gb.plan(predicted(), {budget = err.minimum}).peak <= err.minimum)
    assert.equal(err.need, gb.plan(predicted(), {budget = err.need}).peak)
    raises("refused", "", gb.plan, predicted(), {budget = err.minimum - 1})
  end)

  it("names the step that needs an axis whole", function()
    local x <const> = named(gb.lazy(gb.randn(2000, 50, {seed = 45}):eval(), {batch = 1}), "X")
    local function told(y, what)
      local err <const> = raises("refused", "cannot split: " .. what, gb.plan, y, {budget = 1000})
      assert.matches("explain_spec.lua:%d+%) needs all of axis 1 of X %(2000%) before it can begin", err.message)
      return err
    end
    told(x:sort(1):sum(), "sort (")
    local err <const> = told(named(gb.linalg.cholesky(x:matmul(x:t()) + gb.eye(2000)), "L"):sum(), "cholesky")
    assert.matches("direct method.*solver = \"cg\"", table.concat(err.options, "\n"))
  end)

  it("gives advice that works: each way out of a direct method runs in the budget that was refused", function()
    local n <const>, budget <const> = 5000, 64 << 20
    local x <const> = gb.randn(n, 2, {seed = 46}):eval()
    local y <const> = x:sum(2):sin():eval()
    local k <const> = gb.kernels.rbf{lengthscale = 0.5}
    local c <const> = k(x) + 0.1 * gb.eye(n)
    local err <const> = raises("refused", "direct method", gb.plan, gb.linalg.solve(c, y), {budget = budget})
    local advice <const> = table.concat(err.options, "\n")
    local call <const>, solver <const> = advice:match "(gb.solvers.cg{}):solve%(A, b%)", advice:match 'solver = "(%w+)" in a model'
    assert.is_true(gb.plan(load("local gb = ... return " .. call)(gb):solve(c, y), {budget = budget}).peak <= budget)
    for _, make in ipairs{gb.gp.exact, function(o)
      o.tasks = 1
      return gb.gp.multitask(o)
    end} do
      local m <const> = make{kernel = k, noise = 0.1, solver = solver}
      local values <const> = rawequal(make, gb.gp.exact) and y or y:unsqueeze(2)
      assert.is_true(m:plan(x, values, {budget = budget}).peak <= budget)
    end
    assert.is_true(gb.plan(gb.linalg.solve(c, y), {budget = err.minimum}).peak <= err.minimum)
    assert.is_true(gb.plan(gb.linalg.solve(c, y), {budget = err.need}).peak <= err.need)
  end)

  it("says nothing of splitting where no step is in the way", function()
    local x <const> = gb.lazy(gb.randn(2000, 50, {seed = 45}):eval(), {batch = 1})
    local err <const> = raises("refused", "smallest budget", gb.plan, x:sort(-1):sum(), {budget = 1000})
    assert.is_nil(err.message:find "cannot split")
  end)

  it("comes with the same fields from an evaluation", function()
    local x <const> = gb.zeros(1000, 1000):eval()
    forget()
    local before <const> = gb.memory.limit(gb.memory.report().used + 2 ^ 20)
    local err <const> = raises("refused", "smallest budget", function() return (x + 1):eval() end)
    gb.memory.limit(before)
    assert.is_true(err.need >= 8e6 and err.have <= 2 ^ 20, tostring(err))
    assert.matches("held: ", err.options[#err.options])
  end)
end)

describe("option budget", function()
  it("is bytes or text and nothing else", function()
    local y <const> = gb.ones(300) + 1
    for _, bad in ipairs{"12 potatoes", "1 GiB more", "GiB", "", "nan", "-1 GiB", "1 gib", -5, 0 / 0, 1 / 0, -1 / 0, 1e30,
        {}, true} do
      raises("option", "option 'budget' must be bytes or text such as \"1 GiB\"", gb.plan, y, {budget = bad})
    end
    for _, none in ipairs{0, 0.5, "0", "0 GiB"} do
      raises("option", "option 'budget' must be above 0", gb.plan, y, {budget = none})
    end
    for text, bytes in pairs{["1 MiB"] = 2 ^ 20, ["1.5MiB"] = 1.5 * 2 ^ 20, [" 2e6 "] = 2e6, ["3 MB "] = 3e6} do
      assert.equal(bytes, read_json(gb.plan(y, {budget = text}):json()).budget)
    end
  end)

  it("counts nothing that exists already", function()
    local x <const> = gb.randn(100000, {seed = 41}):eval()
    local p <const> = gb.plan(x:sum(), {budget = 400000})
    assert.is_true(p.peak < 400000)
    p:run()
    assert.equal(p.peak, p:stats().measured)
  end)
end)
