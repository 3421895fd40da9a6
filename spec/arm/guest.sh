export PMLUA_BUILD=build
for p in build/spec/pmu_*; do case $p in *.d) continue;; esac; echo "SPEC $p"; timeout 60 $p; echo "rc $? $(cut -d' ' -f1 /proc/uptime)"; done
