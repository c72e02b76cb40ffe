--- A number with its noun: "1 step", "3 steps".
---@param n integer
---@param noun string  in the singular; its plural ends with s
---@return string
return function(n, noun) return ("%d %s%s"):format(n, noun, n == 1 and "" or "s") end
