#!/bin/bash
# Measures how the sensors of this machine's NVIDIA board behave. Usage: run.sh FOLDER
# Needs gcc, an NVIDIA driver, and nvcc for the load (without nvcc only the idle phases are meaningful).
# Takes less than seven minutes; changes no setting of the board. Writes at most eight files to FOLDER.
set -u
out=${1:?usage: run.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
{
    date -u +%FT%TZ
    uname -srm
    gcc -std=gnu17 -O2 -Wall -Wextra -D_GNU_SOURCE -I"$here/../../src" "$here"/{probe,facts,latency,poll}.c \
        -o "$work/probe" -pthread -ldl || exit 1
    wave=${SQUARE_WAVE:-$work/square_wave}
    if [ -z "${SQUARE_WAVE:-}" ]; then
        nvcc -O3 -arch=native "$here/square_wave.cu" -o "$wave" || nvcc -O3 "$here/square_wave.cu" -o "$wave" || wave=-
    fi
    echo "load: ${wave##*/}"
    timeout 400 "$work/probe" "$out" "$wave"
    echo "probe ended with status $?"
    python3 "$here/analyse.py" "$out"
} 2>&1 | tee "$out/log.txt"
