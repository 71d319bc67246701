# bash completion for joule: subcommands, their options, and after -- the command that is to be measured.
_joule_words() { mapfile -t COMPREPLY < <(compgen "$@" -- "${COMP_WORDS[COMP_CWORD]}"); }

_joule()
{
    local i previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _joule_words -W "run devices doctor record report help --help --version"
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
    case ${COMP_WORDS[1]}:$previous in
    run:--idle) _joule_words -W "auto none" ;;
    run:--json | run:--csv | record:-o) _joule_words -f ;;
    run:--interval | run:--budget | run:--label | run:-r | record:--interval | record:--label) ;;
    run:*)
        _joule_words -W "--json --csv --interval --budget --idle -r --label --wait-all --help --"
        ;;
    record:*) _joule_words -W "-o --interval --label --help --" ;;
    report:*) _joule_words -f -W "--json --csv --help" ;;
    devices:* | doctor:*) _joule_words -W "--json --help" ;;
    esac
}
complete -F _joule joule
