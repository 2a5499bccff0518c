/** The scripts that complete words. None of them evaluates a word: what was typed reaches rollcall as it stands, what comes back is data. */

/** A shell that there is a script for. */
export type CompletionShell = "bash" | "zsh" | "fish" | "powershell";

/** The script of a shell. */
export const completionScript = (shell: CompletionShell): string => scripts[shell];

const bash = `# bash completion for rollcall
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
  done < <(command rollcall __complete bash -- "\${COMP_LINE:0:COMP_POINT}" "$2" </dev/null 2>/dev/null)
  case $kind in
    # An empty answer has bash complete paths by itself (-o default).
    files) ;;
    folders) compopt +o default -o dirnames 2>/dev/null ;;
    *)
      compopt +o default 2>/dev/null
      # A word that ends in = goes on.
      case \${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac
      ;;
  esac
}

complete -o default -F _rollcall rollcall
`;

const zsh = `#compdef rollcall
# zsh completion for rollcall
#
# Load it with:  source <(rollcall completion zsh)
# or save it as: _rollcall, in a folder of $fpath
# Both need compinit, which most set-ups of zsh run: autoload -U compinit && compinit

_rollcall() {
  local kind line
  local -a before values shown behind
  (( CURRENT > 2 )) && before=("\${(@Q)words[2,CURRENT-1]}")
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
    else
      values+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  }")
    fi
  done < <(command rollcall __complete zsh -- ":\${(Q)PREFIX}" "\${before[@]}" </dev/null 2>/dev/null)
  case $kind in
    files|folders)
      [[ $PREFIX == --*=* ]] && compset -P '*='
      if [[ $kind == files ]]; then _files; else _files -/; fi
      ;;
    words)
      # A word that ends in = goes on.
      [[ $values[1] == *= ]] && behind=(-S '')
      compadd -l -d shown "\${behind[@]}" -a -- values
      ;;
  esac
}

# Loaded from a folder of $fpath, this file is the function itself; sourced, it says what it is for.
if [[ $funcstack[1] == _rollcall ]]; then
  _rollcall "$@"
elif (( $+functions[compdef] )); then
  compdef _rollcall rollcall
fi
`;

const fish = `# fish completion for rollcall
#
# Load it with:  rollcall completion fish | source
# or save it as: ~/.config/fish/completions/rollcall.fish

function __rollcall_complete
    command -q rollcall; or return
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    set -l lines (command rollcall __complete fish -- ":$current" $before </dev/null 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    switch "$kind"
        case words
            printf '%s\\n' $lines
        case files folders
            set -l option (string match -r '^--[^=]*=' -- $current)
            set -l path (string replace -r '^--[^=]*=' '' -- $current)
            if test $kind = files
                set lines (__fish_complete_path $path)
            else
                set lines (__fish_complete_directories $path)
            end
            for line in $lines
                printf '%s%s\\n' "$option" $line
            end
    end
end

complete -c rollcall -e
complete -c rollcall -f -a '(__rollcall_complete)'
`;

const powershell = `# PowerShell completion for rollcall
#
# Load it with:  rollcall completion powershell | Out-String | Invoke-Expression
# or save it as a file that your $PROFILE loads.

Register-ArgumentCompleter -Native -CommandName rollcall -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @(":$wordToComplete")
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    # The text of a constant, else what was typed: nothing is evaluated.
    if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $words += $element.Value }
    else { $words += $element.Extent.Text }
  }
  $asked = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($words -join [char]0))
  $lines = @(& rollcall __complete powershell $asked 2>$null)
  if ($lines.Count -eq 0 -or $lines[0] -ne 'words') { return }
  foreach ($line in ($lines | Select-Object -Skip 1)) {
    $text, $about = $line.Split([char]9, 2)
    if (-not $about) { $about = $text }
    $typed = $text
    if ($text -match '[^\\w=:./-]') { $typed = "'" + $text.Replace("'", "''") + "'" }
    [System.Management.Automation.CompletionResult]::new($typed, $text, 'ParameterValue', $about)
  }
}
`;

const scripts: Readonly<Record<CompletionShell, string>> = { bash, zsh, fish, powershell };
