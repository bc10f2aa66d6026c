#!/usr/bin/env bash
# Makes a Python 3.14 for the tests, from Debian's sid, where the system has none. Needs root, debootstrap and patchelf.
#
#     scripts/python314.sh [FOLDER]            default: ~/.cache/healmcp/python3.14
#     PATH=FOLDER/venv/bin:$PATH cargo test    then tests on 3.14, too
#
# The interpreter gets sid's own C library by its path, so that it runs outside of the root like any other; its
# virtual environment has pip and pytest. Run again, it does what is left to do.
set -euo pipefail

folder=$(realpath -m "${1:-$HOME/.cache/healmcp/python3.14}")
root=$folder/root
python=$root/usr/bin/python3.14
libraries=$root/usr/lib/$(uname -m)-linux-gnu

for command in debootstrap patchelf; do
    if ! command -v "$command" >/dev/null; then
        echo "$command is missing: apt-get install debootstrap patchelf" >&2
        exit 1
    fi
done

if [ ! -e "$folder/made" ]; then
    rm -rf "$root"
    mkdir -p "$folder"
    debootstrap --variant=minbase --include=python3.14,python3.14-venv,ca-certificates sid "$root"
    loader=$(patchelf --print-interpreter "$python")
    # DT_RPATH, not DT_RUNPATH: the libraries of its libraries are sid's, too.
    patchelf --set-interpreter "$root$loader" --force-rpath --set-rpath "$libraries" "$python"
    touch "$folder/made"
fi

if [ ! -x "$folder/venv/bin/pytest" ]; then
    "$python" -m venv --without-pip "$folder/venv"
    # The pip that Debian unpacks into environments lies at a path of the root's own.
    PYTHONPATH=$(echo "$root"/usr/share/python-wheels/pip-*.whl) "$folder/venv/bin/python" -m pip install --quiet \
        --disable-pip-version-check pip pytest==9.1.1
fi

"$folder/venv/bin/python" --version
echo "$folder/venv/bin/python"
