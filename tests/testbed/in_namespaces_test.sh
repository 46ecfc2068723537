#!/usr/bin/env bash
# in_namespaces.sh leaves nothing behind: when its command ends, fails or cannot start, when it is told to stop, when it
# is killed, and when two run at once. 77 where it cannot run.
set -euo pipefail
script=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/in_namespaces.sh
export TMPDIR
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT

bash "$script" 1 1gbit true || exit $?

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
hosts_of() { ip netns list | grep -c "^lockstep$1-" || true; }
until_true() { # TEXT COMMAND...: within 20 s
  local text=$1 tries
  shift
  for ((tries = 0; tries < 200; ++tries)); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  fail "$text"
}
nothing_is_left() { [[ $(hosts_of "$1") == 0 && -z $(ls "$TMPDIR") ]]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
has_hosts() { [[ $(hosts_of "$1") == "$2" && -s $TMPDIR/up$1 ]]; }

start() { # HOSTS: in the background; `pid` is the script
  bash "$script" "$1" 100mbit bash -c 'echo $$ >"$TMPDIR/up$PPID"; exec sleep 300' &
  pid=$!
  until_true "the hosts of $pid do not come up" has_hosts "$pid" $(($1 + 1))
}

status=0
bash "$script" 2 100mbit bash -c 'exit 3' || status=$?
[[ $status == 3 ]] || fail "the command's status is lost: $status"
status=0
bash "$script" 2 100mbit no-such-command 2>/dev/null || status=$?
[[ $status != 0 ]] || fail "a command that is not there succeeds"
[[ -z $(ls "$TMPDIR") ]] || fail "files are left: $(ls "$TMPDIR")"
for wrong in '0 1gbit' '2 fast' 'many 1gbit'; do
  # shellcheck disable=SC2086 # two words
  if bash "$script" $wrong true 2>/dev/null; then fail "accepted: $wrong"; fi
done

for signal in TERM INT HUP KILL; do
  # A background process of a script ignores Ctrl-C unless it has a group of its own.
  set -m
  start 3
  set +m
  command=$(<"$TMPDIR/up$pid")
  kill -"$signal" "$pid"
  wait "$pid" 2>/dev/null || true
  rm -f "$TMPDIR/up$pid"
  until_true "after $signal something is left of $pid" nothing_is_left "$pid"
  until_true "the command outlives $signal" is_gone "$command"
done

start 2
first=$pid
start 2
second=$pid
[[ $(hosts_of "$first") == 3 && $(hosts_of "$second") == 3 ]] || fail "two runs at once share hosts"
kill -TERM "$first"
wait "$first" 2>/dev/null || true
[[ $(hosts_of "$first") == 0 && $(hosts_of "$second") == 3 ]] || fail "the end of one run takes hosts of another"
kill -TERM "$second"
wait "$second" 2>/dev/null || true
rm -f "$TMPDIR"/up*
until_true "something is left" nothing_is_left "$second"
echo "nothing is left behind"
