#!/usr/bin/env bash
# nightly.sh DIR WORKLOAD [FLAG...] runs a workload with "mailbench run", adds its run.json to the runs
# in DIR, and prints the output of "mailbench history". DIR/history.html shows the trends. See
# docs/ci/README.md.
#
# Exit status: 3 if a figure that was not worse before is worse now; 0 if none is; another if the run
# could not be made.
#
#   MAILBENCH  the program (default: mailbench)
#   FAIL_ON    verdicts of the run itself that fail (default: failed,empty)
set -euo pipefail

dir=${1:?usage: nightly.sh DIR WORKLOAD [FLAG of mailbench run...]}
shift
mailbench=${MAILBENCH:-mailbench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"

"$mailbench" run "$@" --fail-on "${FAIL_ON:-failed,empty}" --output "$work/run" --quiet >/dev/null
night=$dir/$(date -u +%Y%m%dT%H%M%S.%3NZ)
mkdir "$night"
cp "$work/run/run.json" "$night/" # history needs no more

# Changes for the worse, without the run that they are of.
worse() {
  awk '/^CHANGED /{on=1} /^$/{on=0} !on{next} / regression/{print where, $1} !/ (regression|improvement)/{where=$0}' "$1" | sort -u
}
touch "$dir/history.txt"
worse "$dir/history.txt" >"$work/before"
COLUMNS=1000 "$mailbench" history "$dir" --output "$dir/history.html" | tee "$dir/history.txt"
new=$(worse "$dir/history.txt" | comm -13 "$work/before" -)
if [ -n "$new" ]; then
  printf '\nWorse since last night:\n%s\n' "$new"
  exit 3
fi
