#!/bin/bash
# Runs everything that needs a GPU, from a build tree that may have been made on another machine, and
# packs logs and results into one archive.
#
#   scripts/gpu_proof.sh [BUILD [OUT [STEP...]]]
#
# BUILD (default build-h200) has been built with CUDA for this GPU; OUT (default gpu-proof) gets
# summary.txt and proof.tar.gz, both renewed after every step, so that a run cut off leaves what it
# had. A step that fails or outlasts its limit does not end the run; the exit status is 1 then.
# PATIENCE multiplies the limits, for steps that share the GPU with others (never one that measures).
#
# Steps, in the default order:
#   device truth vectors matrix descriptor_hazards dsa   test programs
#   memcheck racecheck synccheck initcheck   compute-sanitizer over the kernels, small cases
#   dsa_fwd dsa_bwd bsa_fwd indexer_bwd_sparse indexer_bwd_dense
#                                            the contract's matrix, every kernel of the operator
#   quant_check indexer_check score_check    likewise of the quantisers and of the indexer's family
#   every traffic                            all checks of every kernel, one or two cases each; equal
#                                            bits of long sequences beside memory traffic
#   doctor check fixture_checks cached quick activities faults   the program
#   ceilings                                 kept for the steps behind it
#   descriptors sweep aa twin                what is published
# and by name only what else is published: the table `configs` below. `aa:7` and `twin:7` use seed 7,
# any step of a configuration takes a seed so.
set -u

source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${1:-build-h200}")
out=$(realpath -m "${2:-gpu-proof}")
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- device truth vectors matrix descriptor_hazards dsa memcheck racecheck synccheck \
    initcheck dsa_fwd dsa_bwd bsa_fwd indexer_bwd_sparse indexer_bwd_dense \
    quant_check indexer_check score_check every traffic doctor check fixture_checks cached quick activities \
    faults ceilings descriptors sweep aa twin

# Steps that are `bench run` of one configuration: the most seconds, and the file.
declare -A configs=(
    [quick]="120 configs/quick.ini"
    [activities]="120 tests/gpu/activities.ini"
    [descriptors]="300 configs/sage_descriptors.ini"
    [sweep]="560 configs/sage_sweep.ini"
    [long]="560 configs/sage_sweep_long.ini"
    [aa]="480 configs/aa_sage.ini"
    [twin]="480 configs/twin_sage.ini"
    [wgmma]="300 configs/sage_wgmma.ini"
    [quant]="120 configs/sage_quant.ini"
    [flags]="300 configs/sage_flags.ini"
    [pipeline]="300 configs/sage_pipeline.ini"
    [dsa_presets]="560 configs/dsa_presets.ini"
    [dsa_types]="300 configs/dsa_bf16_fp16.ini"
    [dsa_heads]="400 configs/dsa_heads.ini"
    [dsa_overlap]="300 configs/dsa_overlap.ini"
    [dsa_batches]="300 configs/dsa_batches.ini"
    [bsa_wgmma]="200 configs/bsa_wgmma.ini"
    [bsa_density]="400 configs/bsa_density.ini"
    [bsa_tail]="200 configs/bsa_tail.ini"
    [bsa_types]="200 configs/bsa_types.ini"
    [topk]="580 configs/topk.ini"
    [indexer]="560 configs/indexer.ini"
    [dsa_layer]="400 configs/dsa_layer.ini"
)

most_bytes=$((15 * 1024 * 1024))
bench=$build/bin/bench
export SAB_VECTORS=$source_dir/tests/vectors SAB_FIXTURES=$build/fixtures NO_COLOR=1

[ -x "$bench" ] || { echo "gpu_proof.sh: no program '$bench': build it first" >&2; exit 2; }
mkdir -p "$out" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/proof/results"
failed=0

# The archive comes without samples where it would be too large with them.
pack() {
    tar -C "$work" -czf "$out/proof.tar.gz" proof
    if [ "$(stat -c %s "$out/proof.tar.gz")" -gt "$most_bytes" ]; then
        tar -C "$work" --exclude samples.csv -czf "$out/proof.tar.gz" proof
        echo "samples.csv left out: the archive would be too large" >>"$out/summary.txt"
    fi
}

# limited SECONDS WANTED LOG COMMAND...: WANTED is the exit status that is due.
limited() {
    local seconds=$1 wanted=$2 log=$3 begin=$SECONDS status word=ok
    shift 3
    timeout -k 10 $((seconds * ${PATIENCE:-1})) "$@" >"$work/proof/$log.log" 2>&1
    status=$?
    if [ $status -ne "$wanted" ]; then
        word="FAILED (due: $wanted)"
        failed=1
    fi
    printf '%-28s exit %3d  %4d s  %s\n' "$log" $status $((SECONDS - begin)) "$word" |
        tee -a "$out/summary.txt"
    if [ "$word" != ok ]; then
        tail -n 15 "$work/proof/$log.log"
    fi
    pack
}

program() { # SECONDS NAME [ARGUMENT...]
    local seconds=$1 name=$2
    shift 2
    limited "$seconds" 0 "$name" "$build/tests/$name" "$@"
}

sanitizer() { # TOOL
    limited 150 0 "$1-vectors" compute-sanitizer --tool "$1" --error-exitcode 9 \
        "$build/tests/gpu_vectors" --quick
    limited 150 0 "$1-matrix" compute-sanitizer --tool "$1" --error-exitcode 9 \
        "$build/tests/gpu_matrix" --quick
    limited 150 0 "$1-dsa" compute-sanitizer --tool "$1" --error-exitcode 9 \
        "$build/tests/gpu_dsa" --quick
}

config() { # SECONDS NAME FILE [FLAG...]
    local seconds=$1 name=$2 file=$3
    shift 3
    limited "$seconds" 0 "$name" "$bench" run --config "$source_dir/$file" \
        --out "$work/proof/results/$name" "$@"
}

checked() { # SECONDS EXIT NAME FILE [FLAG...]
    local seconds=$1 due=$2 name=$3 file=$4
    shift 4
    limited "$seconds" "$due" "$name" "$bench" check --config "$source_dir/$file" \
        --out "$work/proof/results/$name" "$@"
}

# What the numbers of a kernel depend on; the checks of streams and of memory have a step of theirs.
numbers=(--together --check oracle --check guards --check written --check repeat)

# tests/gpu/OPERATOR.ini with each CUDA kernel of the library in turn; the first run also holds the
# reference kernel against the oracle.
every_kernel() { # SECONDS OPERATOR
    local kernel name count=0 arm=()
    for kernel in $("$bench" list --kernels |
        awk -v op="$2/" 'index($1, op) == 1 && $2 == "cuda" { print $1 }'); do
        [ "$kernel" != "$2/reference" ] || continue
        name=check-${kernel/\//-}
        checked "$1" 0 "$name" "tests/gpu/$2.ini" --arm.kernel.kernel "$kernel" "${arm[@]}" \
            "${numbers[@]}"
        arm=(--arm kernel)
        count=$((count + 1))
    done
    if [ $count -eq 0 ]; then
        echo "gpu_proof.sh: no CUDA kernel of $2 but a reference" >&2
        failed=1
    fi
}

# Each broken kernel, and the exit status that says that it was caught.
faults() {
    local pair
    for pair in right:0 writes_nothing:3 right_at_first:3 writes_before:3 writes_behind:3 wrong:3 \
        faults:4 hangs:4; do
        limited 90 "${pair#*:}" "fault-${pair%:*}" "$bench" run \
            --config "$source_dir/tests/gpu/faults.ini" \
            --arm.broken.kernel "sage_fwd/${pair%:*}" \
            --out "$work/proof/results/fault-${pair%:*}"
    done
}

step() { # NAME SEED
    local name=$1${2:+-seed$2} seed=${2:+--seed $2}
    case $1 in
    device) program 120 gpu_device ;;
    truth)
        program 180 gpu_truth "$build/tests/libgpu_twin_a.so" "$build/tests/libgpu_twin_b.so"
        ;;
    vectors) program 120 gpu_vectors ;;
    matrix) program 240 gpu_matrix ;;
    descriptor_hazards) program 300 gpu_descriptors ;;
    dsa) program 240 gpu_dsa ;;
    dsa_fwd | dsa_bwd | bsa_fwd | indexer_bwd_sparse | indexer_bwd_dense) every_kernel 180 "$1" ;;
    memcheck | racecheck | synccheck | initcheck) sanitizer "$1" ;;
    doctor) limited 60 0 doctor "$bench" doctor ;;
    quant_check) checked 120 0 "$1" tests/gpu/quant.ini "${numbers[@]}" ;;
    indexer_check) checked 300 0 "$1" tests/gpu/indexer.ini "${numbers[@]}" ;;
    score_check) checked 300 0 "$1" tests/gpu/score.ini "${numbers[@]}" ;;
    every) checked 560 0 "$1" tests/gpu/every.ini --no-shrink ;;
    check) checked 120 0 check configs/quick.ini ;;
    fixture_checks)
        limited 300 0 fixture_checks "$source_dir/tests/gpu/gpu_check.sh" "$bench" "$build/fixtures"
        ;;
    # An unsafe choice that fails exactly what it is known for is a success.
    cached) checked 240 0 cached configs/sage_descriptors.ini --only '*S128*' ;;
    traffic)
        checked 180 0 traffic configs/sage_wgmma.ini --only '*S16384*' --only '*S4096*' \
            --check repeat --check traffic
        ;;
    ceilings) limited 180 0 ceilings "$bench" ceilings --out "$work/proof/results/ceilings" ;;
    faults) faults ;;
    *)
        # shellcheck disable=SC2086 # seconds and file; no seed is no argument
        if [ -n "${configs[$1]:-}" ]; then
            set -- "$1" ${configs[$1]}
            config "$2" "$name" "$3" $seed
            return
        fi
        echo "gpu_proof.sh: no step '$1'; the head of the script lists them" >&2
        failed=1
        ;;
    esac
}

for wanted in "$@"; do
    name=${wanted%%:*}
    seed=${wanted#"$name"}
    step "$name" "${seed#:}"
done
echo "summary in $out/summary.txt, everything in $out/proof.tar.gz"
exit $failed
