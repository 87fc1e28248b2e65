//go:build campaigns && unix

package campaigns

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// provable is how many flawed designs of the lint corpus have a flaw that growth shows.
const provable = 21

// TestProve measures what lint finds in the designs of its corpus: each flaw that growth can show is confirmed, and no
// sound design is accused of a rule that the head of its file does not name.
func TestProve(t *testing.T) {
	files, err := filepath.Glob("../../schemas/lint/testdata/corpus/*/*.yaml")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), err)
	}
	var proved atomic.Int32
	t.Run("designs", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				t.Parallel()
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				head, _, _ := strings.Cut(string(src), "\nschema:")
				dir := filepath.Join(t.TempDir(), "run")
				out := mailbenchIn(t, exitOK, "run", file, "--prove", "-q", "--no-overhead", "--fail-on=failed", "-o", dir)
				if _, err := os.Stat(dir); err != nil {
					return // nothing that growth could show
				}
				r, err := results.Open(dir)
				if err != nil {
					t.Fatal(err, out)
				}
				flawed := strings.Contains(file, "flawed")
				for _, f := range r.Findings {
					if f.Verdict != "confirmed" && f.Verdict != "not shown" || !flawed && !strings.Contains(head, f.Rule) {
						t.Errorf("%s %s: %s: %s; the file names:\n%s", f.Rule, f.Where, f.Verdict, f.Measured, head)
					}
				}
				if flawed {
					proved.Add(1)
				}
			})
		}
	})
	if n := proved.Load(); n != provable {
		t.Errorf("the flaws of %d designs are shown, of %d", n, provable)
	}
}
