#!/usr/bin/env bash
# The tests of the window once more on an X server, where a window has a manager's frame, a real clipboard and real focus.
# Arguments: programs. Ends with 77 where there is no Xvfb.
set -uo pipefail
if ! command -v xvfb-run >/dev/null || ! command -v Xvfb >/dev/null; then
  echo "no Xvfb here (Debian's xvfb)"
  exit 77
fi
export LOCKSTEP_TEST_PLATFORM=xcb
failed=0
for program in "$@"; do
  log=$(mktemp)
  if xvfb-run -a -s '-screen 0 1600x1200x24' "$program" >"$log" 2>&1; then
    echo "$(basename "$program"): $(grep -E '^\[  PASSED  \]' "$log")"
  else
    echo "$(basename "$program") under Xvfb:"
    grep -vE '^\[( +OK|-+| RUN)' "$log"
    failed=1
  fi
  rm -f "$log"
done
exit "$failed"
