package replay

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
)

// FuzzTrace: a trace is refused with its line, or each of its operations can be carried
// out: in order of time, by users and in folders that there are.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(trace))
	f.Add([]byte(`{"time": 0, "user": "a", "op": "deliver", "recipients": ["a", "a", "b"], "size": 999999999999}`))
	f.Add([]byte(`{"time": 1e300, "user": "a", "op": "list"}` + "\n" + `{"time": 1e308, "user": "", "op": "list"}`))
	f.Add([]byte(`{"time": 0, "user": "a", "op": "list"}` + "\n" + `{"time": 1e300, "user": "a", "op": "list"}`))
	f.Add([]byte(`{"time": 0, "user": "a", "op": "list"}` + "\n" + `{"time": 9.2e9, "user": "a", "op": "list"}` + "\n" + `{"time": 9.3e9, "user": "a", "op": "list"}`))
	f.Add([]byte(`{"time": 1e-300, "user": "` + "\x00\xff" + `", "op": "move", "to": "b", "messages": 99}` + "\n\n{}"))
	f.Add([]byte("\xef\xbb\xbf" + `{"time": -1e3, "user": "a", "op": "deliver", "size": 47e2, "messages": 2.0}{}`))
	f.Add([]byte(`{"time": "0001-01-01T00:00:00Z", "user": "a", "op": "open"}` + "\n" + `{"time": "9999-12-31T23:59:59Z", "user": "a", "op": "open"}`))
	line := regexp.MustCompile(`trace:\d+: .|after line \d+: .|has no operations`)
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := Open(t.Context(), name)
		if err != nil {
			if !line.MatchString(err.Error()) {
				t.Errorf("the error does not say where: %v", err)
			}
			return
		}
		w := workload(t, string(text), "")
		p := &w.Phases[1]
		if err := tr.Prepare(w, p); err != nil {
			return
		}
		c, err := plan.NewCensus(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		s, last, n := plan.StreamOf(w, p, c), -1.0, uint64(0)
		var o plan.Operation
		for due, ok := s.Next(0, &o); ok; due, ok = s.Next(0, &o) {
			n++
			if due.Seconds() < last || o.User < 0 || o.User >= c.Users() || o.Folder < 0 || o.Folder >= c.FolderCount(o.User) ||
				o.To < -1 || o.To >= c.FolderCount(o.User) || o.Messages < 0 || o.Size < 0 || o.Op == workloads.Deliver && len(o.Recipients) == 0 {
				t.Fatalf("operation %d of %d users, due %v after %v: %+v", n, c.Users(), due, last, o)
			}
			for _, r := range o.Recipients {
				if r < 0 || r >= c.Users() {
					t.Fatalf("operation %d goes to user %d of %d", n, r, c.Users())
				}
			}
			last = due.Seconds()
		}
		if n > uint64(len(tr.all)) || s.Span() < 0 {
			t.Errorf("%d operations of %d in %v", n, len(tr.all), s.Span())
		}
	})
}
