--- What a shell completes after 'gibbous', as a script for bash, zsh or fish: options, commands, and the words that each command
--- takes, from the entries of the command line; names of the library after 'gibbous help', and of the examples, which the shell
--- asks for. After a script that uses gb.cli its options: with GIBBOUS_COMPLETE set it prints them and ends.
local reference <const> = require "gibbous.reference"

local M <const> = {}

local COLOURS <const> = {"--color=auto", "--color=always", "--color=never"}

--- The words that a call lists after a command: "--json" of "[--json]", "bash", "zsh" and "fish" of "bash|zsh|fish".
local function words_of(rest)
  local words <const> = {}
  for word in rest:gmatch "[^%[%]|%s]+" do
    if word:match "^%-%-" or rest:find("|", 1, true) and word:match "^%l+$" then words[#words + 1] = word end
  end
  return words
end

-- What the words of a command come from, where the call does not list them: a line of a shell that prints them.
local ASKED <const> = {example = "gibbous completion examples"}

--- The options that the text of an entry names, apart from code: "--limit" and "-j".
local function options_of(text)
  local list <const>, seen <const> = {}, {}
  for word in (" " .. text:gsub("`.-`", "")):gmatch "[%s(|](%-%-?%a[%a-]*)" do
    if not seen[word] then seen[word], list[#list + 1] = true, word end
  end
  return list
end

--- {name, line, words, names = whether names of the library are what it takes, verbs}, one a command, in the order of the entries.
-- words: what it takes. verbs: where it has entries of its own for them, {name, words}, words: the options of each.
local function commands()
  local list <const>, by_name <const> = {}, {}
  for _, e in ipairs(reference.all()) do
    local name <const>, rest = (e.kind == "command" and e.call or ""):match "^gibbous (%l+)(.*)$"
    if name and by_name[name] then
      local verbs <const> = by_name[name].verbs
      verbs[#verbs + 1] = {name = rest:match "^ (%l+)", words = options_of(e.text)}
    elseif name and name ~= "script" then
      list[#list + 1] = {name = name, line = e.line, words = words_of(rest), names = rest:find("topic", 1, true) ~= nil, verbs = {}}
      by_name[name] = list[#list]
    end
  end
  return list
end

--- {word, line}, one an option; one for each of its values where it has some.
local function options()
  local list <const> = {}
  for _, e in ipairs(reference.all()) do
    local word <const>, rest = (e.kind == "command" and e.call or ""):match "^(%-%-?[^%s=]*)(.*)$"
    if word and rest:sub(1, 1) == "=" then
      for _, w in ipairs(COLOURS) do list[#list + 1] = {word = w, line = e.line} end
    elseif word then
      list[#list + 1] = {word = word, line = e.line}
    end
  end
  return list
end

local function joined(list, key)
  local out <const> = {}
  for i, item in ipairs(list) do out[i] = key and item[key] or item end
  return table.concat(out, " ")
end

--- Calls write(name, asked, words) for each command without verbs that takes words: those, and what a line of a shell prints, nil
-- for none; and verbs(command) for each that has verbs.
local function each_group(list, write, verbs)
  for _, c in ipairs(list) do
    local asked <const> = c.names and "gibbous completion names" or ASKED[c.name]
    if #c.verbs > 0 then verbs(c)
    elseif asked or #c.words > 0 then write(c.name, asked, joined(c.words)) end
  end
end

--- Cases of a shell, one for each verb that has options. form: of its name and its options.
local function cases_of(verbs, form)
  local out <const> = {}
  for _, v in ipairs(verbs) do
    if #v.words > 0 then out[#out + 1] = form:format(v.name, joined(v.words)) end
  end
  return table.concat(out)
end

local function bash()
  local all <const>, cases <const> = commands(), {}
  each_group(all, function(name, asked, words)
    cases[#cases + 1] = ('    %s) mapfile -t COMPREPLY < <(compgen -W "%s" -- "$word") ;;\n'):format(name,
      asked and ("$(%s) %s"):format(asked, words):gsub(" $", "") or words)
  end, function(c)
    cases[#cases + 1] = ([=[
    %s)
      local options="%s"
      if ((COMP_CWORD > 2)); then
        case ${COMP_WORDS[2]} in
%s          *) options= ;;
        esac
        [[ $word == -* ]] || options=    # the others are files
      fi
      mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
]=]):format(c.name, joined(c.verbs, "name"), cases_of(c.verbs, '          %s) options="%s" ;;\n'))
  end)
  return ([=[
# bash completion of gibbous: source <(gibbous completion bash)
_gibbous() {
  local word=$2 at=1 key= script
  COMPREPLY=()
  case ${COMP_WORDS[1]} in run) at=2 ;; sweep) at=3 ;; esac
  script=${COMP_WORDS[at]}
  if ((COMP_CWORD > at)) && [[ $script == *.lua ]] && grep -qs '[.]cli\>' -- "$script"; then
    # bash divides words at '='
    if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
      key=${COMP_WORDS[COMP_CWORD - 1]}= word=
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
      key=${COMP_WORDS[COMP_CWORD - 2]}=
    fi
    mapfile -t COMPREPLY < <(compgen -W "$(GIBBOUS_COMPLETE=1 gibbous "$script" </dev/null 2>/dev/null)" -- "$key$word")
    COMPREPLY=("${COMPREPLY[@]#"$key"}")
    return
  fi
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "%s %s" -- "$word"; compgen -f -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
%s  esac
}
complete -o default -F _gibbous gibbous
]=]):format(joined(all, "name"), joined(options(), "word"), table.concat(cases))
end

--- Text in single quotes, of zsh and fish.
local function quoted(text) return "'" .. text:gsub("'", "") .. "'" end

local function described(list, key)
  local out <const> = {}
  for i, item in ipairs(list) do out[i] = "    " .. quoted(item[key]:gsub(":", "\\:") .. ":" .. item.line) end
  return table.concat(out, "\n")
end

local function zsh()
  local all <const>, cases <const> = commands(), {}
  each_group(all, function(name, asked, words)
    cases[#cases + 1] = ("    %s) compadd -- %s || _files ;;\n"):format(name,
      ((asked and ('${(f)"$(%s)"} '):format(asked) or "") .. words):gsub(" $", ""))
  end, function(c)
    cases[#cases + 1] = ([=[
    %s)
      if ((CURRENT == 3)); then
        compadd -- %s
      elif [[ $words[CURRENT] == -* ]]; then
        case $words[3] in
%s        esac
      else
        _files
      fi ;;
]=]):format(c.name, joined(c.verbs, "name"), cases_of(c.verbs, "          %s) compadd -- %s ;;\n"))
  end)
  return ([=[
#compdef gibbous
# zsh completion of gibbous: source <(gibbous completion zsh), or as _gibbous in a folder of $fpath
_gibbous() {
  local -a commands options
  commands=(
%s
  )
  options=(
%s
  )
  if ((CURRENT == 2)); then
    if [[ $words[2] == -* ]]; then
      _describe option options
    else
      _describe command commands
      _files
    fi
    return
  fi
  local script=$words[2]
  case $words[2] in run) script=$words[3] ;; sweep) script=$words[4] ;; esac
  if [[ $script == *.lua ]] && grep -qs '[.]cli\>' -- $script; then
    compadd -- ${(f)"$(GIBBOUS_COMPLETE=1 gibbous $script </dev/null 2>/dev/null)"}
    [[ $PREFIX == -* ]] || _files
    return
  fi
  case $words[2] in
%s    *) _files ;;
  esac
}
if [[ $funcstack[1] == _gibbous ]]; then _gibbous "$@"; else compdef _gibbous gibbous; fi
]=]):format(described(all, "name"), described(options(), "word"), table.concat(cases))
end

local FISH_SCRIPT <const> = [[
function __gibbous_options
  for word in (commandline -opc)[2..-1]
    if string match -q -- '*.lua' $word; and grep -qs '[.]cli\>' -- $word
      GIBBOUS_COMPLETE=1 gibbous $word </dev/null 2>/dev/null
      return
    end
  end
end
complete -c gibbous -a '(__gibbous_options)']]

local function fish()
  local all <const> = commands()
  local lines <const> = {"# fish completion of gibbous: gibbous completion fish | source"}
  local function add(condition, rest) lines[#lines + 1] = ("complete -c gibbous -n %s %s"):format(condition, rest) end
  for _, c in ipairs(all) do add("__fish_use_subcommand", ("-a %s -d %s"):format(c.name, quoted(c.line))) end
  for _, o in ipairs(options()) do
    add("__fish_use_subcommand", ("-a %s -d %s"):format(quoted(o.word), quoted(o.line)))
  end
  each_group(all, function(name, asked, words)
    local what <const> = (asked and ("(%s) "):format(asked) or "") .. words
    add(("'__fish_seen_subcommand_from %s'"):format(name), "-f -a " .. quoted((what:gsub(" $", ""))))
  end, function(c)
    local here <const>, names <const> = "__fish_seen_subcommand_from " .. c.name, joined(c.verbs, "name")
    add(("'%s; and not __fish_seen_subcommand_from %s'"):format(here, names), "-f -a " .. quoted(names))
    for _, v in ipairs(c.verbs) do
      if #v.words > 0 then
        add(("'%s; and __fish_seen_subcommand_from %s'"):format(here, v.name), "-a " .. quoted(joined(v.words)))
      end
    end
  end)
  lines[#lines + 1] = FISH_SCRIPT
  return table.concat(lines, "\n") .. "\n"
end

--- The names that 'gibbous help' explains, one a line. A method has '.' for ':', at which bash divides words.
local function names()
  local list <const> = {}
  for _, e in ipairs(reference.all()) do
    if e.kind ~= "command" and e.area ~= "core" then list[#list + 1] = (e.name:gsub(":", ".")) end
  end
  table.sort(list)
  return table.concat(list, "\n") .. "\n"
end

local function examples() return table.concat(require "gibbous.commands.example".names(), "\n") .. "\n" end

M.bash, M.zsh, M.fish, M.names, M.examples = bash, zsh, fish, names, examples

return M
