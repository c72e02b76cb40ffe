--- A smaller program that fails in the same way: by draws left out, whole statements first, and by smaller draws.
local M <const> = {}

local function without(draws, first, last)
  local out <const> = table.move(draws, 1, first - 1, 1, {})
  return table.move(draws, last + 1, #draws, first, out)
end

--- fails(draws) runs the program of some draws and gives it and what is wrong, or nil. Gives the smallest that was found.
function M.shrink(program, wrong, fails, seconds)
  local clock <const> = os.clock
  local stop <const> = clock() + (seconds or 10)
  local best, what = program, wrong

  local function try(draws)
    if clock() > stop then return false end
    local p <const>, w <const> = fails(draws)
    if not p or w.kind ~= what.kind then return false end
    if #p.draws > #best.draws then return false end
    best, what = p, w
    return true
  end

  local function drop_statements()
    local i, any = #best.spans - 1, false
    while i >= 1 do
      local first <const>, last <const> = best.spans[i] , best.spans[i + 1] - 1
      if first and last and first >= 1 and last >= first and try(without(best.draws, first, last)) then any = true end
      i = math.min(i, #best.spans) - 1
    end
    return any
  end

  local function drop_runs(n)
    local at, any = #best.draws - n + 1, false
    while at >= 1 do
      if try(without(best.draws, at, at + n - 1)) then any = true else at = at - 1 end
      at = math.min(at, #best.draws - n + 1)
    end
    return any
  end

  local function lower()
    local any = false
    for i = 1, #best.draws do
      for _, v in ipairs{0, 1, (best.draws[i] or 0) // 2, (best.draws[i] or 0) - 1} do
        if best.draws[i] and v >= 0 and v < best.draws[i] then
          local draws <const> = table.move(best.draws, 1, #best.draws, 1, {})
          draws[i] = v
          if try(draws) then any = true end
        end
      end
    end
    return any
  end

  repeat
    local any = drop_statements()
    for _, n in ipairs{16, 8, 4, 2, 1} do any = drop_runs(n) or any end
    any = lower() or any
  until not any or clock() > stop
  return best, what
end

return M
