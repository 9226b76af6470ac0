#!/usr/bin/env bats
# What is wrong with a command or a configuration is said before anything runs: one line on stderr
# with file:line and what would be right, the exit status of DESIGN 5, and no file written.

load common

teardown() {
    umount "$BATS_TEST_TMPDIR/disk" 2> /dev/null || true
}

# The whole promise at once.
refuses() {
    local status=$1 text=$2
    shift 2
    expect "$status" "$BENCH" "$@"
    says "$text"
    one_line
    [ ! -s out ]
    [ ! -e results ]
    [ ! -e o ]
    no_leftovers
}

@test "an unknown key, and the nearest" {
    small_config 'ruonds = 2x6'
    refuses 2 "small.ini:5: 'ruonds' is no key of [global], did you mean 'rounds'" --config small.ini
}

@test "an unknown axis, and the nearest" {
    small_config
    echo 'hedas = 2' >> small.ini
    refuses 2 "small.ini:17: 'hedas' is no axis of 'sage_fwd', did you mean 'heads'" --config small.ini
}

@test "bad values name the line, the value and what is right" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 4k..1k *2/' small.ini
    refuses 2 "small.ini:16: range '4k..1k *2'" --config small.ini
    small_config
    sed -i 's/^heads.*/heads = many/' small.ini
    refuses 2 "small.ini:15: 'many'" --config small.ini
    small_config
    refuses 2 "command line: '2by4' is no value of 'rounds', which takes processes x rounds" \
        --config small.ini --rounds 2by4
    refuses 2 "'2' is no value of axis 'density', which takes a real from 0 to 1" --config small.ini --density 2
    refuses 2 "'0' is no value of axis" --config small.ini --seqlen=0
    refuses 2 "no section [sweep nope]" --config small.ini --sweep.nope.heads 1
    refuses 2 "'cdua' is no value of 'device'" --config small.ini --device cdua
}

@test "a predicate that leaves nothing" {
    small_config
    echo 'where = seqlen > 4k' >> small.ini
    refuses 2 "small.ini:17: where 'seqlen > 4k' leaves none of the 2 combinations" --config small.ini
}

@test "an include loop" {
    small_config
    printf 'include = loop.ini\n' > loop.ini
    sed -i '1i include = loop.ini' small.ini
    printf 'include = small.ini\n' > loop.ini
    refuses 2 "loop.ini:1: an include loop: small.ini -> loop.ini -> small.ini" --config small.ini
}

@test "what is no configuration: a program, a folder, nothing" {
    head -c 4096 "$PROGRAM" > small.ini
    refuses 2 "small.ini:1: " --config small.ini
    refuses 2 "it is a folder" --config .
    refuses 2 "cannot read 'nothere.ini'" --config nothere.ini
    : > empty.ini
    refuses 2 "'empty' has no arm" --config empty.ini
}

@test "arms, cases and options that are not there" {
    small_config
    refuses 2 "'haed' is no arm" --config small.ini --arm haed
    refuses 2 "'zzz*' matches none of the 2 cases" --config small.ini --only 'zzz*'
    sed -i '0,/^kernel.*/s//kernel = sage_fwd\/cup/' small.ini
    refuses 2 "small.ini:6: arm 'base'" --config small.ini
    says "the nearest is 'sage_fwd/cpu'"
    small_config
    sed -i '/^role/a simd = maybe' small.ini
    refuses 2 "small.ini:9: arm 'base': option 'simd': choice 'maybe' does not exist" --config small.ini
    small_config
    sed -i '/^role/a smid = off' small.ini
    refuses 2 "small.ini:9: arm 'base'" --config small.ini
    says "the nearest is 'simd'"
}

@test "a library that is not there" {
    small_config
    sed -i '/^role/a library = nowhere/libx.so' small.ini
    refuses 2 "small.ini:6: arm 'base': no library 'nowhere/libx.so'" --config small.ini
}

@test "libraries that break a rule of the loader: each refusal names the rule and the line" {
    local pair name
    for pair in 'newer_abi=has ABI version 2, this program has 1' 'not_elf=not an ELF file' \
        'no_symbol=does not export sab_library' 'two_symbols=beside sab_library' \
        'undefined=does not load' 'unique=process-unique symbol' 'needs_helper=link it statically' \
        'null_hook=every hook must be set' 'struct_size=struct sab_problem of 8 bytes' \
        'no_table=returns no table' 'duplicate=twice' 'bad_name=Not a name' 'row_size=bytes'; do
        name=${pair%%=*}
        [ -e "$FIXTURES/libfixture_$name.so" ]
        small_config
        sed -i "/^role/a library = $FIXTURES/libfixture_$name.so" small.ini
        echo "$name"
        refuses 2 "${pair#*=}" --config small.ini
        says "small.ini:6: arm 'base': library '$FIXTURES/libfixture_$name.so'"
    done
}

@test "an option without its value, an unknown flag, a stray word" {
    small_config
    refuses 2 "'--config' needs a value" --config
    refuses 2 "'--rounds' needs a value" --config small.ini --rounds
    refuses 2 "'--out' needs a value" --config small.ini --out
    refuses 2 "'extra' is no option" --config small.ini extra
    refuses 2 "ruonds" --config small.ini --ruonds 2x6
    refuses 2 "no command 'runn'; the nearest is 'run'" runn
    refuses 2 "needs --config FILE" run
    refuses 2 "--resume needs --out" --config small.ini --resume
}

@test "no words at all: the usage, status 2" {
    expect 2 "$BENCH"
    says "usage: bench"
}

@test "a device or timer that is not to be had is 6" {
    small_config
    CUDA_VISIBLE_DEVICES= refuses 6 "device = cuda" --config small.ini --device cuda
    refuses 6 "timer 'cupti' is not to be had on device cpu" --config small.ini --timer cupti
}

@test "a results folder that cannot be made is 6" {
    small_config
    echo text > file
    expect 6 "$BENCH" --config small.ini --out file/sub
    says "'file'"
    expect 6 "$BENCH" --config small.ini --out file
    [ "$(cat file)" = text ]
    expect 6 "$BENCH" --config small.ini --out /proc/none/sub
    says "'/proc/none'"
    no_leftovers
}

@test "a results folder that exists is 6 and stays as it is" {
    small_config
    mkdir o
    echo mine > o/notes.txt
    expect 6 "$BENCH" --config small.ini --out o
    says "--resume"
    says "--force"
    # --force removes what a run wrote, nothing else.
    expect 6 "$BENCH" --config small.ini --out o --force
    says "'notes.txt', which no run wrote"
    [ "$(ls o)" = notes.txt ]
}

@test "a folder that is no results folder cannot be resumed" {
    small_config
    mkdir o
    echo mine > o/notes.txt
    expect 2 "$BENCH" --config small.ini --out o --resume
    says "it has no run.json"
    [ "$(ls o)" = notes.txt ]
}

@test "a full disk is 6, and what is sealed stays whole" {
    mkdir disk
    mount -t tmpfs -o size=64k tmpfs disk 2> /dev/null || skip "mounting is not permitted here"
    small_config
    local got=0
    "$BENCH" --config small.ini --rounds 6x24 --out disk/o > out 2> err || got=$?
    cp -r disk/o kept
    [ "$got" -eq 6 ]
    says "disk full"
    # Whole lines, and cases.csv counts no more than there is.
    [ -z "$(tail -c 1 kept/samples.csv)" ]
    [ "$(rows kept/cases.csv)" -ge 1 ]
    # With room again it goes on.
    mount -o remount,size=4m disk
    expect 0 "$BENCH" --config small.ini --rounds 6x24 --out disk/o --resume
    [ "$(column disk/o/samples.csv arm drop_reason= | wc -l)" -eq $((2 * 6 * 24 * 3)) ]
    [ -z "$(cut -d , -f 3-8 disk/o/samples.csv | sort | uniq -d)" ]
    sealed disk/o
}
