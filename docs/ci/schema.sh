#!/usr/bin/env bash
# schema.sh BASE checks the CQL of a Cassandra keyspace with "mailbench schema lint": its tables, and the
# statements of the application. What the commit BASE has too does not fail. See docs/ci/README.md.
#
# Exit status: 0 if there is no new error or warning, 3 if there is one, 2 if a part of the CQL cannot be
# read, or if BASE is not in this clone.
#
#   CQL           the file with the CREATE statements (default: schema.cql)
#   QUERIES       the file with the statements of the application (default: queries.cql)
#   REPORT        where the findings go as SARIF (default: lint.sarif)
#   ALLOW_UNREAD  if set, a statement that cannot be read is printed, and does not fail
#   MAILBENCH     the program (default: mailbench)
set -euo pipefail

base=${1:?usage: schema.sh BASE}
cql=${CQL:-schema.cql} queries=${QUERIES:-queries.cql} report=${REPORT:-lint.sarif} mailbench=${MAILBENCH:-mailbench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! git rev-parse --verify --quiet "$base^{commit}" >/dev/null; then
  echo "schema.sh: commit $base is not in this clone: fetch it (git fetch --depth 1 origin BRANCH, then" \
    "schema.sh FETCH_HEAD; in GitHub Actions fetch-depth: 0)" >&2
  exit 2
fi

"$mailbench" schema import --cql "$cql" --queries "$queries" -o "$work/new.yaml" 2>"$work/unread" || imported=$?
cat "$work/unread" >&2
[ -z "${imported:-}" ] || exit "$imported"

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

status=0
"$mailbench" schema lint "$work/new.yaml" "${baseline[@]}" --format sarif >"$report" 2>/dev/null || true
[ -s "$report" ] || rm -f "$report" # the check could not be made: the next line says why
"$mailbench" schema lint "$work/new.yaml" "${baseline[@]}" --fail-on warning || status=$?
if [ -s "$work/unread" ] && [ -z "${ALLOW_UNREAD:-}" ]; then
  echo "schema.sh: not all of the CQL could be read, and none of that was checked: correct it, or set ALLOW_UNREAD" >&2
  exit 2
fi
exit "$status"
