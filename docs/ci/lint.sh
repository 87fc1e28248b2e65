#!/usr/bin/env bash
# lint.sh OUT.sarif [SCHEMA|FLAG...] checks schemas with "mailbench schema lint", writes the findings
# to OUT.sarif for code scanning, and prints them. See docs/ci/README.md.
#
# Exit status: 0 if nothing fails, 3 if a finding does, 2 if a schema or a flag is wrong.
#
#   MAILBENCH  the program (default: mailbench)
set -euo pipefail

out=${1:?usage: lint.sh OUT.sarif [SCHEMA|FLAG of mailbench schema lint...]}
shift
mailbench=${MAILBENCH:-mailbench}
status=0
"$mailbench" schema lint "$@" --format sarif >"$out" 2>/dev/null || status=$?
[ -s "$out" ] || rm -f "$out" # the check could not be made: the next line says why
"$mailbench" schema lint "$@"
exit "$status"
