# What the commands in this folder share: where things lie, and how missing things are installed.
# Sourced by bash, never run. Each `ensure_` function is quick when there is nothing to do.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=$ROOT/.cache
VENV=$CACHE/venv
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
# The oldest versions that work.
RUST_MIN=1.92
PYTHON_MIN=3.11

say() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# True when version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Prints the first interpreter on PATH that is new enough and can make a virtual environment.
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c "import sys, ensurepip, venv; sys.exit(sys.version_info < (${PYTHON_MIN/./, }))" 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# Installs Debian packages: does it as root, says the command otherwise.
install_packages() {
    note "missing: $*"
    local command="apt-get update && apt-get install -y --no-install-recommends $*"
    command -v apt-get >/dev/null 2>&1 || die "install these with your package manager, then run this again: $*"
    [ "$(id -u)" = 0 ] || die "run this as root, then run this script again: $command"
    note "installing them: $command"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        die "the installation failed: $command"
}

# A C compiler (cargo links with it), a new enough Rust and a Python that can make a virtual environment.
ensure_system() {
    local missing=()
    command -v cc >/dev/null 2>&1 || missing+=(gcc libc6-dev)
    find_python >/dev/null || missing+=(python3 python3-venv)
    [ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
    find_python >/dev/null || die "no Python >= $PYTHON_MIN with the modules venv and ensurepip is on PATH"
    # PyO3 would take python3, which may be too old.
    [ "$(find_python)" = "$(command -v python3)" ] || export PYO3_PYTHON="${PYO3_PYTHON:-$(find_python)}"
    command -v cargo >/dev/null 2>&1 || die "cargo is not on PATH: install a Rust toolchain >= $RUST_MIN (rustup does)"
    local rust
    rust=$(cargo --version | cut -d' ' -f2)
    at_least "$rust" "$RUST_MIN" || die "cargo is $rust, but >= $RUST_MIN is needed: run 'rustup update stable'"
}

# A virtual environment in .cache/venv with the pinned packages of the given file, named relative to scripts/.
ensure_venv() {
    local requirements=$ROOT/scripts/$1 python stamp wanted
    python=$(find_python)
    stamp=$VENV/.stamp-${1%.txt}
    wanted=$(cat "$ROOT"/scripts/requirements*.txt | sha256sum | cut -d' ' -f1)-$("$python" --version 2>&1)
    if [ -x "$VENV/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    say "Installing Python packages into .cache/venv"
    # The first paragraph: what is asked for by name. The rest only pins what those bring.
    awk '/^# What (those|these) /{exit} !/^(#|-r)/{print "    " $0}' "$requirements"
    if [ ! -x "$VENV/bin/python" ]; then
        mkdir -p "$CACHE"
        "$python" -m venv "$VENV" || die "'$python -m venv' failed"
    fi
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" ||
        die "pip could not install $requirements"
    printf '%s' "$wanted" >"$stamp"
}

# The sample models that are too large to commit.
ensure_models() { "$VENV/bin/python" "$ROOT/scripts/fetch_models.py" || die "a sample model is missing"; }

# True when the server on port $1 of this machine answers that it is ready.
server_ready() {
    local status
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    read -r -t 5 status <&3
    exec 3<&- 3>&-
    [[ $status == *' 200 '* ]]
} 2>/dev/null
