#!/usr/bin/env bats
# Names of cases in charts: what plots/label.awk makes of case ids.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# labels [NAME=VALUE...]: case ids, one a line, each a group of its own; common parts, then a label a line.
labels() {
    awk '{ print NR, 1, $0 }' | groups_of "$@"
}

# groups_of [NAME=VALUE...]: lines of GROUP ARM CASE_ID.
groups_of() {
    local given=() one
    for one in "$@"; do given+=(-v "$one"); done
    awk "${given[@]}" -f "$SOURCE_DIR/plots/label.awk" | tr ' ' '\n'
}

# is TEXT...: the lines of the input.
is() {
    diff <(printf '%s\n' "$@") -
}

# distinct NR: as many lines behind the first, none empty, no two alike.
distinct() {
    awk -v nr="$1" 'NR > 1 { if ($0 == "" || $0 in met) { print "twice or empty: " $0; bad = 1 } met[$0] = 1 }
        END { if (NR != nr + 1) print NR - 1 " labels"; exit bad || NR != nr + 1 }'
}

# The 40 cases of a run of dsa_fwd and dsa_bwd.
dsa_ids() {
    local s shape
    for shape in forward.B1.H64.S%d.k640.lse_prefix-512 forward.B1.H128.S%d.k1152.lse_prefix-1024 \
        forward.B1.H64.S%d.k2048.D576.sink-none forward.B1.H64.S%d.k2048.sink-none \
        backward.B1.H64.S%d.k640 backward.B1.H128.S%d.k1152 backward.B1.H64.S%d.k2048.D576.sink-none \
        backward.B1.H64.S%d.k2048.sink-none; do
        # shellcheck disable=SC2059
        for s in 2048 4096 8192 16384 32768; do printf "$shape\n" "$s"; done
    done
}

@test "forty cases: what varies and is needed, nothing else" {
    dsa_ids | labels > got
    distinct 40 < got
    sed -n '1p; 2p; 12p; 17p; 22p; 40p' got | is B1 'forward|H64|S2048|k640' 'forward|H64|S2048|k2048|D576' \
        'forward|H64|S2048|k2048' 'backward|H64|S2048|k640' 'backward|H64|S16384|k2048'
    [ "$(tail -n +2 got | grep -cE 'B1|lse_prefix|sink')" -eq 0 ]
    # A list with a label twice, with an empty one, or with one too few does not pass.
    for spoil in '3s/.*/forward|H64|S2048|k640/' '3s/.*//' 3d; do
        sed "$spoil" got > spoilt
        run distinct 40 < spoilt
        [ "$status" -eq 1 ]
    done
}

@test "parts that others make up for go, the least known first" {
    # The pattern follows from the promise; the density from the length, and it stands last.
    printf '%s\n' g.B8.S1024.d0.9.promise-uniform_contiguous g.B8.S1024.d0.9.pattern-topk.promise-uniform \
        g.B8.S2048.d0.5.promise-uniform_contiguous g.B8.S2048.d0.5.pattern-topk.promise-uniform | labels |
        is 'g|B8' 'S1024|promise-uniform_contiguous' 'S1024|promise-uniform' 'S2048|promise-uniform_contiguous' 'S2048|promise-uniform'
    # Heads follow from topk, but stand before it: a reader looks for them.
    printf '%s\n' s.H64.k640 s.H128.k1152 s.H64.k2048 | labels | is s 'H64|k640' 'H128|k1152' 'H64|k2048'
    # Unless there is no room.
    printf '%s\n' s.H64.k640 s.H128.k1152 s.H64.k2048 | labels fit=8 | is s k640 k1152 k2048
}

@test "lengths of queries and keys" {
    printf '%s\n' s.H4.Sq2048.Sk4096 s.H4.S4096 s.H4.Sq4096.Sk8192 | labels |
        is 's|H4' 'Sq2048|Sk4096' S4096 'Sq4096|Sk8192'
    printf '%s\n' s.Sq2048.Sk4096 s.Sq2048.Sk8192 | labels | is 's|Sq2048' Sk4096 Sk8192
    printf '%s\n' s.B1.S512 s.B2.S512 | labels | is 's|S512' B1 B2
}

@test "numbers with points, types, and parts that a name holds already" {
    printf '%s\n' s.d0.25.sm_scale-0.001 s.d0.25.sm_scale-1e-05 | labels | is 's|d0.25' sm_scale-0.001 sm_scale-1e-05
    printf '%s\n' s.H4.bf16 s.H4.e4m3 | labels | is 's|H4' bf16 e4m3
    printf '%s\n' s.data-a.npy.x s.data-a.npy.y | labels | is 's|data-a' npy.x npy.y
}

@test "no label is empty: one case, one at its defaults, one id twice" {
    echo peer.B8.H32.S1024.k15 | labels | is - 'peer|B8|H32|S1024|k15'
    echo x | labels | is - x
    printf '%s\n' s.B1 s.B1.sink-none | labels | is 's|B1' '(default)' sink-none
    printf '%s\n' s.B1 s.B2 s.B1 | labels | is s B1 B2 'B1|#2'
    : | labels | is -
}

@test "a label too long ends behind a part, where it still tells" {
    printf '%s\n' w.H64.S4096.precision-fp8 w.H64.S8192.precision-fp8 p.H64.S4096 p.H64.S4096.precision-fp8 | labels fit=16 > got
    distinct 4 < got
    is H64 'w|S4096|..' 'w|S8192|..' 'p|S4096' 'p|S4096|precision-fp8' < got
    printf '%s\n' w.S4096.precision-fp8 w.S4096.precision-fp16 | labels fit=5 | is 'w|S4096' precision-fp8 precision-fp16
}

@test "lines of a chart: an arm alone, no axis along x, what all cases of a line share" {
    printf '%s\n' '1 1 s.B1.S512.d0.25' '1 1 s.B1.S1024.d0.25' '2 1 s.B1.S512.d0.5' '3 2 s.B1.S512.d0.25' '3 2 s.B1.S512.d0.5' |
        groups_of alone=1 drop=seqlen_k | is 's|B1' d0.25 d0.5 -
    # Lengths that differ inside a line tell it from nothing.
    printf '%s\n' '1 1 p.Sq4096.Sk2048.ratio-2' '1 1 p.Sq8192.Sk4096.ratio-2' '2 1 p.Sq2048.Sk4096' '3 1 p.Sq4096.Sk8192' |
        groups_of alone=1 drop=seqlen_k | is p ratio-2 Sq2048 Sq4096
    printf '%s\n' '1 1 s.H4.d0.5' '1 1 s.H8.d0.5' '2 1 s.H4.d0.1' '2 1 s.H4.d0.5' '3 1 s.H8.d0.1' | groups_of drop=density_asked alone=1 |
        is s '(mixed)' H4 H8
}
