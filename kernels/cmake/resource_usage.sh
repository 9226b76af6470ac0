#!/bin/sh
# resource_usage.sh LIBRARY OUTFILE CUOBJDUMP SPILL_LIST
#
# Writes what every device function of LIBRARY takes, one line each:
#     ARCH NAME registers=N stack=N spill=N shared=N local=N constant=N sha256=HEX
# in bytes, but for registers. NAME is demangled where c++filt is there; sha256 is that of the
# function's machine code. `spill` is 0 without a stack frame; else the bytes that its instructions
# store there, or `?` without nvdisasm.
#
# A function with a stack frame or local memory is an error unless SPILL_LIST has a line
#     PATTERN REASON
# with a shell pattern for "ARCH:MANGLED_NAME". CUOBJDUMP is "none" in a build without CUDA or
# without that tool: the file then says so.
set -u

die() {
    echo "resource_usage.sh: $1" >&2
    exit 1
}

[ $# -eq 4 ] || die "usage: resource_usage.sh LIBRARY OUTFILE CUOBJDUMP SPILL_LIST"
library=$1 outfile=$2 cuobjdump=$3 spill_list=$4

say_nothing_known() {
    echo "# registers, spills and shared memory are unknown: $1" >"$outfile" || exit 1
    exit 0
}

case $cuobjdump in
none | '') say_nothing_known "built without CUDA, or cuobjdump is not installed" ;;
esac
command -v "$cuobjdump" >/dev/null 2>&1 || say_nothing_known "cuobjdump is not installed"
command -v readelf >/dev/null 2>&1 || say_nothing_known "readelf is not installed"
[ -f "$library" ] || die "there is no file '$library'"
case $library in
/*) ;;
*) library=$PWD/$library ;;
esac
case $outfile in
/*) ;;
*) outfile=$PWD/$outfile ;;
esac
case $spill_list in
/*) ;;
*) spill_list=$PWD/$spill_list ;;
esac

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/elf" "$work/code" || exit 1
(cd "$work/elf" && "$cuobjdump" -xelf all "$library" >"$work/log" 2>&1) ||
    say_nothing_known "the library holds no device code"
set -- "$work"/elf/*.cubin
[ -f "$1" ] || say_nothing_known "the library holds no device code"

# Registers and memory of each function: "NAME registers stack shared local constant".
usage_of() {
    "$cuobjdump" -res-usage "$1" 2>/dev/null | awk '
        $1 == "Function" { name = $2; sub(/:$/, "", name); next }
        name != "" && /REG:/ {
            constant = 0
            for (i = 1; i <= NF; i++) {
                split($i, part, ":")
                if (part[1] ~ /^CONSTANT/) constant += part[2]
                else value[part[1]] = part[2]
            }
            print name, value["REG"] + 0, value["STACK"] + 0, value["SHARED"] + 0, \
                value["LOCAL"] + 0, constant
            name = ""
        }'
}

# Machine code of each function: "NAME sha256", by a dump of its section without its addresses.
hashes_of() {
    readelf -SW "$1" 2>/dev/null | sed -n 's/^ *\[ *\([0-9]*\)\] \.text\.\([^ ]*\) .*/\1 \2/p' \
        >"$work/sections"
    [ -s "$work/sections" ] || return 0
    flags=$(awk '{ printf "-x %s ", $1 }' "$work/sections")
    rm -f "$work"/code/*
    # shellcheck disable=SC2086 # a list of flags
    readelf -W $flags "$1" 2>/dev/null | awk -v dir="$work/code" '
        /^Hex dump of section/ {
            if (file != "") close(file)
            file = dir "/" (++nr)
            printf "" > file
            next
        }
        /^ *0x/ { print substr($0, 14, 35) > file }'
    (cd "$work/code" && awk '{ print NR }' "$work/sections" | xargs sha256sum) |
        awk 'NR == FNR { name[FNR] = $2; next } { print name[$2], $1 }' "$work/sections" -
}

# Bytes that the instructions of a function store to local memory, or "?".
spill_of() {
    "$cuobjdump" -sass -fun "$2" "$1" 2>/dev/null | awk '
        /\/\*[0-9a-f]+\*\// { seen = 1 }
        $0 ~ / STL/ {
            match($0, / STL[.A-Z0-9]*/)
            op = substr($0, RSTART, RLENGTH)
            bytes += op ~ /128/ ? 16 : op ~ /64/ ? 8 : op ~ /U?S?16/ ? 2 : op ~ /[US]8/ ? 1 : 4
        }
        END { print seen ? bytes + 0 : "?" }'
}

is_listed() {
    [ -f "$spill_list" ] || return 1
    while read -r pattern reason; do
        case $pattern in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2254 # a pattern, on purpose
        case $1 in $pattern) [ -n "$reason" ] && return 0 ;; esac
    done <"$spill_list"
    return 1
}

bad=0
for cubin in "$@"; do
    arch=$(basename "$cubin" .cubin)
    arch=${arch##*.sm_}
    usage_of "$cubin" | sort >"$work/usage"
    hashes_of "$cubin" | sort >"$work/hashes"
    join "$work/usage" "$work/hashes" >"$work/both"
    while read -r name registers stack shared local constant hash; do
        spill=0
        if [ "$stack" -gt 0 ] || [ "$local" -gt 0 ]; then
            spill=$(spill_of "$cubin" "$name")
            if ! is_listed "$arch:$name"; then
                echo "resource_usage.sh: $arch:$name has $stack bytes of stack and $local of local" \
                    "memory; list it with a reason in $spill_list if that has to be" >&2
                bad=1
            fi
        fi
        echo "$arch $name registers=$registers stack=$stack spill=$spill shared=$shared" \
            "local=$local constant=$constant sha256=$hash" >>"$work/lines"
    done <"$work/both"
done

[ -f "$work/lines" ] || say_nothing_known "the library holds no device function"
sort -u "$work/lines" >"$work/sorted"
if command -v c++filt >/dev/null 2>&1; then
    c++filt <"$work/sorted" >"$outfile" || exit 1
else
    cp "$work/sorted" "$outfile" || exit 1
fi
exit $bad
