--- gibbous sweep table: the results of a study as a table for a paper, as text, Markdown, LaTeX or CSV.
local core <const> = require "gibbous.core"
local csv <const> = require "gibbous.sweep.csv"
local number <const> = require "gibbous.sweep.number"
local results <const> = require "gibbous.sweep.results"

local M <const> = {}

-- Cells as words --------------------------------------------------------------------------------------------------------------

--- The n that most cells have; a cell says its own where it differs.
local function usual_n(t)
  local count <const>, usual, most = {}, 0, 0
  for _, line in ipairs(t.lines) do
    for _, c in ipairs(line.cells) do
      count[c.n] = (count[c.n] or 0) + 1
      if c.n > 0 and (count[c.n] > most or count[c.n] == most and c.n > usual) then usual, most = c.n, count[c.n] end
    end
  end
  return usual
end

--- Mean, error and n of a cell as texts; nil where it has no value.
local function parts(c, spread, usual)
  if c.n == 0 then return nil end
  local err <const> = c[spread]
  local mean <const>, e <const> = number.rounded(c.mean, err)
  return mean, e, c.n ~= usual and c.n or nil
end

local function plain_value(v)
  if v == nil then return "" end
  return type(v) == "string" and v or core.json_encode(v)
end

local function head(values, names, metric)
  if #names == 0 then return metric end
  return results.label(values, names)
end

--- Headings and rows of words. cell(c): of a cell; word(v): of a value.
local function grid(t, cell, word)
  local top <const>, out <const> = {}, {}
  for i, name in ipairs(t.rows) do top[i] = word(name) end
  for _, values in ipairs(t.heads) do top[#top + 1] = word(head(values, t.columns, t.metric)) end
  for i, line in ipairs(t.lines) do
    out[i] = {}
    for k, name in ipairs(t.rows) do out[i][k] = word(plain_value(line.values[name])) end
    for _, c in ipairs(line.cells) do table.insert(out[i], cell(c)) end
  end
  return top, out
end

-- The note --------------------------------------------------------------------------------------------------------------------

local function group_words(t, group)
  if group then return #group > 0 and "the best of its " .. table.concat(group, ", ") or "the best of all" end
  return #t.columns > 0 and "the best of its row" or "the best"
end

--- What the table shows, a list of sentences. mark: how the best is told, "bold".
local function note(t, o, usual, mark)
  local out <const> = {("%s, %s%s"):format(t.metric, t.goal == "min" and "lower is better" or "higher is better",
    usual > 1 and (": mean and %s over %s, n = %d%s"):format(o.spread == "se" and "standard error" or "standard deviation",
      #t.over > 0 and table.concat(t.over, ", ") or "trials", usual, " where no other n is said") or "")}
  if t.tested > 0 then
    out[#out + 1] = ("%s: %s, and what is not significantly worse than it (paired t test, p >= %g%s; not corrected for the number "
      .. "of comparisons)"):format(mark, group_words(t, o.group), t.level,
      usual >= 6 and ", or Wilcoxon's signed rank test, p >= " .. ("%g"):format(t.level) or "")
  else
    out[#out + 1] = ("%s: %s; there are too few repeats for a test"):format(mark, group_words(t, o.group))
  end
  for _, line in ipairs(t.lines) do
    for _, c in ipairs(line.cells) do
      if c.n == 0 then
        out[#out + 1] = "a word in place of a number: no trial of the cell has a result, and what most of them came to"
        return out
      end
    end
  end
  return out
end

-- Forms -----------------------------------------------------------------------------------------------------------------------

local forms <const> = {}

function forms.text(t, o, usual)
  local top <const>, rows <const> = grid(t, function(c)
    local mean <const>, err <const>, n <const> = parts(c, o.spread, usual)
    if not mean then return c.state end
    return mean .. (err and " ± " .. err or "") .. (n and (" (n=%d)"):format(n) or "") .. (c.equal and " *" or "")
  end, function(word) return (word:gsub("%c", " ")) end)
  table.insert(rows, 1, top)
  return require "gibbous.table_text"(rows) .. "\n" .. table.concat(note(t, o, usual, "*"), "\n") .. "\n"
end

local function md_word(word) return (word:gsub("[\\`*_|<&~$%[%]]", "\\%0"):gsub("%c", " ")) end

function forms.md(t, o, usual)
  local top <const>, rows <const> = grid(t, function(c)
    local mean <const>, err <const>, n <const> = parts(c, o.spread, usual)
    if not mean then return "*" .. md_word(c.state) .. "*" end
    local words <const> = mean .. (err and " ± " .. err or "")
    return (c.equal and "**" .. words .. "**" or words) .. (n and (" (n=%d)"):format(n) or "")
  end, md_word)
  local rule <const>, lines <const> = {}, {}
  for i = 1, #top do rule[i] = i <= #t.rows and ":--" or "--:" end
  for _, cells in ipairs{top, rule, table.unpack(rows)} do lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |" end
  return table.concat(lines, "\n") .. "\n\n" .. md_word(table.concat(note(t, o, usual, "bold"), "; ")) .. ".\n"
end

local TEX <const> = {["\\"] = "\\textbackslash{}", ["~"] = "\\textasciitilde{}", ["^"] = "\\textasciicircum{}",
  ["<"] = "\\textless{}",
  [">"] = "\\textgreater{}", ["|"] = "\\textbar{}", ['"'] = "\\textquotedbl{}"}

local function tex_word(word)
  return (word:gsub("[\\~^<>|\"{}$%%&#_]", function(c) return TEX[c] or "\\" .. c end))
end

--- A number in math: powers of ten and infinity as they are written there.
local function tex_number(text)
  local digits <const>, power <const> = text:match "^(.-)e([+-]?%d+)$"
  if power then return ("%s \\times 10^{%d}"):format(digits, math.tointeger(tonumber(power))) end
  return (text:gsub("inf", "\\infty"))
end

function forms.latex(t, o, usual)
  local top <const>, rows <const> = grid(t, function(c)
    local mean <const>, err <const>, n <const> = parts(c, o.spread, usual)
    if not mean then return "\\textit{" .. tex_word(c.state) .. "}" end
    local words <const> = tex_number(mean) .. (err and " \\pm " .. tex_number(err) or "")
    return "$" .. (c.equal and "\\mathbf{" .. words .. "}" or words) .. "$" .. (n and (" {\\scriptsize (n=%d)}"):format(n) or "")
  end, tex_word)
  local lines <const> = {"% \\usepackage{booktabs}",
    "\\begin{tabular}{" .. ("l"):rep(#t.rows) .. ("r"):rep(#t.heads) .. "}", "\\toprule", table.concat(top, " & ") .. " \\\\",
    "\\midrule"}
  for _, cells in ipairs(rows) do lines[#lines + 1] = table.concat(cells, " & ") .. " \\\\" end
  lines[#lines + 1] = "\\bottomrule\n\\end{tabular}"
  for _, sentence in ipairs(note(t, o, usual, "bold")) do lines[#lines + 1] = "% " .. sentence:gsub("%c", " ") end
  return table.concat(lines, "\n") .. "\n"
end

--- A row for each cell, all digits.
function forms.csv(t)
  local names <const>, rows <const> = {}, {}
  for _, list in ipairs{t.rows, t.columns} do
    for _, name in ipairs(list) do names[#names + 1] = name end
  end
  local top <const> = {table.unpack(names)}
  for _, name in ipairs{"metric", "state", "n", "mean", "se", "sd", "best", "not_worse", "p_t", "p_wilcoxon"} do
    top[#top + 1] = name
  end
  for _, line in ipairs(t.lines) do
    for k, c in ipairs(line.cells) do
      local row <const> = {}
      for i, name in ipairs(names) do
        row[i] = line.values[name]
        if row[i] == nil then row[i] = t.heads[k][name] end
      end
      local n <const> = #names
      row[n + 1], row[n + 2], row[n + 3], row[n + 4], row[n + 5] = t.metric, c.state, c.n, c.mean, c.se
      row[n + 6], row[n + 7], row[n + 8], row[n + 9], row[n + 10] = c.sd, c.best, c.equal, c.p_t, c.p_wilcoxon
      rows[#rows + 1] = row
    end
  end
  return csv(top, rows)
end

--- t: gibbous.sweep.table as text. o: fmt "text", "md", "latex" or "csv"; spread "se" or "sd"; group, as it was chosen.
function M.text(t, o) return forms[o.fmt](t, o, usual_n(t)) end

M.forms = {"text", "md", "latex", "csv"}

return M
