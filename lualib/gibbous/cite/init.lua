--- gb.cite: what to cite for a model and its parts, as BibTeX.
local core <const> = require "gibbous.core"
local publications <const> = require "gibbous.cite.publications"
local sources <const> = require "gibbous.cite.sources"

local M <const> = {}

local ORDER <const> = {"author", "title", "journal", "booktitle", "publisher", "volume", "number", "pages", "year", "version",
  "note"}

local function entry(key, p)
  local lines <const> = {("@%s{%s,"):format(p.type, key)}
  for _, name in ipairs(ORDER) do
    if p[name] then lines[#lines + 1] = ("  %s = {%s},"):format(name, p[name]) end
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n")
end

local own <const> = {type = "misc", title = "{Gibbous}: a {L}ua Workbench for {G}aussian Processes", version = core.version}

-- The publications of a value --------------------------------------------------------------------------------------------------

--- Notes keys of publications, each once, in the order of their first mention.
local function noting()
  local keys <const>, seen <const> = {}, {}
  return keys, function(list)
    for _, key in ipairs(list or {}) do
      if not seen[key] then keys[#keys + 1] = key end
      seen[key] = true
    end
  end
end

local visit <const> = {}

function visit.kernel(k, note)
  note(sources.kernel[k.kind] or sources.kernel.custom)
  for _, part in ipairs(k.parts or {}) do visit.kernel(part, note) end
end

function visit.precond(p, note) note(sources.precond[p.kind]) end

function visit.solver(s, note)
  local maker <const> = rawget(s, "_maker")
  note(sources.solver[maker and maker:match "[^.]+$"])
  if s.precond then visit.precond(s.precond, note) end
end

local function algorithm(s, note)
  if type(s) == "table" then return visit.solver(s, note) end
  note(sources.solver[s])
end

function visit.likelihood(l, note) note(sources.likelihood[l.kind]) end

local function model(self, note)
  note(sources.model[core.type(self)])
  if self.solver == "svgp" then note(sources.model["gp.svgp"]) end              -- a classifier by inducing points
  visit.kernel(self.kernel, note)
  visit.likelihood(self.likelihood, note)
  local inner <const> = require "gibbous.gp.model"
  local f <const> = inner.fields(inner.core(self))
  algorithm(f.active or f.solver, note)
  if self.info then note(sources.optimiser[self.info.method]) end
end

for name in pairs(sources.model) do visit[name] = model end

visit["gp.batch"] = function(self, note)
  note(sources.model["gp.batch"])
  model(rawget(self, "_fields").template, note)
  for _, report in pairs(self.info and self.info.reports or {}) do note(sources.optimiser[report.method]) end
end

function visit.kmeans(km, note)
  local o <const> = rawget(km, "_fields").o
  note(sources.kmeans[o.algorithm or "auto"])
  note(sources.kmeans[o.init or "k-means++"])
end

-- BibTeX ----------------------------------------------------------------------------------------------------------------------

--- A data set says its source in words.
local function of_data(set, entries)
  if set.citation == "" then return end
  entries[#entries + 1] = entry("data-" .. set.name:gsub("[^%w-]", "-"), {type = "misc", title = set.name,
    note = set.citation:gsub("\n", " ")})
end

--- Notes the publications of one value.
local function take(v, note, entries)
  local kind <const> = core.type(v)
  if kind == "data.set" or kind == "gibbous.data.set" then return of_data(v, entries) end
  if not visit[kind] then
    core.raise("option", ("gb.cite: expected models, kernels, solvers, preconditioners, likelihoods, k-means or data sets, got %s")
      :format(kind))
  end
  visit[kind](v, note)
end

--- BibTeX entries of the publications behind these values: of models the method, the kernel, the likelihood, the solver in use and
-- the optimiser of the last fit; and of Gibbous itself, first.
---@return string
function M.cite(...)
  local keys <const>, note <const> = noting()
  local data <const> = {}
  for i = 1, select("#", ...) do take((select(i, ...)), note, data) end
  local entries <const> = {entry("gibbous", own)}
  for _, key in ipairs(keys) do entries[#entries + 1] = entry(key, publications[key]) end
  table.move(data, 1, #data, #entries + 1, entries)
  return table.concat(entries, "\n\n")
end

return M
