--- Errors tell the variables that hold tensors, and the lines that made them.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local raises <const> = require("spec.support").raises

-- Values of their own: equal expressions are one node, and another spec may have written it.
local serial = 0.0
local function fresh(...)
  serial = serial + 1
  return (gb.zeros(...) + (1e6 + serial / 8)):eval()
end

local held_above <const> = fresh(5, 2)

describe("a tensor in an error", function()
  it("is told by a local of the caller", function()
    local X_train <const> = fresh(6, 3)
    local w <const> = fresh(4, 1)
    local err <const> = raises("shape", "matmul: inner sizes differ", function()
      local z = X_train:matmul(w)
      return z
    end)
    assert.truthy(err.message:find("6x3 (X_train, spec/host/told_spec.lua:", 1, true), err.message)
    assert.truthy(err.message:find("4x1 (w, spec/host/told_spec.lua:", 1, true), err.message)
  end)

  it("is told by a local, an upvalue, a field, a global, a parameter, in this order", function()
    local x <const> = fresh(7)
    local text = core.told(x)
    assert.matches("^7 %(x, ", text)
    text = core.told(held_above)
    assert.matches("^5x2 %(held_above, ", text)
    local data <const> = {inputs = fresh(2, 2), answers = fresh(3)}
    text = core.told(data.answers)
    assert.matches("^3 %(data%.answers, ", text)
    local script <const> = load("local text = told(W); return text", "=script", "t", {told = core.told, W = fresh(8)})
    text = script()
    assert.matches("^8 %(W, ", text)
    local weights <const> = gb.param(fresh(9))
    text = core.told(weights)
    assert.matches("^param 9 %(weights, ", text)
  end)

  it("has the name of the inner block, not of the frame that called", function()
    local outer <const> = fresh(3, 3)
    local function told(a)
      local text <const> = core.told(a)
      return text
    end
    assert.matches("^3x3 %(a, ", (told(outer)))
    do
      local inner <const> = outer
      local text <const> = core.told(inner)
      assert.matches("^3x3 %(inner, ", text)
    end
    local text <const> = core.told(outer)
    assert.matches("^3x3 %(outer, ", text)
  end)

  it("is told by the caller's caller where a tail call has taken the frame", function()
    local X <const> = fresh(3, 4)
    local function last() return core.told(X) end
    local text <const> = last()
    assert.matches("^3x4 %(X, ", text)
  end)

  it("has no name where nothing holds it, and never one that the script did not give", function()
    local text = core.told(fresh(2, 5))
    assert.matches("^2x5 %(spec/host/told_spec%.lua:%d+%)$", text)
    local _ <const> = fresh(2, 6)
    text = core.told(_)
    assert.is_nil(text:find("(_,", 1, true), text)
  end)

  it("is told inside coroutines, and where the error is caught and raised again", function()
    local inside <const> = coroutine.wrap(function()
      local mine <const> = fresh(2, 7)
      local text <const> = core.told(mine)
      return text
    end)
    assert.matches("^2x7 %(mine, ", (inside()))
    local A <const>, b <const> = fresh(3), fresh(4)
    local err
    for _ = 1, 3 do err = raises("shape", "add: shapes do not fit", function() return A + b end) end
    assert.matches("3 %(A, .-4 %(b, ", err.message)
  end)

  it("is told wherever a library function in Lua reports shapes", function()
    local X_train <const>, y_test <const> = fresh(10, 2), fresh(9)
    local model <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    local function said(f, ...)
      local _, err <const> = pcall(f, ...)
      return err.message
    end
    assert.matches("^fit: x has 10 rows, y must be %(10%), got shape 9 %(y_test, .-%) beside x 10x2 %(X_train, ",
      said(model.fit, model, X_train, y_test))
    assert.matches("^kernel: inputs differ in columns: 10x2 %(X_train, .-%) and 9 %(y_test, ",
      said(gb.kernels.rbf{}, X_train, y_test))
    assert.matches("^split: x has 10 rows, y has 9: x 10x2 %(X_train, .-%), y 9 %(y_test, ", said(gb.data.split, X_train, y_test))
    assert.matches("^gb%.nn%.mse: shapes differ: 10x2 %(X_train, .-%) and 9 %(y_test, ", said(gb.nn.mse, X_train, y_test))
    assert.matches("one label a row, 10, got shape 9 %(labels, ", (function()
      local labels <const> = y_test:to{dtype = "i64"}
      local text <const> = said(gb.silhouette, X_train, labels)
      return text
    end)())
    assert.matches("cat: .- 10x2 %(X_train, .-%), 9 %(y_test, ", said(gb.cat, {X_train, y_test}, 1))
    assert.matches("where: .- 10x2 %(X_train, .-%), 9 %(y_test, ", said(gb.where, true, X_train, y_test))
    assert.matches("^item: .- got shape 10x2 %(X_train, ", said(X_train.item, X_train))
  end)
end)
