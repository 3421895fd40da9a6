-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/shells.lua - what bash, zsh and fish run to complete a line of pmlua. Each asks `pmlua
-- completion --words`.
--
-- Try:  pmlua completion bash

return {
  bash = [==[
# bash completion for pmlua; printed by pmlua completion bash
_pmlua() {
  local IFS=$'\n' line head what skip cur words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # bash takes = and : for ends of words; pmlua gets words as the shell would pass them.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cword
    _get_comp_words_by_ref -n =: cur words cword
    words=("${words[@]:1:cword}")
  else
    local text=${COMP_LINE:0:COMP_POINT}
    IFS=$' \t\n' read -r -a words <<<"$text"
    words=("${words[@]:1}")
    [[ $text == *[[:space:]] ]] && words+=("")
  fi
  cur=${words[${#words[@]}-1]}
  COMPREPLY=()
  while read -r line; do
    case $line in
      :*) head=${line#:} ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" completion --words -- "${words[@]}" 2>/dev/null)
  what=${head%% *} skip=${head##* }
  case $what in
    command)
      if declare -F _command_offset >/dev/null; then
        _command_offset $((skip + 1))
        return
      fi
      compopt -o filenames 2>/dev/null
      if ((skip + 1 == ${#words[@]})); then COMPREPLY+=($(compgen -c -- "$cur"))
      else COMPREPLY+=($(compgen -f -- "$cur"))
      fi ;;
    file | dir)
      local prefix=
      [[ $cur == --*=* ]] && prefix=${cur%%=*}=
      compopt -o filenames 2>/dev/null
      local flag=-f
      [[ $what == dir ]] && flag=-d
      COMPREPLY+=($(compgen $flag -P "$prefix" -- "${cur#"$prefix"}")) ;;
  esac
  # Readline replaces only what stands behind the last = or : that it takes for the end of a word.
  local i before=${cur%"${cur##*[$COMP_WORDBREAKS]}"}
  if [[ $cur == *[=:]* ]]; then
    before=${cur%"${cur##*[=:]}"}
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
  fi
}
complete -F _pmlua pmlua
]==],
  zsh = [==[
#compdef pmlua
# zsh completion for pmlua; printed by pmlua completion zsh
_pmlua() {
  local line head what
  local -a found plain
  for line in "${(@f)$("${words[1]}" completion --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :* ]]; then head=${line#:}
    elif [[ -n $line ]]; then
      plain+=("${line%%$'\t'*}")
      found+=("${line%%$'\t'*}  ${line#*$'\t'}")
    fi
  done
  what=${head%% *}
  (( $#plain )) && compadd -l -d found -- "${plain[@]}"
  case $what in
    command)
      shift $(( ${head##* } + 1 )) words
      (( CURRENT -= ${head##* } + 1 ))
      _normal ;;
    file) compset -P '--*='; _files ;;
    dir) compset -P '--*='; _files -/ ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _pmlua "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _pmlua pmlua
fi
]==],
  fish = [==[
# fish completion for pmlua; printed by pmlua completion fish
function __pmlua_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion --words -- $words[2..-1] "$current" 2>/dev/null)
    set -l head (string split ' ' -- (string sub -s 2 -- $lines[1]))
    if set -q lines[2]
        printf '%s\n' $lines[2..-1]
    end
    switch $head[1]
        case command
            set -l all $words "$current"
            set -l rest $all[(math $head[2] + 2)..-1]
            complete -C (string join ' ' -- (string escape -- $rest[1..-2]) "$rest[-1]")
        case file
            set -l prefix (string match -r '^--[^=]*=' -- $current)
            for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- $current))
                echo "$prefix"$path
            end
        case dir
            set -l prefix (string match -r '^--[^=]*=' -- $current)
            for path in (__fish_complete_directories (string replace -r '^--[^=]*=' '' -- $current))
                echo "$prefix"$path
            end
    end
end
complete -c pmlua -f -a '(__pmlua_complete)'
]==],
}
