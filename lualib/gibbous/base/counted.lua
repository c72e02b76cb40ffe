--- A number with its noun: "1 step", "3 steps".
---@param n integer
---@param noun string  in the singular
---@param plural string?  default: the noun and s
---@return string
return function(n, noun, plural) return ("%d %s"):format(n, n == 1 and noun or plural or noun .. "s") end
