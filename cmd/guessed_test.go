package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
)

// TestGuessed: each guess is refused with what does the same, and run takes that. Misspelt flags of run
// are no guesses.
func TestGuessed(t *testing.T) {
	try := func(args ...string) (int, string) {
		var out, err bytes.Buffer
		status := execute(bundled(), args, &out, &err)
		return status, err.String()
	}
	const small = "mail={body: 100, attachments: {share: 0.01, size: 1KB}}" // no test needs 60 GB of disk
	seen := make(map[string]bool)
	for line := range strings.Lines(flagsOfOthers) {
		guesses, use, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
			continue
		}
		for _, guess := range strings.Fields(guesses) {
			if seen[guess] {
				t.Errorf("%s is in the table twice", guess)
			}
			seen[guess] = true
			if status, err := try("run", "--"+guess+"=5"); status != exitUsage || !strings.Contains(err, "; use "+use) {
				t.Errorf("run --%s: exit status %d, %s", guess, status, err)
			}
		}
		words, err := shellquote.Split(use)
		if err != nil {
			t.Fatal(err)
		}
		if words[0] != "--set" && words[0] != "--trials" && words[0] != "--model" && words[0] != "--sweep" {
			continue
		}
		if status, err := try(append([]string{"run", "--dry-run", "--set", "population.users=3", "--set", small}, words...)...); status != exitOK {
			t.Errorf("run %s: exit status %d, %s", use, status, err)
		}
	}
	if len(seen) < 208 {
		t.Errorf("%d guesses", len(seen))
	}
	for flag, want := range map[string]string{
		"--target-rate": "use --set phases.measure.rate=200/s", "--Num_Users": "use --set population.users=100",
		"-rate": "use --set phases.measure.rate=200/s", "--durration": "use --set phases.measure.duration=30s",
		"--quite": `did you mean "--quiet"?`, "--trails": `did you mean "--trials"?`, "--modle": `did you mean "--model"?`,
		"--xyzzy": "expected one of ", "--cql": "expected one of ", "--tlx": "expected one of ",
	} {
		if status, err := try("run", flag, "5"); status != exitUsage || !strings.Contains(err, want) {
			t.Errorf("run %s: exit status %d, %s, want %s", flag, status, err, want)
		}
	}
	if _, err := try("models", "--rate", "5"); strings.Contains(err, "--set") {
		t.Errorf("models has no --set: %s", err)
	}
	for line, want := range map[string]string{ // names of an earlier design, of the glossary, and of other places
		"schema explain --queries q.cql": "use schema lint", "run --max-lag 5s": `"--max-wait"`, "run --step 5s": `"--step-time"`,
		"run --shard 1/2": `"--segment"`, "run --shard-timeout 5s": `"--segment-timeout"`, "run --audit": "use --verify", "run --audit=only --data d": "use --verify", "run --set expect.lag.p99=<1ms": `"wait.p99"`,
		"run --set 'expect={lag.p99: <1ms, open.lag.p99: <1ms}'": `"wait.p99"`,
		"run --mail-limit 3GB": `"--max-mail-size"`, "compare a b --fail-over 5%": `"--threshold"`,
		"schema import --namespace k": `"--keyspace"`, "schema validate james --workers 3": `"--concurrency"`,
		"compare a b --threshold list.calls": `"requests"`, "history . --metric examined": `"scanned"`,
		"run refile": `"bulk-move"`, "run copies": `"recipients"`, "run -m james@plain-flags": `"james@checked-flags"`,
		"run --set access.deep=0.1": `"deep_share"`, "run --set keys.deep=0.1": `"access"`,
		"run --set phases.measure.think=1s": `"think_time"`,
		"run --set answer.says=x":           `"conclusion"`, "run --set 'phases.measure.mix={list-range: 1}'": `"slice"`,
		"run --set 'phases.measure.mix={Read: 1}'": `"open"`, "run --set 'phases=[{cold: {}}]'": `"drop-caches"`,
		"lint james": `"mailbench schema lint"`, "verify --data d": `use "mailbench run --verify=only"`,
		"engines": `use "mailbench engine list, or engine show NAME"`, "engine start hbase": `"up"`, "help validate": `"mailbench schema validate"`,
		"schema fit --mbox m": `"mailbench workloads fit"`, "workloads fit --trace t": "replay: {trace: FILE}",
	} {
		words, _ := shellquote.Split(line)
		if status, err := try(words...); status != exitUsage || !strings.Contains(err, want) {
			t.Errorf("%s: exit status %d, %s, want %s", line, status, err, want)
		}
	}
}
