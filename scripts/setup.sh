# shellcheck shell=bash
# setup.sh - what the scripts beside it share: packages, a compiler for CUDA, the build. Sourced.
#
# Packages are Debian 12's. Each is asked for by what it brings, not by its name, so that a tool
# from elsewhere counts, and apt-get runs only where something is missing.

say() {
    printf '%s: %s\n' "${0##*/}" "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

have() {
    command -v "$1" > /dev/null 2>&1
}

# Whether what a package brings is there.
package_present() {
    case $1 in
    build-essential) have gcc && have g++ && have make ;;
    libjansson-dev) have pkg-config && pkg-config --exists jansson ;;
    libcmocka-dev) have pkg-config && pkg-config --exists cmocka ;;
    gnuplot-nox) have gnuplot ;;
    libclang-rt-dev) have clang && ls "$(clang --print-resource-dir)"/lib/*/libclang_rt.fuzzer[-.]* > /dev/null 2>&1 ;;
    libomp-dev) have clang && echo '#include <omp.h>' | clang -fopenmp -E - > /dev/null 2>&1 ;;
    *) have "$1" ;;
    esac
}

packages_missing() {
    local package
    for package in "$@"; do
        package_present "$package" || printf '%s ' "$package"
    done
}

# Runs apt-get as root. Fails without apt-get, root or sudo.
as_root_apt() {
    have apt-get || return 1
    if [ "$(id -u)" -eq 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get "$@"
    elif have sudo && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
        sudo DEBIAN_FRONTEND=noninteractive apt-get "$@"
    else
        return 1
    fi
}

# setup_packages PACKAGE...: installs what is missing, or says what to install and fails.
setup_packages() {
    local missing
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    say "installing ${missing% }"
    # shellcheck disable=SC2086  # a list of names
    as_root_apt -qq -o Acquire::Retries=3 update > /dev/null &&
        as_root_apt -qq -y -o Acquire::Retries=3 install --no-install-recommends $missing > /dev/null || true
    missing=$(packages_missing "$@")
    [ -z "$missing" ] ||
        die "missing, and not to be installed from here: ${missing% }; as root: apt-get install ${missing% }"
}

# setup_cmake: --fresh and version 6 of the presets need 3.25.
setup_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
        die "cmake $version is too old: 3.25 or newer is needed"
}

# find_nvcc: prints the CUDA compiler, or nothing.
find_nvcc() {
    local nvcc
    for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
        if [ -n "$nvcc" ] && [ -x "$nvcc" ]; then
            printf '%s\n' "$nvcc"
            return
        fi
    done
}

# gpu_target: prints the target of the first GPU (90a, 100a, 120a), or nothing where there is no
# usable GPU or none of a kind that the kernels are written for.
gpu_target() {
    local cap
    have nvidia-smi || return 0
    cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1) || return 0
    case $cap in
    9.0) echo 90a ;;
    10.0) echo 100a ;;
    12.0) echo 120a ;;
    esac
}

jobs_nr() {
    nproc 2> /dev/null || echo 2
}

# cache_value DIR NAME: the value of a variable in a build folder's cache, or nothing.
cache_value() {
    [ ! -f "$1/CMakeCache.txt" ] || sed -n "s|^$2:[^=]*=||p" "$1/CMakeCache.txt"
}
