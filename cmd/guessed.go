package cmd

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas/strict"
)

// guessed are flags that other tools have, and what does the same here. A guess is written without
// hyphens. Where a command lacks a flag that a line names, the line is left out.
var guessed = []struct{ guesses, use string }{
	{"rate targetrate throughput target qps rps tps iops ops opss opspersecond requestrate arrivalrate ratelimit speed " +
		"messagespersecond", "--set phases.measure.rate=200/s"},
	{"duration time runtime runfor seconds minutes timelimit period testduration", "--set phases.measure.duration=30s"},
	{
		"operations operationcount requests requestcount iterations count number numops opcount",
		"--set phases.measure.operations=5000",
	},
	{"threads threadcount clients client concurrency connections conns conn vus virtualusers parallel parallelism jobs " +
		"goroutines closedloop", "--set phases.measure.clients=8"},
	{"warmup warmuptime rampup", "--set phases.warmup.duration=5s"},
	{"arrivals poisson distribution", "--set phases.measure.arrivals=poisson"},
	{
		"mix workloadmix operationmix readratio reads writes writeratio ratio proportion readproportion weights",
		"--set 'phases.measure.mix={list: 80, deliver: 20}'",
	},
	{"users usercount mailboxes accounts numusers", "--set population.users=100"},
	{
		"messages messagecount mails emails mailcount records recordcount rows items nummessages messagesperfolder foldersize",
		"--set population.messages=1000",
	},
	{"folders foldercount labels foldersperuser", "--set population.folders=5"},
	{"population dataset size datasize scale scalefactor", "--set population.users=100 --set population.messages=1000"},
	{"body bodysize messagesize mailsize valuesize fieldlength payload payloadsize recordsize", "--set mail.body=4KB"},
	{"attachments attachmentratio", "--set mail.attachments.share=0.1"},
	{"recipients recipientcount", "--set mail.recipients=3"},
	{"consistency consistencylevel cl readconsistency writeconsistency quorum", "--set engines.cassandra.consistency=QUORUM"},
	{"serialconsistency", "--set engines.cassandra.serial_consistency=SERIAL"},
	{"replication replicationfactor rf replicas", "--set engines.cassandra.replication=3"},
	{"localdc dc datacenter", "--set engines.cassandra.local_dc=dc1"},
	{"tls ssl", "--set engines.cassandra.tls=true"},
	{"timeout requesttimeout readtimeout", "--set engines.cassandra.timeout=5s"},
	{"nodes", "--contact HOST:PORT,HOST:PORT (mailbench engine up starts nodes)"},
	{"username user password credentials login", "the variables MAILBENCH_CASSANDRA_USER and MAILBENCH_CASSANDRA_PASSWORD"},
	{"node hosts host servers server cluster contactpoints contactpoint endpoint endpoints address addresses seeds " +
		"url port connect", "--contact HOST:PORT,HOST:PORT"},
	{"slo sla objective threshold thresholds p99 maxlatency latency", "--set 'expect.p99=<50ms'"},
	{"maxthroughput saturate saturation search maxload", "--find-max"},
	{"repeat repeats repetitions runs rounds repeatcount times", "--trials 5"},
	{"schema schemas models variant variants", "--model james,datastax"},
	{"db database backend store driver engines", "--engine cassandra"},
	{"out outdir outputdir resultdir results report dir", "--output DIR"},
	{"mbox maildir eml mailfile input", "--mail FILE"},
	{"keep keepdata datadir persist", "--data DIR"},
	{"verbose details all debug", "--full"},
	{"silent", "--quiet"},
	{"verify check validate verification", "--audit"},
	{"fsync sync syncmode", "--durability power"},
	{"prometheus exporter", "--metrics :9100"},
	{"growth points", "--sweep population.messages=100,1000,10000"},
}

var attached = regexp.MustCompile(`^unknown shorthand flag: '.' in -([A-Za-z]{2}[A-Za-z_-]*)`)

// meant returns what to use instead of a flag that a command does not have, or "". A misspelt flag of the
// command is no guess.
func meant(cmd *cobra.Command, flag string, known []string) string {
	guess := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(flag))
	uses := make(map[string]string)
	for _, g := range guessed {
		for _, word := range strings.Fields(g.guesses) {
			if has(cmd, g.use) {
				uses[word] = g.use
			}
		}
	}
	if uses[guess] == "" && len(uses) > 0 && strict.Nearest("--"+flag, known) == "" {
		guess = strict.Nearest(guess, slices.Sorted(maps.Keys(uses)))
	}
	return uses[guess]
}

// has reports whether a command has all flags of a line.
func has(cmd *cobra.Command, line string) bool {
	for _, word := range strings.Fields(line) {
		if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flags().Lookup(name) == nil {
			return false
		}
	}
	return true
}
