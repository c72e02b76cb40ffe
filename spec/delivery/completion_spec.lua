--- Completion, as bash, zsh and fish do it: each is asked what it offers for the last word of a line.
local folder <const> = require "spec.delivery.folder"
local process <const> = require "spec.process"

-- $1: the folder of the program; $2: that of the files; $3: the line. Each prints what is offered, one a line.
local asks <const> = {}

asks.bash = {"bash", [=[
  PATH=$1:$PATH
  cd "$2"
  source <(gibbous completion bash)
  COMP_WORDS=($3)
  [[ $3 == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _gibbous gibbous "${COMP_WORDS[COMP_CWORD]}"
  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")    # -o default
  printf '%s\n' "${COMPREPLY[@]}"]=], {"-c"}}

-- A terminal with a shell in it, whose editor completes the line when it begins.
asks.zsh = {"zsh", [=[
  cd "$2"
  export PATH=$1:$PATH HOME=$2 TERM=xterm ASKED=$3
  zmodload zsh/zpty
  zpty z zsh -f -i
  zpty -w z "autoload -Uz compinit; compinit -u -D; source <(gibbous completion zsh)"
  zpty -w z 'compadd() { local -a hits; builtin compadd -A hits "$@"; print -rl -- "<"$^hits">"; builtin compadd "$@" }'
  zpty -w z 'zle-line-init() { BUFFER=$ASKED; CURSOR=$#BUFFER; zle complete-word; print "<<rea""dy>>" }; zle -N zle-line-init'
  zpty -r -m z line '*<<ready>>*'
  zpty -d z
  print -r -- "$line" | tr -d '\r' | grep -o '<[^<>]*>$' | tr -d '<>']=], {"-f", "-c"}}

asks.fish = {"fish", [=[
  set -x PATH $argv[2] $PATH
  cd $argv[3]
  gibbous completion fish | source
  complete -C $argv[4] | string replace -r '\t.*' '']=], {"-N", "-c"}}

--- {line, what must be offered, what must not}.
local cases <const> = {
  {"gibbous sw", "sweep", "doctor"},
  {"gibbous --col", "--color=never", "sweep"},
  {"gibbous fi", "fit.lua", "plain.lua"},
  {"gibbous run pl", "plain.lua", "fit.lua"},
  {"gibbous sweep ", "rerun", "fit.lua"},
  {"gibbous sweep ta", "table", "run"},
  {"gibbous sweep run ", "plain.lua", "table"},
  {"gibbous sweep table pl", "plain.lua", "plot"},
  {"gibbous sweep run plain.lua --k", "--keep-going", "--rows"},
  {"gibbous sweep work plain.lua -", "-j", "--array"},
  {"gibbous sweep table plain.lua --r", "--rows", "--retry-failed"},
  {"gibbous sweep run fit.lua --ker", "--kernel=rational", "--lr"},
  {"gibbous fit.lua --l", "--lr", "--kernel"},
  {"gibbous completion z", "zsh", "bash"},
  {"gibbous example ow", "own_kernel", "online"},
  {"gibbous help gb.kernels.mate", "gb.kernels.matern32", "gb.kernels.rbf"},
}

--- The set of what a shell offers.
local function offered(ask, where, line)
  local words <const> = {"10", ask[1]}
  for _, option in ipairs(ask[3]) do words[#words + 1] = option end
  for _, word in ipairs{ask[2], ask[1], process.binary:match "^(.*)/[^/]*$", where, line} do words[#words + 1] = word end
  local set <const> = {}
  for word in process.run(words, {program = "timeout"}):gmatch "[^\n]+" do set[word] = true end
  return set
end

describe("completion", function()
  for _, shell in ipairs{"bash", "zsh", "fish"} do
    it("offers commands, verbs, options, files and what scripts declare, in " .. shell, function()
      if not os.execute("command -v " .. shell .. " > /dev/null") then return pending(shell .. " is not there") end
      folder.with(function(where)
        folder.write(where .. "/fit.lua",
          'require "gibbous".cli{lr = 0.1, kernel = {default = "rbf", choices = {"rbf", "rational"}}}')
        folder.write(where .. "/plain.lua", "")
        for _, case in ipairs(cases) do
          local set <const> = offered(asks[shell], where, case[1])
          assert(set[case[2]], ("%s: '%s' does not offer %s"):format(shell, case[1], case[2]))
          assert(not set[case[3]], ("%s: '%s' offers %s"):format(shell, case[1], case[3]))
        end
      end)
    end)
  end
end)
