#!/usr/bin/env bash
# compare.sh BASE [FLAG...] builds the commit BASE and this working tree, runs both interleaved on
# this machine, and prints a comparison. FLAGs are of "mailbench compare", such as
# --format markdown. See docs/ci/README.md.
#
# Exit status: 0 if no operation costs more than before; 3 if one does; another if the working tree does not
# build or does not run. If nothing can be compared, the script says so and does not fail.
#
#   WORKLOAD  the workload, with flags of "mailbench run" (default: counted.yaml
#             next to this script, in memory)
#   PACKAGE   the folder of the program's package main (default: ./cmd/mailbench)
set -euo pipefail

base=${1:?usage: compare.sh BASE [FLAG of mailbench compare...]}
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
workload=${WORKLOAD:-"'$here/counted.yaml' --durability memory"}
package=${PACKAGE:-./cmd/mailbench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! git rev-parse --verify --quiet "$base^{commit}" >/dev/null; then
  echo "Nothing was compared: there is no commit $base here. It is the first one, or the clone is shallow (fetch-depth: 0)."
  exit 0
fi

# A commit that costs more on purpose names the metrics and the limits:
#   Mailbench-allow: james/list.requests:100%
gates=requests,rows,bytes,errors
while read -r allowed; do
  gates+=,$allowed
done < <(git log --format='%(trailers:key=Mailbench-allow,valueonly)' "$base..HEAD" | sed '/^[[:space:]]*$/d')

unset $(git rev-parse --local-env-vars) # which git sets in hooks
export GOFLAGS="-trimpath ${GOFLAGS:-}" # so that both sides share Go's build cache
go build -o "$work/new" "$package"

# alone WHY runs the working tree by itself, which must not fail. xargs splits words as mailbench does.
alone() {
  xargs "$work/new" run --no-overhead --fail-on=failed --quiet --output "$work/alone" <<<"$workload" >/dev/null
  echo "Nothing was compared: $1. The working tree by itself runs."
  exit 0
}

# The base gets a repository of its own that has the objects of this one: nothing is left in this one, and
# Go notes the commit. There must be no hooks.
commit=$(git rev-parse "$base^{commit}") module=$(git rev-parse --show-prefix)
shallow=$(git rev-parse --path-format=absolute --git-path shallow)
git init --quiet --template= "$work/tree"
mkdir -p "$work/tree/.git/objects/info"
git rev-parse --path-format=absolute --git-path objects >"$work/tree/.git/objects/info/alternates"
if [ -e "$shallow" ]; then cp "$shallow" "$work/tree/.git/shallow"; fi
git -C "$work/tree" -c core.hooksPath=/dev/null checkout --quiet --detach "$commit"
(cd "$work/tree/$module" && go build -o "$work/base" "$package") || alone "$base does not build"

status=0
"$work/new" compare --run "$workload" --base "$work/base" --new "$work/new" --threshold "$gates" \
  --trials 5 --output "$work/results" --quiet "$@" 2>"$work/errors" || status=$?
cat "$work/errors" >&2
why=$(sed -n 's/^mailbench: //p' "$work/errors")
case "$status $why" in
"0 "* | "3 "* | "130 "*) exit "$status" ;;
*--threshold*)
  echo "Nothing was compared: $why"
  exit "$status"
  ;;
esac

# There is no comparison: the base is too old, or the commit changes the workload. A gate must not stop that.
alone "${why%: }"
