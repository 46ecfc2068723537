#!/usr/bin/env bash
# One command from a fresh Debian 12 to an answer: installs what is missing, configures, builds, runs.
# A second run does only what is left to do. `./lockstep.sh help` lists the commands.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs="$root/build/logs"
libtorch="$root/.lockstep/libtorch"
demo_scenario=scenarios/dp-vs-ddp-resnet50-8xa100.yaml

core_packages=(g++ cmake ninja-build ccache pkg-config libsimgrid-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev
  libfmt-dev libexpected-dev libsqlite3-dev zlib1g-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3-jsonschema)
sanitizer_packages=(clang-14 libclang-rt-14-dev)
window_packages=(qt6-base-dev qt6-charts-dev libqt6opengl6-dev qt6-svg-dev qt6-tools-dev qt6-l10n-tools libgl-dev fonts-dejavu-core
  librsvg2-bin poppler-utils desktop-file-utils)
tidy_packages=(clang-tidy-14 git)
testbed_packages=(iproute2 python3 util-linux)
package_packages=(dpkg-dev file help2man)
fresh_packages=(debootstrap git util-linux)
# For tests of `lockstep measure` under launchers, which are skipped without them; installed in CI only.
launcher_packages=(slurm-wlm munge openmpi-bin iproute2)
# For tests of the window on an X server and of what software centres read: 8 MB and 3 MB. In the same way.
desktop_packages=(xvfb xauth appstream)

# LibTorch for the hardware runner: the wheel of PyPI and the packages of its CUDA that go with it. The first line is all
# that a CPU needs; `cuda` adds what a GPU needs to run and what its files need to compile.
libtorch_cpu=(torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)
libtorch_cuda=(nvidia-nccl-cu13==2.28.9 nvidia-nvshmem-cu13==3.4.5 nvidia-cusparselt-cu13==0.8.0
  nvidia-cudnn-cu13==9.19.0.56 nvidia-cublas==13.1.0.3 nvidia-cufft==12.0.0.61 nvidia-curand==10.4.0.35
  nvidia-cusparse==12.6.3.3 nvidia-cufile==1.15.1.6 nvidia-nvjitlink==13.0.88 nvidia-cusolver==12.0.4.66
  nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85 nvidia-cuda-nvrtc==13.0.88 nvidia-nvml-dev==13.0.87)
# What PyTorch's Python wants beside them (48 MB, 4 s): for the runner's Python front end and its tests.
libtorch_python=(typing_extensions==4.16.0 filelock==4.3.1 fsspec==2026.9.0 jinja2==3.1.6 markupsafe==3.0.4
  sympy==1.14.0 mpmath==1.4.1 networkx==3.6.1)
libtorch_pip=pip==25.3 # goes on where a download broke off

usage() {
  cat <<'TEXT'
usage: ./lockstep.sh COMMAND [OPTIONS]

  demo                   build, then predict ResNet-50 under DP and DDP on eight A100
  test [--preset NAME]   build everything and run every test (release; or dev, dev-asan)
  build [--preset NAME]  build the programs and the tests
  gui [FILE]             build and open the window
  bench [OPTIONS]        build and run the benchmarks; options go to the benchmark program
  testbed [--quick] [--out DIR] [CASES]
                         a cluster on this machine (root): predictions held against real ranks on shaped links
  golden [--update]      run the golden scenarios; --update accepts their new times and prints old -> new
  tidy [FILES]           clang-tidy on the files that this branch changes, or on those named
  fresh [--keep]         run demo and test on the last commit in a bare Debian 12 under build/ (as root)
  package                build a Debian package of the programs and their files into build/release/, and print its path
  libtorch [cpu|cuda]    fetch LibTorch for the hardware runner into .lockstep/ (cpu 1.2 GB; cuda, for GPUs too, 4 GB);
                         build and test do that too; `libtorch remove` removes it
  clean                  remove build/ (LibTorch stays)

Later versions bring: fuzz. Logs are kept in build/logs/.
LOCKSTEP_LIBTORCH=cpu|cuda says which LibTorch build and test see to (cuda where there is an NVIDIA GPU, else cpu), none
that they fetch nothing. LOCKSTEP_WINDOW=none: build and test install no Qt, and leave the window out where there is none.
A LibTorch of your own, 2.6 or newer: `export CMAKE_PREFIX_PATH=DIR` (then none is fetched).
CI=true makes warnings errors, NO_COLOR=1 switches colours off, LOCKSTEP_JOBS=N sets the number of processes,
LOCKSTEP_MIRROR=URL names the Debian mirror of `fresh` (the one of this machine otherwise).
TEXT
}

# --- What the person sees (on stderr; results alone go to stdout) -------------------------------

interactive=false
if [[ -t 2 ]]; then interactive=true; fi
red='' green='' plain=''
if $interactive && [[ -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${red}lockstep.sh: $*${plain}"
  exit 1
}

# While process $1 runs, shows the last line of its log $3 behind the title $2.
show_progress() {
  local width line
  width=$(tput cols 2>/dev/null || echo 80)
  while kill -0 "$1" 2>/dev/null; do
    line=$(tail -n 1 "$3" 2>/dev/null | tr -d '\r' || true)
    line="$2: $line"
    printf '\r\e[K%s' "${line:0:width-1}" >&2
    sleep 0.3
  done
  printf '\r\e[K%s: ' "$2" >&2
}

# step TITLE NAME COMMAND...: runs the command with its output in build/logs/NAME.log; its status is the step's.
step() {
  local title=$1 log="$logs/$2.log" start=$SECONDS status=0
  shift 2
  mkdir -p "$logs"
  printf '%s: ' "$title" >&2
  set -m # a process group of its own, so that it can be stopped as a whole
  "$@" >"$log" 2>&1 </dev/null &
  running=$!
  set +m
  if $interactive; then show_progress "$running" "$title" "$log"; fi
  wait "$running" || status=$?
  running=
  if ((status == 0)); then
    say "${green}done${plain} in $((SECONDS - start)) s"
  else
    say "${red}failed${plain} after $((SECONDS - start)) s"
  fi
  return "$status"
}

# As step, but a failure ends the script with the end of the log (where the errors of a compiler stand, those first).
must() {
  local log="$logs/$2.log"
  step "$@" && return 0
  { grep -E '(error|Error|fatal|E:)[: ]' "$log" | head -n 20; echo '...'; tail -n 30 "$log"; } >&2 || true
  die "$1 failed; the whole log is $log"
}

# attached COMMAND...: as step, but the command keeps the terminal.
attached() {
  local status=0
  set -m
  "$@" </dev/null &
  running=$!
  set +m
  wait "$running" || status=$?
  running=
  return "$status"
}

# A step that is still running goes down with the script, and so does the bare system of `fresh`.
running='' discard=''
clean_up() {
  local tries
  if [[ -n $running ]] && kill -- "-$running" 2>/dev/null; then
    for ((tries = 0; tries < 15; tries++)); do
      kill -0 -- "-$running" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL -- "-$running" 2>/dev/null || true
  fi
  if [[ -n $discard ]]; then rm -rf --one-file-system "$discard"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- Packages -----------------------------------------------------------------------------------

missing_packages() {
  local package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then echo "$package"; fi
  done
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q && apt-get install -y -q --no-install-recommends "$@"
}

need_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt-get here: please see to the counterparts of these Debian packages yourself: $*"
    return 0
  fi
  mapfile -t missing <<<"$(missing_packages "$@")"
  if [[ -z ${missing[*]} ]]; then return 0; fi
  if ((EUID != 0)); then
    say "Some packages are missing. Run this line, then the same command again:"
    say "sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    exit 1
  fi
  must "Installing ${#missing[@]} packages" packages apt_install "${missing[@]}"
}

# --- LibTorch -----------------------------------------------------------------------------------

libtorch_kind() {
  if [[ -n ${LOCKSTEP_LIBTORCH:-} ]]; then
    echo "$LOCKSTEP_LIBTORCH"
  elif [[ -n ${CMAKE_PREFIX_PATH:-} && -n $(find_libtorch_in "$CMAKE_PREFIX_PATH") ]]; then
    echo none
  elif [[ -e /dev/nvidiactl ]]; then
    echo cuda
  else
    echo cpu
  fi
}

find_libtorch_in() {
  local folder
  while IFS= read -r -d : folder; do
    if [[ -f $folder/include/torch/csrc/distributed/c10d/reducer.hpp ||
      -f $folder/../../include/torch/csrc/distributed/c10d/reducer.hpp ]]; then echo "$folder"; fi
  done <<<"$1:"
}

libtorch_wanted() {
  case $1 in
    cpu) printf '%s\n' "${libtorch_cpu[@]}" "${libtorch_python[@]}" ;;
    cuda) printf '%s\n' "${libtorch_cpu[@]}" "${libtorch_cuda[@]}" "${libtorch_python[@]}" ;;
  esac
}

# What of kind $1 is not there yet, by the folders that pip leaves when a package is complete.
libtorch_missing() {
  local package name
  while read -r package; do
    name=${package%%==*}
    if ! compgen -G "$libtorch/lib/python3*/site-packages/${name//-/_}-${package##*==}.dist-info/RECORD" >/dev/null; then
      echo "$package"
    fi
  done < <(libtorch_wanted "$1")
}

# Package by package, so that a second run goes on where the first was stopped; the small ones of Python at once. Lines
# of progress: what, MB of MB.
pip_install_libtorch() {
  local package pip="$libtorch/bin/pip" small=()
  # The python of Debian: another one may be first in PATH, and programs that embed this one must find the same.
  if [[ ! -x $pip ]]; then /usr/bin/python3 -m venv "$libtorch"; fi
  "$pip" install --quiet --retries 2 --timeout 20 "$libtorch_pip"
  for package in "$@"; do
    if [[ " ${libtorch_python[*]} " == *" $package "* ]]; then
      small+=("$package")
      continue
    fi
    "$pip" install --no-deps --no-input --retries 5 --resume-retries 5 --timeout 30 --progress-bar raw "$package" |
      awk -v what="$package" '/^Progress [0-9]+ of [0-9]+/ {
          if ($4 > 0 && int(100 * $2 / $4) != last) {
            last = int(100 * $2 / $4)
            printf "%s: %d of %d MB\n", what, $2 / 1e6, $4 / 1e6; fflush() }
          next }
        { print; fflush() }'
  done
  if ((${#small[@]} > 0)); then
    "$pip" install --quiet --no-deps --no-compile --no-input --retries 5 --timeout 30 "${small[@]}"
  fi
}

# The Python of a LibTorch without CUDA's libraries needs stand-ins for them; only the Python front end misses them.
see_to_standins() {
  if [[ $1 == cpu && -x $libtorch/bin/python-cpu ]]; then return 0; fi
  mkdir -p "$logs" # the first log of a build folder that `clean` has removed
  if ! "$root/hwrunner/python/cpu_standins.sh" "$libtorch" >"$logs/standins.log" 2>&1; then
    say "The Python front end is left out; the log is $logs/standins.log"
  fi
}

# fetch_libtorch KIND: 0 when all of it is there afterwards.
fetch_libtorch() {
  local missing
  if [[ $1 != cpu && $1 != cuda ]]; then die "LOCKSTEP_LIBTORCH is cpu, cuda or none, found '$1'"; fi
  mapfile -t missing < <(libtorch_missing "$1")
  if ((${#missing[@]} == 0)); then
    see_to_standins "$1"
    return 0
  fi
  if [[ ! -x $libtorch/bin/pip && -n $(missing_packages python3-venv) ]]; then
    if ((EUID != 0)); then
      say "LibTorch is fetched by Python's venv: sudo apt-get install -y python3-venv"
      return 1
    fi
    need_packages python3-venv
  fi
  if ! step "Fetching LibTorch ($1, ${#missing[@]} packages)" libtorch pip_install_libtorch "${missing[@]}"; then
    grep -iE 'error|retrying|no space' "$logs/libtorch.log" | tail -n 2 | cut -c 1-300 >&2 || true
    return 1
  fi
  see_to_standins "$1"
}

# For build and test: without LibTorch everything but the hardware runner is built, so a failure is told, not fatal.
see_to_libtorch() {
  local kind
  kind=$(libtorch_kind)
  if [[ $kind == none ]] || fetch_libtorch "$kind"; then return 0; fi
  say "LibTorch is not there (no network?): the hardware runner is left out, all the rest is built."
  say "Later: ./lockstep.sh libtorch; or a LibTorch of your own by CMAKE_PREFIX_PATH; LOCKSTEP_LIBTORCH=none asks for none."
}

run_libtorch() {
  if (($# > 1)); then die "libtorch takes cpu, cuda or remove"; fi
  case ${1:-} in
    remove) rm -rf --one-file-system "$libtorch" ;;
    '' | cpu | cuda)
      local kind=${1:-$(libtorch_kind)}
      if [[ $kind == none ]]; then kind=cpu; fi
      fetch_libtorch "$kind" || die "LibTorch is not complete; the log is $logs/libtorch.log. The same command goes on from here."
      say "LibTorch ($kind) is in .lockstep/libtorch"
      ;;
    *) die "libtorch takes cpu, cuda or remove, found '$1'" ;;
  esac
}

# --- Build --------------------------------------------------------------------------------------

jobs_count() { echo "${LOCKSTEP_JOBS:-$(nproc)}"; }

# configure PRESET: runs CMake only when the presets or the option differ from the last time; changes in a
# CMakeLists.txt are noticed by the build itself.
configure() {
  local preset=$1 stamp="$root/build/$1/configured-with" werror=OFF wanted
  if [[ ${CI:-} == true ]]; then werror=ON; fi
  wanted="$werror $(cksum <"$root/CMakePresets.json") ${CMAKE_PREFIX_PATH:-}"
  if command -v dpkg-query >/dev/null; then wanted+=" $(missing_packages qt6-charts-dev qt6-svg-dev)"; fi # the window comes with Qt
  # LibTorch as it is now: the hardware runner comes and goes with it.
  if [[ -d $libtorch ]]; then wanted+=" $(cd "$libtorch" && echo lib/python3*/site-packages/*.dist-info)"; fi
  if [[ -f "$root/build/$preset/build.ninja" && $(cat "$stamp" 2>/dev/null) == "$wanted" ]]; then return 0; fi
  must "Configuring $preset" "configure-$preset" cmake --preset "$preset" -DLOCKSTEP_WERROR=$werror
  echo "$wanted" >"$stamp"
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  # Relative paths let clones in other folders share one compiler cache.
  export CCACHE_BASEDIR=$root
  must "Building ${*:-everything} ($preset)" "build-$preset" \
    cmake --build --preset "$preset" -j "$(jobs_count)" ${1:+--target "$@"}
}

# Reads the options of build and test: sets `preset` and installs what it needs.
read_preset() {
  preset=release
  if [[ ${1:-} == --preset && $# == 2 ]]; then
    preset=$2
  elif (($# > 0)); then
    die "unknown option '$1': only --preset release|dev|dev-asan is understood here"
  fi
  case $preset in
    release | dev)
      if [[ ${LOCKSTEP_WINDOW:-} == none ]]; then
        need_packages "${core_packages[@]}"
      else
        need_packages "${core_packages[@]}" "${window_packages[@]}"
      fi
      ;;
    dev-asan) need_packages "${core_packages[@]}" "${sanitizer_packages[@]}" ;;
    *) die "unknown preset '$preset': release, dev or dev-asan" ;;
  esac
}

# --- Commands -----------------------------------------------------------------------------------

no_options() {
  if (($# > 1)); then die "$1 takes no options, found '$2'"; fi
}

run_demo() {
  no_options demo "$@"
  need_packages "${core_packages[@]}"
  configure release
  build release lockstep
  say "build/release/bin/lockstep predict $demo_scenario"
  build/release/bin/lockstep predict "$demo_scenario"
}

run_build() {
  local preset
  read_preset "$@"
  if [[ $preset != dev-asan ]]; then see_to_libtorch; fi
  configure "$preset"
  build "$preset"
  say "The programs are in build/$preset/bin/"
}

# Names of skipped tests in the log $1 that tests/skips.txt does not list.
unlisted_skips() {
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.*\*\*\*(Skipped|Not Run).*/\1/p' "$1" |
    grep -vxFf <(sed 's/ *#.*//; /^ *$/d' tests/skips.txt) || true
}

# Where these packages cannot be had, their tests are skipped.
see_to_launchers() {
  local missing
  if [[ ${CI:-} != true ]] || ((EUID != 0)); then return 0; fi
  mapfile -t missing < <(missing_packages "${launcher_packages[@]}" "${desktop_packages[@]}")
  if ((${#missing[@]} > 0)); then
    step "Installing ${#missing[@]} packages for tests" launchers apt_install "${missing[@]}" || true
  fi
}

run_test() {
  local preset log status=0 skips
  read_preset "$@"
  if [[ $preset != dev-asan ]]; then see_to_launchers; fi
  if [[ $preset != dev-asan ]]; then see_to_libtorch; fi
  configure "$preset"
  build "$preset"
  log="$logs/test-$preset.log"
  step "Testing ($preset)" "test-$preset" ctest --preset "$preset" -j "$(jobs_count)" || status=$?
  skips=$(unlisted_skips "$log")
  if ((status != 0)); then
    grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "$log" | sed '/% tests passed/,$d' | tail -n 300 >&2 || true
    say "The whole log is $log"
  elif [[ -n $skips ]]; then
    say "${red}These tests were skipped and tests/skips.txt does not list them:${plain}" $'\n'"$skips"
    status=1
  fi
  sed -n '/% tests passed/,$p' "$log"
  if ! grep -q '% tests passed' "$log"; then tail -n 5 "$log"; fi
  return "$status"
}

run_gui() {
  need_packages "${core_packages[@]}" "${window_packages[@]}"
  configure release
  build release lockstep lockstep-gui
  build/release/bin/lockstep-gui "$@"
}

# The hardware runner stays out, so LibTorch is not seen to. lintian has its say where it is installed.
run_package() {
  local package
  no_options package "$@"
  need_packages "${core_packages[@]}" "${window_packages[@]}" "${package_packages[@]}"
  configure release
  build release lockstep lockstep-gui
  rm -f build/release/lockstep_*.deb
  must "Packing" package cpack --config build/release/CPackConfig.cmake -B "$root/build/release"
  package=$(ls build/release/lockstep_*.deb)
  if command -v lintian >/dev/null; then
    must "lintian" lintian lintian --allow-root --tag-display-limit 0 --fail-on error "$package"
  fi
  say "sudo apt-get install ./$package"
  echo "$package"
}

run_bench() {
  need_packages "${core_packages[@]}"
  configure release
  build release lockstep lockstep_bench
  build/release/bin/lockstep_bench "$@"
  if grep -q '^Qt6_DIR:PATH=/' build/release/CMakeCache.txt; then
    build release lockstep-gui-bench
    build/release/bin/lockstep-gui-bench
  fi
}

# 77, with the reason, where a cluster cannot be made of this machine.
run_testbed() {
  local status=0 word
  for word in "$@"; do
    if [[ $word == --help || $word == -h ]]; then exec python3 tests/testbed/testbed.py --help; fi
  done
  if ((EUID != 0)); then
    say "testbed: skipped: it takes root to make network namespaces: sudo ./lockstep.sh testbed"
    exit 77
  fi
  need_packages "${core_packages[@]}" "${testbed_packages[@]}"
  see_to_libtorch
  configure release
  if ! grep -q '^build bin/lockstep-hwrunner:' build/release/build.ninja; then
    say "testbed: skipped: the hardware runner is not built: no LibTorch"
    exit 77
  fi
  build release lockstep lockstep-hwrunner lockstep-bare-loop
  attached python3 -B tests/testbed/testbed.py "$@" || status=$?
  return "$status"
}

run_golden() {
  if (($# > 1)) || [[ ${1:---update} != --update ]]; then die "golden takes only --update"; fi
  need_packages "${core_packages[@]}"
  configure release
  build release test_golden
  if [[ ${1:-} == --update ]]; then
    LOCKSTEP_UPDATE_GOLDEN=1 build/release/bin/test_golden --gtest_brief=1
    say "Say in the commit why the times changed."
  else
    build/release/bin/test_golden --gtest_brief=1
  fi
}

# The .cpp files that differ from where this branch left the main one (on the main branch: from the commit before).
changed_sources() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null) || return 0
  if [[ $base == "$(git rev-parse HEAD)" ]]; then
    base=$(git rev-parse --verify --quiet HEAD^) || return 0
  fi
  git diff --name-only --diff-filter=AMR "$base" -- '*.cpp'
}

run_tidy() {
  local files=("$@")
  need_packages "${core_packages[@]}" "${tidy_packages[@]}"
  if ((${#files[@]} == 0)); then mapfile -t files < <(changed_sources); fi
  if ((${#files[@]} == 0)); then return 0; fi
  configure release
  must "clang-tidy on ${#files[@]} files" tidy \
    xargs -d '\n' -a <(printf '%s\n' "${files[@]}") -P "$(jobs_count)" -n 1 clang-tidy-14 --quiet -p build/release
  grep -E 'warning:' "$logs/tidy.log" | sort -u >&2 || true
}

# The Debian mirror that this machine's own apt uses.
debian_mirror() {
  # shellcheck disable=SC2016 # apt itself expands these
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '($1 == "bookworm" || $1 == "stable") && $2 == "main" {print $3; exit}'
}

# Bare Debian in $1, with the machine's name servers and the way its apt reaches the network.
bare_certificates=/etc/ssl/host-certificates.crt
make_bare_system() {
  debootstrap --variant=minbase bookworm "$1" "$2"
  cp /etc/resolv.conf /etc/hosts "$1/etc/"
  apt-config dump | grep -E '^Acquire::(https?::(Proxy|Timeout)|Check-Valid-Until|Check-Date|Retries)' \
    >"$1/etc/apt/apt.conf.d/90host" || true
  # Behind a proxy with a certificate of its own pip needs what it has on this host.
  if [[ -f /etc/pip.conf ]]; then cp /etc/pip.conf "$1/etc/pip.conf"; fi
  if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then
    mkdir -p "$1/etc/ssl"
    cp /etc/ssl/certs/ca-certificates.crt "$1$bare_certificates"
  fi
}

# Runs a command line in $1 with mounts of its own, which vanish with it.
in_bare_system() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --pid --fork --kill-child --propagation private bash -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && mkdir -p "$1/dev/pts" &&
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" && ln -sf pts/ptmx "$1/dev/ptmx" &&
    exec chroot "$1" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 CI="${CI:-}" NO_COLOR=1 \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin LOCKSTEP_JOBS="${LOCKSTEP_JOBS:-}" ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${3:+PIP_CERT="$3"} \
      /bin/bash -ec "$2"' bash "$1" "$2" "$([[ ! -f $1$bare_certificates ]] || echo "$bare_certificates")"
}

run_fresh() {
  local keep=false mirror bare="$root/build/fresh" command
  if [[ ${1:-} == --keep && $# == 1 ]]; then keep=true; elif (($# > 0)); then die "fresh takes only --keep"; fi
  if ((EUID != 0)); then die "fresh makes a Debian system of its own and needs root: sudo ./lockstep.sh fresh"; fi
  need_packages "${fresh_packages[@]}"
  mirror=${LOCKSTEP_MIRROR:-$(debian_mirror)}
  mirror=${mirror:-http://deb.debian.org/debian}
  if [[ -n $(git status --porcelain) ]]; then say "fresh tries the last commit; what is not committed stays out"; fi
  rm -rf --one-file-system "$bare"
  if ! $keep; then discard=$bare; fi
  must "Making a bare Debian 12 from $mirror" fresh-debootstrap make_bare_system "$bare" "$mirror"
  must "Cloning the last commit" fresh-clone git clone --quiet --no-hardlinks "file://$root" "$bare/root/lockstep"
  for command in demo test; do
    say "--- in the bare system: ./lockstep.sh $command"
    attached in_bare_system "$bare" "cd /root/lockstep && ./lockstep.sh $command" || die "$command failed in the bare system"
  done
  say "--- in the bare system, a second time: ./lockstep.sh demo"
  attached in_bare_system "$bare" "cd /root/lockstep && ./lockstep.sh demo" >/dev/null || die "the second demo failed"
  if $keep; then say "kept: $bare"; fi
  say "${green}fresh: demo and test pass on a bare Debian 12${plain}"
}

main() {
  local command=${1:-help}
  if (($# > 0)); then shift; fi
  cd "$root"
  case $command in
    demo | build | test | gui | package | bench | golden | tidy | fresh | libtorch | testbed) "run_$command" "$@" ;;
    clean) no_options clean "$@"; rm -rf --one-file-system "$root/build" ;;
    fuzz) die "$command comes with a later version" ;;
    help | --help | -h) usage ;;
    *) usage >&2; die "unknown command '$command'" ;;
  esac
}

main "$@"
