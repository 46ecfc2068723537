#!/usr/bin/env bash
# Runs COMMAND with a Slurm of its own: one node, this machine, with munge for its credentials; `srun` works in it. Daemons,
# keys and logs live in a new folder and end with the command.
#
#   tests/hwrunner/with_slurm.sh srun -n 2 lockstep measure FILE
#
# Needs root and Debian's packages slurm-wlm and munge, and a machine where their daemons start (77 without them).
set -euo pipefail

if [[ $(id -u) != 0 ]]; then
  echo "with_slurm.sh: skipped: it takes root to start Slurm's daemons" >&2
  exit 77
fi
for program in srun slurmctld slurmd munged; do
  if ! PATH=$PATH:/usr/sbin command -v "$program" >/dev/null; then
    echo "with_slurm.sh: skipped: $program is not there (apt-get install slurm-wlm munge)" >&2
    exit 77
  fi
done
PATH=$PATH:/usr/sbin

folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-slurm.XXXXXX")
chmod 755 "$folder"
clean_up() {
  local name pid
  for name in slurmd slurmctld munged; do
    pid=$(cat "$folder/$name.pid" 2>/dev/null || true)
    if [[ -z $pid ]]; then continue; fi
    kill "$pid" 2>/dev/null || true
    for _ in {1..100}; do
      if ! kill -0 "$pid" 2>/dev/null; then break; fi
      sleep 0.05
    done
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" >/dev/null 2>&1

host=$(hostname)
mkdir "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<CONF
ClusterName=lockstep
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=${LOCKSTEP_TASK_PLUGIN:-task/none}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
if slurmctld -f "$SLURM_CONF"; then slurmd -f "$SLURM_CONF" || true; fi
for _ in {1..200}; do
  if [[ $(sinfo -h -o %T 2>/dev/null) == idle ]]; then break; fi
  sleep 0.1
done
if [[ $(sinfo -h -o %T 2>/dev/null) != idle ]]; then
  echo "with_slurm.sh: skipped: Slurm's daemons do not come up here" >&2
  tail -n 5 "$folder"/*.log >&2 || true
  exit 77
fi
"$@"
