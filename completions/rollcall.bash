# bash completion for rollcall
#
# Load it with:  source <(rollcall completion bash)
# or save it as: ~/.local/share/bash-completion/completions/rollcall
#
# It needs no other package, and works with the bash 3.2 of macOS.

_rollcall() {
  local kind= word=
  COMPREPLY=()
  while IFS= read -r word; do
    if [ -z "$kind" ]; then kind=$word; else COMPREPLY+=("$word"); fi
  done < <(command rollcall __complete bash -- "${COMP_LINE:0:COMP_POINT}" "$2" </dev/null 2>/dev/null)
  case $kind in
    # An empty answer has bash complete paths by itself (-o default).
    files) ;;
    folders) compopt +o default -o dirnames 2>/dev/null ;;
    *) compopt +o default 2>/dev/null ;;
  esac
}

complete -o default -F _rollcall rollcall
