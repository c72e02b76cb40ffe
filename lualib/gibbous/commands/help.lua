--- What '?topic' shows at the prompt: the text for a name, for a variable by its value, or for words. env: where variables are
-- looked up, the globals unless it is given.
return function(topic, env)
  local text <const> = require "gibbous.reference.answer"(topic, env)
  return text
end
