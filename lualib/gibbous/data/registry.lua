--- What is known of the data sets that papers use: where they come from, under which licence, how to cite them, and the SHA-256 of
-- the files in the customary layout (data.csv.gz, as Evans' uci_datasets has them). Nothing is downloaded.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local UCI <const> = "UCI Machine Learning Repository"
local CC_BY <const> = "CC-BY-4.0"
local NONE <const> = "none stated: ask the authors before you pass it on"

--- {title, licence, citation, source, n, d, sha256}
local entries <const> = {
  airfoil = {"Airfoil Self-Noise", CC_BY, "Brooks, Pope & Marcolini (1989), Airfoil Self-Noise, " .. UCI, UCI, 1503, 5,
    "1cce82516ac9e564fba52f55d817eb147fc39085f5d7b958ad15b92f4207f23e"},
  bike = {"Bike Sharing", CC_BY, "Fanaee-T & Gama (2013), Bike Sharing, " .. UCI, UCI, 17379, 17},
  concrete = {"Concrete Compressive Strength", CC_BY, "Yeh (1998), Concrete Compressive Strength, " .. UCI, UCI, 1030, 8,
    "542c5d9a0d301bdb47550280398dcbbe2fb8404631fc945de1ea6df9ade741c6"},
  elevators = {"Elevators", NONE, "Camacho (1998), Elevators, collected by Torgo", "Torgo's regression sets", 16599, 18,
    "e39bc18a80ec3611e4fd76d0f86ee377e96ba21b568b9997576d538dafe56b7b"},
  energy = {"Energy Efficiency", CC_BY, "Tsanas & Xifara (2012), Energy Efficiency, " .. UCI, UCI, 768, 8,
    "431b6df04243db782bbcd45e408373a654334496ebe5d9c9985ab2e826a39f51"},
  kin40k = {"kin40k", NONE, "Schwaighofer & Tresp (2003), kin40k, after the kin family of DELVE", "after DELVE", 40000, 8,
    "9bee7f2a9f39aa61a015f239378368601fb3978c5bb9a96433e88a55d40883ba"},
  protein = {"Physicochemical Properties of Protein Tertiary Structure", CC_BY,
    "Rana (2013), Physicochemical Properties of Protein Tertiary Structure, " .. UCI, UCI, 45730, 9,
    "f709d0107c3ee90ab019b9e5d77fc2ae182158958cb70b1903236a51334fd01b"},
  pumadyn32nm = {"pumadyn32nm", NONE, "Ghahramani (1996), the pumadyn family of DELVE", "DELVE", 8192, 32,
    "10d1698944e0f6e586f2781e4b62c17c05174d4c6cdb6fb824a3e5a1b3630ae4"},
  wine = {"Wine Quality, red", CC_BY, "Cortez, Cerdeira, Almeida, Matos & Reis (2009), Wine Quality, " .. UCI, UCI, 1599, 11,
    "e2ca3346651ddb43fbc6a1355e70e74b7ce68f93059e04405e9cb749c219eae2"},
  yacht = {"Yacht Hydrodynamics", CC_BY, "Gerritsma, Onnink & Versluis (1981), Yacht Hydrodynamics, " .. UCI, UCI, 308, 6,
    "88ec8ea1a979ab0628a54392822c60b3699ea22541e912e83246f7d49f5adad1"},
}
local FIELDS <const> = {"title", "licence", "citation", "source", "n", "d", "sha256"}

---@class gibbous.data.info
---@field name string
---@field title string
---@field licence string   an SPDX identifier, or words; "" where unknown
---@field citation string  "" where unknown
---@field source string    "" where unknown
---@field n integer?       rows
---@field d integer?       columns of x
---@field sha256 string?   of data.csv.gz in the customary layout
---@field path string?     where it is found
local Info <const> = object.record("gibbous.data.info", "what is known of a data set", "n d sha256 path")

function Info.__tostring(self)
  local lines <const> = {("%s: %s"):format(self.name, self.title)}
  if self.n then lines[#lines + 1] = ("  %s, %s"):format(counted(self.n, "row"), counted(self.d, "column")) end
  for _, key in ipairs{"source", "licence", "citation", "sha256", "path"} do
    local v <const> = self[key]
    if v and v ~= "" then lines[#lines + 1] = ("  %-9s %s"):format(key, v) end
  end
  return table.concat(lines, "\n")
end

--- The citation of a set of papers, nil where it is unknown.
function M.citation(name) return entries[name] and entries[name][3] end

--- The names that have an entry.
function M.names()
  local out <const> = {}
  for name in pairs(entries) do out[#out + 1] = name end
  table.sort(out)
  return out
end

--- The entry of a set. path: its file, nil where it is not found; said: its citation and licence by its own folder.
function M.info(name, path, said)
  local e <const>, self <const> = entries[name], {name = name, path = path}
  if e == nil and path == nil then
    local known <const> = {}
    for _, one in ipairs(M.names()) do known[one] = true end
    local near <const> = options.nearest(name, known)
    core.raise("option", ("nothing is known of a data set '%s'%s; known: %s"):format(name,
      near and (", did you mean '%s'?"):format(near) or "", table.concat(M.names(), ", ")))
  end
  for i, field in ipairs(FIELDS) do self[field] = e and e[i] or nil end
  self.title, self.source = self.title or name, self.source or ""
  self.citation, self.licence = said.citation or self.citation or "", said.licence or self.licence or ""
  return setmetatable(self, Info)
end

--- Is the file the one of the entry? true, or false and why; nil where the entry has no digest or there is no file.
function M.verify(info)
  if info.path == nil then return nil, "it is not found: nothing is downloaded, see gibbous data info " .. info.name end
  if info.sha256 == nil then return nil, "its digest is not known" end
  local digest <const> = core.sha256_file(info.path)
  if digest == info.sha256 then return true end
  return false, ("%s has the SHA-256 %s, %s is expected"):format(info.path, digest, info.sha256)
end

return M
