# shellcheck shell=bash
# Files of the Debian packages, of others and of `cmake --install`, in the same words so that they can be compared: one a line,
# "MODE OWNER/GROUP PATH" and for a link " -> GOAL", sorted. To be sourced.
#
#   LIBDIR     where the system has its libraries
#   EXAMPLES   where the examples of the C library are
#   ZSH        where zsh finds completions

packages_golden=$(cd "$(dirname "${BASH_SOURCE[0]}")/../golden/packages" && pwd)

# debian_packages: their names.
debian_packages()
{
    local list
    for list in "$packages_golden"/*.txt; do
        basename "$list" .txt
    done
}

# debian_files PACKAGE: what it has. With merged /usr, /lib is /usr/lib; Debian compresses documents, and has a license and a
# log of changes in each package.
debian_files()
{
    sed -E '/^conffile /d
        s|^([^ ]+ [^ ]+) \./|\1 /|
        s| /lib/| /usr/lib/|
        s|/usr/lib/TRIPLET/|LIBDIR/|g
        s|(/usr/share/(doc\|man)/.*)\.gz$|\1|
        \|/usr/share/doc/[^/]+/(copyright\|changelog)$|d
        s|/usr/share/doc/librdmaqos-dev/examples|EXAMPLES|
        s|/usr/share/zsh/vendor-completions|ZSH|
        s|(rdmaqos-targets-)[a-z]+(\.cmake)|\1TYPE\2|' "$packages_golden/$1.txt" | LC_ALL=C sort
}

# debian_configuration PACKAGE: its files that an administrator edits.
debian_configuration()
{
    sed -n 's/^conffile //p' "$packages_golden/$1.txt" | LC_ALL=C sort
}

# installed_files STAGE PREFIX: what `cmake --install` has put below STAGE, as if with the prefix /usr. Root owns it where it
# matters. The license is a document of it.
installed_files()
{
    local libraries
    libraries=$(cd "$1" && find ./ -name librdmaqos.so.1)
    find "$1" \( -type f -printf '%M root/root /%P\n' \) -o \( -type l -printf '%M root/root /%P -> %l\n' \) |
        sed -E "s| $2/etc/| /etc/|
            s, ${libraries:1:-16}/(librdmaqos\.|rdma-qos/|cmake/|pkgconfig/), LIBDIR/\1,
            s| $2/| /usr/|
            s|/usr/share/doc/rdma-qosd/examples/librdmaqos|EXAMPLES|
            s|/usr/share/zsh/site-functions|ZSH|
            s|(rdmaqos-targets-)[a-z]+(\.cmake)|\1TYPE\2|
            \|/usr/share/doc/rdma-qosd/LICENSE\$|d" | LC_ALL=C sort
}
