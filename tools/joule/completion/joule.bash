# bash completion for joule, forge and joulec. Subcommands and options are read from the program's --help.
# The measured command follows after --.
_joule_words() { mapfile -t COMPREPLY < <(compgen "$@" -- "${COMP_WORDS[COMP_CWORD]}"); }

# Prints the argument of an option in the help text, such as "FILE" or "N"; prints nothing for a flag.
_joule_argument_of() { # OPTION
    sed -nE "s/^ +(-., +)?$1 ([A-Z=]+) .*/\\2/p; s/^ +$1, +--[a-z-]+ ([A-Z=]+) .*/\\1/p"
}

_joule() # JOULE WORD PREVIOUS
{
    local joule=$1 previous=$3 takes_file='^usage: [a-z]+ [a-z-]+( \[OPTIONS\])? \[?(FILE|GRAPH|PROGRAM|MODEL)' help i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _joule_words -W "--help --version $("$joule" --help 2>/dev/null | sed -nE 's/^  ([a-z-]+) .*/\1/p')"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            else
                _joule_words -c -f
            fi
            return
        fi
    done
    help=$("$joule" "${COMP_WORDS[1]}" --help 2>/dev/null)
    case $previous:$([[ $previous != -* ]] || _joule_argument_of "$previous" <<<"$help") in
    *:FILE | *:PATH) _joule_words -f ;;
    *:FOLDER) _joule_words -d ;;
    --idle:?*) _joule_words -W "auto none" ;;
    *:?*) ;;
    *)
        _joule_words -W "$(sed -nE 's/^ +(-., +)?(--[a-z-]+).*/\2/p' <<<"$help")"
        [[ ! ${help%%$'\n'*} =~ $takes_file ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$2")
        ;;
    esac
}
complete -F _joule joule forge

# Completes files, as for a compiler, and joulec's own options after a dash.
_joulec() # JOULEC WORD PREVIOUS
{
    if [[ $2 == -* ]]; then
        _joule_words -W "$("$1" --energy-help 2>/dev/null | sed -nE 's/^ +(-., +)?(--[a-z-]+=?).*/\2/p')"
        [[ ${COMPREPLY[0]} != *= || ${#COMPREPLY[@]} -gt 1 ]] || compopt -o nospace 2>/dev/null
    else
        _joule_words -f
    fi
}
complete -o filenames -F _joulec joulec
