#!/usr/bin/env bash
# A cluster of N hosts on one machine: network namespaces joined by a bridge, every link shaped to RATE by tbf, and
# COMMAND run so that each rank that `lockstep measure` starts lives in a host of its own (rank i in the i-th).
#
#   tests/testbed/in_namespaces.sh 8 200mbit lockstep measure FILE --paced --dilate 100
#
# Needs root (77 without it, or without tc). What it made is removed when it ends, however it ends: a second process
# sees to that even when this one is killed. Two at a time do not meet: every host is in namespaces of its own.
set -euo pipefail

if [[ ${1:-} == --rank ]]; then # one rank: LOCKSTEP_HWRUNNER points here
  shift
  if [[ -z ${RANK:-} ]]; then exec "$LOCKSTEP_TESTBED_RUNNER" "$@"; fi
  export MASTER_ADDR=$LOCKSTEP_TESTBED_NET.1 GLOO_SOCKET_IFNAME=eth0
  exec ip netns exec "$LOCKSTEP_TESTBED_NAME-$RANK" "$LOCKSTEP_TESTBED_RUNNER" "$@"
fi

# Removes what a run named $1 with the runner $2 made. Whoever still lives in its hosts ends first.
clean_up() {
  local host
  for host in $(ip netns list | sed -n "s/^\($1-[^ ]*\).*/\1/p"); do
    ip netns pids "$host" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$host" 2>/dev/null || true
  done
  rm -f "$2"
}

if [[ ${1:-} == --watch ]]; then # PID NAME RUNNER: once PID is gone, however it went
  trap '' INT TERM HUP
  tail --pid="$2" -f /dev/null
  clean_up "$3" "$4"
  exit
fi

if (($# < 3)); then
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
hosts=$1 rate=$2
shift 2
if [[ ! $hosts =~ ^[1-9][0-9]?$ ]] || ((hosts > 64)); then
  echo "in_namespaces.sh: the number of hosts is '$hosts', not 1 to 64" >&2
  exit 1
fi
if [[ ! $rate =~ ^[0-9]+[kmg]?bit$ ]]; then
  echo "in_namespaces.sh: the rate is '$rate', not like 200mbit" >&2
  exit 1
fi
if [[ $(id -u) != 0 ]] || ! command -v tc >/dev/null || ! command -v ip >/dev/null; then
  echo "in_namespaces.sh: skipped: it takes root and iproute2 (ip, tc) to make hosts" >&2
  exit 77
fi
# Containers and small kernels lack one thing or another; everything here goes with the namespace that it is tried in.
tried='ip link add end0 type veth peer name end1 && ip link add join0 type bridge &&
  tc qdisc add dev end0 root tbf rate 1gbit burst 72000 latency 30ms'
if ! why=$(unshare --net bash -c "$tried" 2>&1); then
  echo "in_namespaces.sh: skipped: no network namespaces with veth, bridge and tbf here: $why" >&2
  exit 77
fi

# tbf counts a packet of the sender with the headers of all frames that it will become: 45 x (1448 + 66) bytes. A burst
# below that splits packets into frames, which costs the CPU and 3 to 5 % of the rate (67 000 bytes did; +0.0 % with
# 72 000). One that is too large lets messages through at the speed of the machine.
bits=$(numfmt --from=si "$(sed -E 's/bit$//; s/g/G/; s/m/M/; s/k/K/' <<<"$rate")")
burst=$((bits / 8 / 500))
if ((burst < 72000)); then burst=72000; fi

name=lockstep$$
switch=$name-switch
runner=$(mktemp "${TMPDIR:-/tmp}/lockstep-rank.XXXXXX")
self=$(readlink -f "${BASH_SOURCE[0]}")
command_pid=
finish() {
  if [[ -n $command_pid ]] && kill -TERM "$command_pid" 2>/dev/null; then wait "$command_pid" || true; fi
  clean_up "$name" "$runner"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
setsid bash "$self" --watch $$ "$name" "$runner" </dev/null >/dev/null 2>&1 &

ip netns add "$switch"
ip -n "$switch" link add br0 type bridge
ip -n "$switch" link set br0 up
for ((host = 0; host < hosts; ++host)); do
  ip netns add "$name-$host"
  ip -n "$name-$host" link set lo up
  ip -n "$switch" link add "p$host" type veth peer name eth0 netns "$name-$host"
  ip -n "$switch" link set "p$host" master br0 up
  ip -n "$name-$host" addr add "10.77.0.$((host + 1))/24" dev eth0
  ip -n "$name-$host" link set eth0 up
  ip netns exec "$name-$host" tc qdisc add dev eth0 root tbf rate "$rate" burst "$burst" latency 30ms
  ip netns exec "$switch" tc qdisc add dev "p$host" root tbf rate "$rate" burst "$burst" latency 30ms
  # bbr, where it is the default, is a few per cent slower than the wire here
  ip netns exec "$name-$host" sysctl -qw net.ipv4.tcp_congestion_control=reno
done

printf '#!/bin/sh\nexec bash %q --rank "$@"\n' "$self" >"$runner"
chmod +x "$runner"
if [[ -z ${LOCKSTEP_TESTBED_RUNNER:-} ]]; then
  LOCKSTEP_TESTBED_RUNNER=${LOCKSTEP_HWRUNNER:-$(dirname "$(command -v "$1")")/lockstep-hwrunner}
fi
export LOCKSTEP_TESTBED_RUNNER LOCKSTEP_TESTBED_NAME=$name LOCKSTEP_TESTBED_NET=10.77.0 LOCKSTEP_HWRUNNER=$runner
export LOCKSTEP_NODES_HERE=1
# In the background, so that a signal to this script is heard at once; it goes down with it.
setpriv --pdeathsig TERM -- "$@" &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"
