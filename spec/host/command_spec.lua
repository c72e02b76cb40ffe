--- The commands of the command line that are written in Lua, each in a process of its own.
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local reference <const> = require "gibbous.reference"

local function read(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

--- A directory that is gone afterwards.
local function with_directory(f)
  local path <const> = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir '" .. path .. "'"))
  local ok <const>, err <const> = pcall(f, path)
  os.execute("rm -r '" .. path .. "'")
  if not ok then error(err, 0) end
end

describe("gibbous help", function()
  it("explains a name as the prompt does", function()
    assert.matches("^gb.linalg.solve%(A, b%)\n", (process.run{"help", "gb.linalg.solve"}))
    assert.matches("^gb.rand ", (process.run{"help", "random", "numbers"}))
    assert.matches("^usage: ", (process.run{"help"}))
  end)

  it("fails where there is nothing", function()
    local out <const>, err <const>, code <const> = process.run{"help", "qqqqqq"}
    assert.same({"", "gibbous: there is no help on 'qqqqqq'\n"}, {out, err})
    assert.equal(1, code)
    assert.equal("gibbous: there is no help on 'gb.lnspace', did you mean 'gb.linspace'?\n",
      (select(2, process.run{"help", "gb.lnspace"})))
  end)

  it("looks for a word that names nothing", function()
    local out <const>, _, code <const> = process.run{"help", "marginal"}
    assert.matches("^model:log_marginal_likelihood ", out)
    assert.equal(0, code)
  end)

  it("fails where what it says does not go out", function()
    for _, topic in ipairs{"", " gb.rand"} do
      local how <const>, _, code <const> = os.execute(process.binary .. " help" .. topic .. " >/dev/full 2>/dev/null")
      assert.same({nil, 1}, {how, code})
    end
  end)
end)

describe("gibbous run", function()
  it("needs a script", function()
    local _, err <const>, code <const> = process.run{"run"}
    assert.same({"gibbous: run needs a script: gibbous run script [args]\n", 1}, {err, code})
  end)
end)

describe("a word of the command line", function()
  local function said(...)
    local _, err <const>, code <const> = process.run{...}
    assert.equal(1, code)
    return err
  end

  it("that is nearly a command or an option is told which", function()
    assert.equal("gibbous: cannot open hlep: No such file or directory; did you mean the command 'gibbous help'? "
      .. "gibbous help lists them\n", said "hlep")
    assert.matches("did you mean the command 'gibbous doctor'%?", said("docter", "--json"))
    assert.matches("^gibbous: unrecognized option '%-%-hlep', did you mean '%-%-help'%?\nusage: ", said "--hlep")
    assert.matches("^gibbous: unrecognized option '%-%-colour=always', did you mean '%-%-color'%?\nusage: ", said "--colour=always")
    assert.equal("gibbous: cannot open script.lau: No such file or directory\n", said "script.lau")
    assert.matches("^gibbous: cannot open hlep: No such file or directory\n", said("run", "hlep"))
  end)

  it("that a command does not take is refused", function()
    assert.equal("gibbous: man takes no words, got 'x'\n", said("man", "x"))
    assert.equal("gibbous: doctor takes --json alone, got 'nonsense'\n", said("doctor", "nonsense"))
  end)

  it("behind a command or its verb asks what that does", function()
    local of <const> = {
      {"gibbous doctor [--json]", "doctor"}, {"gibbous new NAME", "new"}, {"gibbous data list|info", "data"},
      {"gibbous sweep VERB SCRIPT|STORE", "sweep"}, {"gibbous sweep run SCRIPT", "sweep", "run"},
      {"gibbous sweep ls SCRIPT|STORE", "sweep", "ls"}, {"gibbous sweep VERB SCRIPT|STORE", "sweep", "zzqx"},
      {"gibbous data list|info", "data", "list"}, {"gibbous data synth --like", "data", "synth"},
    }
    for _, word in ipairs{"-h", "--help"} do
      for _, c in ipairs(of) do
        local out <const>, err <const>, code <const> = process.run{c[2], c[3] or word, c[3] and word}
        assert.same({"", 0, c[1]}, {err, code, out:sub(1, #c[1])})
      end
    end
  end)

  it("asks for the usage", function()
    for _, word in ipairs{"-h", "--help", "help"} do
      local out <const>, err <const>, code <const> = process.run{word}
      assert.same({"", 0}, {err, code})
      assert.matches("^usage: gibbous ", out)
    end
  end)

  it("may use the library that no line has loaded, and is told how to", function()
    assert.matches("attempt to index a nil value %(global 'gb'%); a script begins with: local gb = require \"gibbous\"\n",
      said("-e", "print(gb.rand(3))"))
    assert.is_nil(said("-e", "print(bg.rand(3))"):find("a script begins", 1, true))
  end)
end)

describe("gibbous doctor and env", function()
  it("give JSON", function()
    local doctor <const> = core.json_decode((process.run{"doctor", "--json"}))
    assert.equal(core.version, doctor.facts.gibbous)
    assert.equal("arithmetic", doctor.checks[1].name)
    assert.is_true(doctor.checks[1].ok)
    assert.equal("boolean", type(doctor.well))
    assert.equal(_VERSION, core.json_decode((process.run{"env", "--json"})).lua)
  end)

  it("refuse other words", function()
    assert.equal("gibbous: doctor takes --json alone, got '--jsn'\n", (select(2, process.run{"doctor", "--jsn"})))
    assert.equal("gibbous: env takes --json alone, got '--json x'\n", (select(2, process.run{"env", "--json", "x"})))
  end)
end)

describe("gibbous version and env", function()
  it("say of which source and how the program was built", function()
    local version <const> = core.json_decode((process.run{"version", "--json"}))
    assert.same({core.version, _VERSION, core.build}, {version.gibbous, version.lua, version.build})
    assert.equal(version.build.commit:find("-dirty", 1, true) ~= nil, version.dirty)
    for _, name in ipairs{"cairo", "jansson", "libedit", "nettle", "sleef", "sqlite", "zlib"} do
      assert.matches("^%d+%.%d+", version.libraries[name])
    end
    assert.truthy(core.devices()[1].blas:find(version.libraries.blas, 1, true))
    assert.same(core.parts(), version.parts)
    local text <const> = process.run{"version"}
    for _, line in ipairs{"gibbous " .. core.version, "commit     " .. core.build.commit, "build      " .. core.build.kind} do
      assert.truthy(("\n" .. text):find("\n" .. line, 1, true), line)
    end
    assert.matches("^[%w.-]+$", version.build.commit)
    assert.matches("%d+%.%d+", version.build.compiler)
    assert.equal(core.build.commit, core.json_decode((process.run{"env", "--json"})).commit)
    assert.matches("\nbuild +" .. core.build.kind .. "\n", (process.run{"env"}))
  end)

  it("refuses other words", function()
    assert.equal("gibbous: version takes --json alone, got 'x'\n", (select(2, process.run{"version", "x"})))
  end)
end)

describe("gibbous stubs", function()
  it("writes declarations that Lua can read, and settings once", function()
    with_directory(function(path)
      local target <const> = path .. "/it's new"
      local out <const> = process.run{"stubs", target}
      assert.matches("files of declarations in .*it's new/library\nsettings in", out)
      assert.equal("library", core.json_decode(read(target .. "/.luarc.json"))["workspace.library"][1])
      assert.matches("^%-%-%-@meta gibbous\n", read(target .. "/library/gibbous.lua"))
      local files <const> = core.glob(target .. "/library/gibbous/*.lua")
      assert.is_true(#files > 20)
      for _, file in ipairs(files) do
        assert(loadfile(file))
        assert.matches("^%-%-%-@meta\n", read(file))
      end
      assert.is_nil(read(target .. "/library/gibbous/core.lua"))
      assert.matches("luarc.json is there and stays", (process.run{"stubs", target}))
    end)
  end)

  it("says what is wrong", function()
    assert.equal("gibbous: stubs needs DIR: gibbous stubs DIR\n", (select(2, process.run{"stubs"})))
    assert.equal("gibbous: stubs needs DIR: gibbous stubs DIR\n", (select(2, process.run{"stubs", "--hlep"})))
    assert.matches("cannot make the directory /dev/null/x/library", (select(2, process.run{"stubs", "/dev/null/x"})))
  end)
end)

describe("gibbous reference", function()
  local page <const> = require "gibbous.reference.html"()

  it("has a place for every name, each once, and no link that leads nowhere", function()
    local ids <const>, twice <const>, dead <const> = {}, {}, {}
    for id in page:gmatch ' id="([^"]+)"' do
      if ids[id] then twice[#twice + 1] = id end
      ids[id] = true
    end
    for target in page:gmatch 'href="#([^"]+)"' do
      if not ids[target] then dead[#dead + 1] = target end
    end
    assert.same({}, twice)
    assert.same({}, dead)
    for _, e in ipairs(reference.all()) do
      local shown <const> = e.area ~= "core" and not e.name:match "%.options$" and not (e.owner or ""):match "%.options$"
      if shown then assert.is_true(ids[e.name:gsub("[^%w._:%-]", "_")] ~= nil, e.name) end
    end
  end)

  it("needs no network, and closes what it opens", function()
    assert.is_nil(page:find "https?://")
    assert.is_nil(page:find " src=")
    local open <const> = {}
    for close, tag in page:gsub("<script>.-</script>", ""):gsub("<style>.-</style>", ""):gmatch "<(/?)(%a%w*)" do
      if close == "/" then assert.equal(tag, table.remove(open))
      elseif tag ~= "meta" and tag ~= "input" then open[#open + 1] = tag end
    end
    assert.same({}, open)
  end)

  it("is written whole or not at all", function()
    with_directory(function(path)
      assert.equal("", (process.run{"reference", path .. "/out.html"}))
      assert.equal(page, read(path .. "/out.html"))
      assert.matches("^gibbous: cannot write '/dev/null/x.html': ", (select(2, process.run{"reference", "/dev/null/x.html"})))
      assert(os.execute("mkfifo '" .. path .. "/pipe'"))
      local _, err <const>, code <const> = process.run{"reference", path .. "/pipe"}
      assert.same({"gibbous: cannot write '" .. path .. "/pipe': it is not a plain file\n", 1}, {err, code})
      assert.is_true(os.execute("test -p '" .. path .. "/pipe'"))
    end)
    assert.equal("gibbous: reference needs OUT.html: gibbous reference OUT.html\n", (select(2, process.run{"reference"})))
  end)
end)

describe("gibbous man", function()
  local page <const> = process.run{"man"}

  it("has every command and option", function()
    assert.matches('^.TH GIBBOUS 1 "" "gibbous ' .. core.version:gsub("%p", "%%%0"), page)
    for _, e in ipairs(reference.all()) do
      local call <const> = e.call:gsub("%-", "\\-")
      if e.kind == "command" then assert.is_true(page:find("\n.B " .. call .. "\n", 1, true) ~= nil, call) end
    end
  end)

  it("begins no line of text as a request", function()
    local requests <const> = {}
    for word in page:gmatch "\n([.'][^%s]*)" do requests[word] = true end
    assert.same({[".B"] = true, [".SH"] = true, [".TP"] = true, [".br"] = true}, requests)
  end)
end)

describe("gibbous completion", function()
  local here <const> = process.binary:match "^(.*)/[^/]*$"

  --- What bash offers for the last of the words, one a line.
  local function offered(...)
    local out, err <const> = process.run({"-c", [[
      PATH=$1:$PATH
      source <(gibbous completion bash)
      shift
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _gibbous gibbous "${@: -1}"
      printf '%s\n' "${COMPREPLY[@]}"]], "bash", here, "gibbous", ...}, {program = "bash"})
    assert.equal("", err)
    return out
  end

  it("completes commands, options, their words and names in bash", function()
    assert.matches("^doctor\n", offered "doct")
    assert.equal("--color=auto\n--color=always\n--color=never\n", offered "--c")
    assert.equal("--json\n", offered("env", ""))
    assert.equal("zsh\n", offered("completion", "z"))
    assert.equal("gb.kernels.matern12\ngb.kernels.matern32\ngb.kernels.matern52\n", offered("help", "gb.kernels.mat"))
    assert.equal("tensor.matmul\n", offered("help", "tensor.matm"))
    assert.matches("README.md\n", offered "READ")
  end)

  it("completes examples, verbs of sweeps and kinds of scripts in bash", function()
    assert.equal("online\nown_kernel\n", offered("example", "o"))
    assert.equal("--copy\n", offered("example", "--"))
    assert.equal("rerun\n", offered("sweep", "rer"))
    assert.equal("--kind\n", offered("new", "--k"))
    assert.equal("module\n", offered("new", "a", "--kind", "mod"))
  end)

  it("completes the options of a script that declares them, and runs no other", function()
    with_directory(function(path)
      local script <const>, other <const> = path .. "/fit.lua", path .. "/other.lua"
      core.text_write(script, 'require "gibbous".cli{lr = 0.1, kernel = {default = "rbf", choices = {"rbf", "rational"}}}')
      core.text_write(other, ('io.open(%q, "w"):close()'):format(path .. "/ran"))
      assert.equal("--kernel\n--kernel=rbf\n--kernel=rational\n", offered(script, "--k"))
      assert.equal("--lr\n", offered("run", script, "--l"))
      assert.equal("rbf\nrational\n", offered(script, "--kernel", "=", "r"))
      assert.equal("rbf\nrational\n", offered(script, "--kernel", "="))
      assert.equal("--lr\n", offered("sweep", "run", script, "--l"))
      offered(other, "--l")
      assert.is_false(core.file_exists(path .. "/ran"))
    end)
  end)

  it("knows every command", function()
    for _, shell in ipairs{"bash", "zsh", "fish"} do
      local script <const> = process.run{"completion", shell}
      for _, e in ipairs(reference.all()) do
        local name <const> = e.kind == "command" and e.call:match "^gibbous (%l+)"
        if name and name ~= "script" then assert.matches("%f[%w]" .. name .. "%f[%W]", script) end
      end
    end
  end)

  it("is a script that the shell can read", function()
    for shell, option in pairs{bash = "-n", zsh = "-n", fish = "--no-execute"} do
      if os.execute("command -v " .. shell .. " >/dev/null") then
        local _, err <const>, code <const> = process.run({option}, {program = shell, input = (process.run{"completion", shell})})
        assert.same({"", 0}, {err, code})
      end
    end
  end)

  it("needs a shell that it knows", function()
    local message <const> = "gibbous: completion needs a shell: gibbous completion bash|zsh|fish\n"
    for _, words in ipairs{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}} do
      local out <const>, err <const>, code <const> = process.run(words)
      assert.same({"", message, 1}, {out, err, code})
    end
  end)
end)
