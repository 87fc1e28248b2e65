#!/usr/bin/env bash
# diff.sh SCHEMA FLAG... compares the tables of a cluster with a schema by "mailbench schema diff", and
# prints Markdown. FLAGs say where the cluster is. It only reads. See docs/ci/README.md.
#
# Exit status: 0 if the tables are as the schema says, 3 if they differ; another if they could not be
# compared.
#
#   MAILBENCH  the program (default: mailbench)
set -euo pipefail

schema=${1:?usage: diff.sh SCHEMA FLAG of mailbench schema diff...}
status=0
text=$("${MAILBENCH:-mailbench}" schema diff "$@" 2>&1) || status=$?
case $status in
0) echo "### The tables are as $schema says" ;;
3) echo "### The tables differ from $schema" ;;
*) echo "### $schema could not be compared" ;;
esac
printf '\n~~~~~~\n%s\n~~~~~~\n' "$text"
exit "$status"
