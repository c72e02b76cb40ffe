--- How an iterative solve went: converged reason iterations residual condition seconds bytes. A solver's last word, printed as one line.
local Info <const> = {__name = "gibbous.solve_info"}

function Info.__tostring(self)
  return ("%s after %d steps: relative residual %.2g, condition about %.2g, %.2f s"):format(
    self.converged and "converged" or "not converged (" .. self.reason .. ")", self.iterations, self.residual,
    self.condition, self.seconds)
end

--- The table of fields as a record.
---@param fields table
---@return gibbous.solve_info
return function(fields) return setmetatable(fields, Info) end
