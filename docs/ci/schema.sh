#!/usr/bin/env bash
# schema.sh BASE checks the CQL of a Cassandra keyspace with "mailbench schema lint": its tables, and the
# statements of the application. What the commit BASE has too does not fail. See docs/ci/README.md.
#
# Exit status: 0 if there is no new error or warning, 3 if there is one, another if the CQL cannot be read.
#
#   CQL        the file with the CREATE statements (default: schema.cql)
#   QUERIES    the file with the statements of the application (default: queries.cql)
#   REPORT     where the findings go as SARIF (default: lint.sarif)
#   MAILBENCH  the program (default: mailbench)
set -euo pipefail

base=${1:?usage: schema.sh BASE}
cql=${CQL:-schema.cql} queries=${QUERIES:-queries.cql} mailbench=${MAILBENCH:-mailbench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$mailbench" schema import --cql "$cql" --queries "$queries" -o "$work/new.yaml"

# The same of the base. Its files keep their names, since a schema may be named after its file.
baseline=()
mkdir "$work/old"
old=$work/old/$(basename "$cql") asked=$work/old/$(basename "$queries")
if git show "$base:./$cql" >"$old" 2>/dev/null && git show "$base:./$queries" >"$asked" 2>/dev/null &&
  "$mailbench" schema import --cql "$old" --queries "$asked" -o "$work/old.yaml" >/dev/null 2>&1; then
  "$mailbench" schema lint "$work/old.yaml" --json >"$work/baseline.json" 2>/dev/null || true # it may have errors
  baseline=(--baseline "$work/baseline.json")
else
  echo "$base has no $cql and $queries that can be read: all findings are new."
fi

"$mailbench" schema lint "$work/new.yaml" "${baseline[@]}" --format sarif >"${REPORT:-lint.sarif}" 2>/dev/null || true
"$mailbench" schema lint "$work/new.yaml" "${baseline[@]}" --fail-on warning
