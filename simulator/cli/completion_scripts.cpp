// The scripts know nothing of lockstep but how to ask it (completions.h).
#include "simulator/base/ensure.h"
#include "simulator/cli/completions.h"

namespace lockstep {
namespace {

// `=` ends a word for readline unless COMP_WORDBREAKS says otherwise: the words are put together again, and of a
// candidate only what stands behind the last `=` is handed back.
constexpr const char* kBash = R"script(# bash completion for lockstep, as printed by `lockstep completions bash`.

_lockstep() {
  local -a words=() found=()
  local word line open=no breaks=no flags=' ' drop='' i
  [[ $COMP_WORDBREAKS == *=* ]] && breaks=yes
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $breaks == yes && ${#words[@]} -gt 0 && ($word == = || $open == yes) ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    [[ $word == = ]] && open=yes || open=no
  done
  word=${words[${#words[@]} - 1]}
  [[ $breaks == yes && $word == *=* ]] && drop=${word%"${word##*=}"}
  while IFS= read -r line; do
    case $line in
      :*) flags="${line#:} " ;;
      *)
        line=${line%%$'\t'*}
        found+=("${line#"$drop"}")
        ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  if [[ $flags == *' files '* || $flags == *' folders '* ]]; then
    local kind=-f
    [[ $flags == *' folders '* ]] && kind=-d
    while IFS= read -r line; do found+=("$line"); done < <(compgen "$kind" -- "${word#"$drop"}")
    compopt -o filenames 2>/dev/null
  fi
  [[ $flags == *' no_space '* ]] && compopt -o nospace 2>/dev/null
  COMPREPLY=("${found[@]}")
}

complete -F _lockstep lockstep
)script";

constexpr const char* kZsh = R"script(#compdef lockstep
# zsh completion for lockstep, as printed by `lockstep completions zsh`.

_lockstep() {
  local -a found
  local line text flags=' '
  for line in "${(@f)$("${words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :* ]]; then
      flags="${line#:} "
    elif [[ -n $line ]]; then
      text=${line%%$'\t'*}
      found+=("${text//:/\\:}:${line#*$'\t'}")
    fi
  done
  local -a suffix
  [[ $flags == *' no_space '* ]] && suffix=(-S '')
  local failed=1
  (( $#found )) && _describe -V 'lockstep' found "${(@)suffix}" && failed=0
  [[ $flags == *' files '* ]] && _files && failed=0
  [[ $flags == *' folders '* ]] && _files -/ && failed=0
  return failed
}

if [[ $funcstack[1] == _lockstep ]]; then
  _lockstep "$@"
else
  compdef _lockstep lockstep
fi
)script";

constexpr const char* kFish = R"script(# fish completion for lockstep, as printed by `lockstep completions fish`.

function __lockstep_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l flags ''
    for line in ($program __complete $words "$typed" 2>/dev/null)
        if string match -q ':*' -- $line
            set flags $line
        else
            printf '%s\n' $line
        end
    end
    if string match -q '* files*' -- $flags
        __fish_complete_path "$typed"
    else if string match -q '* folders*' -- $flags
        __fish_complete_directories "$typed"
    end
end

complete -c lockstep -f -k -a '(__lockstep_complete)'
)script";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  LOCKSTEP_ENSURE(shell == "fish", "no script for the shell {}", shell);
  return kFish;
}

}  // namespace lockstep
