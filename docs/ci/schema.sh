#!/usr/bin/env bash
# schema.sh BASE checks the CQL of a Cassandra keyspace with "mailbench schema lint": its tables, and the
# statements of the application. Findings that the commit BASE has too do not fail. See docs/ci/README.md.
#
# Exit status: 0 if there is no new error or warning, 3 if there is one, also for a statement that cannot be
# read or that names a table or column that is not there, 2 if the CQL has no CREATE TABLE, or if BASE is not in
# this clone.
#
#   CQL           the file with the CREATE statements, a folder or a pattern of migrations (default: schema.cql)
#   QUERIES       the file, folder or pattern with the statements of the application (default: queries.cql)
#   REPORT        where the findings go as SARIF (default: lint.sarif)
#   ALLOW_UNREAD  if set, a statement that cannot be read does not fail
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

lint=("$mailbench" schema lint)
[ -z "${ALLOW_UNREAD:-}" ] || lint+=(--allow-unread)
mkdir "$work/old"
git archive "$base" -- "$cql" "$queries" 2>/dev/null | tar -x -C "$work/old" 2>/dev/null || true
"${lint[@]}" --cql "$work/old/$cql" --queries "$work/old/$queries" --json >"$work/baseline.json" 2>/dev/null || true # it may have errors
lint+=(--cql "$cql" --queries "$queries")
if [ -s "$work/baseline.json" ]; then
  lint+=(--baseline "$work/baseline.json")
else
  echo "$base has no $cql and $queries that can be read: all findings are new."
fi

"${lint[@]}" --format sarif >"$report" 2>/dev/null || true
[ -s "$report" ] || rm -f "$report" # the check could not be made: the next line says why
"${lint[@]}" --fail-on warning
