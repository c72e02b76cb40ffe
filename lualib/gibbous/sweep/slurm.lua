--- gibbous sweep slurm: the text of a batch job whose tasks are workers of one study.
local core <const> = require "gibbous.core"

local M <const> = {}

local NOTICE <const> = 120                 -- seconds before its time is over that a task is told

local function quote(word)
  if word:match "^[%w_./:=+-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- What a worker is started with.
local function worker(path, o, words)
  local parts <const> = {"gibbous sweep work", quote(path), "-j " .. o.jobs}
  if o.store then parts[#parts + 1] = "--store " .. quote(o.store) end
  for i, word in ipairs(words) do parts[#parts + 1] = (i == 1 and "-- " or "") .. quote(word) end
  return table.concat(parts, " ")
end

--- Names of partitions: a line of the job takes no other bytes.
local function partition(given)
  if given:match "^[%w_.,-]+$" then return given end
  core.raise("option", ("--partition: names of partitions expected, got '%s'"):format(given))
end

--- Seconds as Slurm writes them: "1-02:00:00".
local function time_text(given)
  if given:match "^[%d:-]+$" and given:find ":" then return given end
  local s <const> = math.ceil(require "gibbous.sweep.duration"(given, "--time"))
  local days <const> = s // 86400
  return (days > 0 and days .. "-" or "") .. ("%02d:%02d:%02d"):format(s // 3600 % 24, s // 60 % 60, s % 60)
end

--- study, path: of its script. o: jobs (processes of a task), time, array (tasks), at_once, memory, gpus, partition, store. words:
-- of the script.
function M.text(study, path, o, words)
  local lines <const> = {"#!/bin/sh",
    "#SBATCH --job-name=" .. study.name,
    ("#SBATCH --array=1-%d%s"):format(o.array, o.at_once and "%" .. o.at_once or ""),
    "#SBATCH --time=" .. time_text(o.time),
    "#SBATCH --cpus-per-task=" .. (o.cpus or o.jobs)}
  if o.memory then lines[#lines + 1] = ("#SBATCH --mem=%dM"):format(math.ceil(core.bytes(o.memory, "--mem") / 2 ^ 20)) end
  if o.gpus then lines[#lines + 1] = "#SBATCH --gpus=" .. o.gpus end
  if o.partition then lines[#lines + 1] = "#SBATCH --partition=" .. partition(o.partition) end
  lines[#lines + 1] = ([[
#SBATCH --output=%s-%%A_%%a.log
#SBATCH --requeue
#SBATCH --signal=B:USR1@%d

# Each task is a worker: it takes trials that nobody has, until none is left. Any number of them share the store, and a
# task that is lost costs the trials that it was running. Told that its time is nearly over, a worker gives its trials
# back and ends with status 99.
trap 'kill -USR1 "$worker"' USR1
trap 'kill -TERM "$worker"' TERM
%s &
worker=$!
wait "$worker"
status=$?
while kill -0 "$worker" 2>/dev/null; do # a signal ended the wait, not the worker
  wait "$worker"
  status=$?
done
if [ "$status" -eq 99 ]; then scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"; fi
exit "$status"
]]):format(study.name, NOTICE, worker(path, o, words))
  return table.concat(lines, "\n")
end

return M
