#!/usr/bin/env bash
# README's second example, taken anew on this machine: the gallery's cpu-two-ranks measured, predicted with the measured
# speed of one rank, and compared. Prints the block of README; --write puts it there.
#
#   tests/testbed/readme_example.sh [--write]
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
PATH=$PWD/build/release/bin:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

load=$(cut -d ' ' -f 1 /proc/loadavg)
(cd "$folder" && lockstep measure cpu-two-ranks --json -o measured.json)
read -r speed machine < <(python3 - "$folder/measured.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1], encoding="utf-8"))
single, machine = result["runs"][0], result["machine"]
print(f"{single['throughput']:.3g}img/s", f"{machine.get('cpu', 'a CPU')}, {machine['cores']} cores")
PYTHON
)
predict="lockstep predict cpu-two-ranks --set calibrate.single_gpu=$speed --json -o predicted.json"
(cd "$folder" && $predict)

{
  echo "<!-- Output of: tests/testbed/readme_example.sh ($machine; $(date -u +%F); load before: $load). It differs from run to run. -->"
  echo '```text'
  echo '$ lockstep measure cpu-two-ranks --json -o measured.json'
  echo "\$ $predict"
  echo '$ lockstep compare predicted.json measured.json'
  (cd "$folder" && lockstep compare predicted.json measured.json)
  echo '```'
  echo '<!-- End of output. -->'
} >"$folder/block"

if [[ ${1:-} == --write ]]; then
  awk -v block="$folder/block" '
    /^<!-- Output of: tests\/testbed\/readme_example.sh/ { while ((getline line < block) > 0) print line; inside = 1 }
    !inside { print }
    /^<!-- End of output. -->/ { inside = 0 }' README.md >"$folder/README.md"
  cat "$folder/README.md" >README.md
else
  cat "$folder/block"
fi
