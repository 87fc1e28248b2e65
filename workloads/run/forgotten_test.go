package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

// TestAuditsThatCannotKnow: an audit whose ledger or data set says less than there was is no
// clean one. It makes nothing, and changes nothing.
func TestAuditsThatCannotKnow(t *testing.T) {
	const record = 64
	edit := func(name string, change func([]byte) []byte) error {
		b, err := os.ReadFile(name)
		return errors.Join(err, os.WriteFile(name, change(b), 0o600))
	}
	noRecords := func(b []byte) []byte {
		return regexp.MustCompile(`"records": \d+`).ReplaceAll(b, []byte(`"records": 0`))
	}
	cases := []struct {
		name  string
		harm  func(data, ledger string) error
		fault string // in the audit
		again string // in the error of a run that uses the data set again; "": there is none, and its audit says the same
	}{
		{"no ledger", func(_, ledger string) error { return os.Remove(ledger) }, "ledger is gone", "ledger is gone"},
		{"an empty ledger", func(_, ledger string) error { return os.Truncate(ledger, 0) }, "the ledger has 0 records", "the ledger has 0 records"},
		{"a ledger that was cut", func(_, ledger string) error {
			return edit(ledger, func(b []byte) []byte { return b[:len(b)-record] })
		}, "records, and had at least", "records, and had at least"},
		{"an empty ledger, and no number of records", func(data, ledger string) error {
			return errors.Join(os.Truncate(ledger, 0), edit(filepath.Join(data, "fake-memory", "dataset.json"), noRecords))
		}, "none of the 150 messages that were loaded", "none of the 150 messages that were loaded"},
		{"an empty ledger, and an empty data set", func(data, ledger string) error {
			return errors.Join(os.Truncate(ledger, 0), edit(filepath.Join(data, "fake-memory", "dataset.json"), func(b []byte) []byte {
				return regexp.MustCompile(`"messages": \d+`).ReplaceAll(noRecords(b), []byte(`"messages": 0`))
			}))
		}, "messages, and the ledger", "none of the 150 messages that were loaded"},
		{"a ledger that was cut, and no number of records", func(data, ledger string) error {
			return errors.Join(os.Truncate(ledger, 200*record), edit(filepath.Join(data, "fake-memory", "dataset.json"), noRecords))
		}, "and the ledger", ""},
		{"a record taken out", func(_, ledger string) error {
			return edit(ledger, func(b []byte) []byte { return slices.Delete(b, 50*record, 51*record) })
		}, "record 51 has a wrong checksum", "record 51 has a wrong checksum"},
		{"no dataset.json", func(data, _ string) error {
			return os.Remove(filepath.Join(data, "fake-memory", "dataset.json"))
		}, "the file of the data set in ", "is gone; put it back, or remove that folder"},
		{"an empty dataset.json", func(data, _ string) error {
			return os.Truncate(filepath.Join(data, "fake-memory", "dataset.json"), 0)
		}, "dataset.json is damaged", "dataset.json is damaged"},
		{"a data set of another model", func(data, _ string) error {
			return edit(filepath.Join(data, "fake-memory", "dataset.json"), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"model": "fake"`), []byte(`"model": "other"`), 1)
			})
		}, "is of other on memory, and the folder is for fake on memory", "is of other on memory"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			c := dataConfig(t, newFake(), changes)
			runOK(t, c)
			if err := x.harm(c.DataDir, filepath.Join(c.DataDir, "fake-memory", "ledger")); err != nil {
				t.Fatal(err)
			}
			before := contents(t, c.DataDir)
			c.Audit = AuditOnly
			r := runOK(t, c)
			if len(r.Audits) != 1 || !r.Audits[0].Wrong() || !strings.Contains(reports.AuditSummary(&r.Audits[0]), x.fault) {
				t.Fatalf("audits %+v, cells %+v; want one that says %q", r.Audits, r.Cells, x.fault)
			}
			if after := contents(t, c.DataDir); !slices.Equal(before, after) {
				t.Errorf("the audit left %q, and there was %q", after, before)
			}
			c.Audit = NoAudit
			if x.again == "" {
				c.Audit = AuditAfter
				if a := auditOf(t, runOK(t, c)); !strings.Contains(a.Fault, x.fault) {
					t.Errorf("used again: %+v, want %q", a, x.fault)
				}
				return
			}
			r = runOK(t, c)
			cell := r.Cells[0]
			if cell.Verdict != results.Failed || !strings.Contains(cell.Error, x.again) {
				t.Errorf("used again: %s %q, want %q", cell.Verdict, cell.Error, x.again)
			}
			if len(r.Audits) != 1 || !strings.Contains(r.Audits[0].Fault, x.again) {
				t.Errorf("used again: audits %+v, want %q", r.Audits, x.again)
			}
		})
	}
}

// contents are the names and contents of all files of a folder.
func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, path+": "+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAuditsOfAllDataSets: an audit by itself looks at the data sets of all trials that the folder has.
func TestAuditsOfAllDataSets(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly)
	c.Trials, c.DataDir = 3, filepath.Join(t.TempDir(), "data")
	runOK(t, c)
	c.Trials, c.Audit = 1, AuditOnly
	r := runOK(t, c)
	if len(r.Audits) != 3 || r.Audits[2].Trial != 3 || slices.ContainsFunc(r.Audits, func(a results.Audit) bool { return a.Wrong() }) {
		t.Fatalf("audits %+v, want 3 clean ones", r.Audits)
	}
}

// cutEnd removes the last bytes of a file.
func cutEnd(name string) error {
	f, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Truncate(name, max(0, f.Size()-7))
}

// TestCorruptStore: whichever file of a store is damaged or gone, an audit verifies all or is not clean,
// and where the engine finds it, it is the data that is wrong, and not the audit that failed.
func TestCorruptStore(t *testing.T) {
	c := killedConfig(t, filepath.Join(t.TempDir(), "data"))
	var err error
	c.Workload, err = workloads.Parse("settled.yaml", []byte(`
version: 1
name: settled
mail: {body: 2KB}
population: {users: 5, folders: 3, messages: 10}
phases:
  - load: {}
  - settle: {}
  - measure: {clients: 4, operations: 200, mix: {deliver: 40, open: 10, delete: 15}}
`))
	if err != nil {
		t.Fatal(err)
	}
	c.Audit = AuditAfter
	clean := auditOf(t, runOK(t, c))
	whole := c.DataDir
	files, err := filepath.Glob(filepath.Join(whole, "elasticinbox-embedded", "store", "*"))
	if err != nil {
		t.Fatal(err)
	}
	harms := map[string]func(name string) error{
		"gone": os.Remove,
		"cut":  cutEnd,
		"damaged at the end": func(name string) error {
			b, err := os.ReadFile(name)
			clear(b[max(0, len(b)-40):])
			return errors.Join(err, os.WriteFile(name, b, 0o600))
		},
		"zeroed": func(name string) error {
			b, err := os.ReadFile(name)
			clear(b[len(b)/3 : 2*len(b)/3])
			return errors.Join(err, os.WriteFile(name, b, 0o600))
		},
	}
	faults := 0
	for _, file := range files {
		file := filepath.Base(file)
		ext := filepath.Ext(file)
		if ext != ".sst" && ext != ".log" && ext != ".blob" && !strings.HasPrefix(file, "MANIFEST") {
			continue
		}
		for what, harm := range harms {
			c.DataDir = filepath.Join(t.TempDir(), "data")
			name := filepath.Join(c.DataDir, "elasticinbox-embedded", "store", file)
			if err := errors.Join(os.CopyFS(c.DataDir, os.DirFS(whole)), harm(name)); err != nil {
				t.Fatal(err)
			}
			c.Audit = AuditOnly
			r := runOK(t, c)
			if len(r.Audits) == 1 && r.Audits[0].Verified == clean.Verified {
				continue // the engine does without that file
			}
			if len(r.Audits) != 1 || !r.Audits[0].Wrong() {
				t.Errorf("%s %s: audits %+v, cells %v", file, what, r.Audits, r.Cells)
				continue
			}
			if r.Audits[0].Fault != "" {
				faults++
			}
			t.Logf("%s %s: %s", file, what, reports.AuditSummary(&r.Audits[0]))
		}
	}
	if faults == 0 {
		t.Error("the engine found no damage")
	}
}
