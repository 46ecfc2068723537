#!/usr/bin/env bash
# cpu_standins.sh LIBTORCH: lets the Python of the venv LIBTORCH import its CUDA wheel of PyTorch for the CPU without the
# 2.2 GB of CUDA libraries. The loader wants each library that libtorch_python.so names, though the CPU part calls none
# of them. Where one is missing, an empty library of its name is made in LIBTORCH/standin, in which every function that
# PyTorch asks for ends the process; LIBTORCH/bin/python-cpu is the venv's Python with that folder in its library path.
# Nothing is made where none is missing. Needs gcc and binutils.
set -euo pipefail
venv=$(cd "$1" && pwd)
out="$venv/standin"
rm -rf "$out" "$venv/bin/python-cpu"
packages=("$venv"/lib/python3*/site-packages)
libraries="${packages[0]}/torch/lib"
asking=()
for one in libtorch_python.so libtorch_cuda.so libtorch_nvshmem.so libc10_cuda.so; do
  if [[ -f $libraries/$one ]]; then asking+=("$libraries/$one"); fi
done
if ((${#asking[@]} == 0)); then exit 0; fi

there() { compgen -G "$libraries/$1" >/dev/null || compgen -G "${packages[0]}/nvidia/*/lib/$1" >/dev/null; }
missing=()
while read -r name; do
  if ! there "$name"; then missing+=("$name"); fi
done < <(readelf -d "${asking[@]}" | sed -n 's/.*NEEDED.*\[\(lib\(cu\|nv\|nccl\).*\)\]/\1/p' | sort -u)
if ((${#missing[@]} == 0)); then exit 0; fi

mkdir "$out"
trap 'rm -rf "$out" "$venv/bin/python-cpu"' ERR
nm -D --undefined-only "${asking[@]}" | awk 'NF == 2 {print $2}' | sort -u >"$out/wanted"
# "version library" for each symbol version that is asked of a library.
readelf -V "${asking[@]}" |
  sed -n 's/.*File: \([^ ]*\).*/F \1/p; s/.*Name: \([^ ]*\).*Flags.*/N \1/p' |
  awk '$1 == "F" {file = $2} $1 == "N" {print $2, file}' | sort -u >"$out/versions"

loose=true # symbols without a version: all in the first library that has none
for name in "${missing[@]}"; do
  version=$(awk -v file="$name" '$2 == file {print $1; exit}' "$out/versions")
  script=()
  if [[ -n $version ]]; then
    grep -F "@$version" "$out/wanted" >"$out/symbols" || true
    echo "$version { global: *; };" >"$out/map"
    script=(-Wl,--version-script="$out/map")
  elif $loose; then
    grep -E '^(cu|nccl|nvshmem)[A-Za-z0-9_]*$' "$out/wanted" >"$out/symbols" || true
    loose=false
  else
    : >"$out/symbols"
  fi
  {
    echo '__attribute__((visibility("hidden"))) void lockstep_no_cuda(void) { __builtin_trap(); }'
    sed 's/@.*//; s/.*/void &(void) __attribute__((alias("lockstep_no_cuda")));/' "$out/symbols"
  } >"$out/source.c"
  gcc -shared -nostdlib "$out/source.c" -Wl,-soname,"$name" "${script[@]}" -o "$out/$name"
done
rm -f "$out"/{wanted,versions,symbols,map,source.c}
cat >"$venv/bin/python-cpu" <<'TEXT'
#!/bin/sh
# Made by cpu_standins.sh: PyTorch for the CPU without CUDA's libraries.
bin=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$(dirname "$bin")/standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$bin/python" "$@"
TEXT
chmod +x "$venv/bin/python-cpu"
