#!/usr/bin/env bash
# A cluster of N hosts on one machine: network namespaces joined by a bridge, every link shaped to RATE by tbf, and
# COMMAND run so that each rank that `lockstep measure` starts lives in a host of its own (rank i in the i-th).
#
#   tests/testbed/in_namespaces.sh 8 200mbit lockstep measure FILE --paced --dilate 100
#
# Needs root (77 without it, or without tc). What it made is removed when it ends, however it ends.
set -euo pipefail

if [[ ${1:-} == --rank ]]; then # one rank: LOCKSTEP_HWRUNNER points here
  shift
  if [[ -z ${RANK:-} ]]; then exec "$LOCKSTEP_TESTBED_RUNNER" "$@"; fi
  export MASTER_ADDR=$LOCKSTEP_TESTBED_NET.1 GLOO_SOCKET_IFNAME=eth0
  exec ip netns exec "$LOCKSTEP_TESTBED_NAME-$RANK" "$LOCKSTEP_TESTBED_RUNNER" "$@"
fi

if (($# < 3)); then
  sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
hosts=$1 rate=$2
shift 2
if [[ $(id -u) != 0 ]] || ! command -v tc >/dev/null || ! command -v ip >/dev/null; then
  echo "in_namespaces.sh: skipped: it takes root and iproute2 (ip, tc) to make hosts" >&2
  exit 77
fi

name=lockstep$$
switch=$name-switch
# A burst below one packet of the sender halves the rate or splits packets; one that is too large lets messages through
# at the speed of the machine.
bits=$(numfmt --from=si "$(sed -E 's/bit$//; s/g/G/; s/m/M/; s/k/K/' <<<"$rate")")
burst=$((bits / 8 / 500))
if ((burst < 67000)); then burst=67000; fi

clean_up() {
  local host
  for ((host = 0; host < hosts; ++host)); do ip netns del "$name-$host" 2>/dev/null || true; done
  ip netns del "$switch" 2>/dev/null || true
  rm -f "$runner"
}
runner=$(mktemp "${TMPDIR:-/tmp}/lockstep-rank.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

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
  ip netns exec "$name-$host" tc qdisc add dev eth0 root tbf rate "$rate" burst "$burst" latency 100ms
  ip netns exec "$switch" tc qdisc add dev "p$host" root tbf rate "$rate" burst "$burst" latency 100ms
  # bbr, where it is the default, is a few per cent slower than the wire here
  ip netns exec "$name-$host" sysctl -qw net.ipv4.tcp_congestion_control=reno
done

self=$(readlink -f "${BASH_SOURCE[0]}")
printf '#!/bin/sh\nexec bash %q --rank "$@"\n' "$self" >"$runner"
chmod +x "$runner"
if [[ -z ${LOCKSTEP_TESTBED_RUNNER:-} ]]; then
  LOCKSTEP_TESTBED_RUNNER=${LOCKSTEP_HWRUNNER:-$(dirname "$(command -v "$1")")/lockstep-hwrunner}
fi
export LOCKSTEP_TESTBED_RUNNER LOCKSTEP_TESTBED_NAME=$name LOCKSTEP_TESTBED_NET=10.77.0 LOCKSTEP_HWRUNNER=$runner
"$@"
