local shown <const> = require "spec.sweep.shown"

describe("gibbous sweep table", function()
  local f

  setup(function() f = shown.ran() end)
  teardown(function() f.close() end)

  local function of(...)
    local out <const>, errors <const>, rc <const> = f.run("table", "study.lua", ...)
    assert.equal(0, rc, errors)
    return out
  end

  local function lines(text)
    local list <const> = {}
    for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
    return list
  end

  it("has means with the digits of their errors, the best of each row, and why there is none", function()
    local t <const> = lines(of("--rows", "data", "--cols", "rank"))
    assert.matches("^data +rank=0 +rank=15$", t[1])
    assert.matches("^pol +error +0%.202 ± 0%.004 %(n=5%) %*$", t[3])
    assert.matches("^kin_40k +0%.498 ± 0%.009 +0%.199 ± 0%.004 %*$", t[4])
    assert.equal("nlpd, lower is better: mean and standard error over split, n = 6 where no other n is said", t[5])
    local told <const> = "*: the best of its row, and what is not significantly worse than it (paired t test, p >= 0.05"
    assert.truthy(t[6]:find(told, 1, true))
    assert.truthy(t[7]:find("a word in place of a number", 1, true))
  end)

  it("is the same by the folder of the store", function()
    local by_script <const> = of("--rows", "data", "--cols", "rank")
    assert.equal(by_script, (f.run("table", "study.gibbous", "--rows", "data", "--cols", "rank")))
  end)

  it("has deviations, other fields and another goal", function()
    assert.matches("kin_40k +0%.498 ± 0%.021", of("--rows", "data", "--cols", "rank", "--sd"))
    local t <const> = of("--metric", "fit.seconds", "--goal", "max", "--rows", "data", "--cols", "rank")
    assert.matches("kin_40k +1 ± 0 +16 ± 0 %*", t)
    assert.truthy(t:find("fit.seconds, higher is better", 1, true))
  end)

  it("compares all rows where it has one column, or those of a group", function()
    local one <const> = of()
    assert.matches("data +rank +nlpd\n", one)
    assert.equal(2, select(2, one:gsub("%*\n", "")))       -- both of rank 15: their differences are 0
    local grouped <const> = of("--rows", "data,rank", "--group", "data")
    assert.truthy(grouped:find("the best of its data", 1, true))
    assert.equal(2, select(2, grouped:gsub("%*\n", "")))
  end)

  it("is Markdown", function()
    local t <const> = lines(of("--rows", "data", "--cols", "rank", "--fmt", "md"))
    assert.equal("| data | rank=0 | rank=15 |", t[1])
    assert.equal("| :-- | --: | --: |", t[2])
    assert.equal("| pol | *error* | **0.202 ± 0.004** (n=5) |", t[3])
    assert.equal("| kin\\_40k | 0.498 ± 0.009 | **0.199 ± 0.004** |", t[4])
  end)

  it("is LaTeX, with its note as a comment", function()
    local t <const> = of("--rows", "data", "--cols", "rank", "--fmt", "latex")
    assert.truthy(t:find("\\begin{tabular}{lrr}\n\\toprule\ndata & rank=0 & rank=15 \\\\\n\\midrule\n", 1, true))
    assert.truthy(t:find("kin\\_40k & $0.498 \\pm 0.009$ & $\\mathbf{0.199 \\pm 0.004}$ \\\\\n", 1, true))
    assert.truthy(t:find("pol & \\textit{error} & $\\mathbf{0.202 \\pm 0.004}$ {\\scriptsize (n=5)} \\\\\n", 1, true))
    assert.truthy(t:find("\\bottomrule\n\\end{tabular}\n% nlpd, lower is better", 1, true))
  end)

  it("is CSV with all digits and both tests, paired over the repeats", function()
    local t <const> = lines(of("--rows", "data", "--cols", "rank", "--fmt", "csv", "--where", "data=kin_40k"))
    assert.equal("data,rank,metric,state,n,mean,se,sd,best,not_worse,p_t,p_wilcoxon", t[1])
    local cells <const> = {}
    for cell in (t[2] .. ","):gmatch "(.-)," do cells[#cells + 1] = cell end
    assert.same({"kin_40k", "0", "nlpd", "ok", "6"}, {table.unpack(cells, 1, 5)})
    assert.same({"false", "false"}, {cells[9], cells[10]})
    local statistics <const> = require "gibbous.sweep.show.statistics"
    local d <const> = {}
    for i, e in ipairs{0.011, -0.013, 0.017, -0.019, 0.023, -0.029} do d[i] = (0.5 + e) - (0.2 + 0.5 * e) end
    assert.equal(statistics.paired_t(d), tonumber(cells[11]))
    assert.equal(2 / 64, tonumber(cells[12]))
  end)

  it("has a line a row, whatever the values are, and tells a word from the number that it looks like", function()
    local other <const> = shown.folder [[
      return require "gibbous".sweep{name = "study", metric = "m", space = {a = {1, "1", "x\ny", "true", true}},
        run = function() return {m = 1} end}]]
    assert.equal(0, select(3, other.run("run", "study.lua", "--quiet")))
    local rows <const> = lines((other.run("table", "study.lua", "--rows", "a")))
    assert.matches("^x y +1", rows[5])
    local listed <const> = (other.run("ls", "study.lua"))
    for _, word in ipairs{"a=1 ", 'a="1" ', 'a="x\\ny" ', 'a="true" ', "a=true "} do
      assert.truthy(listed:find(word, 1, true), word .. listed)
    end
    other.close()
  end)

  it("goes to a file", function()
    f.run("table", "study.lua", "--fmt", "md", "--out", "t.md")
    assert.equal(of("--fmt", "md"), f.read "t.md")
  end)

  it("says what is wrong", function()
    local function fails(message, ...)
      local out <const>, errors <const>, rc <const> = f.run("table", "study.lua", ...)
      assert.equal(1, rc)
      assert.equal("", out)
      assert.truthy(errors:find(message, 1, true), errors)
    end
    fails("the study has no parameter 'rnk', did you mean 'rank'?", "--rows", "rnk")
    fails("no result has the number 'nlp', did you mean 'nlpd'?", "--metric", "nlp")
    fails("--fmt is one of text, md, latex, csv, got 'html'", "--fmt", "html")
    fails("the parameter 'rank' is of rows and of columns", "--rows", "rank", "--cols", "rank")
    fails("--goal is min or max, got 'least'", "--goal", "least")
    fails("no trial has rank = 7", "--where", "rank=7")
    fails("--group names parameters of rows, 'rank' is none", "--rows", "data", "--cols", "rank", "--group", "rank")
  end)
end)

describe("numbers in tables", function()
  local number <const> = require "gibbous.sweep.show.number"

  it("have two digits of an error that begins with 1.00 to 3.54, else one", function()
    for _, case in ipairs{{0.123456, 0.0123, "0.123", "0.012"}, {0.123456, 0.0354, "0.123", "0.035"},
      {0.123456, 0.0356, "0.12", "0.04"}, {0.123456, 0.0949, "0.12", "0.09"}, {0.123456, 0.0951, "0.12", "0.10"},
      {12345.6, 120, "12350", "120"}, {1234, 0.5, "1234.0", "0.5"}, {-0.5, 0, "-0.5", "0"}, {3e9, 1e8, "3e+09", "1e+08"},
      {1 / 0, 1, "inf", "1"}} do
      local v <const>, e <const> = number.rounded(case[1], case[2])
      assert.same({case[3], case[4]}, {v, e})
    end
    assert.equal("0.3333", (number.rounded(1 / 3)))
  end)

  it("are read back with the same bits where they are exact", function()
    for _, v in ipairs{0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.0 ^ 60, 123456789} do
      local text <const> = number.exact(v)
      assert.equal(("%a"):format(v), ("%a"):format(tonumber(text)))
      assert.equal(math.type(v), math.type(tonumber(text)))
    end
    assert.same({"nan", "inf", "-inf"}, {number.exact(0 / 0), number.exact(1 / 0), number.exact(-1 / 0)})
  end)
end)
