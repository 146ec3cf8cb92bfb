#!/bin/sh
# Installs the Debian packages that moonloop needs, only those that are missing:
#   install-deps.sh [build|test|lint|bench|all]      (build when nothing is said)
# When nothing is missing it asks dpkg once and is silent. As root or through sudo.
# On another system it says nothing and leaves the finding to scripts/configure.sh.
set -u
build='gcc make libc6-dev pkg-config liblua5.4-dev libreadline-dev libncurses-dev libgraphviz-dev libsqlite3-dev llvm-19-dev libllvm19 libgomp1 libopenblas0-pthread libxgboost0'
test="$build clang libclang-rt-dev libcmocka-dev lua5.4 tmux procps less"
lint="$build clang-format clang-tidy"
bench="$test valgrind"

case ${1:-build} in
build) want=$build ;;
test) want=$test ;;
lint) want=$lint ;;
bench) want=$bench ;;
all) want="$bench clang-format clang-tidy" ;;
*)
    echo "usage: install-deps.sh [build|test|lint|bench|all]" >&2
    exit 2
    ;;
esac
command -v dpkg-query >/dev/null 2>&1 || exit 0

# A package may be known to dpkg without being there; a name may be provided by another package
# (pkg-config by pkgconf), which shows as its Provides.
# shellcheck disable=SC2086
have=$(dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' 2>/dev/null |
    sed -n 's/^installed //; t keep; d; :keep s/ *([^)]*)//g; s/,/ /g; p' | tr -s ' \n' '\n')
missing=$(printf '%s\n' $want | awk -v have="$have" '
    BEGIN { n = split(have, v, "\n"); for (k = 1; k <= n; k++) there[v[k]] = 1 }
    !($0 in there) { printf "%s ", $0 }')
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install-deps: missing: $missing" >&2
        echo "install-deps: run as root: apt-get install $missing" >&2
        exit 1
    fi
    as_root='sudo'
fi
echo "install-deps: installing $missing"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
apt() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null >"$log" 2>&1 ||
        { cat "$log" >&2; return 1; }
}
apt update || echo "install-deps: apt-get update failed; trying with the lists that are there" >&2
# shellcheck disable=SC2086
apt install --no-install-recommends $missing || {
    echo "install-deps: apt-get install failed" >&2
    exit 1
}
