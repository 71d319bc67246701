# fish completion for joule, forge and joulec. Subcommands and options are read from the program's --help.
# The measured command follows after --.

function __joule_subcommands
    $argv[1] --help 2>/dev/null | string match -rg '^  ([a-z-]+) +(.*)$' | paste - - 
end

function __joule_options
    set -l words (commandline -opc)
    $argv[1] $words[2] --help 2>/dev/null | string match -rg '^ +(?:-., +)?(--[a-z-]+)(?: [A-Z=]+)?  +(.*)$' | paste - -
end

for program in joule forge
    complete -c $program -n '__fish_is_nth_token 1' -f -a "(__joule_subcommands $program)"
    complete -c $program -n 'not __fish_is_nth_token 1; and not __fish_seen_argument --' -a "(__joule_options $program)"
end
complete -c joule -n 'contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand --fcs-skip=3)'

function __joulec_options
    joulec --energy-help 2>/dev/null | string match -rg '^ +(?:-., +)?(--[a-z-]+=?)\S*(?: [A-Za-z|]+)?  +(.*)$' | paste - -
end
complete -c joulec -n 'string match -q -- "-*" (commandline -ct)' -a '(__joulec_options)'
