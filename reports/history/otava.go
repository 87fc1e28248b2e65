package history

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OtavaConfig is the name of the configuration among the files for Apache Otava.
const OtavaConfig = "otava.yaml"

// OtavaHead is the beginning of that configuration.
const OtavaHead = "# Written by mailbench history, for Apache Otava."

// File is a file to write.
type File struct {
	Name string
	Text []byte
}

// Otava makes the files that Apache Otava reads: a configuration with a test of each phase of a
// model on an engine, and the timed figures of each test as CSV. Otava wants a number for each
// figure in each row, so a figure that some runs lack has a test of its own. Counted figures
// are left out: they need no statistics. Times are milliseconds.
func (h *History) Otava() ([]File, error) {
	config := &strings.Builder{}
	fmt.Fprintf(config, "%s Paths are those from its folder:\n#   otava analyze --config-file %s TEST\ntests:",
		OtavaHead, OtavaConfig)
	var files []File
	names := map[string]int{}
	for i := range h.Series {
		s := &h.Series[i]
		for _, t := range s.otavaTests(len(h.Series) > 1) {
			if names[t.name]++; names[t.name] > 1 {
				t.name += "-" + strconv.Itoa(names[t.name])
			}
			text, err := s.csv(t.figures)
			if err != nil {
				return nil, err
			}
			files = append(files, File{t.name + ".csv", text})
			fmt.Fprintf(config, "\n  %s:\n    type: csv\n    file: %s.csv\n    time_column: time\n    attributes: [run, "+
				"version, commit]\n    metrics:\n", t.name, t.name)
			for _, f := range t.figures {
				direction := -1 // lower is better
				if f.Measure.HigherIsBetter {
					direction = 1
				}
				fmt.Fprintf(config, "      %s: {direction: %d}\n", f.otavaColumn(), direction)
			}
		}
	}
	if len(files) == 0 {
		fmt.Fprint(config, " {}\n")
	}
	return append([]File{{OtavaConfig, []byte(config.String())}}, files...), nil
}

// otavaTest are figures that the same runs have.
type otavaTest struct {
	name    string
	figures []*Figure
}

// otavaTests puts figures into tests. Figures of a phase that have a value in every run of it
// share a test.
func (s *Series) otavaTests(several bool) []otavaTest {
	var tests []otavaTest
	at := map[string]int{}
	for i := range s.Figures {
		f := &s.Figures[i]
		if !f.Measure.Timed {
			continue
		}
		name := word(f.Model) + "." + word(f.Engine) + "." + word(f.Phase)
		if several {
			name = fmt.Sprintf("series-%d.%s", s.Number, name)
		}
		if !f.whole(s) {
			tests = append(tests, otavaTest{name + "." + f.otavaColumn(), []*Figure{f}})
			continue
		}
		n, known := at[name]
		if !known {
			n = len(tests)
			at[name] = n
			tests = append(tests, otavaTest{name: name})
		}
		tests[n].figures = append(tests[n].figures, f)
	}
	return tests
}

// whole reports whether no run has other figures of the phase and lacks this one.
func (f *Figure) whole(s *Series) bool {
	for i := range s.Figures {
		o := &s.Figures[i]
		if !o.Measure.Timed || o.Where() != f.Where() {
			continue
		}
		for n := range o.Values {
			if o.Values[n] != nil && f.Values[n] == nil {
				return false
			}
		}
	}
	return true
}

// otavaColumn names a figure and its unit: list.p99_ms.
func (f *Figure) otavaColumn() string {
	unit := "ms"
	if f.Measure.HigherIsBetter {
		unit = "per_s"
	}
	return word(strings.Replace(f.Of(), ":", ".", 1)) + "." + f.Name + "_" + unit
}

// word replaces the characters of a name that YAML, CSV or a file system would not take.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, name)
}

// csv has a row for each run that has the figures, the oldest first.
func (s *Series) csv(figures []*Figure) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := []string{"time", "run", "version", "commit"}
	for _, f := range figures {
		row = append(row, f.otavaColumn())
	}
	rows := [][]string{row}
	for i := range s.Runs {
		if slices.ContainsFunc(figures, func(f *Figure) bool { return f.Values[i] == nil }) {
			continue
		}
		r := &s.Runs[i]
		began, err := time.Parse(time.RFC3339, r.Started)
		if err != nil {
			return nil, fmt.Errorf("write CSV for Otava: the run in %s has no valid time of its start: %w", r.Folder, err)
		}
		commit := word(r.Commit)
		if r.Dirty {
			commit += "-changed"
		}
		row := []string{began.UTC().Format("2006-01-02T15:04:05Z"), word(r.Folder), word(r.Version), commit}
		for _, f := range figures {
			v := *f.Values[i]
			if !f.Measure.HigherIsBetter {
				v /= 1e6
			}
			row = append(row, strconv.FormatFloat(v, 'g', 9, 64))
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("write CSV for Otava: %w", err)
	}
	return b.Bytes(), nil
}
