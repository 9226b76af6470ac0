# common.bash - what the .bats files share. Each test has its own folder, and it is the working one.
#
# Told by the environment: BENCH (the program; PROGRAM once setup() has wrapped it), FIXTURES
# (libraries that each break one rule), SAB_SANITIZE (ON: the program is slower by a factor).

setup() {
    : "${BENCH:?the program under test}" "${FIXTURES:?the folder of the fixture libraries}"
    cd "$BATS_TEST_TMPDIR" || return 1
    # Without gnuplot on its PATH a run draws no charts, which would be half of the time here.
    PROGRAM=$BENCH
    printf '#!/bin/sh\nPATH=/nowhere exec "%s" "$@"\n' "$PROGRAM" > bench
    chmod +x bench
    BENCH=$PWD/bench
    # Copies of libraries and scratch folders stay with the test.
    export TMPDIR=$BATS_TEST_TMPDIR
    # No noise floors that somebody measured here.
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
    unset NO_COLOR
}

# small_config [LINE...]: a sweep of two small cases and two arms; lines are added to [global].
# The noise floor is as high as it goes, above what a busy machine does: a verdict is not what is tested.
small_config() {
    {
        printf '[global]\ndevice = cpu\nrounds = 2x6\nnoise_floor = 99%%\n'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        cat << 'END'

[arm base]
kernel = sage_fwd/cpu
role = baseline

[arm head]
kernel = sage_fwd/cpu

[sweep s]
operator = sage_fwd
heads = 1
seqlen = 128, 192
END
    } > small.ini
}

# odd_config KERNEL [LINE...]: the arm `odd` is a fixture kernel that breaks a rule.
odd_config() {
    local kernel=$1
    shift
    {
        printf '[global]\ndevice = cpu\nrounds = 2x6\nnoise_floor = 99%%\n'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        cat << END

[arm base]
kernel = sage_fwd/cpu
role = baseline

[arm odd]
library = $FIXTURES/libfixture_behaviour.so
kernel = sage_fwd/$kernel

[sweep s]
operator = sage_fwd
heads = 1
seqlen = 128, 192
END
    } > odd.ini
}

# expect STATUS COMMAND...: runs it, with stdout and stderr in files `out` and `err`.
expect() {
    local want=$1 got=0
    shift
    "$@" > out 2> err || got=$?
    if [ "$got" -ne "$want" ]; then
        printf 'status %s, not %s, of: %s\n' "$got" "$want" "$*"
        cat out err
        return 1
    fi
}

# says TEXT: stderr has it.
says() {
    grep -qF -- "$1" err || {
        printf 'stderr does not say: %s\n' "$1"
        cat err
        return 1
    }
}

# refute COMMAND...: it fails. (A bare `!` does not end a test.)
refute() {
    if "$@"; then
        echo "succeeded: $*"
        return 1
    fi
}

one_line() {
    [ "$(wc -l < err)" -eq 1 ] || {
        printf 'not one line on stderr:\n'
        cat err
        return 1
    }
}

# column FILE NAME [COLUMN=VALUE...]: that column of the rows that match, one a line. Knows quotes.
column() {
    local file=$1 name=$2
    shift 2
    awk -v name="$name" -v want="$*" '
        function split_row(line, cells,    n, i, ch, quoted) {
            n = 1; cells[1] = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                ch = substr(line, i, 1)
                if (ch == "\"") quoted = !quoted
                else if (ch == "," && !quoted) cells[++n] = ""
                else cells[n] = cells[n] ch
            }
            return n
        }
        NR == 1 { n = split_row($0, at); for (i = 1; i <= n; i++) place[at[i]] = i
                  if (!(name in place)) { print "no column " name; exit }
                  wants = split(want, pair, " "); next }
        { split_row($0, cell); keep = 1
          for (i = 1; i <= wants; i++) { split(pair[i], kv, "="); if (cell[place[kv[1]]] != kv[2]) keep = 0 }
          if (keep) print cell[place[name]] }' "$file"
}

# rows FILE: lines without the header.
rows() {
    echo $(($(wc -l < "$1") - 1))
}

# json_word FILE NAME: the value of the first member of that name, without quotes.
json_word() {
    sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | head -n 1
}

# sealed DIR: run.json's hashes are those of the files, and every sealed sample is a whole line.
sealed() {
    local name hash
    for name in cases.csv samples.csv report.md; do
        hash=$(sha256sum "$1/$name" | cut -d ' ' -f 1)
        grep -q "\"$name\": \"$hash\"" "$1/run.json" || {
            echo "the hash of $name is not in run.json"
            return 1
        }
    done
    [ -z "$(tail -c 1 "$1/samples.csv")" ]
}

# wait_for COMMAND...: until it succeeds; as long as a busy machine may take.
wait_for() {
    local tries=2400
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || {
            echo "waited in vain for: $*"
            return 1
        }
        sleep 0.05
    done
}

# gone PID: that process has ended, though nobody may have asked for its status yet.
gone() {
    ! kill -0 "$1" 2> /dev/null || grep -qs '^State:[[:space:]]*[ZX]' "/proc/$1/status"
}

# no_leftovers: no private copy of a library and no scratch folder is left behind.
no_leftovers() {
    local left
    left=$(find "$TMPDIR" -maxdepth 1 -name 'sab-*' ! -name '*.ini')
    [ -z "$left" ] || {
        echo "left behind: $left"
        return 1
    }
}
