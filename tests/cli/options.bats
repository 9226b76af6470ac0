#!/usr/bin/env bats
# Choices that are flagged: a workspace that is kept, a hazard that is known. The labels are in every
# file, and nothing unflagged profits from them.

load common

@test "a kernel that trusts its workspace and does not say so is wrong" {
    odd_config remembers
    expect 3 "$BENCH" --config odd.ini --out o
    [ "$(column o/cases.csv status arm=odd | sort -u)" = wrong ]
    [ "$(column o/cases.csv workspace arm=odd | sort -u)" = overwritten ]
    [ -z "$(column o/cases.csv hazards arm=odd | sort -u)" ]
    sealed o
}

@test "the same, flagged: checked and timed on a workspace that nobody overwrites, and labelled" {
    odd_config remembers
    sed -i '/^kernel = sage_fwd.remembers/a trust = said' odd.ini
    expect 0 "$BENCH" --config odd.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv check_after arm=odd | sort -u)" = pass ]
    [ "$(column o/cases.csv options arm=odd | sort -u)" = trust=said ]
    [ "$(column o/cases.csv workspace arm=odd | sort -u)" = kept ]
    [ "$(column o/cases.csv hazards arm=odd | sort -u)" = 'zeroed graph_replay' ]
    column o/cases.csv reasons arm=odd | grep -q 'unsafe;keeps_workspace'
    # The other arms have none of it.
    [ "$(column o/cases.csv workspace arm=base | sort -u)" = none ]
    refute grep -q unsafe <<< "$(column o/cases.csv reasons arm=base)"
    grep -q '^- `unsafe`: .* odd' o/report.md
    grep -q '^- `keeps_workspace`: .* odd' o/report.md
    sealed o
    # A report made anew says the same.
    expect 0 "$BENCH" report o
    grep -q '^- `keeps_workspace`: .* odd' out
}

@test "check, too, leaves a kept workspace alone" {
    odd_config remembers
    expect 3 "$BENCH" check --config odd.ini --out o
    sed -i '/^kernel = sage_fwd.remembers/a trust = said' odd.ini
    expect 0 "$BENCH" check --config odd.ini --out p
}

@test "--kernels names the ways to the tensor maps, with and without CUDA" {
    expect 0 "$BENCH" list --kernels
    [ "$(grep -c '      descriptor = by_value | upload | cached (unsafe, keeps its workspace)' out)" -eq 2 ]
}

@test "the sweep of descriptors reads on a machine without a GPU" {
    : "${SOURCE_DIR:?the source tree}"
    expect 6 "$BENCH" list --config "$SOURCE_DIR/configs/sage_descriptors.ini" --device cpu
    says 'no arm of this configuration has a kernel for device cpu'
}

@test "a way to the tensor maps that there is not" {
    printf '[arm a]\nkernel = sage_fwd/mma\ndescriptor = cashed\n[sweep sage_fwd]\n' > odd.ini
    expect 2 "$BENCH" list --config odd.ini
    says "cached"
}
