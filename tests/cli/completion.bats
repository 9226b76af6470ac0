#!/usr/bin/env bats
# The manual page and the completions of three shells, made from the tables that parse the command line.

load common

# offers "WORD..." EXPECTED...: completing the last of the words offers each of those.
offers() {
    local words=$1 want
    shift
    bash -c '
        source ./bench.bash
        eval "COMP_WORDS=($1)"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _bench
        printf "%s\n" "${COMPREPLY[@]}"' - "$words" > offered
    for want in "$@"; do
        grep -qxF -- "$want" offered || {
            printf "'%s' is not offered '%s', but:\n" "$words" "$want"
            cat offered
            return 1
        }
    done
}

@test "bash completes commands, options, keys, axes and words" {
    "$BENCH" completion bash > bench.bash
    offers 'bench ""' run list check ab aa cmp merge doctor help
    offers 'bench --c' --config --cache
    offers 'bench run --' --rounds --max_time --resume --seqlen --density --version
    offers 'bench run --cache ""' cold dirty warm
    offers 'bench run --cache = d' dirty
    [ "$(cat offered)" = dirty ]
    offers 'bench --device = ""' cpu cuda cuda:all
    offers 'bench merge --' --across-gpus --force
    refute grep -q -- --rounds offered
    # An option of one command is not offered to another.
    offers 'bench aa --' --trials
    offers 'bench ab --' --build-only
    refute grep -q -- --trials offered
    offers 'bench help rou' rounds
    offers 'bench completion ""' bash zsh fish man
    touch 'a file.ini'
    mkdir folder
    offers 'bench --config a' 'a file.ini'
    offers 'bench report f' folder
    # Every option that --help prints is offered, and no other but keys.
    local command word
    for command in report plot doctor cmp merge repro completion; do
        offers "bench $command --" --help
        for word in $("$BENCH" "$command" --help | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'); do
            grep -qxF -- "$word" offered
        done
    done
}

@test "what the shells are given is theirs" {
    "$BENCH" completion bash > bench.bash
    bash -n bench.bash
    "$BENCH" completion zsh > _bench
    head -n 1 _bench | grep -qx '#compdef bench'
    "$BENCH" completion fish > bench.fish
    if command -v zsh > /dev/null; then zsh -n _bench; fi
    if command -v fish > /dev/null; then
        fish -n bench.fish
        [ "$(fish -c 'source bench.fish; complete -C "bench run --pace "' | cut -f 1 | sort | xargs)" = 'burst sustained' ]
        fish -c 'source bench.fish; complete -C "bench do"' | grep -q '^doctor'
    fi
    expect 2 "$BENCH" completion basg
    says "did you mean 'bash'"
    expect 2 "$BENCH" completion
    says "takes one word"
}

@test "the manual page names every command, key and status" {
    "$BENCH" completion man > bench.1
    local word
    head -n 1 bench.1 | grep -q '^\.TH BENCH 1 '
    for word in $("$BENCH" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        grep -q "^\.SS bench $word\$" bench.1
    done
    for word in rounds max_time steps slower resume 130; do
        grep -q "\\\\fB.*$word" bench.1
    done
    # No line of text begins with what roff takes for a request.
    refute grep -Eq "^[.'](\$|[^TSPb]|T[^HP]|S[^HS])" bench.1
    if command -v mandoc > /dev/null; then refute grep -Eq 'ERROR|WARNING|UNSUPP' <(mandoc -T lint bench.1 | grep -v 'missing date'); fi
}
