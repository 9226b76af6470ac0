#!/usr/bin/env bats
# Two finished runs held against each other.

load common

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    source "$BATS_TEST_DIRNAME/common.bash"
    small_config
    PATH=/nowhere "$BENCH" --config small.ini --out old --quiet > out1 2>&1
    PATH=/nowhere "$BENCH" --config small.ini --out new --quiet > out2 2>&1
    PATH=/nowhere "$BENCH" --config small.ini --out part --sweep.s.heads=1 --sweep.s.seqlen=192,256 --cache warm --quiet > out3 2>&1
}

folders() {
    cp -r "$BATS_FILE_TMPDIR/old" "$BATS_FILE_TMPDIR/new" "$BATS_FILE_TMPDIR/part" .
}

@test "cmp matches every case and arm, says unpaired, exits 0" {
    folders
    expect 0 "$BENCH" cmp old new
    grep -q '^unpaired comparison' out
    grep -q 'unpaired, 4 rows: ' out
    [ "$(grep -c '^s\.B1\.H1\.S.* 2 -> 2 ' out)" -eq 4 ]
    grep -q "library of arm 'base': .* in both runs" out
    refute grep -q "base' " out
}

@test "cmp --markdown is a table" {
    folders
    expect 0 "$BENCH" cmp --markdown old new
    grep -q '^\*\*unpaired\*\*' out
    [ "$(grep -c '^| s\.B1' out)" -eq 4 ]
    grep -q '^|:--|:--|--:' out
}

@test "cmp lists what has no partner, and warns of another cache" {
    folders
    expect 0 "$BENCH" cmp old part
    grep -q 'unpaired, 2 rows' out
    grep -q 'only in the old run, 2 rows' out
    grep -q 'only in the new run, 2 rows' out
    grep -q '^WARNING: another cache: cold in the old run, warm in the new' out
    says 'warning: another cache'
}

@test "cmp refuses another protocol or schema and names both" {
    folders
    sed -i 's/"protocol": [0-9]*/"protocol": 77/' new/run.json
    expect 2 "$BENCH" cmp old new
    one_line
    says "'new' has protocol 77"
    cp -r old third
    sed -i '1,/"schema"/s/"schema": [0-9]*/"schema": 78/' third/run.json
    expect 2 "$BENCH" cmp old third
    says "'third' has schema 78"
}

@test "cmp and report say that cases.csv was changed after its run" {
    folders
    expect 0 "$BENCH" cmp old new
    refute says 'changed after'
    expect 0 "$BENCH" report new
    refute says 'changed after'
    refute grep -q 'changed after' out

    sed -i 's/,SAME,/,SLOWER,/;s/,UNSURE,/,SLOWER,/' new/cases.csv
    expect 0 "$BENCH" cmp old new
    one_line
    says "warning: 'new/cases.csv' was changed after its run"
    grep -q "^WARNING: 'new/cases.csv' was changed after its run" out
    for form in '' --table; do
        # shellcheck disable=SC2086 # nothing, or one word
        expect 0 "$BENCH" report new $form
        one_line
        says "warning: 'new/cases.csv' was changed after its run"
        grep -q '^\**cases.csv was changed after its run\.\**$' out
        grep -q '^\**2 rows: 0 faster, 0 same, 2 slower, 0 unsure, 0 failed\. Worst row ' out
        refute grep -q 'Geometric mean' out
    done
    expect 0 "$BENCH" report new --write
    head -n 1 new/report.md | grep -q 'changed after its run'
}

@test "cmp wants two results folders" {
    folders
    expect 2 "$BENCH" cmp old
    says 'cmp takes two results folders, 1 were given'
    mkdir empty
    expect 2 "$BENCH" cmp old empty
    says "'empty' is no results folder"
    expect 0 "$BENCH" cmp --help
}
