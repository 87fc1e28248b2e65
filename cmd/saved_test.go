package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/workloads/results"
)

// TestSavedNumbers: results of others are repeated within the bounds of the flags, and the
// name of their workload is no path.
func TestSavedNumbers(t *testing.T) {
	for saved, want := range map[string]string{
		`"trials": 1000000000000`:                            "has 1000000000000 as --trials: out of range",
		`"trials": -1`:                                       "has -1 as --trials",
		`"workers": 1000000000`:                              "has 1000000000 as --concurrency: out of range",
		`"cache_bytes": 4611686018427387904`:                 "as --cache: out of range",
		`"max_lag_seconds": 1e300`:                           "as --max-wait: ",
		`"find_max": {"step_seconds": 1e9}`:                  "has 1000000000s as --step-time: out of range",
		`"find_max": {"precision": 1e9}`:                     "as --precision: out of range",
		`"trials": 7, "workers": 3, "cache_bytes": 10000000`: "",
	} {
		dir := t.TempDir()
		text := `{"format": "` + results.Format + `", "workload": {"name": "x", "text": "version: 1"}, "config": {` + saved + `}}`
		if err := os.WriteFile(filepath.Join(dir, results.RunFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := runFlags{from: dir}
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f.bind(flags)
		f.from = dir
		_, _, err := f.repeat(bundled(), flags, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", saved, err, want)
		}
		if want == "" && (f.c.Trials != 7 || f.c.Workers != 3 || f.c.EngineOptions.CacheBytes != 1e7) {
			t.Errorf("%s: %d trials, %d workers, cache %d", saved, f.c.Trials, f.c.Workers, f.c.EngineOptions.CacheBytes)
		}
	}
	for _, name := range []string{"../../x", "/etc/x", "..", "a/b"} {
		if dir := filepath.Dir((&runFlags{}).outputDir(name)); dir != resultsDir {
			t.Errorf("results of %q go to %s", name, dir)
		}
	}
}
