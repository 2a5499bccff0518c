# fish completion for rollcall
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
            printf '%s\n' $lines
        case files folders
            set -l option (string match -r '^--[^=]*=' -- $current)
            set -l path (string replace -r '^--[^=]*=' '' -- $current)
            if test $kind = files
                set lines (__fish_complete_path $path)
            else
                set lines (__fish_complete_directories $path)
            end
            for line in $lines
                printf '%s%s\n' "$option" $line
            end
    end
end

complete -c rollcall -e
complete -c rollcall -f -a '(__rollcall_complete)'
