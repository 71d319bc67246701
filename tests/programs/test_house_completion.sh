#!/usr/bin/env bash
# Checks that the Tab key after `joule`, `forge` and `joulec` offers what the program's help lists, in bash,
# fish and zsh. It must offer files if the subcommand has a file argument, and after `--` the
# command's own words.
# shellcheck disable=SC2317  # in_bash, in_fish and in_zsh are called by name
set -euo pipefail
completion=$JOULE_SOURCE/tools/joule/completion
PATH=$(dirname "$JOULE"):${JOULEC:+$(dirname "$JOULEC"):}${FORGE:+$(dirname "$FORGE"):}$PATH
status=0

expect() { # SHELL PROGRAM TYPED WORD
    local got
    got=$("in_$1" "$2" "$3")
    [[ " $got " == *" $4 "* ]] && return
    echo "FAILED: $1: '$2 $3' should offer '$4', offers: $got"
    status=1
}

in_bash() { # PROGRAM TYPED
    bash --norc -c 'source "$0"; COMP_WORDS=("$1"); IFS=" "; COMP_WORDS+=($2); unset IFS
        [[ $2 != *" " && -n $2 ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        complete=$(complete -p "$1") complete=${complete#*-F }
        "${complete%% *}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' "$completion/joule.bash" "$1" "$2" | tr '\n' ' '
}

in_fish() { # PROGRAM TYPED
    HOME=/nonexistent fish --no-config -c "source '$completion/joule.fish'; complete -C '$1 $2'" | cut -f 1 |
        tr '\n' ' '
}

# Runs zsh on its own terminal. It prints all arguments of compadd, and DONE at the end.
in_zsh() { # PROGRAM TYPED
    zsh -f "$work/ask.zsh" "$work" "$1 $2" | tr '\r\n' '  '
}

prepare_zsh() {
    cp "$completion/joule.zsh" "$work/_joule"
    cat >"$work/inner.zsh" <<'END'
PS1= fpath=($work $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)* ]]; then
        builtin compadd -O hits "$@"
        print -rl -- $hits
    fi
    builtin compadd "$@"
}
offer() { zle complete-word; print DONE; }
zle -N offer && bindkey '^I' offer
print READY
END
    cat >"$work/ask.zsh" <<'END'
zmodload zsh/zpty
zpty shell "TERM=dumb zsh -f -i"
zpty -w shell "work=$1; source $1/inner.zsh"
until [[ $line == READY* ]]; do zpty -r shell line || exit 1; done
zpty -w -n shell "$2"$'\t'
while zpty -r shell line && [[ $line != *DONE* ]]; do print -r -- $line; done
zpty -d shell
END
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prepare_zsh
cd "$work"
touch kept.record kept.graph
for shell in bash fish zsh; do
    if ! command -v "$shell" >/dev/null; then
        echo "skipped: completion in $shell: there is no $shell"
        continue
    fi
    expect "$shell" joule "" run
    expect "$shell" joule "run --js" --json
    expect "$shell" joule "run --" --label
    expect "$shell" joule "run -- fals" false
    expect "$shell" joule "bench --warm" --warmup
    expect "$shell" joule "bench -- fals" false
    expect "$shell" joule "compare --" --fail-if
    expect "$shell" joule "history --" --limit
    expect "$shell" joule "report --" --samples
    expect "$shell" joule "report " kept.record
    if [[ -e $JOULEC ]]; then
        expect "$shell" joulec "--energy-" --energy-sarif
        expect "$shell" joulec "--energy-" --energy-baseline
        expect "$shell" joulec "--energy-" --energy-fail-over=
        expect "$shell" joulec "--e" --emit
        expect "$shell" joulec "-O2 kept." kept.record
    fi
    [[ -n $FORGE ]] || continue
    expect "$shell" forge "" train
    expect "$shell" forge "train --" --budget
    expect "$shell" forge "train --data " kept.graph
    expect "$shell" forge "compile " kept.graph
    expect "$shell" forge "run " kept.graph
    expect "$shell" forge "" bench-llm
    expect "$shell" forge "bench-llm " kept.graph
    expect "$shell" forge "generate " kept.graph
    expect "$shell" forge "serve " kept.graph
    expect "$shell" forge "serve --max-" --max-queue
done
exit $status
