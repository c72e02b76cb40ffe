local gb <const> = require "gibbous"
local raises <const> = (require "spec.support").raises

--- Every row is in exactly one test, and trained on in all other folds; both are in order.
local function check_partition(folds, n)
  local tested <const> = {}
  for _, fold in ipairs(folds) do
    local train <const>, test <const> = fold.train:totable(), fold.test:totable()
    assert.equal(n, #train + #test)
    local seen <const> = {}
    for _, list in ipairs{train, test} do
      for i, row in ipairs(list) do
        assert.is_true(i == 1 or list[i - 1] < row)
        seen[row] = true
      end
    end
    for row = 1, n do assert.is_true(seen[row]) end
    for _, row in ipairs(test) do
      assert.is_nil(tested[row])
      tested[row] = true
    end
  end
  for row = 1, n do assert.is_true(tested[row]) end
end

local function sizes(folds)
  local out <const> = {}
  for i, fold in ipairs(folds) do out[i] = #fold.test end
  table.sort(out)
  return out
end

describe("gb.data.kfold", function()
  it("tests every row once, in folds of equal size", function()
    local folds <const> = gb.data.kfold(23, {k = 4})
    check_partition(folds, 23)
    assert.same({5, 6, 6, 6}, sizes(folds))
    assert.equal("i64", folds[1].test.dtype)
    check_partition(gb.data.kfold(gb.rand(7, 2)), 7)
    check_partition(gb.data.kfold(gb.data.frame{a = {1, 2, 3, 4, 5}}), 5)
    check_partition(gb.data.kfold(2, {k = 2}), 2)
  end)

  it("is a function of the seed", function()
    local function first(o) return gb.data.kfold(40, o)[1].test end
    assert.is_true(first():equal(first{seed = 0}))
    assert.is_false(first():equal(first{seed = 1}))
  end)

  it("refuses what is no division", function()
    raises("option", "option 'k' must be 2 or more, got 1", gb.data.kfold, 10, {k = 1})
    raises("option", "5 folds of 4 rows leave some empty", gb.data.kfold, 4)
    raises("option", "a number of rows, a tensor with rows or a frame expected, got string x", gb.data.kfold, "x")
    raises("option", "a number of rows, a tensor with rows or a frame expected, got number 2.5", gb.data.kfold, 2.5)
    raises("option", "got number -1", gb.data.kfold, -1)
  end)
end)

describe("gb.data.stratified", function()
  it("gives every label its share of every fold", function()
    local labels <const> = {}
    for i = 1, 50 do labels[i] = i % 7 == 0 and "rare" or i % 3 == 0 and "some" or "most" end
    for _, k in ipairs{2, 3, 5} do
      local folds <const> = gb.data.stratified(labels, {k = k, seed = 4})
      check_partition(folds, 50)
      local n <const> = sizes(folds)
      assert.is_true(n[k] - n[1] <= 1)
      for _, label in ipairs{"rare", "some", "most"} do
        local least, most = math.huge, 0
        for _, fold in ipairs(folds) do
          local count = 0
          for _, row in ipairs(fold.test:totable()) do count = count + (labels[row] == label and 1 or 0) end
          least, most = math.min(least, count), math.max(most, count)
        end
        assert.is_true(most - least <= 1, label)
      end
    end
  end)

  it("takes numbers and truth values", function()
    check_partition(gb.data.stratified(gb.tensor{1, 2, 1, 2, 3}, {k = 2}), 5)
    check_partition(gb.data.stratified(gb.tensor{true, false, true}, {k = 2}), 3)
    local a <const>, b <const> = gb.data.stratified(gb.ones(30)), gb.data.stratified(gb.ones(30), {seed = 5})
    assert.is_false(a[1].test:equal(b[1].test))
    raises("nan", "the label of row 2 is NaN", gb.data.stratified, gb.tensor{1, 0 / 0, 1})
    raises("shape", "labels (n) expected, got shape 2x2", gb.data.stratified, gb.ones(2, 2))
    raises("option", "labels must be a vector or a list, got string", gb.data.stratified, "x")
    raises("option", "5 folds of 2 rows leave some empty", gb.data.stratified, {"a", "b"})
  end)
end)

describe("gb.data.time_ordered", function()
  local function plain(folds)
    local out <const> = {}
    for i, fold in ipairs(folds) do
      local train <const>, test <const> = fold.train:totable(), fold.test:totable()
      out[i] = {train[1], train[#train], test[1], test[#test]}
    end
    return out
  end

  it("tests what follows", function()
    assert.same({{1, 3, 4, 6}, {1, 6, 7, 9}, {1, 9, 10, 12}}, plain(gb.data.time_ordered(12, {k = 3})))
    assert.same({{1, 5, 6, 8}, {1, 8, 9, 11}, {1, 11, 12, 14}}, plain(gb.data.time_ordered(14, {k = 3})))
    assert.same({{1, 7, 9, 10}, {1, 9, 11, 12}}, plain(gb.data.time_ordered(gb.rand(12), {k = 2, test = 2, gap = 1})))
    assert.same({{5, 7, 9, 10}, {7, 9, 11, 12}}, plain(gb.data.time_ordered(12, {k = 2, test = 2, gap = 1, window = 3})))
    assert.same({{1, 1, 2, 2}}, plain(gb.data.time_ordered(2, {k = 1})))
  end)

  it("refuses where nothing is left to train on", function()
    raises("option", "3 tests of 4 rows with a gap of 0 leave nothing to train on: there are 12 rows", gb.data.time_ordered, 12,
      {k = 3, test = 4})
    raises("option", "leave nothing to train on", gb.data.time_ordered, 4)
    raises("option", "leave nothing to train on", gb.data.time_ordered, 12, {k = 3, gap = 3})
    raises("option", "leave nothing to train on", gb.data.time_ordered, 12, {window = 0})
    raises("option", "option 'k' must be 1 or more, got 0", gb.data.time_ordered, 12, {k = 0})
  end)
end)
