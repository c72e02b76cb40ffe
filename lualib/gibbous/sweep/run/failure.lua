--- How trials end: classes of outcomes, each with its evidence.
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

--- The classes, in the order in which they are counted.
M.classes = {"ok", "pruned", "oom", "not_pd", "nan", "timeout", "crashed", "interrupted", "error"}

local by_code <const> = {oom = "oom", refused = "oom", not_pd = "not_pd", nan = "nan", interrupted = "interrupted"}

--- The class of an error that a trial raised.
function M.of_error(err) return by_code[raised.code(err) or ""] or "error" end

--- The text of an error, with its traceback where it has one.
function M.text(err)
  if type(err) == "string" then return err end
  local ok <const>, text <const> = pcall(tostring, err)
  return ok and text or "an error that has no text"
end

--- What failures of one cause share: class and text, without numbers, addresses and file names.
function M.fingerprint(class, text)
  local first <const> = text:match "^[^\n]*"
  return class .. ": " .. first:gsub("0x%x+", "#"):gsub("%d[%d.e+-]*", "#"):gsub("'[^']*/[^']*'", "'#'"):sub(1, 200)
end

--- The class of a process that ended without telling, and the words for it. how: as child:reap() gives it. stopped: why it was
-- stopped, "timeout" or "interrupted", or nil.
function M.of_process(how, stopped, seconds)
  if stopped == "timeout" then return "timeout", ("it took longer than %.0f s, its budget, and was stopped"):format(seconds) end
  if stopped == "interrupted" then return "interrupted", "the sweep was interrupted" end
  if how.signal == "KILL" then
    return "crashed", "killed by signal KILL: the system does so where memory runs out; peak "
      .. ("%.0f MiB"):format(how.peak / 2 ^ 20)
  end
  if how.signal then return "crashed", "ended by signal " .. how.signal end
  return "crashed", ("its process ended with status %d before the trial did"):format(how.exit)
end

return M
