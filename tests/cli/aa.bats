#!/usr/bin/env bats
# `bench aa`: one arm against itself on the CPU, and what later runs take from it.

load common

# aa_config [LINE...]: one tiny case. A trial takes a second.
aa_config() {
    {
        printf '[global]\ndevice = cpu\nrounds = 2x6\n'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        cat << 'END'

[arm base]
kernel = sage_fwd/cpu
role = baseline

[arm head]
kernel = sage_fwd/cpu
simd = off

[sweep s]
operator = sage_fwd
heads = 1
seqlen = 128
END
    } > aa.ini
}

# the_profile: its path.
the_profile() {
    echo "$XDG_DATA_HOME"/sab/profile-cpu-*.json
}

@test "six trials give rates, a floor and a profile that the next run reads" {
    aa_config
    expect 0 "$BENCH" aa --config aa.ini --trials 6 --out o
    grep -q "^arm 'base' against itself on .*: 6 trials of 2x6" out
    grep -q '^all .* of 6, ' out
    grep -q '^+1.0 %' out
    # A row a trial, each with its own seed; three twins a row.
    [ "$(rows o/aa.csv)" -eq 6 ]
    [ "$(rows o/aa_twin.csv)" -eq 18 ]
    [ "$(column o/aa.csv trial | tr '\n' ' ')" = '0 1 2 3 4 5 ' ]
    [ "$(column o/aa.csv seed | sort -u | wc -l)" -eq 6 ]
    [ "$(column o/aa.csv case_id | sort -u | wc -l)" -eq 1 ]
    [ "$(column o/aa.csv verdict | grep -cE '^(FASTER|SLOWER|SAME|UNSURE)$')" -eq 6 ]
    [ "$(json_word o/aa.json status)" = complete ]
    grep -A 1 '"arms"' o/aa.json | grep -q '"base"'
    [ "$(json_word o/aa.json trials)" = 6 ]
    grep -q '"config_text"' o/aa.json
    [ -s "$(the_profile)" ]
    grep -qF "$(the_profile)" out

    # A floor of 3 % is what nobody has measured: put one there that no run would come up with.
    # Calls of any length take it from the shortest octave.
    sed -i 's/"floor": [0-9.e-]*/"floor": 0.1234/; s/"octave": [0-9]*/"octave": 0/' "$(the_profile)"
    expect 0 "$BENCH" --config aa.ini --out run
    [ "$(column run/cases.csv floor_pct arm=head | cut -c 1-5)" = 12.34 ]
    [ "$(column run/cases.csv delta_pct arm=head | cut -c 1-5)" = 12.34 ]
    grep -q '"noise_floor_octaves": {' run/run.json
    # One that is named wins; and another regime has none.
    expect 0 "$BENCH" --config aa.ini --out named --noise-floor 50%
    [ "$(column named/cases.csv floor_pct arm=head)" = 50 ]
    expect 0 "$BENCH" --config aa.ini --out warm --cache warm
    [ "$(column warm/cases.csv floor_pct arm=head)" = 3 ]
    no_leftovers
}

@test "a spoilt profile is said, and not used" {
    aa_config
    expect 0 "$BENCH" aa --config aa.ini --trials 5 --out o
    echo '{' > "$(the_profile)"
    expect 0 "$BENCH" --config aa.ini --out run
    says 'machine profile'
    [ "$(column run/cases.csv floor_pct arm=head)" = 3 ]
}

@test "--arm names another arm; too few trials leave no profile" {
    aa_config
    expect 0 "$BENCH" aa --config aa.ini --trials 2 --arm head --out o
    grep -q "^arm 'head' against itself" out
    grep -q '^no noise floor' out
    [ "$(rows o/aa.csv)" -eq 2 ]
    [ ! -e "$XDG_DATA_HOME" ]
}

@test "what cannot be is refused before anything runs" {
    aa_config
    expect 2 "$BENCH" aa --config aa.ini --trials 0 --out o
    says '--trials 0'
    expect 2 "$BENCH" aa --config aa.ini --resume --out o
    says '--resume'
    expect 2 "$BENCH" aa --trials 3
    says 'needs --config FILE'
    expect 2 "$BENCH" aa --config aa.ini --trials many
    [ ! -e o ]
    mkdir o
    echo mine > o/aa.csv
    expect 6 "$BENCH" aa --config aa.ini --trials 2 --out o
    says 'earlier trials'
    [ "$(cat o/aa.csv)" = mine ]
    expect 0 "$BENCH" aa --config aa.ini --trials 2 --out o --force
    [ "$(rows o/aa.csv)" -eq 2 ]
}

@test "Ctrl-C finishes the trial and writes what there is" {
    aa_config
    "$BENCH" aa --config aa.ini --trials 1000 --out o > out 2> err &
    local pid=$! status=0
    wait_for grep -qs '^1,1,' o/aa.csv
    kill -INT "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    grep -q 'interrupted$' out
    [ "$(json_word o/aa.json status)" = interrupted ]
    [ "$(rows o/aa.csv)" -ge 2 ]
    [ "$(json_word o/aa.json trials)" = "$(rows o/aa.csv)" ]
    no_leftovers
}

@test "a wrong kernel ends the trials with 3" {
    aa_config
    sed -i "s|^role = baseline|library = $FIXTURES/libfixture_behaviour.so\nrole = baseline|; s|sage_fwd/cpu|sage_fwd/wrong|" aa.ini
    sed -i '/^\[arm head\]/,/^simd/d' aa.ini
    expect 3 "$BENCH" aa --config aa.ini --trials 3 --out o
    [ "$(rows o/aa.csv)" -eq 0 ]
    grep -q ': wrong' out
}
