# shellcheck shell=bash
# What package.sh and rpm.sh have in common. To be sourced after lib.sh.

# shellcheck disable=SC2154 # of lib.sh
: "$project_dir"

# packaging_value OPTION [VALUE]: the value, or an end because there is none.
packaging_value()
{
    (($# > 1)) || die "$1 needs a value (try --help)"
    echo "$2"
}

# copy_to_build WORK KEPT: copies the work tree to WORK/source, since what builds packages writes into its sources and next to
# them. What matches KEPT stays there: the folder with what is compiled. Times are copied too, so that only what changed is
# compiled again. Until the script ends, no other works in WORK.
copy_to_build()
{
    local source=$1/source
    mkdir -p "$source"
    exec {packaging_lock}>"$1/lock"
    flock -n "$packaging_lock" || die "another $0 is at work in $1; wait for its end"
    find "$source" -mindepth 1 -maxdepth 1 ! -name "$2" -exec rm -rf {} +
    tar -C "$project_dir" --exclude=./build --exclude=./.git --exclude=__pycache__ -cf - . | tar -C "$source" -xf -
}

# version_in SOURCE: the version in its debian/changelog, which is that of all packages.
version_in()
{
    sed -n '1s/.*(\([^)]*\)).*/\1/p' "$1/debian/changelog"
}

# set_version SOURCE VERSION: makes it another one.
set_version()
{
    sed -i "1s/([^)]*)/($2)/" "$1/debian/changelog"
}

# logged_build LOG COMMAND...: its output is shown only if it fails.
logged_build()
{
    local log=$1
    shift
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        grep -A 40 '^FAILED' "$log" >&2 || tail -n 60 "$log" >&2
        die "building the packages failed; all of it is in $log"
    fi
}

# shown_path PATH: the way from here, if it is shorter.
shown_path()
{
    local path
    path=$(realpath --relative-base="$PWD" "$1")
    [[ $path == /* ]] || path=./$path
    echo "$path"
}
