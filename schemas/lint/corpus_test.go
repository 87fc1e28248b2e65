package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The corpus is made from published lists of flawed designs and from published good
// ones. The first lines of each file name its source; of a flawed design the flaw and
// the rules that name it; of a good one the findings that its authors would not deny.
// The rates below are those that the project promises.
const (
	mostMissed = 1 // of 38 flawed designs, so that at least 95% are found
	mostFalse  = 1 // findings on the good designs that are not true
)

// TestCorpus: flawed designs have a warning or an error of the right rule, and good ones
// have none but true ones.
func TestCorpus(t *testing.T) {
	var missed []string
	flawed := corpus(t, "flawed", func(file string, header map[string][]string, report *Report) {
		rules := strings.Fields(strings.Join(header["rules"], " "))
		for _, rule := range rules {
			if !slices.ContainsFunc(Rules(), func(r *Rule) bool { return r.ID == rule }) {
				t.Logf("%s: there is no rule %s", file, rule)
			}
		}
		if len(rules) == 0 || header["flaw"] == nil || header["source"] == nil {
			t.Errorf("%s: expected comments source, flaw and rules", file)
		}
		if !slices.ContainsFunc(report.Findings, func(f Finding) bool {
			return f.Rule.Severity > Note && f.Accepted == "" && slices.Contains(rules, f.Rule.ID)
		}) {
			missed = append(missed, fmt.Sprintf("%s: %s", file, strings.Join(header["flaw"], " ")))
		}
	})
	var wrong []string
	good := corpus(t, "good", func(file string, header map[string][]string, report *Report) {
		if header["source"] == nil {
			t.Errorf("%s: expected the comment source", file)
		}
		for _, f := range report.Findings {
			if f.Rule.Severity > Note && f.Accepted == "" && !slices.ContainsFunc(header["true"], func(finding string) bool {
				return strings.HasPrefix(finding, f.Rule.ID+" "+f.Table+":")
			}) {
				wrong = append(wrong, fmt.Sprintf("%s: %s", f.Pos.In(file), &f))
			}
		}
	})
	t.Logf("%d of %d flawed designs found, %d false alarms on %d good ones", flawed-len(missed), flawed, len(wrong), good)
	if flawed != 38 || good != 6 {
		t.Errorf("%d flawed and %d good designs", flawed, good)
	}
	if len(missed) > mostMissed {
		t.Errorf("missed:\n%s", strings.Join(missed, "\n"))
	}
	if len(wrong) > mostFalse {
		t.Errorf("false alarms:\n%s", strings.Join(wrong, "\n"))
	}
}

// corpus checks the files of a folder and returns how many there are. yield also gets
// the texts of a file's first comments by their first word.
func corpus(t *testing.T, folder string, yield func(file string, header map[string][]string, r *Report)) int {
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header := make(map[string][]string)
		for line := range strings.Lines(string(src)) {
			if !strings.HasPrefix(line, "# ") {
				break
			}
			key, text, _ := strings.Cut(strings.TrimSpace(line[2:]), ": ")
			header[key] = append(header[key], text)
		}
		s := parse(t, string(src))
		r, err := Check(s, Options{Facts: facts(s)})
		if err != nil {
			t.Fatal(err)
		}
		yield(filepath.Base(file), header, r)
	}
	return len(files)
}
