package cmd

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/plan"
)

// shardFlags are the flags of a run that is a part of another.
type shardFlags struct {
	shard, start string
	timeout      time.Duration
}

const (
	mostShards = 1000
	// shortestTimeout is longer than a garbage collection or a busy processor delays a shard.
	shortestTimeout = 5 * time.Second
	longestTimeout  = 24 * time.Hour
	// jobShard means the number of a pod in a Kubernetes Indexed Job. Kubernetes puts that number,
	// from 0, into the environment variable jobVariable.
	jobShard    = "job"
	jobVariable = "JOB_COMPLETION_INDEX"
)

func (f *shardFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.shard, "shard", "",
		"carry out part `I/N` of the run (1/4 to 4/4), with every N-th user; job/N takes the number of a pod in a "+
			"Kubernetes Indexed Job")
	flags.StringVar(&f.start, "start", "", "`TIME` at which all shards begin, the same for all, such as "+
		"2026-05-01T12:00:00Z")
	f.timeout = meet.UsualSilence
	flags.Var(duration(&f.timeout, shortestTimeout, longestTimeout), "shard-timeout",
		"give up when another shard gives no sign of life for that `DURATION`")
}

func (f *shardFlags) parse() (shard plan.Shard, start time.Time, err error) {
	if f.shard == "" {
		if f.start != "" {
			err = usagef("--start belongs to --shard: add that, or leave it out")
		} else if f.timeout != meet.UsualSilence {
			err = usagef("--shard-timeout belongs to --shard: add that, or leave it out")
		}
		return shard, start, err
	}
	index, of, _ := strings.Cut(f.shard, "/")
	if index == jobShard {
		n, err := strconv.Atoi(os.Getenv(jobVariable))
		if err != nil || n < 0 {
			return shard, start, usagef("--shard %s takes its number from %s, which is %q; a Kubernetes Job with "+
				"completionMode: Indexed sets it",
				f.shard, jobVariable, os.Getenv(jobVariable))
		}
		index = strconv.Itoa(n + 1)
	}
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if errI != nil || errN != nil || i < 1 || n < 1 || i > n || n > mostShards {
		return shard, start, usagef("--shard %s: expected I/N, from 1/N to N/N, with N up to %d", f.shard, mostShards)
	}
	if f.start == "" {
		return shard, start,
			usagef("--shard needs --start TIME, the same for all %d shards: for example %s (date -u +%%FT%%TZ)",
				n, time.Now().UTC().Add(time.Minute).Format(time.RFC3339))
	}
	if start, err = time.Parse(time.RFC3339Nano, f.start); err != nil {
		return shard, start, usagef("--start %s: expected a time such as %s (date -u +%%FT%%TZ)", f.start,
			time.Now().UTC().Format(time.RFC3339))
	}
	return plan.Shard{Index: i, Of: n}, start, nil
}
