#compdef joule
# zsh completion for joule: subcommands, their options, and after -- the command that is to be measured.

_joule() {
    local -a measured=('(-):command:_command_names -e' '*::arguments:_normal')
    if ((CURRENT == 2)); then
        local -a commands=(
            'run:measure a command'
            'devices:list what can be measured here'
            'doctor:say what would make the figures better here'
            'record:measure a command and keep every sample'
            'report:read what record wrote'
            'help:explain a subcommand'
        )
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
    run)
        _arguments -S '--json[write the report as JSON]:file:_files' '--csv[write a row for each run]:file:_files' \
            '--interval[time between readings]:time:' '--budget[stop the command when it has used this]:energy:' \
            '--idle[baseline to subtract]:idle:(auto none)' '-r[run this many times]:runs:' \
            '*--label[put a label into the report]:key=value:' '--wait-all[wait for orphans too]' \
            '--help[explain]' $measured
        ;;
    record)
        _arguments -S '-o[record file]:file:_files' '--interval[time between readings]:time:' \
            '*--label[put a label into the record]:key=value:' '--help[explain]' $measured
        ;;
    report) _arguments '--json[as JSON]' '--csv[as CSV]' '--help[explain]' '*:record:_files' ;;
    devices | doctor) _arguments '--json[as JSON]' '--help[explain]' ;;
    esac
}

_joule "$@"
