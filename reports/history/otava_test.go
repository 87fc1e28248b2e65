package history

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Apache Otava itself reads the files and finds the change that was made, at its run and
// nowhere else; and so does this package. "make otava-check" installs it and runs this.
func TestOtavaItself(t *testing.T) {
	program := os.Getenv("MAILBENCH_OTAVA")
	if program == "" {
		t.Skip("MAILBENCH_OTAVA does not name Apache Otava's program: make otava-check installs it")
	}
	h := historyOf(t, nights(t, 30), nil)
	written, err := h.Otava()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range written {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	otava := func(args ...string) []byte {
		t.Helper()
		c := exec.Command(program, append(args, "--config-file", OtavaConfig)...)
		c.Dir = dir
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("otava %v: %v\n%s", args, err, out)
		}
		return out
	}
	const test = "james.embedded.measure"
	if got, want := string(otava("list-tests")), test+"\n"; got != want {
		t.Errorf("otava list-tests: %q, want %q", got, want)
	}
	// Without these it leaves out what is older than a year, and the future.
	analyze := []string{
		"analyze", test, "--since", began.AddDate(0, 0, -1).Format(time.DateOnly), "--until", began.AddDate(0, 0, 60).Format(time.DateOnly),
		"--magnitude", "0.05",
	}
	t.Logf("otava analyze:\n%s", otava(analyze...))
	found := otava(append(analyze, "--output", "json")...)
	var said map[string][]struct {
		Time    int64 `json:"time"`
		Changes []struct {
			Metric string `json:"metric"`
			Index  int    `json:"index"`
		} `json:"changes"`
	}
	if err := json.Unmarshal(found, &said); err != nil {
		t.Fatalf("%v in:\n%s", err, found)
	}
	var theirs, ours []string
	for _, group := range said[test] {
		for _, c := range group.Changes {
			theirs = append(theirs, fmt.Sprintf("%s %d", c.Metric, c.Index))
		}
	}
	for f, c := range h.Series[0].Changed {
		ours = append(ours, fmt.Sprintf("%s %d", f.otavaColumn(), c.Run))
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	want := []string{fmt.Sprintf("list.p50_ms %d", slowedAt), fmt.Sprintf("list.p99_ms %d", slowedAt)}
	if !slices.Equal(theirs, want) {
		t.Errorf("otava found %v, want %v", theirs, want)
	}
	if !slices.Equal(ours, want) {
		t.Errorf("history found %v, want %v", ours, want)
	}
}
