--- The words and bars of gb.progress, as functions of how far a loop is.
local M <const> = {}

local CELLS <const> = 20                   -- of one bar
local eighths <const> = {[0] = "", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

local function duration(seconds)
  local s <const> = math.floor(seconds + 0.5)
  if s >= 3600 then return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60) end
  return ("%d:%02d"):format(s // 60, s % 60)
end

local function plain_bar(share)
  local full <const> = math.min(CELLS, math.floor(share * CELLS))
  return "[" .. ("#"):rep(full) .. ("."):rep(CELLS - full) .. "]"
end

local function bar(share)
  local full <const> = math.min(CELLS * 8, math.floor(share * CELLS * 8))
  local text <const> = ("█"):rep(full // 8) .. eighths[full % 8]
  return text .. (" "):rep(CELLS - utf8.len(text))
end

--- One loop as text: label, bar, count, and once a round is over rate and time left. loop: label done total start. kind of bar:
-- "blocks", "ascii" or "none".
function M.text(loop, now, kind)
  local elapsed <const> = math.max(now - loop.start, 1e-9)
  local share <const> = loop.total > 0 and loop.done / loop.total or 1
  local drawn <const> = kind == "none" and "" or (kind == "ascii" and plain_bar or bar)(share) .. " "
  local head <const> = ("%s%s%d/%d"):format(loop.label ~= "" and loop.label .. " " or "", drawn, loop.done, loop.total)
  if loop.done == 0 then return head end
  local rate <const> = loop.done / elapsed
  return ("%s  %s  %s left"):format(head, rate >= 1 and ("%.3g/s"):format(rate) or ("%.3g s each"):format(1 / rate),
    duration((loop.total - loop.done) / rate))
end

--- The room left in the outermost loop's line.
function M.closing(loop, now)
  local label <const> = loop.label ~= "" and loop.label .. " " or ""
  return ("%s%d/%d in %.3g s"):format(label, loop.done, loop.total, now - loop.start)
end

--- The first 'columns' characters, none where there is no column.
function M.clip(text, columns)
  if columns < 1 then return "" end
  local at <const> = utf8.offset(text, columns + 1)
  return at and text:sub(1, at - 1) or text
end

return M
