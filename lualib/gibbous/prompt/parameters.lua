--- The paths of parameters that m:get and m:set take, where m is a variable.
local knowledge <const> = require "gibbous.prompt.knowledge"
local lexer <const> = require "gibbous.prompt.lexer"

local M <const> = {}

local takes_path <const> = {bound = true, get = true, set = true}

--- The sorted paths for the method whose name is the token at 'callee'; nil where it is no such method. None are
-- known of a model that is no variable's value.
function M.of_method(tokens, callee)
  if callee < 3 or not takes_path[tokens[callee].text] then return nil end
  local entry <const> = knowledge.entry((knowledge.infer(tokens, callee)))
  if not entry or entry.owner ~= "gibbous.model" then return nil end
  if tokens[callee - 1].text ~= ":" then return {} end
  local model <const> = knowledge.infer(tokens, callee - 2)
  if model == nil or type(model.value) ~= "table" then return {} end
  local ok <const>, _, names <const> = pcall(require "gibbous.param".collect, model.value)
  if not ok then return {} end
  local sorted <const> = table.move(names, 1, #names, 1, {})
  table.sort(sorted)
  return sorted
end

--- The same for the call whose table is open at 'brace'.
function M.of_table(tokens, brace)
  local at = brace
  if not lexer.ends_prefix(tokens[brace - 1]) then at = lexer.enclosing(tokens, brace - 1) end
  if at == nil or at < 2 or tokens[at].text == "[" then return nil end
  return M.of_method(tokens, at - 1)
end

return M
