--- Rows of reductions over sets of dimensions, running sums, and order.
local dense <const> = require "spec.fuzz.dense"
local scalar <const> = require "spec.fuzz.scalar"

local rows <const> = {}

--- A set of dimensions of x as a script writes it, the set, and the shapes of the result without and with them.
local function axes_of(g, x, several)
  local rank <const>, set <const>, list <const> = #x.shape, {}, {}
  local how <const> = rank == 0 and 0 or several and 2 * g:draw(2) or g:draw(3)
  if how == 0 then
    for d = 1, rank do set[d] = true end
  elseif how == 1 then
    local d <const> = g:draw(rank) + 1
    set[d], list[1] = true, g:dimension_text(x, d)
  else
    for d = 1, rank do
      if g:chance(2) then
        set[d] = true
        table.insert(list, g:draw(#list + 1) + 1, g:dimension_text(x, d))
      end
    end
    if #list == 0 then set[1], list[1] = true, "1" end
  end
  local shape <const>, kept <const> = {}, {}
  for d, n in ipairs(x.shape) do
    kept[d] = set[d] and 1 or n
    if not set[d] then shape[#shape + 1] = n end
  end
  local text = ""
  if how == 1 then text = list[1] elseif how == 2 then text = "{" .. table.concat(list, ", ") .. "}" end
  return set, text, shape, kept, how == 0
end

--- Elements of x that a set of dimensions holds.
local function count_over(x, set)
  local n = 1
  for d, extent in ipairs(x.shape) do if set[d] then n = n * extent end end
  return n
end

--- A view of x that no axis of x lies along any more: where the order of elements counts, that order is at stake.
local function seen_through(g, x)
  local row <const> = g.row
  local name <const> = g:choose{"tile", "reshape", "permute", "tile"}
  local y <const> = require("spec.fuzz.generate").of_name[name].make(g, x)
  g.row = row
  return y or x
end

--- Of a row: pick(g) gives the argument, one(S, list, more) the result of one list.
local function reduction(o)
  rows[#rows + 1] = {name = o.name, ops = o.ops, public = {"tensor." .. o.name}, weight = o.weight or 3, smooth = o.smooth,
    make = function(g)
    local x = o.pick(g)
    if not x then return nil end
    local view <const> = o.ordered and g:chance(2)
    if view then x = seen_through(g, x) end
    local set <const>, text <const>, shape <const>, kept <const>, whole <const> = axes_of(g, x, view)
    local n <const> = count_over(x, set)
    if o.needs_elements and n == 0 then return nil end
    local more <const> = o.more and o.more(g, x, n) or {}
    if more.refused then return nil end
    local keepdim <const> = g:chance(4) or (o.lua_boolean and whole)
    local options <const> = {}
    if more.text then options[#options + 1] = more.text end
    if keepdim then options[#options + 1] = "keepdim = true" end
    local list <const> = {}
    if text ~= "" then list[1] = text end
    if #options > 0 then list[#list + 1] = "{" .. table.concat(options, ", ") .. "}" end
    local dtype <const> = o.dtype and o.dtype(x) or x.dtype
    return g:emit(("%%1:%s(%s)"):format(o.name, table.concat(list, ", ")), {x}, keepdim and kept or shape, dtype, function(S, a)
      local out <const> = {}
      for i, row in ipairs((dense.rows(a, set))) do out[i] = o.one(S, row, x.dtype, more) end
      return dense.new(keepdim and kept or shape, dtype, out)
    end)
  end}
end

local function numeric(g) return g.mode == 0 and g:numeric() or g:float() end
local function of_any(g) return g.mode == 0 and g:any() or g:float() end
local function floating(g) return g:float() end
local function truths(g) return g:pick(function(v) return v.dtype == "bool" end) or g:leaf(nil, "bool") end

--- Counts and truths as floats.
local function as_floats(S, list, dtype)
  if dense.is_float(dtype) then return list end
  local out <const> = {}
  for i, x in ipairs(list) do
    if dtype == "bool" then x = x and 1.0 or 0.0 else x = x + 0.0 end
    out[i] = S.lift(x)
  end
  return out
end

local function float_of(x) return dense.is_float(x.dtype) and x.dtype or "f64" end
local function sum_type(x) return x.dtype == "bool" and "f64" or dense.computed(x.dtype) end

local function sum(S, list, dtype)
  if not dense.is_whole(dtype) then return S.sum(as_floats(S, list, dtype)) end
  local s = 0
  for _, x in ipairs(list) do s = s + x end
  return s
end

reduction{name = "sum", ops = {"sum"}, weight = 7, smooth = true, pick = of_any, dtype = sum_type, one = sum}

reduction{name = "prod", ops = {"prod"}, weight = 6, smooth = true, pick = of_any, dtype = sum_type, one = function(S, list, dtype)
  if dense.is_whole(dtype) then
    local p = 1
    for _, x in ipairs(list) do p = p * x end
    return p
  end
  local p, sizes <const> = S.lift(1.0), {}
  for i, x in ipairs(as_floats(S, list, dtype)) do p, sizes[i] = S.mul(p, x), S.val(x) end
  if scalar.passes_bounds(sizes) and not scalar.toss() then return S.lift(0 / 0) end        -- in an order of its own
  return p
end}

local function mean(S, list, dtype)
  return S.div(S.sum(as_floats(S, list, dtype)), S.lift(#list + 0.0))
end

reduction{name = "mean", ops = {"sum", "div"}, smooth = true, pick = of_any, dtype = float_of, one = mean}

local function variance(S, list, dtype, more)
  local x <const> = as_floats(S, list, dtype)
  local m <const>, squares <const> = mean(S, x, "f64"), {}
  for i, e in ipairs(x) do
    local d <const> = S.sub(e, m)
    squares[i] = S.mul(d, d)
  end
  local n <const> = #list - (more.ddof or 1)
  return S.div(S.sum(squares), S.lift(n > 0 and n + 0.0 or 0.0))
end

local function degrees(g, _, n)
  local ddof <const> = g:choose{1, 0}
  if n <= ddof and g.mode > 0 then return {refused = true} end
  return {ddof = ddof, text = ddof ~= 1 and "ddof = 0" or nil}
end

reduction{name = "var", ops = {"square"}, smooth = true, pick = of_any, dtype = float_of, more = degrees, one = variance}
reduction{name = "std", ops = {"sqrt"}, weight = 1, smooth = true, pick = of_any, dtype = float_of, more = degrees,
  one = function(S, ...) return S.fn("sqrt", variance(S, ...)) end}

--- The first of the best, the best, and all that tie with it; NaN is best.
local function best_of(S, list, dtype, before)
  local first, best = 1, list[1]
  local ties = {best}
  if dense.is_float(dtype) then
    for i, x in ipairs(list) do
      local v <const> = S.val(x)
      if v ~= v then return i, x, {x} end
    end
  end
  for i = 2, #list do
    local x <const> = list[i]
    if before(x, best) then
      first, best, ties = i, x, {x}
    elseif not before(best, x) then
      ties[#ties + 1] = x
    end
  end
  return first, best, ties
end

local function orders(S, dtype)
  if dense.is_whole(dtype) then return function(a, b) return a < b end, function(a, b) return a > b end end
  return S.less, function(a, b) return S.less(b, a) end
end

local function extreme(largest)
  return function(S, list, dtype)
    local up <const>, down <const> = orders(S, dtype)
    local _, best <const>, ties <const> = best_of(S, list, dtype, largest and down or up)
    if dense.is_whole(dtype) or S.level == 0 or #ties == 1 then return best end
    if not scalar.on_grid(S.val(best)) then return S.mul(best, S.lift(scalar.toss() and 1.0 or 2.0)) end
    return scalar.average(S, ties)
  end
end

local function position(largest)
  return function(S, list, dtype)
    local up <const>, down <const> = orders(S, dtype)
    return (best_of(S, list, dtype, largest and down or up))
  end
end

for _, name in ipairs{"max", "min"} do
  reduction{name = name, ops = {name}, weight = 3, smooth = true, pick = numeric, needs_elements = true,
    dtype = function(x) return dense.computed(x.dtype) end, one = extreme(name == "max")}
  reduction{name = "arg" .. name, ops = {"arg" .. name}, weight = 7, pick = numeric, needs_elements = true, ordered = true,
    dtype = function() return "i64" end, one = position(name == "max")}
end

local function logsumexp(S, list)
  if #list == 1 then return list[1] end
  local top = -math.huge
  for _, x in ipairs(list) do
    local v <const> = S.val(x)
    if v ~= v then return x end
    top = math.max(top, v)
  end
  if top - top ~= 0 then return S.lift(top) end
  local terms <const> = {}
  for i, x in ipairs(list) do terms[i] = S.fn("exp", S.sub(x, S.lift(top))) end
  return S.add(S.lift(top), S.fn("log", S.sum(terms)))
end

reduction{name = "logsumexp", ops = {"logsumexp"}, smooth = true, pick = floating, one = logsumexp,
  more = function(g, _, n) return {refused = g.mode > 0 and n == 0} end}

local function all_zero(S, list)
  for _, x in ipairs(list) do if S.val(x) ~= 0 then return false end end
  return true
end

--- (sum |x|^p)^(1/p); at 0 its gradient is 0, as the smallest of its subgradients.
local function norm(S, list, _, more)
  local p <const>, sizes <const> = more.p, {}
  for i, x in ipairs(list) do sizes[i] = S.fn("abs", x) end
  if p == 1 then return S.sum(sizes) end
  if p == math.huge then return extreme(true)(S, sizes, "f64") end
  if p == -math.huge then return extreme(false)(S, sizes, "f64") end
  if S.level > 0 and all_zero(S, list) then
    if S.level > 1 then scalar.state.undefined = true end
    return S.lift(0.0)
  end
  local powers <const> = {}
  for i, x in ipairs(list) do powers[i] = p == 2 and S.mul(x, x) or S.pow(sizes[i], S.lift(p + 0.0)) end
  if p == 2 then return S.fn("sqrt", S.sum(powers)) end
  return S.pow(S.sum(powers), S.lift(1 / p))
end

reduction{name = "norm", ops = {"abs", "pow"}, weight = 4, smooth = true, pick = floating, one = norm,
  more = function(g, x, n)
    local p <const> = g.mode > 0 and g:choose{2, 3, 1, 4, 1.5, math.huge} or g:choose{2, 1, 3, 1.5, math.huge, -math.huge, 0.5, -1}
    if x.most > 50 or n == 0 and p - p ~= 0 then return {refused = true} end
    local text <const> = require "spec.fuzz.generate".number_text(p)
    return {p = p, text = p ~= 2 and "p = " .. text or nil}
  end}

reduction{name = "any", ops = {"any"}, weight = 1, pick = truths, lua_boolean = true, one = function(_, list)
  for _, x in ipairs(list) do if x then return true end end
  return false
end}

reduction{name = "all", ops = {"all"}, weight = 1, pick = truths, lua_boolean = true, one = function(_, list)
  for _, x in ipairs(list) do if not x then return false end end
  return true
end}

-- Along one dimension ----------------------------------------------------------------------------------------------------------

--- f(S, list, dtype, more) gives the list that takes the place of each list along the dimension.
local function along(o)
  rows[#rows + 1] = {name = o.name, ops = o.ops, public = o.public, weight = o.weight or 2, smooth = o.smooth, make = function(g)
    local x <const> = o.pick(g)
    if not x or #x.shape == 0 then return nil end
    local d <const> = g:draw(#x.shape) + 1
    if dense.numel(x.shape) == 0 then return nil end
    local more <const> = o.more and o.more(g, x.shape[d]) or {}
    local count <const> = more.count or x.shape[d]
    local dtype <const>, shape <const> = o.dtype and o.dtype(x, more) or x.dtype, dense.with_extent(x.shape, d, count)
    return g:emit(o.text(g:dimension_text(x, d), more), {x}, shape, dtype, function(S, a)
      local lists <const> = dense.rows(a, {[d] = true})
      for i, list in ipairs(lists) do lists[i] = o.f(S, list, x.dtype, more) end
      return dense.from_rows(lists, shape, d, count, dtype)
    end)
  end}
end

local function method(name) return function(d) return ("%%1:%s(%s)"):format(name, d) end end

along{name = "cumsum", ops = {"cumsum"}, public = {"tensor.cumsum"}, weight = 3, smooth = true, pick = numeric,
  dtype = function(x) return dense.computed(x.dtype) end, text = method "cumsum",
  f = function(S, list, dtype)
    local out <const>, so_far <const> = {}, {}
    for i, x in ipairs(list) do
      so_far[i] = x
      out[i] = sum(S, so_far, dtype)
    end
    return out
  end}

along{name = "softmax", ops = {"exp", "max", "detach"}, public = {"tensor.softmax"}, smooth = true, pick = floating,
  text = method "softmax",
  f = function(S, list)
    local total <const>, out <const> = logsumexp(S, list), {}
    local finite <const> = S.val(total) - S.val(total) == 0            -- inf / inf otherwise, whatever the element is
    for i, x in ipairs(list) do out[i] = finite and S.fn("exp", S.sub(x, total)) or S.lift(0.0 / 0.0) end
    return out
  end}

along{name = "log_softmax", ops = {"logsumexp"}, public = {"tensor.log_softmax"}, smooth = true, pick = floating,
  text = method "log_softmax",
  f = function(S, list)
    local total <const>, out <const> = logsumexp(S, list), {}
    for i, x in ipairs(list) do out[i] = S.sub(x, total) end
    return out
  end}

--- The order of a list: positions, stable, NaN last.
local function sorted(S, list, dtype, descending)
  local up <const>, down <const> = orders(S, dtype)
  local less <const> = descending and down or up
  local order <const> = {}
  local function is_nan(x) return dense.is_float(dtype) and S.val(x) ~= S.val(x) end
  for i, x in ipairs(list) do
    local k = i
    while k > 1 and not is_nan(x) and (is_nan(list[order[k - 1]]) or less(x, list[order[k - 1]])) do
      order[k] = order[k - 1]
      k = k - 1
    end
    order[k] = i
  end
  return order
end

local function ordered(S, list, dtype, more)
  local order <const>, out <const> = sorted(S, list, dtype, more.descending), {}
  for k = 1, more.count or #list do
    if more.positions then out[k] = order[k] else out[k] = list[order[k]] end
  end
  -- The order of equal values is determined, but for values that are equal up to rounding; their gradients are not.
  if S.level > 0 and not more.positions then
    for k = 2, #order do
      local a <const>, b <const> = S.val(list[order[k - 1]]), S.val(list[order[k]])
      if a == b and not scalar.on_grid(a) then out[1] = S.mul(out[1] or S.lift(0.0), S.lift(scalar.toss() and 1.0 or 2.0)) end
    end
  end
  return out
end

local function sort_text(positions)
  return function(d, more)
    local set <const> = {}
    if more.k and not more.descending then set[1] = "largest = false" end
    if not more.k and more.descending then set[1] = "descending = true" end
    if more.positions then set[#set + 1] = ("dtype = %q"):format(more.positions) end
    local given <const> = #set > 0 and (", {%s}"):format(table.concat(set, ", ")) or ""
    local call <const> = more.k and ("%%1:topk(%d, %s%s)"):format(more.count, d, given) or ("%%1:sort(%s%s)"):format(d, given)
    return positions and ("select(2, %s)"):format(call) or ("(%s)"):format(call)
  end
end

--- positions: the type of the positions that are asked for, or false.
local function drawn_type(g, positions) return positions and g:choose{"i64", "i32"} end

local function sort_options(positions)
  return function(g) return {descending = g:chance(2), positions = drawn_type(g, positions)} end
end

local function topk_options(positions)
  return function(g, n)
    return {k = true, count = g.mode == 0 and g:draw(n + 1) or 1 + g:draw(n), descending = not g:chance(2),
      positions = drawn_type(g, positions)}
  end
end

local function of_positions(_, more) return more.positions end
along{name = "sort", ops = {"sort", "pick"}, public = {"tensor.sort"}, smooth = true, pick = numeric, text = sort_text(false),
  more = sort_options(false), f = ordered}
along{name = "sort positions", ops = {"sort", "pick"}, pick = numeric, dtype = of_positions, text = sort_text(true),
  more = sort_options(true), f = ordered}
along{name = "topk", ops = {"topk", "pick"}, public = {"tensor.topk"}, smooth = true, pick = numeric, text = sort_text(false),
  more = topk_options(false), f = ordered}
along{name = "topk positions", ops = {"topk", "pick"}, pick = numeric, dtype = of_positions, text = sort_text(true),
  more = topk_options(true), f = ordered}

return rows
