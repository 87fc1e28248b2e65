#!/usr/bin/env bash
# run.sh TOOL...: mailbench and other tools (latte, stress) on the same Cassandra at the same rate, interleaved. A turn of a
# tool takes SECS seconds (60) and up to 20 more. It needs jq and mailbench in the PATH, for latte latte (cargo install
# latte-cli@0.29.0 --locked), for stress java and CASSANDRA_STRESS, the class path of README.md, and prints the table of
# README.md. HOST is the node (127.0.0.1), TURNS how often each tool runs (3). Keyspace stress_comparison stays; the others
# are dropped.
set -euo pipefail
host=${HOST:-127.0.0.1} secs=${SECS:-60} here=$(cd "$(dirname "$0")" && pwd) out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export LATTE_LOG_DIR=$out

# Service counts from the start of an operation, response from its scheduled start, both with the delay of the client.
mailbench_turn() {
	mailbench run "$here/workload.yaml" --schema "$here/events.yaml" -e cassandra --contact "$host" --trials 1 --no-overhead -q \
		--set "phases.measure.duration=${secs}s" -o "$out/run" >&2
	jq -r '.cells[] | select(.phase == "measure").ops | to_entries[] | .key as $op | .value as $v |
		(["start", $v.service], ["schedule", $v.response]) as [$from, $time] |
		[$op, $from, "mailbench", $time.p50 / 1e6, $time.p99 / 1e6, $v.rate] | @tsv' "$out/run/run.json"
	rm -r "$out/run"
}

# Percentiles 6 and 11 of latte are the median and the 99th, of the time from the start of a call.
latte_turn() {
	latte schema "$here/events.rn" "$host" >&2
	latte load "$here/events.rn" "$host" >&2
	latte run "$here/events.rn" -f page:1,put:1 -r 500 -w 5s -d "${secs}s" -c 2 --consistency LOCAL_QUORUM -q \
		-o "$out/latte.json" "$host" >&2
	jq -r '.result | . as $r | .cycle_latency_by_fn | to_entries[] |
		[.key, "start", "latte", .value.percentiles[6].value, .value.percentiles[11].value,
		$r.cycle_throughput.value / 2] | @tsv' "$out/latte.json"
	rm "$out/latte.json"
	echo 'pub async fn schema(ctx) { ctx.execute("DROP KEYSPACE latte_comparison").await?; }' >"$out/drop.rn"
	latte schema "$out/drop.rn" "$host" >&2
}

stress() { # PROFILE WORDS...: cassandra-stress with a profile
	java --add-opens=java.base/{java.lang,java.nio,java.io,java.util,sun.nio.ch,jdk.internal.ref}=ALL-UNNAMED \
		--add-exports=java.base/{jdk.internal.ref,sun.nio.ch}=ALL-UNNAMED -cp "$CASSANDRA_STRESS" -Dcassandra.logdir="$out" \
		org.apache.cassandra.stress.Stress user profile="$1" cl=LOCAL_QUORUM "${@:2}" -node "$host" >&2
}

# The first five seconds are left out, as in the other tools. -st is the time from the start, -rt from the scheduled one.
stress_turn() {
	sed 's|fixed(1)/100|fixed(1)/1|' "$here/stress.yaml" >"$out/load.yaml"
	stress "$out/load.yaml" 'ops(insert=1)' n=100 no-warmup -rate threads=2 -pop seq=1..100
	stress "$here/stress.yaml" 'ops(insert=1,page=1)' duration=$((secs + 5))s -rate threads=8 fixed=500/s \
		-log hdrfile="$out/stress.hdr"
	for tag in page-st page-rt insert-st insert-rt; do
		java -cp "$CASSANDRA_STRESS" org.HdrHistogram.HistogramLogProcessor -i "$out/stress.hdr" -tag $tag -start 5 \
			-outputValueUnitRatio 1000000 | awk -v tag=$tag -v secs="$secs" -v OFS='\t' '
			/^ *[0-9]/ {n = $3; if (!a && $2 >= .5) a = $1; if (!b && $2 >= .99) b = $1}
			END {print tag ~ /page/ ? "page" : "put", tag ~ /rt$/ ? "schedule" : "start", "cassandra-stress", a, b, n / secs}'
	done
	rm "$out/stress.hdr"
}

tools=(mailbench "$@")
for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
	for ((i = 0; i < ${#tools[@]}; i++)); do "${tools[(i + turn) % ${#tools[@]}]}_turn"; done
done 2>"$out/log" >"$out/table" || { tail -5 "$out/log" >&2; exit 1; }

echo "| operation | time from | tool | p50, ms | p99, ms | per second |"
echo "|---|---|---|---|---|---|"
jq -rRn '[inputs | split("\t") | {key: .[:3], v: (.[3:] | map(tonumber))}] | group_by(.key)[] |
	(map(.v) | transpose | map(sort | .[length / 2 | floor])) as [$p50, $p99, $rate] |
	def round3: . * 1000 | round / 1000;
	"| \(.[0].key | join(" | ")) | \($p50 | round3) | \($p99 | round3) | \($rate | round3) |"' "$out/table"
