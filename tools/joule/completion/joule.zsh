#compdef joule forge joulec
# zsh completion for joule, forge and joulec. Subcommands and options are read from the program's --help.
# The measured command follows after --.

_joule() {
    local joule=$words[1] line
    local -a match mbegin mend specs
    if ((CURRENT == 2)); then
        for line in ${(f)"$($joule --help 2>/dev/null)"}; do
            [[ $line =~ '^  ([a-z-]+) +(.*)$' ]] && specs+=("$match[1]:$match[2]")
        done
        _describe subcommand specs
        return
    fi
    local command=$words[2] action name
    local -a files
    for line in ${(f)"$($joule $command --help 2>/dev/null)"}; do
        [[ $line =~ '^usage: [a-z]+ [a-z-]+( \[OPTIONS\])? \[?(FILE|GRAPH|PROGRAM|MODEL)' ]] && files=('*:file:_files')
        [[ $line =~ '^ +(-., +)?(--[a-z-]+)( [A-Z=]+)?  +(.*)$' ]] || continue
        action=
        case $match[2]:$match[3] in
        *:' FILE' | *:' PATH') action=':file:_files' ;;
        *:' FOLDER') action=':folder:_files -/' ;;
        --idle:?*) action=':idle:(auto none)' ;;
        *:?*) action=":${match[3]# }: " ;;
        esac
        for name in $match[2] ${match[1]%%,*}; do
            specs+=("*${name}[${${match[4]//\[/(}//\]/)}]$action")
        done
    done
    shift words
    ((CURRENT--))
    case ${joule:t}-$command in
    joule-run | joule-record | joule-bench) _arguments -S $specs '(-):command:_command_names -e' '*::arguments:_normal' ;;
    *) _arguments $specs $files ;;
    esac
}

# Completes files, as for a compiler, and joulec's own options after a dash.
_joulec() {
    local line
    local -a match mbegin mend options
    if [[ $PREFIX != -* ]]; then
        _files
        return
    fi
    for line in ${(f)"$($words[1] --energy-help 2>/dev/null)"}; do
        [[ $line =~ '^ +(-., +)?(--[a-z-]+=?)[^ ]*( [A-Za-z|]+)?  +(.*)$' ]] && options+=("$match[2]:$match[4]")
    done
    _describe option options
}

if [[ $service == joulec ]]; then
    _joulec "$@"
else
    _joule "$@"
fi
