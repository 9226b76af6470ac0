#!/usr/bin/env bash
# `bench check` against CUDA kernels that each break one rule: the check of that rule fails, and none
# for a sound kernel. Prints TAP; exits 77 without a GPU. What fails is not shrunk: that has tests without one.
#
#   gpu_check.sh BENCH FIXTURES
set -u

bench=$1
fixtures=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# KERNEL LIBRARY CHECKS: `only` in front: no others fail.
table='
sound contract only
misses_tile contract only oracle written graph_replay
all_default contract ambient_stream enqueues
zeroes_on_default contract ambient_stream
allocates contract enqueues
allocates_on_stream contract enqueues
synchronises contract enqueues
not_deterministic contract repeat
wrong_type contract only oracle
prints contract only quiet
exits contract only oracle
ignores_sizes contract only oracle
reads_index contract oracle contents
leaks contract only no_growth
leaks_device contract only no_growth
caches contract zeroed stale_valid recycled_view graph_replay no_growth
supports_anything contract only refusals
right behaviour only
writes_before behaviour guards
writes_behind behaviour guards
wrong behaviour only oracle
faults behaviour only oracle
hangs behaviour only oracle'

{
    printf '[global]\ndevice = cuda\ntimeout = 20\n'
    while read -r kernel library _; do
        [ -z "$kernel" ] || printf '[arm %s]\nlibrary = %s/libfixture_cuda_%s.so\nkernel = sage_fwd/%s\n' \
            "$kernel" "$fixtures" "$library" "$kernel"
    done <<< "$table"
    # What is flagged fails as it says, what is not passes.
    for name in by_value upload cached; do
        printf '[arm %s]\nkernel = sage_fwd/mma\ndescriptor = %s\n' "$name" "$name"
    done
    printf '[sweep s]\noperator = sage_fwd\nheads = 2\nseqlen = 192\nsizes_mode = 1\n'
} > check.ini

"$bench" check --no-shrink --config check.ini --out o > out 2> err
status=$?
if [ "$status" -eq 6 ]; then
    echo "1..0 # skipped: $(head -n 1 err)"
    exit 77
fi
cat out err | sed 's/^/# /'
[ -f o/checks.csv ] || { echo "not ok 1 - no checks.csv, status $status"; exit 1; }

# What failed of an arm with that status, a check a line.
failed_of() {
    awk -F, -v arm="$1" -v status="$2" 'NR > 1 && $8 == arm && $13 == status { print $12 }' o/checks.csv
}

nr=0
bad=0
verdict() {
    nr=$((nr + 1))
    if [ -z "$2" ]; then
        echo "ok $nr - $1"
    else
        echo "not ok $nr - $1: $2"
        bad=1
    fi
}

verdict 'exit status 3' "$([ "$status" -eq 3 ] || echo "$status")"
while read -r kernel _ rest; do
    [ -n "$kernel" ] || continue
    got=$(failed_of "$kernel" fail | sort | xargs)
    want=$(xargs -n 1 <<< "$rest" | grep -v '^only$' | sort | xargs)
    why=
    case $rest in
    only*) [ "$got" = "$want" ] || why="failed '$got', not '$want'" ;;
    *) for check in $want; do grep -qw "$check" <<< "$got" || why="'$check' is not among '$got'"; done ;;
    esac
    verdict "$kernel" "$why"
done <<< "$table"
for name in by_value upload cached; do
    verdict "sage_fwd/mma $name" "$(failed_of "$name" fail | xargs)$(failed_of "$name" unexpected_pass | xargs)"
done
got=$(failed_of cached expected_failure | xargs)
for check in zeroed stale_valid recycled_view graph_replay no_growth; do
    verdict "cached falls to $check" "$(grep -qw "$check" <<< "$got" || echo 'it does not')"
done
echo "1..$nr"
exit "$bad"
