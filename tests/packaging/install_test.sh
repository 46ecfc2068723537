#!/usr/bin/env bash
# Installs a build into a folder of its own and runs what is there. Arguments: cmake, the build folder, its `lockstep`.
set -euo pipefail
cmake=$1 build=$2 built=$3
source=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset DESTDIR LOCKSTEP_PROGRAM LOCKSTEP_HWRUNNER LOCKSTEP_PYTHON
# Empty of settings and of display. Temporary files go where they are removed, too.
export HOME="$folder/home" XDG_RUNTIME_DIR="$folder/home" TMPDIR="$folder/home" QT_QPA_PLATFORM=offscreen
mkdir -m 700 "$HOME"
prefix="$folder/a prefix" # with a blank

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
program() { "$prefix/bin/$1" "${@:2}" || fail "$* ends with $?"; }

"$cmake" --install "$build" --prefix "$prefix" >"$folder/install.log" || fail "cmake --install: $(tail -n 5 "$folder/install.log")"
cd "$folder" # away from the source

# The programs fall back to the source tree, so that nothing is missing here does not show that all is there: compare.
data=$prefix/share/lockstep
for file in $(cd "$source" && find models/examples topologies scenarios -name '*.yaml' -o -name '*.json'); do
  cmp "$source/$file" "$data/$file" || fail "$file is not installed as it is"
done
[[ $(program lockstep --version) == $("$built" --version) ]] || fail "another version"
[[ $(program lockstep predict second-node-10gbe) == $("$built" predict second-node-10gbe) ]] || fail "another prediction"
# Files that only the installed folders have: those are read, and read first.
printf 'question: Is this one found?\nmodel: resnet18\nbatch: {per_gpu: 8}\ntopology: only-here\ngpus: [2]\n' \
  >"$data/scenarios/gallery/a-new-question.yaml"
sed 's/^name: .*/name: only-here/' "$data/topologies/nodes/dgx-a100-80gb.yaml" >"$data/topologies/nodes/only-here.yaml"
[[ $(program lockstep list scenarios --quiet) == *a-new-question* ]] || fail "scenarios are not read from $data"
[[ $(program lockstep predict a-new-question --estimate) == *"on only-here"* ]] || fail "topologies are not read from $data"
program lockstep predict own-model --estimate >/dev/null # its model lies in a folder of its own
bash -n "$prefix/share/bash-completion/completions/lockstep"
for file in README.md LICENSE docs/interface.md scenarios/README.md; do
  [[ -s $prefix/share/doc/lockstep/$file ]] || fail "$file is not among the documents"
done

# `measure` hands the installed front end to Python.
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s"\nexit 1\n' "$folder/asked" >"$folder/python"
chmod +x "$folder/python"
LOCKSTEP_PYTHON="$folder/python" "$prefix/bin/lockstep" measure cpu-two-ranks --set front_end=python >/dev/null 2>&1 || true
grep -qxF "$data/lockstep_train.py" "$folder/asked" || fail "the front end in $data is not the one that is started"

# The hardware runner finds its LibTorch.
for runner in lockstep-hwrunner lockstep-hwrunner-cuda; do
  if [[ -x $build/bin/$runner ]]; then [[ $(program "$runner" probe) == *'"protocol"'* ]] || fail "$runner does not start"; fi
done

if [[ ! -x $build/bin/lockstep-gui ]]; then exit 0; fi
[[ $(program lockstep-gui --version) == "lockstep-gui $(program lockstep --version | tr -dc '0-9.')" ]] || fail "another window"
program lockstep-gui --export "$folder/views" a-new-question >/dev/null
for kind in png svg pdf csv; do
  [[ -s $folder/views/a-new-question-efficiency.$kind ]] || fail "no $kind of the efficiency"
done
grep -q 'only-here' "$folder/views/a-new-question-report.html" || fail "the report says nothing of the machine"
for file in "$source"/scenarios/*.yaml "$source"/scenarios/gallery/*.yaml; do
  [[ -s $data/answers/$(basename "$file" .yaml).json ]] || fail "no answer of $file"
done
for file in "$build"/share/lockstep/i18n/*.qm; do
  if [[ -e $file ]]; then cmp "$file" "$data/i18n/$(basename "$file")"; fi
done

# A result alone brings its scenario, and an export says nothing that was not asked for.
program lockstep predict second-node-10gbe --estimate --json -o "$folder/result.json"
program lockstep-gui --export "$folder/of-result" "$folder/result.json" >/dev/null 2>"$folder/said"
[[ -s $folder/of-result/result-efficiency.png ]] || fail "no charts of a result alone: $(ls "$folder/of-result")"
[[ ! -s $folder/said ]] || fail "an export says: $(cat "$folder/said")"
# Without a display one line says what to do, with exit code 2.
code=0
said=$(env -u QT_QPA_PLATFORM -u DISPLAY -u WAYLAND_DISPLAY "$prefix/bin/lockstep-gui" 2>&1) || code=$?
[[ $code == 2 && $said == *--export* && $(wc -l <<<"$said") == 1 ]] || fail "without a display: code $code, $said"
# The window starts, and reads its gallery, answers and words here. What is read shows as a newer time of access, where the
# file system keeps those.
card=$data/scenarios/gallery/strong-scaling.yaml answer=$data/answers/strong-scaling.json words=$data/i18n/lockstep_en.qm
echo old >"$folder/probe"
touch -a -d 2001-01-01 "$folder/probe" "$card" "$answer"
if [[ -e $words ]]; then touch -a -d 2001-01-01 "$words"; fi
cat "$folder/probe" >/dev/null
LANG=C.UTF-8 "$prefix/bin/lockstep-gui" 2>"$folder/said" &
window=$!
for ((i = 0; i < 300; ++i)); do
  sleep 0.1
  kill -0 "$window" 2>/dev/null || fail "the window ended: $(cat "$folder/said")"
  if ((i >= 20)) && [[ $(stat -c %X "$answer") -gt 1000000000 ]]; then break; fi
  if ((i >= 20)) && [[ $(stat -c %X "$folder/probe") -lt 1000000000 ]]; then break; fi
done
kill "$window"
wait "$window" || true
if [[ $(stat -c %X "$folder/probe") -gt 1000000000 ]]; then
  for file in "$card" "$answer" "$words"; do
    if [[ -e $file ]]; then [[ $(stat -c %X "$file") -gt 1000000000 ]] || fail "the window does not read $file"; fi
  done
fi

# What the desktop reads: entry, description, icon in all sizes, type of file.
entry=$prefix/share/applications/io.github.lockstep.lockstep-gui.desktop
if command -v desktop-file-validate >/dev/null; then desktop-file-validate "$entry" || fail "$entry"; fi
about=$prefix/share/metainfo/io.github.lockstep.lockstep-gui.metainfo.xml
grep -q "<release version=\"$(program lockstep --version | tr -dc '0-9.')\"" "$about" || fail "$about has another version"
if command -v appstreamcli >/dev/null; then
  appstreamcli validate --no-net "$about" >"$folder/said" || fail "appstreamcli: $(cat "$folder/said")"
fi
icon=$(sed -n 's/^Icon=//p' "$entry")
type=$(sed -n 's/^MimeType=\(.*\);$/\1/p' "$entry")
grep -q "<mime-type type=\"$type\">" "$prefix/share/mime/packages/lockstep.xml" || fail "the type $type is not explained"
[[ -s $prefix/share/icons/hicolor/scalable/apps/$icon.svg ]] || fail "no icon"
for size in 16 24 32 48 64 128 256; do
  # Bytes 16 to 23 of a PNG are its width and height.
  found=$(od -An -tu1 -j16 -N8 "$prefix/share/icons/hicolor/${size}x$size/apps/$icon.png" | tr -s ' ')
  wanted=" 0 0 $((size / 256)) $((size % 256)) 0 0 $((size / 256)) $((size % 256))"
  [[ $found == "$wanted" ]] || fail "the icon of $size pixels has size$found"
done
if command -v update-mime-database >/dev/null; then
  update-mime-database "$prefix/share/mime" 2>/dev/null
  grep -q "$type:.*lockstep.yaml" "$prefix/share/mime/globs2" || fail "the database has no $type"
fi
