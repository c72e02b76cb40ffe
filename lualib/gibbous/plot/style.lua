--- How marks look: colours by name, number or #rrggbb, dashes, markers; as the numbers that the core draws by.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local RGB <const> = 1 << 24

-- The palette's own names first; 0xrrggbb of the others.
local PALETTE <const> = {blue = 1, orange = 2, green = 3, pink = 4, yellow = 5, sky = 6, grey = 7, gray = 7, brown = 8}
local NAMED <const> = {black = 0x000000, white = 0xffffff, red = 0xd62728, purple = 0x7f3fbf, magenta = 0xc2185b, cyan = 0x00a5bd,
  navy = 0x1b3a6b, teal = 0x00796b, olive = 0x808000, gold = 0xc99700, silver = 0xb0b0b0, darkgreen = 0x1b6e2f}
local DASHES <const> = {solid = 0, dashed = 1, dotted = 2, dashdot = 3, ["-"] = 0, ["--"] = 1, [":"] = 2, ["-."] = 3}
local MARKERS <const> = {circle = 0, square = 1, triangle = 2, diamond = 3, plus = 4, cross = 5, o = 0, s = 1, ["^"] = 2, d = 3,
  ["+"] = 4, x = 5}

local function names_of(...)
  local list <const>, seen <const> = {}, {}
  for _, t in ipairs{...} do
    for name in pairs(t) do
      if #name > 1 and not seen[name] then list[#list + 1], seen[name] = name, true end
    end
  end
  table.sort(list)
  return list, seen
end

--- The rule of an option that is one of the names of these tables, or what 'also' accepts, which 'words' describe.
local function named(tables, also, words)
  local list <const>, seen <const> = names_of(table.unpack(tables))
  return function(v)
    for _, t in ipairs(tables) do
      if type(v) == "string" and t[v] then return true end
    end
    if also and also(v) then return true end
    local near <const> = type(v) == "string" and options.nearest(v, seen)
    return false, words .. table.concat(list, ", "), type(v) == "string" and ("string %s%s"):format(v,
      near and (", did you mean %s?"):format(near) or "") or nil
  end
end

local function is_colour(v)
  return options.integral(v) and v >= 1 and v <= 64 or type(v) == "string" and v:match "^#%x%x%x%x%x%x$" ~= nil
end

local colour <const> = named({PALETTE, NAMED}, is_colour, "a number of the palette from 1, \"#rrggbb\", or one of ")
local dash <const> = named({DASHES}, nil, "one of ")
local marker <const> = named({MARKERS}, nil, "one of ")

local function is_alpha(v)
  return type(v) == "number" and v > 0 and v <= 1, "a number above 0, 1 at most"
end

local MOST_POINTS <const> = 1000                -- of a line's width, of a marker, of text

local function is_size(v)
  return type(v) == "number" and v > 0 and v <= MOST_POINTS, ("a number of points above 0, %d at most"):format(MOST_POINTS)
end

--- The rule of a thickness in units of an axis.
function M.is_extent(v)
  return type(v) == "number" and v > 0 and v < math.huge, "a positive number"
end

--- The rules of the options of marks of a kind: those named, of the whole list.
function M.spec(keys, more)
  local all <const> = {label = "string", colour = colour, width = is_size, dash = dash, marker = marker, size = is_size,
    alpha = is_alpha}
  local out <const> = {}
  for key in keys:gmatch "%S+" do out[key] = all[key] end
  for key, rule in pairs(more or {}) do out[key] = rule end
  return out
end

local function colour_number(v)
  if v == nil or v == false then return nil end
  if type(v) == "number" then return math.tointeger(v) - 1 end
  if PALETTE[v] then return PALETTE[v] - 1 end
  return RGB | (NAMED[v] or tonumber(v:sub(2), 16))
end

--- What core.figure_add takes, of checked options.
function M.of(o)
  return {label = o.label or nil, colour = colour_number(o.colour), width = o.width or nil, dash = o.dash and DASHES[o.dash] or nil,
    marker = o.marker and MARKERS[o.marker] or nil, size = o.size or nil, alpha = o.alpha or nil}
end

-- How t of [0, 1] is drawn in heat maps, for lines of equal value: eleven colours of viridis, 0 dark to 1 light.
local MAP <const> = {0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c, 0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725}

--- The colour of the map nearest to t, as "#rrggbb".
function M.map(t)
  local i <const> = math.floor(math.max(0, math.min(1, t)) * (#MAP - 1) + 0.5)
  return ("#%06x"):format(MAP[i + 1])
end

--- A vector of numbers: a tensor (n) or (n, 1), or a list.
function M.vector(v, what)
  if type(v) == "table" and getmetatable(v) == nil then v = core.tensor(v) end
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("%s must be a tensor or list, got %s"):format(what, type(v))) end
  if t.ndim == 2 and t.shape[2] == 1 then return t:squeeze(2) end
  if t.ndim ~= 1 then
    core.raise("shape", ("%s must be a vector, got shape %s"):format(what, core.told(t)))
  end
  return t
end

return M
