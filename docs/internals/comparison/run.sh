#!/usr/bin/env bash
# run.sh [HOST]: mailbench and latte on the same Cassandra at the same rate, interleaved. It takes four minutes, needs
# mailbench, latte (cargo install latte-cli@0.29.0 --locked) and jq in the PATH, and prints the table of README.md.
# Both drop their own keyspaces. TURNS=1 is a short trial.
set -euo pipefail
host=${1:-127.0.0.1} here=$(cd "$(dirname "$0")" && pwd) out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export LATTE_LOG_DIR=$out

mailbench_turn() {
	mailbench run "$here/workload.yaml" --schema "$here/events.yaml" -e cassandra --contact "$host" --trials 1 --no-floor -q \
		-o "$out/run" >&2
	jq -r '.cells[] | select(.phase == "measure").ops | to_entries[] |
		[.key, "mailbench", .value.latency.p50 / 1e6, .value.latency.p99 / 1e6, .value.rate] | @tsv' "$out/run/run.json"
	rm -r "$out/run"
}

# Percentiles 6 and 11 of latte are the median and the 99th.
latte_turn() {
	latte schema "$here/events.rn" "$host" >&2
	latte load "$here/events.rn" "$host" >&2
	latte run "$here/events.rn" -f page:4,put:1 -r 500 -w 5s -d 20s -c 2 --consistency LOCAL_QUORUM -q -o "$out/latte.json" "$host" >&2
	jq -r '.result | . as $r | .cycle_latency_by_fn | to_entries[] |
		[.key, "latte", .value.percentiles[6].value, .value.percentiles[11].value,
		$r.cycle_throughput.value * ({page: 0.8, put: 0.2}[.key])] | @tsv' "$out/latte.json"
	rm "$out/latte.json"
}

for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
	if ((turn % 2)); then latte_turn; mailbench_turn; else mailbench_turn; latte_turn; fi
done 2>"$out/log" >"$out/table" || { tail -5 "$out/log" >&2; exit 1; }

echo 'pub async fn schema(ctx) { ctx.execute("DROP KEYSPACE IF EXISTS latte_comparison").await?; }' >"$out/drop.rn"
latte schema "$out/drop.rn" "$host" >>"$out/log" 2>&1

echo "| operation | tool | p50, ms | p99, ms | per second |"
echo "|---|---|---|---|---|"
jq -rRn '[inputs | split("\t") | {op: .[0], tool: .[1], v: (.[2:] | map(tonumber))}] | group_by([.op, .tool])[] |
	(map(.v) | transpose | map(sort | .[length / 2 | floor])) as [$p50, $p99, $rate] |
	def round3: . * 1000 | round / 1000;
	"| \(.[0].op) | \(.[0].tool) | \($p50 | round3) | \($p99 | round3) | \($rate | round3) |"' "$out/table"
