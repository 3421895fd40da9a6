export PMLUA_BUILD=build 
build/spec/cost pmu
build/spec/cost pmu
build/pmlua doctor
cd /tmp
time /pmlua/build/pmlua /pmlua/scripts/read_overhead.lua --quick --iterations 200 --rounds 2 --stream-n 20000 --n 64 --nb 16 --events instructions:u,cycles:u,instructions:u,instructions:u
ls results/*/*; head -60 results/read_overhead/latest/data.dat
cd /pmlua
for p in cycles instructions armv8 page-faults; do build/pmlua events $p | head -20; done
