# SPDX-License-Identifier: BSD-3-Clause
# spec/arm/guest.sh MODE [NAME=VALUE...] - what runs inside the emulated machine; spec/arm/check.lua reads what it prints.
#
#   all      the command, every C spec, the costs, the experiment
#   pmu      the specs that need a PMU
#   threads  those of them that several cpus make a difference to
#   costs    the costs alone, to save them
mode=$1
shift
for assignment; do export "$assignment"; done
export PMLUA_BUILD=build PMU_MAY_FORBID=1

# run NAME COMMAND... - its lines, between two that name it; the last also has its status and the machine's uptime.
run() {
  name=$1
  shift
  echo "BEGIN $name"
  timeout 60 "$@"
  echo "END $name status $? at $(cut -d' ' -f1 /proc/uptime)"
}

# One cpu, of which every instruction is emulated: a kernel played by a second thread comes to millions of switches.
# The mutants below break the same reader against the real page.
too_slow=page_model

specs() {
  for source in spec/c/$1.c; do
    grep -q "not a spec by itself" "$source" && continue
    program=$(basename "$source" .c)
    if [ $program = $too_slow ]; then
      run "c $program" sh -c 'echo "# SKIP too slow where two threads share one emulated cpu"; echo "0 passed, 0 failed, 1 skipped"'
      continue
    fi
    run "c $program" "build/spec/$program"
  done
}

experiment() {
  cd /tmp && /pmlua/build/pmlua /pmlua/scripts/read_overhead.lua --quiet --quick --iterations 200 --rounds 2 --n 64 --nb 16 \
    --stream-n 20000 --events instructions:u,cycles:u,instructions:u,instructions:u && cat results/read_overhead/latest/report.txt
}

table() {
  cat /tmp/results/read_overhead/latest/data.dat
}

[ $mode = none ] || run doctor build/pmlua doctor
case $mode in
all)
  run "events cycles" build/pmlua events cycles
  run "events armv8_pmuv3" build/pmlua events armv8_pmuv3
  run "events nosuchevent" build/pmlua events nosuchevent
  run encode build/pmlua spec/lua/encode.lua
  run choose build/pmlua choose cycles:u instructions:u task-clock PAPI_TOT_INS FLOPS/ipc --run -- build/pmlua --version
  specs "*"
  run mutants sh build/mutants/run.sh
  run costs lua5.4 spec/costs.lua build/spec/cost
  run read_overhead sh -c ". spec/arm/guest.sh none; experiment"
  run data.dat sh -c ". spec/arm/guest.sh none; table"
  ;;
pmu)
  specs "pmu_*"
  run mutants sh build/mutants/run.sh
  ;;
threads) specs "pmu_threads" && specs "pmu_bracket" ;;
costs) run costs lua5.4 spec/costs.lua build/spec/cost ;;
esac
