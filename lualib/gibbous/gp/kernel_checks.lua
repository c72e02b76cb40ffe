--- What can be wrong with a kernel of one's own: k(a, b) that is not k(b, a), which a factor would not notice, since it reads one
-- triangle; values that are not finite.
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"

local M <const> = {}

-- Rows of x that are paired with as many others, and the relative difference that rounding may make.
local PROBES <const> = 4
local ROUNDING <const> = {f64 = 1e-8, f32 = 1e-3}

--- Kernels below k that gb.kernels.define made, in order.
local function own_kernels(k, out)
  if k.row.own then out[#out + 1] = k end
  for _, part in ipairs(k.parts or {}) do own_kernels(part, out) end
  return out
end

local function named(list)
  local cells <const>, seen <const> = {}, {}
  for _, k in ipairs(list) do
    if not seen[k.kind] then cells[#cells + 1] = ("'%s'"):format(k.kind) end
    seen[k.kind] = true
  end
  return table.concat(cells, " or ")
end

--- Rows 1, 1 + step, ... of n, and as many that follow each of them.
local function probes(n)
  local count <const> = math.min(PROBES, n // 2)
  local first <const>, second <const> = {}, {}
  for i = 1, count do first[i], second[i] = i, n - count + i end
  return first, second
end

local function rows(x, list) return x:index(1, core.tensor(list, {dtype = "i64"})):eval() end

local function itself(i) return tostring(i) end

--- Names rows of inputs in the long form of T tasks, every task of a point after the other, as those of the points.
function M.rows_of_tasks(T)
  return function(i) return ("%d (task %d)"):format((i - 1) // T + 1, (i - 1) % T + 1) end
end

--- What output t is called: of a model whose data have derivatives, or of tasks.
local function output_text(t, derives)
  if not derives then return ("task %d"):format(t) end
  return t == 1 and "its value" or ("its derivative by column %d"):format(t - 1)
end

--- The same of inputs in the long form from which cells may be missing, by the points (n, d) that they are of; derives: the outputs
-- are f and its derivatives.
function M.rows_of_points(long, points, derives)
  return function(i)
    local row <const>, d <const> = long[i], points.shape[2]
    local same <const> = (points - row:slice(1, 1, d):unsqueeze(1)):abs():max(2)
    local task <const> = row[d + 1]:item() // 1
    if same:min():item() > 0 then return ("%d of the values (%s)"):format(i, output_text(task, derives)) end
    return ("%d (%s)"):format(same:argmin():item(), output_text(task, derives))
  end
end

--- Raises where a kernel of one's own in k is not symmetric, judged by a few pairs of rows of x. row(i): what a row is called.
function M.symmetric(k, x, row)
  row = row or itself
  local own <const> = own_kernels(k, {})
  if #own == 0 or #x < 2 then return end
  local first <const>, second <const> = probes(#x)
  local a <const>, b <const> = rows(x, first), rows(x, second)
  local ab <const>, ba <const> = k(a, b):detach(), k(b, a):detach():t()
  local off <const>, size <const> = (ab - ba):abs():eval(), core.maximum(ab:abs(), ba:abs()):max():item()
  local worst <const> = off:max():item()
  if not (size < math.huge) or worst <= ROUNDING[x.dtype] * size then return end
  local at <const> = off:reshape(-1):argmax():item() - 1
  local i <const>, j <const> = at // #second + 1, at % #second + 1
  core.raise("option", ("kernel %s is not symmetric: k(a, b) = %.6g, but k(b, a) = %.6g, for rows %s and %s of x"):format(
    named(own), ab[i][j]:item(), ba[i][j]:item(), row(first[i]), row(second[j])))
end

-- Half the distance of points between which derivatives are judged, in spreads of a column, and the growth of difference quotients
-- at a quarter of it: 1 where functions have a derivative, 4 beside |x - z|, 8 beside its root; 16 where the distance is too long.
local STEP <const>, ROUGH <const>, TOO_LONG <const> = 1e-3, 2.5, 12

--- The variances (m) of difference quotients of f along column a at rows t, over 2 h.
local function quotients(k, t, a, h)
  local step <const> = {}
  for j = 1, t.shape[2] do step[j] = j == a and h or 0.0 end
  local e <const> = core.tensor(step, {dtype = "f64"})
  local p <const>, q <const> = t + e, t - e
  return ((k(p, p) - k(p, q) - k(q, p) + k(q, q)):detach():diagonal() / (4 * h * h)):eval()
end

--- Raises where functions of a kernel of one's own in k have no derivative along a column of x, judged at a few rows. 'what' begins
-- the message. O(d) kernel matrices of a few rows.
function M.differentiable(k, x, what)
  local own <const> = own_kernels(k, {})
  if #own == 0 or #x == 0 or core.tracing() then return end
  local t <const> = x:detach():slice(1, 1, math.min(PROBES, #x)):to{dtype = "f64"}:eval()
  local size <const> = k:diag(t):detach():abs():max():item()
  for a = 1, x.shape[2] do
    local column <const> = x:select(2, a):detach()
    local spread <const> = #x > 1 and (column:max() - column:min()):item() or 0
    local h <const> = STEP * (spread > 0 and spread < math.huge and spread or 1)
    local far <const>, near <const> = quotients(k, t, a, h), quotients(k, t, a, h / 4)
    local growth <const> = (near / far):max():item()
    local told <const> = (far:max() * h * h):item() > ROUNDING.f64 * size
    if told and growth > ROUGH and growth < TOO_LONG then
      core.raise("option", ("%s: gradients: functions of kernel %s have no derivative by column %d: their difference quotients "
        .. "grow %.2g times as variances at a quarter of the distance"):format(what, named(own), a, growth))
    end
  end
end

local function number_text(v) return v == v and ("%g"):format(v) or "NaN" end

--- The first row of a mask (n) that is false; nil where there is none.
local function first_false(good)
  if good:all() then return nil end
  return good:to{dtype = "f32"}:argmin():item()
end

--- Where base kernels below k have values that are not finite: text, or nil. 'hidden' as in kernels/kernel.lua.
local function bad_part(k, x, hidden, row)
  if k.parts then
    local seen <const> = kernel.seen(k, x, hidden)
    for _, part in ipairs(k.parts) do
      local text <const> = bad_part(part, seen, kernel.within(k, seen, hidden), row)
      if text then return text end
    end
    return nil
  end
  local name <const> = k.label and ("'%s' (%s)"):format(k.label, k.kind) or ("'%s'"):format(k.kind)
  local on_diagonal <const> = first_false(kernel.diag(k, x, hidden):detach():isfinite())
  if on_diagonal then
    return ("kernel %s gives k(a, a) = %s for row %s of x"):format(name,
      number_text(kernel.diag(k, x, hidden)[on_diagonal]:item()), row(on_diagonal))
  end
  local values <const> = kernel.value(k, x, x, hidden):detach()
  local i <const> = first_false(values:isfinite():all(2))
  if not i then return nil end
  local j <const> = first_false(values[i]:isfinite())
  return ("kernel %s gives k(a, b) = %s for rows %s and %s of x"):format(name, number_text(values[i][j]:item()), row(i), row(j))
end

--- Says which base kernel of k gives a value that is not finite, and where; nil where none does. row: as of M.symmetric.
function M.not_finite(k, x, row) return bad_part(k, x, kernel.outer_claims(k, x.shape[2]), row or itself) end

return M
