#!/usr/bin/env bash
# gate.sh DIR WORKLOAD [FLAG...] runs a workload with "mailbench run" into DIR, and writes DIR/junit.xml
# and DIR/summary.md, also if it fails. See docs/ci/README.md.
#
# Exit status: 0 if the workload's section expect is kept, 3 if a bound is missed; another if the run
# could not be made.
#
#   MAILBENCH  the program (default: mailbench)
#   FAIL_ON    verdicts that fail (default: missed,failed,empty)
set -euo pipefail

dir=${1:?usage: gate.sh DIR WORKLOAD [FLAG of mailbench run...]}
shift
mailbench=${MAILBENCH:-mailbench}
status=0
"$mailbench" run "$@" --fail-on "${FAIL_ON:-missed,failed,empty}" --output "$dir" --quiet || status=$?
if [ -e "$dir/run.json" ]; then
  "$mailbench" report "$dir" --format junit --output "$dir/junit.xml"
  "$mailbench" report "$dir" --format markdown --output "$dir/summary.md"
fi
exit "$status"
