# fish completion for joule: subcommands, their options, and after -- the command that is to be measured.
set -l commands run devices doctor record report help
set -l none "not __fish_seen_subcommand_from $commands"
complete -c joule -f
complete -c joule -n $none -a run -d 'Measure a command'
complete -c joule -n $none -a devices -d 'List what can be measured here'
complete -c joule -n $none -a doctor -d 'Say what would make the figures better here'
complete -c joule -n $none -a record -d 'Measure a command and keep every sample'
complete -c joule -n $none -a report -d 'Read what record wrote'
complete -c joule -n $none -a help -d 'Explain a subcommand'
complete -c joule -n '__fish_seen_subcommand_from run' -l json -r -F -d 'Write the report as JSON'
complete -c joule -n '__fish_seen_subcommand_from run' -l csv -r -F -d 'Write a row for each run'
complete -c joule -n '__fish_seen_subcommand_from run' -l budget -x -d 'Stop the command when it has used this'
complete -c joule -n '__fish_seen_subcommand_from run' -l idle -x -a 'auto none' -d 'Baseline to subtract'
complete -c joule -n '__fish_seen_subcommand_from run' -s r -x -d 'Run this many times'
complete -c joule -n '__fish_seen_subcommand_from run' -l wait-all -d 'Wait for orphans too'
complete -c joule -n '__fish_seen_subcommand_from run record' -l interval -x -d 'Time between readings'
complete -c joule -n '__fish_seen_subcommand_from run record' -l label -x -d 'Put a label into the report'
complete -c joule -n '__fish_seen_subcommand_from run record' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c joule -n '__fish_seen_subcommand_from record' -s o -r -F -d 'Record file'
complete -c joule -n '__fish_seen_subcommand_from devices doctor report' -l json -d 'As JSON'
complete -c joule -n '__fish_seen_subcommand_from report' -l csv -d 'As CSV'
complete -c joule -n '__fish_seen_subcommand_from report' -F
