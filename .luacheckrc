-- Lua 5.4. Shadowing is the project's style for values that replace one another; 'not (x < y)' is how a comparison fails on NaN.
std = "lua54"
ignore = {"4[23]", "582", "581"}
max_line_length = false
files["spec"] = {std = "+busted"}
files["lualib/gibbous/_meta.lua"] = {ignore = {"212", "211", "111", "112", "113", "631"}}
