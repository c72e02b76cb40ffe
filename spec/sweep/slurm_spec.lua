local process <const> = require "spec.process"
local shown <const> = require "spec.sweep.shown"

describe("gibbous sweep slurm", function()
  local f

  setup(function() f = shown.folder() end)
  teardown(function() f.close() end)

  local function of(...)
    local out <const>, errors <const>, rc <const> = f.run("slurm", "study.lua", ...)
    assert.equal(0, rc, errors)
    return out
  end

  it("prints an array of workers", function()
    local text <const> = of("-j", "4", "--time", "2:00:00", "--array", "8", "--at-once", "3", "--mem", "4 GiB", "--gpus", "1",
      "--partition", "big", "--store", "my store")
    for _, line in ipairs{"#!/bin/sh", "#SBATCH --job-name=study", "#SBATCH --array=1-8%3", "#SBATCH --time=2:00:00",
      "#SBATCH --cpus-per-task=4", "#SBATCH --mem=4096M", "#SBATCH --gpus=1", "#SBATCH --partition=big",
      "#SBATCH --output=study-%A_%a.log", "#SBATCH --requeue", "#SBATCH --signal=B:USR1@120",
      "gibbous sweep work study.lua -j 4 --store 'my store' &"} do
      assert.truthy(("\n" .. text):find("\n" .. line .. "\n", 1, true), line)
    end
  end)

  it("takes durations, and words of the script", function()
    assert.truthy(of("--time", "36h"):find("--time=1-12:00:00\n", 1, true))
    assert.truthy(of("--time", "90s"):find("--time=00:01:30\n", 1, true))
    assert.truthy(of("--", "--fast", "a b"):find("work study.lua -j 1 -- --fast 'a b' &", 1, true))
    local _, errors <const>, rc <const> = f.run("slurm", "study.lua", "--time", "soon")
    assert.equal(1, rc)
    assert.truthy(errors:find("--time: seconds or a text", 1, true))
  end)

  it("is a script that a shell runs: the worker's status, and a new turn after 99", function()
    local bin <const> = f.path .. "/bin"
    assert(os.execute(("mkdir '%s'"):format(bin)))
    f.write("bin/scontrol", "#!/bin/sh\necho \"scontrol $*\"\n")
    -- A worker that ends with 99 once it is told, and says so.
    f.write("bin/gibbous", "#!/bin/sh\ntrap 'echo told; exit 99' USR1\nwhile :; do kill -USR1 $PPID; sleep 0.05; done\n")
    assert(os.execute(("chmod +x '%s/scontrol' '%s/gibbous'"):format(bin, bin)))
    f.write("job.sh", of())
    local variables <const> = ("PATH=\"%s:$PATH\" SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2"):format(bin)
    local program <const> = ("sh -c 'cd \"%s\" && %s exec sh job.sh'"):format(f.path, variables)
    local out <const>, _, rc <const> = process.run({}, {program = program})
    assert.equal(99, rc)
    assert.matches("^told\n.*scontrol requeue 7_2\n$", out)
    f.write("bin/gibbous", "#!/bin/sh\nexit 3\n")
    assert.same({"", "", 3}, {process.run({}, {program = program})})
  end)
end)
