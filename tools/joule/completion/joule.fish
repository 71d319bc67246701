# fish completion for joule. Subcommands and options are those that the program's own --help lists, so there is no
# second list to keep; after -- comes the command that is to be measured.

function __joule_subcommands
    joule --help 2>/dev/null | string match -rg '^  ([a-z]+) +(.*)$' | paste - - 
end

function __joule_options
    set -l words (commandline -opc)
    joule $words[2] --help 2>/dev/null | string match -rg '^ +(?:-., +)?(--[a-z-]+)(?: [A-Z=]+)?  +(.*)$' | paste - -
end

complete -c joule -n '__fish_is_nth_token 1' -f -a '(__joule_subcommands)'
complete -c joule -n 'not __fish_is_nth_token 1; and not __fish_seen_argument --' -a '(__joule_options)'
complete -c joule -n 'contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand --fcs-skip=3)'
