#!/usr/bin/env bats
# A run that was cut off anywhere goes on where it was: nothing that is sealed is lost or repeated, and
# what is another run is refused by name.

load common

# whole DIR ROUNDS PROCESSES CASES: every place of the run is there exactly once.
whole() {
    [ "$(json_word "$1/run.json" status)" = complete ]
    [ "$(column "$1/samples.csv" arm drop_reason= | wc -l)" -eq $(($2 * $3 * $4 * 3)) ]
    [ -z "$(cut -d , -f 3-8 "$1/samples.csv" | sort | uniq -d)" ]
    [ "$(column "$1/cases.csv" status | sort | uniq -c | tr -s ' ')" = " $(($4 * 3)) ok" ]
    sealed "$1"
}

@test "killed again and again, a run comes to its end" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 64, 96, 128/' small.ini
    local pid i
    for i in 1 2 3 4 5 6; do
        "$BENCH" --config small.ini --rounds 6x12 --out o --resume > out 2> err &
        pid=$!
        sleep "0.$((RANDOM % 10))"
        kill -KILL "$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
    expect 0 "$BENCH" --config small.ini --rounds 6x12 --out o --resume
    whole o 6 12 3
}

@test "a folder that was made and no more is begun" {
    small_config
    mkdir o
    expect 0 "$BENCH" --config small.ini --out o --resume
    whole o 2 6 2
    # The same with the journal's header, and a file that was being written.
    mkdir p
    head -n 1 o/samples.csv > p/samples.csv
    echo half > p/run.json.1.2.tmp
    expect 0 "$BENCH" --config small.ini --out p --resume
    whole p 2 6 2
    [ -z "$(find p -name '*.tmp')" ]
}

@test "files cut at any byte of their last lines" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o
    cp -r o full
    local size line cut
    size=$(stat -c %s full/samples.csv)
    line=$(tail -n 1 full/samples.csv | wc -c)
    for cut in 1 2 $((line - 1)) "$line" $((line + 1)) $((size / 3)); do
        rm -r o
        cp -r full o
        truncate -s $((size - cut)) o/samples.csv
        expect 0 "$BENCH" --config small.ini --out o --resume
        says "lacks samples of"
        whole o 2 6 2
        # What was whole is there, byte for byte.
        [ "$(sort full/samples.csv o/samples.csv | uniq -d | wc -l)" -ge 37 ]
    done
    size=$(stat -c %s full/cases.csv)
    line=$(tail -n 1 full/cases.csv | wc -c)
    for cut in 1 $((line - 1)) "$line" $((line + 1)); do
        rm -r o
        cp -r full o
        truncate -s $((size - cut)) o/cases.csv
        expect 0 "$BENCH" --config small.ini --out o --resume
        says "cases.csv' lacks"
        whole o 2 6 2
    done
    # A cut run.json says nothing of the run: refused, and nothing is touched.
    truncate -s 300 o/run.json
    cp -r o before
    expect 2 "$BENCH" --config small.ini --out o --resume
    says "o/run.json:"
    diff -r before o
}

@test "another plan is refused, and the key is named" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    cp -r o before
    expect 2 "$BENCH" --config small.ini --out o --resume --rounds 2x8
    says "written by another plan: [global] rounds is '2x6' there and '2x8' here"
    one_line
    expect 2 "$BENCH" --config small.ini --out o --resume --seed 9
    says "[global] seed is not set there and '9' here"
    sed -i 's/^seqlen = .*/seqlen = 128/; s/^heads.*//' small.ini
    expect 2 "$BENCH" --config small.ini --out o --resume
    says "[sweep s] seqlen is '128, 192' there and '128' here"
    # What decides nothing of the measurement may change.
    small_config 'delta = 1%' 'timeout = 99s'
    diff -r before o
    expect 0 "$BENCH" --config small.ini --out o --resume
    whole o 2 6 2
}

@test "another protocol, timer or device is refused by name" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    cp -r o before
    try() {
        rm -r o
        cp -r before o
        sed -i "$1" o/run.json
        expect 2 "$BENCH" --config small.ini --out o --resume
        says "$2"
        one_line
    }
    try 's/"protocol": 1/"protocol": 7/' "measured by protocol 7, this is protocol 1"
    try 's/"schema": 1/"schema": 9/' "has schema version 9"
    try 's/"timer": "monotonic"/"timer": "cupti"/' "timed by 'cupti', this is timer 'monotonic'"
    try 's/"name": "[^s][^"]*"/"name": "Another CPU"/' "measured on Another CPU"
    try 's/"threads": [1-9][0-9]*/"threads": 77/' "measured with 77 threads"
}

@test "libraries that changed places are refused" {
    cp "$FIXTURES/libfixture_behaviour.so" one.so
    cp one.so two.so
    printf x >> two.so
    small_config
    sed -i '0,/^kernel.*/s//kernel = sage_fwd\/right\nlibrary = one.so/' small.ini
    sed -i 's/^kernel = sage_fwd.cpu/kernel = sage_fwd\/right\nlibrary = two.so/' small.ini
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    mv one.so three.so
    mv two.so one.so
    mv three.so two.so
    expect 2 "$BENCH" --config small.ini --out o --resume
    says "arm 'base' runs library"
}

@test "one writer at a time" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    cp -r o before
    exec 9< o
    flock 9
    expect 6 "$BENCH" --config small.ini --out o --resume 9<&-
    says "'o' is being written by another bench"
    expect 6 "$BENCH" --config small.ini --out o --force 9<&-
    diff -r before o
    exec 9<&-
    expect 0 "$BENCH" --config small.ini --out o --resume
    whole o 2 6 2
}
