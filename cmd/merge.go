package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads/merge"
	"github.com/mailbench/mailbench/workloads/results"
)

func newMerge() *cobra.Command {
	var wait time.Duration
	var run runFlags // of these a merge has those that say where results go, and how they are shown
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the results of a run's shards together",
		Args:  lacking(cobra.MinimumNArgs(1), "no result folders named"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait > 0 {
				if err := waitForResults(cmd.Context(), cmd.ErrOrStderr(), args, wait); err != nil {
					return err
				}
			}
			return mergeShards(cmd, args, &run)
		},
	}
	f := c.Flags()
	f.StringVarP(&run.output, "output", "o", "", "write the results to `DIR` (default results/WORKLOAD-TIME)")
	f.Var(duration(&wait, 0, mostWait), "wait", "wait up to `TIME` until all folders contain results")
	bindFailOn(f, &run.failOn)
	bindView(f, &run.view)
	bindJSON(f, runJSON)
	return c
}

const (
	mostWait  = 7 * 24 * time.Hour
	waitEvery = 500 * time.Millisecond
)

// waitForResults waits until every folder holds results. A folder gets its name when its
// run has ended.
func waitForResults(ctx context.Context, out io.Writer, dirs []string, most time.Duration) error {
	end := time.After(most)
	for _, dir := range dirs {
		for noted := false; ; noted = true {
			if _, err := os.Stat(filepath.Join(dir, results.RunFile)); err == nil {
				break
			}
			if !noted {
				fmt.Fprintf(out, "waits for %s\n", dir)
			}
			select {
			case <-time.After(waitEvery):
			case <-end:
				return fmt.Errorf("%s contains no results after %v", dir, most)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// mergeShards merges the shards in the folders, saves the merged run and prints it.
func mergeShards(cmd *cobra.Command, dirs []string, f *runFlags) error {
	var sources []merge.Source
	for _, dir := range dirs {
		r, err := results.Open(dir)
		if err != nil {
			return usage(err)
		}
		log, err := results.OpenLog(dir, r)
		if err != nil {
			return usage(err)
		}
		defer log.Close()
		sources = append(sources, merge.Source{Name: dir, Run: r, Log: log})
	}
	merged, err := merge.Merge(sources)
	if err != nil {
		return usage(err)
	}
	dir, err := createDir(f.outputDir(merged.Run.Workload.Name))
	if err != nil {
		return err
	}
	return f.finish(cmd, dir, merged.Run, merged.WriteLog(dir.LatencyLog()))
}
