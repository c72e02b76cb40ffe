local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local raises <const> = (require "spec.support").raises
local shown <const> = require "spec.sweep.shown"
local support <const> = require "spec.support"

--- What could not be there in a file that needs no network.
local function fetches(html) return html:find '%ssrc=' or html:find "<link" or html:find "@import" or html:find "url%(h" end

describe("gibbous sweep report", function()
  local f, html

  setup(function()
    f = shown.ran()
    local out <const>, errors <const>, rc <const> = f.run("report", "study.lua")
    assert(rc == 0, errors)
    assert(out == "study.html\n")
    html = f.read "study.html"
  end)
  teardown(function() f.close() end)

  it("has results, failures, figures and all trials", function()
    for _, words in ipairs{"<h1>study</h1>", "<p>24 trials: 17 ok, 7 error</p>", "<h2>Results</h2>",
      "<strong>0.199 ± 0.004</strong>", "<h2>Failures</h2>", '<td>error</td><td class=n data-v="6">6</td>',
      "study.lua:8: no room for rank 0", "<h2>24 trials</h2>",
      "study: mean nlpd"} do
      assert.truthy(html:find(words, 1, true), words)
    end
    assert.equal(7, select(2, html:gsub("<figure>", "")))
    assert.equal(7, select(2, html:gsub("</svg>", "")))
  end)

  it("says what it was made from", function()
    local core <const> = require "gibbous.core"
    for _, words in ipairs{"<dt>SHA-256 of the script</dt><dd>" .. core.sha256(shown.script), "<dt>report by</dt><dd>gibbous ",
      "<dt>code of the trials</dt>", "<dt>processor</dt>",
      "<summary>Script</summary><pre>local gb = require &quot;gibbous&quot;"} do
      assert.truthy(html:find(words, 1, true), words)
    end
  end)

  it("needs nothing else, and no two things in it have one name", function()
    assert.is_nil(fetches((html:gsub('xlink:href="data:', ""))))
    local seen <const> = {}
    for id in html:gmatch ' id="([^"]*)"' do
      assert.is_nil(seen[id], id)
      seen[id] = true
    end
    for name in html:gmatch 'xlink:href="#([^"]*)"' do assert.is_true(seen[name], name) end
    for name in html:gmatch "url%(#([^)]*)%)" do assert.is_true(seen[name], name) end
  end)

  it("is the same by the folder of the store, and of a study that has not run", function()
    local _, errors <const>, rc <const> = f.run("report", "study.gibbous", "--out", "other.html")
    assert.equal(0, rc, errors)
    assert.equal(#html, #f.read "other.html")
    local g <const> = shown.folder((shown.script:gsub("run = function%(p, trial%)", "%0 error \"<x>\"")))
    g.run("run", "study.lua", "--quiet")
    assert.equal(0, (select(3, g.run("report", "study.lua"))))
    assert.truthy(g.read "study.html":find("&lt;x&gt;", 1, true))
    g.close()
  end)
end)

describe("gb.report", function()
  local function saved(r)
    local path <const> = os.tmpname()
    r:save(path)
    local text <const> = support.read(path)
    os.remove(path)
    return text
  end

  it("has texts, values and code, escaped", function()
    local html <const> = saved(gb.report{title = "a <b> & c"}:heading "h < i":text "one\n\ntwo & three":code "x <- y"
      :values({n = 3, x = 0.5, t = gb.ones(1):sum(), s = '"q"'}, {caption = "facts"}))
    for _, words in ipairs{"<title>a &lt;b&gt; &amp; c</title>", "<h2>h &lt; i</h2>", "<p>one</p>\n<p>two &amp; three</p>",
      "<pre>x &lt;- y</pre>", "<h3>facts</h3>", "<dt>n</dt><dd>3</dd>", "<dt>t</dt><dd>1</dd>", "<dd>&quot;q&quot;</dd>",
      "<h2>Provenance</h2>", "<dt>gibbous</dt><dd>" .. gb.version .. "</dd>"} do
      assert.truthy(html:find(words, 1, true), words)
    end
    assert.is_nil(fetches(html))
  end)

  it("has tables of rows, of records and of tensors, whose numbers sort by all digits", function()
    local r <const> = gb.report{about = false}:table{{"name", "v"}, {"a", 0.1 + 0.2}, {"b"}}
      :table({{n = 1, m = "x"}, {n = 2, m = true}}, {columns = {"n", "m"}, caption = "c", note = "below"})
      :table(gb.tensor{{1.5, 2}, {3, 4}}):table({{{text = "0.3 ± 0.1", value = 0.3, strong = true}}}, {columns = {"mean"}})
    local html <const> = saved(r)
    for _, words in ipairs{"<th tabindex=0>name</th>", '<td class=n data-v="0.30000000000000004">0.3</td>', "<td>b</td><td></td>",
      '<tr><td class=n data-v="1">1</td><td>x</td></tr>', "<caption>c</caption>", "<p class=note>below</p>",
      "<th tabindex=0 class=n>2</th>",
      '<td class=n data-v="0.29999999999999999"><strong>0.3 ± 0.1</strong></td>'} do
      assert.truthy(html:find(words, 1, true), words)
    end
    assert.is_nil(html:find("Provenance", 1, true))
  end)

  it("prints whole, dark on white, with what is folded", function()
    local html <const> = saved(gb.report{}:table{{"words"}, {"x"}, {("long "):rep(7)}})
    assert.truthy(html:find("@media screen and (prefers-color-scheme:dark)", 1, true))
    assert.truthy(html:find('addEventListener("beforeprint"', 1, true))
    assert.truthy(html:match "@media print{[^\n]*%.wide,figure>div,pre{overflow:visible}")
    assert.truthy(html:find("<td>x</td>", 1, true) and html:find("<td class=t>long ", 1, true))
    assert.truthy(html:find("<dt>commit</dt><dd>" .. core.build.commit, 1, true))
  end)

  it("has figures as they were, whose names do not meet", function()
    local fig <const> = gb.plot.figure{title = "first"}:heatmap(gb.ones(2, 2))
    local r <const> = gb.report{}:figure(fig, {caption = "one"}):figure(fig)
    fig:line({1, 2}, {1, 2}, {label = "later"})
    local html <const> = saved(r)
    assert.equal(2, select(2, html:gsub("</svg>", "")))
    assert.truthy(html:find("<figcaption>one</figcaption>", 1, true))
    assert.is_nil(html:find("later", 1, true))
    assert.truthy(html:find('id="f1-', 1, true) and html:find('id="f2-', 1, true))
  end)

  it("says what is wrong", function()
    raises("option", "gb.report: unknown option 'titel', did you mean 'title'?", function() gb.report{titel = "x"} end)
    local r <const> = gb.report{}
    raises("option", "report:text: a string expected, got number 3", function() r:text(3) end)
    raises("option", "report:table: a list of rows, of records, a tensor, a frame or a model expected, got number",
      function() r:table(3) end)
    raises("option", "report:figure: a figure of gb.plot expected, got table", function() r:figure{} end)
    raises("option", "report:values: a table of values by name expected, got string", function() r:values "x" end)
    raises("option", "a report has no field 'sav' (did you mean 'save'?)", function() return r.sav end)
    raises("io", "", function() r:save "/nowhere/at/all.html" end)
    assert.equal("report 'Report': 0 parts; r:save \"report.html\" writes it", tostring(r))
  end)
end)
