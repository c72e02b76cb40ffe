-- Lua 5.4. Shadowing is the project's style for values that replace one another; 'not (x < y)' is how a comparison fails on NaN;
-- a method keeps its 'self' where it has no use for it.
std = "lua54"
ignore = {"4[23]", "581", "582"}
self = false
max_line_length = 132
files["spec"] = {std = "+busted"}
files["lualib/skeletons/*_spec.lua"] = {std = "+busted"}
-- Declarations for editors: functions without bodies, classes that nothing reads.
files["lualib/gibbous/meta"] = {ignore = {"11[123]", "21[12]", "241", "631"}}
