#!/usr/bin/env bats
# The floors: kernels/abi < base < model < device < core < cmd. Each is compiled with the include
# paths that the build gives it, taken from compile_commands.json, so that what is tested is the
# build and not a copy of it. Upward includes must not compile, own headers must stand alone, and
# each foreign library has one owner.
#
# Told by the environment: SOURCE_DIR (the tree), BUILD_DIR (a configured build of it).

floors=(base model device core cmd)

setup() {
    : "${SOURCE_DIR:?the source tree}" "${BUILD_DIR:?a build of it}"
    cd "$BATS_TEST_TMPDIR" || return 1
}

# flags_of PATTERN: include paths and definitions of the first source whose path matches, as an
# array in $flags.
flags_of() {
    local command
    command=$(grep -m 1 -E "\"command\": .*$1" "$BUILD_DIR/compile_commands.json" |
        sed 's/^ *"command": "//; s/",\{0,1\}$//; s/\\\(.\)/\1/g')
    [ -n "$command" ] || {
        echo "no source matches $1"
        return 1
    }
    eval "set -- $command"
    flags=()
    while [ $# -gt 0 ]; do
        case $1 in
        -I* | -D*) flags+=("$1") ;;
        -isystem) flags+=("$1" "$2") && shift ;;
        esac
        shift
    done
}

# compiles HEADER: a file that includes it and nothing else.
compiles() {
    printf '#include "%s"\n' "$1" |
        gcc -std=gnu17 -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" -x c - > log 2>&1
}

# found HEADER: its path, where an include of its name finds that file.
found() {
    printf '#include "%s"\n' "${1##*/}" |
        gcc -H -fsyntax-only "${flags[@]}" -x c - 2>&1 | grep -xF ". $1" || true
}

# upward FLOOR HEADER...: none of them may be found.
upward() {
    local floor=$1 header
    shift
    for header in "$@"; do
        # glibc has an err.h too: what counts is whose is found, compiling or not.
        compiles "${header##*/}" && [ -z "$(found "$header")" ] && continue
        grep -q 'No such file' log && [ -z "$(found "$header")" ] && continue
        echo "$floor can include ${header#"$SOURCE_DIR"/}"
        return 1
    done
}

headers_above() {
    local floor=$1 above=0 f
    for f in "${floors[@]}"; do
        [ "$above" -eq 0 ] || printf '%s\n' "$SOURCE_DIR"/bench/"$f"/*.h
        [ "$f" != "$floor" ] || above=1
    done
}

@test "no two headers of the floors share a name" {
    local twice
    twice=$(basename -a "$SOURCE_DIR"/kernels/abi/*.h "$SOURCE_DIR"/bench/*/*.h | sort | uniq -d)
    [ -z "$twice" ] || {
        echo "$twice"
        return 1
    }
}

@test "an upward include does not compile, from any floor to any header above it" {
    local floor
    flags_of '/kernels/abi/validate\.c'
    upward kernels/abi "$SOURCE_DIR"/bench/*/*.h
    for floor in "${floors[@]}"; do
        flags_of "/bench/$floor/[a-z_]*\\.c"
        mapfile -t above < <(headers_above "$floor")
        [ "$floor" = cmd ] || upward "bench/$floor" "${above[@]}"
    done
}

@test "the test sees an include that it should not: downward ones compile" {
    flags_of '/bench/core/[a-z_]*\.c'
    run upward bench/core "$SOURCE_DIR/bench/model/plan.h"
    [ "$status" -eq 1 ]
    run upward bench/core "$SOURCE_DIR/bench/base/err.h"
    [ "$status" -eq 1 ]
}

@test "kernels find no header of bench" {
    flags_of '/kernels/sage_fwd/cpu\.c'
    upward kernels/sage_fwd "$SOURCE_DIR"/bench/*/*.h
    flags_of '/kernels/null/null\.c'
    upward kernels/null "$SOURCE_DIR"/bench/*/*.h
}

@test "a floor's own headers, and one of each floor below, stand alone" {
    local floor header below=sab.h
    for floor in "${floors[@]}"; do
        flags_of "/bench/$floor/[a-z_]*\\.c"
        compiles "$below"
        for header in "$SOURCE_DIR/bench/$floor"/*.h; do
            # CUDA's own headers are there only with a toolkit; four are parts of recipe.h.
            case ${header##*/} in recipe_impl.h | recipe_ids.h | recipe_rows.h | recipe_scores.h) continue ;; esac
            ! grep -qE '<cu(da|pti)' "$header" || continue
            compiles "${header##*/}" || {
                echo "${header#"$SOURCE_DIR"/} does not stand alone:"
                cat log
                return 1
            }
        done
        below=$(basename -a "$SOURCE_DIR/bench/$floor"/*.h | head -n 1)
    done
}

@test "the contract's headers are C11 and C++17 clean, without a CUDA header" {
    flags_of '/kernels/abi/validate\.c'
    local header
    for header in sab.h ops.h; do
        printf '#include "%s"\nint main(void) { return 0; }\n' "$header" > one.c
        gcc -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" one.c
        g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" -x c++ one.c
    done
    local strays
    strays=$(grep -rl '<cuda' "$SOURCE_DIR/kernels/abi" || true)
    [ -z "$strays" ]
}

# owners WHAT PATTERN ALLOWED: files below bench/ and kernels/ with the pattern, all of them allowed.
owners() {
    local strays
    strays=$(cd "$SOURCE_DIR" && grep -rlE --include='*.c' --include='*.h' --include='*.cu' \
        --include='*.cuh' -- "$2" bench kernels | grep -vE "$3" || true)
    [ -z "$strays" ] || {
        printf '%s is used outside its owner:\n%s\n' "$1" "$strays"
        return 1
    }
}

@test "each foreign library has one owner" {
    owners dlfcn '<dlfcn\.h>' '^bench/device/(library[a-z_]*|foreign)\.c$'
    owners CUPTI '<cupti' '^bench/device/cupti_[a-z]*\.[ch]$'
    owners jansson '<jansson\.h>' '^bench/core/json\.h$'
    owners NVML '<nvml|[^_a-z]nvml[A-Z][A-Za-z]* *\(' '^bench/device/nvml[a-z_]*\.[ch]$'
    owners 'the CUDA runtime' '<cuda(_runtime|_runtime_api|)\.h>|<cudaTypedefs' \
        '^bench/device/cuda[a-z_]*\.(c|h|cu)$|^kernels/'
}

@test "no include climbs, and kernels include nothing of bench" {
    owners '"../"' '#[ ]*include[ ]*["<]\.\./' '^$'
    owners 'bench' '#[ ]*include[ ]*["<](bench/|err\.h|strbuf\.h|plan\.h|device\.h)' '^bench/'
}

@test "no library prints, exits or aborts" {
    owners 'stdout or exit' '[^_a-z](printf|puts|putchar|perror|_?exit|abort|quick_exit) *\(' \
        '^bench/cmd/|^bench/base/child[a-z_]*\.c$|^kernels/abi/gen_hash\.c$'
}

@test "files are below 500 lines" {
    local long
    long=$(cd "$SOURCE_DIR" && find bench kernels tests scripts -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.bats' \) \
        -exec awk 'END { if (NR > 500) print FILENAME ": " NR " lines" }' {} \;)
    [ -z "$long" ] || {
        echo "$long"
        return 1
    }
}
