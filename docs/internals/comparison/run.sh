#!/usr/bin/env bash
# run.sh: mailbench, latte and cassandra-stress read one table of one Cassandra at the same time. It prints the table of
# README.md. mailbench creates, loads and drops the table. It needs mailbench, jq, java and latte (cargo install
# latte-cli@0.29.0 --locked) in the PATH, and CASSANDRA_STRESS, the class path of README.md. HOST is the node (127.0.0.1), CPU
# the processor of the tools (1), RATE their operations per second (12; one less and one more for the others, so that their
# calls do not stay in step), SECS how long they measure (150), TURNS how often (3).
set -euo pipefail
host=${HOST:-127.0.0.1} rate=${RATE:-12} secs=${SECS:-150} warmup=40 here=$(cd "$(dirname "$0")" && pwd) out=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$out"' EXIT
export LATTE_LOG_DIR=$out

mailbench_turn() {
	taskset -c "${CPU:-1}" mailbench run "$here/workload.yaml" --schema "$here/events.yaml" -e cassandra --contact "$host" \
		--trials 1 --set "phases.warmup.duration=${warmup}s" --set "phases.warmup.rate=$rate/s" \
		--set "phases.measure.duration=${secs}s" --set "phases.measure.rate=$rate/s" -o "$out/run" >"$out/run.out" 2>"$out/run.err"
}

latte_turn() {
	taskset -c "${CPU:-1}" latte run "$out/events.rn" -f page -r $((rate + 1)) -w ${warmup}s -d $((secs - 10))s -c 2 \
		--consistency LOCAL_QUORUM -q -o "$out/latte.json" "$host" >"$out/latte.out" 2>&1
}

stress_turn() {
	taskset -c "${CPU:-1}" java --add-opens=java.base/{java.lang,java.nio,java.io,java.util,sun.nio.ch,jdk.internal.ref}=ALL-UNNAMED \
		--add-exports=java.base/{jdk.internal.ref,sun.nio.ch}=ALL-UNNAMED -cp "$CASSANDRA_STRESS" -Dcassandra.logdir="$out" \
		org.apache.cassandra.stress.Stress user profile="$out/stress.yaml" cl=LOCAL_QUORUM 'ops(page=1)' no-warmup \
		duration=$((warmup + secs - 20))s -rate threads=8 fixed=$((rate - 1))/s -pop 'dist=uniform(1..120000)' \
		-log hdrfile="$out/stress.hdr" -node "$host" >"$out/stress.out" 2>&1
}

# The times of all are from the start of a call. Percentiles 6 and 11 of latte are the median and the 99th.
results() {
	jq -r '.cells[] | select(.phase == "measure").ops.page | ["mailbench", .service.p50 / 1e6, .service.p99 / 1e6,
		.rate / ($rate | tonumber) * 100] | @tsv' --arg rate "$rate" "$out/run/run.json"
	jq -r '.result | .cycle_throughput.value as $r | .cycle_latency_by_fn.page.percentiles |
		["latte", .[6].value, .[11].value, $r / ($rate | tonumber) * 100] | @tsv' --arg rate $((rate + 1)) "$out/latte.json"
	java -cp "$CASSANDRA_STRESS" org.HdrHistogram.HistogramLogProcessor -i "$out/stress.hdr" -tag page-st -start $((warmup + 5)) \
		-end $((warmup + secs - 25)) -outputValueUnitRatio 1000000 | awk -v n=$((secs - 30)) -v rate=$((rate - 1)) -v OFS='\t' '
		/^ *[0-9]/ {calls = $3; if (!a && $2 >= .5) a = $1; if (!b && $2 >= .99) b = $1}
		END {print "cassandra-stress", a, b, calls / n / rate * 100}'
}

for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
	mailbench_turn & run=$!
	until grep -q 'load done' "$out/run.err" 2>/dev/null; do sleep .1; kill -0 $run || { cat "$out/run.err" >&2; exit 1; }; done
	keyspace=mailbench_$(mailbench engine clean cassandra --contact "$host" --json | jq -r '.[0].namespace')_events
	for file in events.rn stress.yaml; do sed "s/KEYSPACE/$keyspace/" "$here/$file" >"$out/$file"; done
	latte_turn & latte=$!
	stress_turn & stress=$!
	for job in $run $latte $stress; do wait $job || { tail -n 3 "$out"/*.out "$out/run.err" >&2; exit 1; }; done
	results | tee -a "$out/table" >&2
	rm -r "$out"/run*
done

echo "| tool | p50, ms | p99, ms | achieved |"
echo "|---|---|---|---|"
jq -rRn '[inputs | split("\t") | {key: .[0], v: (.[1:] | map(tonumber))}] | group_by(.key)[] |
	(map(.v) | transpose | map(sort | .[length / 2 | floor])) as [$p50, $p99, $rate] | def round2: . * 100 | round / 100;
	"| \(.[0].key) | \($p50 | round2) | \($p99 | round2) | \($rate | round2)% |"' "$out/table"
