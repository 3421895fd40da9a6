# spec/arm/guest.sh - what runs inside the emulated machine.
export PMLUA_BUILD=build
status=0
for program in build/spec/*; do
  case $program in *.d) continue;; esac
  echo "SPEC $program"
  timeout 60 $program || { rc=$?; [ $rc = 77 ] || { echo "status $rc"; status=1; }; }
done
build/pmlua doctor || status=1
build/pmlua -e 'local s=pml.eventset{"instructions","cycles","task-clock"} s:start() print(s:read()) print(s:read()) for i=1,3 do local e=s:event(i) print(e.name,e.path,e.why) end'
exit $status
