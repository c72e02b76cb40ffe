--- The window that tables of text are laid out for: none in scripts, whose output is the same wherever it goes; the terminal's in a
-- session of the prompt, which sets it.
local M <const> = {}

--- Its columns, nil where there is none.
---@return integer?
function M.columns() return nil end

return M
