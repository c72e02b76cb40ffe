--- A text as JSON and journals take it: zeros, and bytes that are no UTF-8, become '?'.
---@param text string
---@return string
return function(text)
  local valid <const> = utf8.len(text) and text or text:gsub("[\x80-\xff]", "?")
  return (valid:gsub("\0", "?"))
end
