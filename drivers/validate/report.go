package validate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
)

// Report says what was read and what was found.
type Report struct {
	Schema string  `json:"schema"`
	Sample float64 `json:"sample"` // share of each table that was to be read; 1 is all
	Tables []Table `json:"tables"`
	// Findings of broken rows come before those of leftovers, each in the order of tables.
	Findings []Finding `json:"findings"`
	// Unchecked lists the references and counts that a sample cannot check.
	Unchecked []string `json:"unchecked,omitempty"`
	// Paced says how the check kept to its pace, if it had one.
	Paced *Paced `json:"pace,omitempty"`
	// Scratch is the largest total size of the files of records, in bytes.
	Scratch int64 `json:"scratch_bytes"`
}

// Table says how much of a table was read. Bytes are payload as drivers.Value.Size
// counts it. Parts is how many the table was divided into, Read how many of them
// were read. Static is set for the static columns of a table, one row a partition.
type Table struct {
	Name    string  `json:"table"`
	Static  bool    `json:"static,omitempty"`
	Rows    int64   `json:"rows"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Parts   int     `json:"parts"`
	Read    int     `json:"parts_read"`
	// Earlier of these parts, with RowsEarlier of the rows, were read by a process before this one.
	Earlier     int   `json:"parts_read_earlier,omitempty"`
	RowsEarlier int64 `json:"rows_earlier,omitempty"`
}

// Finding is what one check found in one table.
type Finding struct {
	About
	Rows int64 `json:"rows"`
	// Missing is how many different rows are missing: many rows may refer to one.
	Missing int64 `json:"missing,omitempty"`
	// Drift is the sum of the differences between stored numbers and recounts.
	Drift int64 `json:"drift,omitempty"`
	// Examples name the first rows, in the order of their text.
	Examples []string `json:"examples"`
}

// About is what a finding is about.
type About struct {
	Table string `json:"table"`
	Check Check  `json:"check"`
	// Name is that of the checked column, reference or count.
	Name string `json:"name"`
	// Leftover: the rows are not broken, but nothing needs them any more.
	Leftover bool `json:"leftover,omitempty"`
}

// Check is a kind of check.
type Check string

// The checks.
const (
	Decode    Check = "decode"    // bytes that are no value of the column's type
	UTF8      Check = "utf-8"     // a text that is not UTF-8
	TimeUUID  Check = "timeuuid"  // an identifier of another version
	Reference Check = "reference" // a row that another row refers to is missing
	Count     Check = "count"     // a stored number differs from the recount
	Marker    Check = "marker"    // rows in HBase without mailbench's marker cell, which it does not read
)

// Broken returns how many rows are broken, counted once for each finding.
func (r *Report) Broken() int64 { return r.rows(func(f Finding) bool { return !f.Leftover }) }

// Drifted returns how many rows have a number that differs from its recount.
func (r *Report) Drifted() int64 {
	return r.rows(func(f Finding) bool { return f.Check == Count && !f.Leftover })
}

// Leftover returns how many rows are orphaned.
func (r *Report) Leftover() int64 { return r.rows(func(f Finding) bool { return f.Leftover }) }

func (r *Report) rows(of func(Finding) bool) (n int64) {
	for _, f := range r.Findings {
		if of(f) {
			n += f.Rows
		}
	}
	return n
}

// Progress says how far a check is.
type Progress struct {
	Table       string // "" while references and counts are compared
	Part, Parts int    // parts of that table, or files of records: done, and all
	Rows, Bytes int64  // read from all tables
	Elapsed     time.Duration
	Pausing     time.Duration // for how much longer reads pause, as one was slow
	Pauses      int           // until now
}

// findings collects what all workers find.
type findings struct {
	mu sync.Mutex
	by map[About]*Finding
}

// Examples is how many rows a finding names.
const Examples = 5

// add counts rows of a finding. It keeps the Examples that come first by their text.
func (f *findings) add(about About, rows, missing, drift int64, example string) {
	f.merge(Finding{about, rows, missing, drift, []string{example}})
}

// merge adds findings.
func (f *findings) merge(all ...Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, own := range all {
		x := f.by[own.About]
		if x == nil {
			x = &Finding{About: own.About}
			f.by[own.About] = x
		}
		x.Rows += own.Rows
		x.Missing += own.Missing
		x.Drift += own.Drift
		for _, example := range own.Examples {
			if at, known := slices.BinarySearch(x.Examples, example); !known && at < Examples {
				x.Examples = slices.Insert(x.Examples, at, example)
				x.Examples = x.Examples[:min(len(x.Examples), Examples)]
			}
		}
	}
}

// all returns the findings in any order.
func (f *findings) all() (all []Finding) {
	for _, x := range f.by {
		all = append(all, *x)
	}
	return all
}

// WriteText writes what was read, and then what was found, in lines of at most width columns; 0 is
// any number.
func (r *Report) WriteText(w io.Writer, width int) error {
	rows := [][]string{{"TABLE", "ROWS", "BYTES", "READ", "TIME", "ROWS/S"}}
	for _, t := range r.Tables {
		name, part := t.Name, "all"
		if t.Static {
			name += " (static)"
		}
		if t.Read < t.Parts {
			part = fmt.Sprintf("%d of %d parts", t.Read, t.Parts)
		}
		if t.Earlier > 0 {
			part += fmt.Sprintf(", %d before", t.Earlier)
		}
		perSecond := "-"
		if t.Seconds > 0 {
			perSecond = strconv.FormatFloat(float64(t.Rows-t.RowsEarlier)/t.Seconds, 'f', 0, 64)
		}
		rows = append(rows, []string{
			name, strconv.FormatInt(t.Rows, 10), words.Size(float64(t.Bytes)), part, seconds(t.Seconds), perSecond,
		})
	}
	if _, err := io.WriteString(w, words.Table(rows, len(rows[0]), width)); err != nil {
		return err
	}
	r.writeFindings(w, "Broken", false)
	r.writeFindings(w, "Orphaned by an interrupted operation or a delete: nothing refers to these rows", true)
	r.writeUnseen(w)
	if len(r.Unchecked) > 0 {
		fmt.Fprintf(w, "\nNot checked in a sample: %s.\n", strings.Join(r.Unchecked, ", "))
	}
	if r.Paced != nil {
		r.Paced.write(w)
	}
	return nil
}

// writeFindings prints the findings of one sort under a heading, if there are any.
func (r *Report) writeFindings(w io.Writer, heading string, leftover bool) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Leftover != leftover {
			continue
		}
		if heading != "" {
			fmt.Fprintf(w, "\n%s:\n", heading)
			heading = ""
		}
		fmt.Fprintf(w, "  %s: %s %s: %s", f.Table, f.Check, f.Name, words.Plural(f.Rows, "row"))
		if f.Missing > 0 && f.Missing != f.Rows {
			fmt.Fprintf(w, " for %d that are not there", f.Missing)
		}
		if f.Drift != 0 {
			fmt.Fprintf(w, ", off by %d in all", f.Drift)
		}
		fmt.Fprintln(w)
		for _, example := range f.Examples {
			fmt.Fprintf(w, "      %s\n", example)
		}
		if more := f.Rows - int64(len(f.Examples)); more > 0 && len(f.Examples) == Examples {
			fmt.Fprintln(w, "      …")
		}
	}
}

// unseen returns the largest share of broken things that leaves a sample of n without one in at least
// 1 of 20 cases: 1 - 0.05^(1/n), which is near 3/n (the rule of three: Hanley and Lippman-Hand, "If Nothing
// Goes Wrong, Is Everything All Right?", JAMA 249, 1983).
func unseen(n int64) float64 {
	if n == 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// writeUnseen says, for tables of which a sample was read and nothing found, what that cannot exclude.
func (r *Report) writeUnseen(w io.Writer) {
	upTo := func(share float64) string {
		if share > 0.99 {
			return "up to 100%" // two digits would be 1e+02
		}
		return "up to " + strconv.FormatFloat(100*share, 'g', 2, 64) + "%"
	}
	said := false
	for _, t := range r.Tables {
		broken := func(f Finding) bool { return f.Table == t.Name && !f.Leftover }
		if t.Read >= t.Parts || slices.ContainsFunc(r.Findings, broken) {
			continue
		}
		if !said {
			fmt.Fprint(w, "\nThe sample cannot exclude, with 95% confidence (rule of three):\n")
			said = true
		}
		fmt.Fprintf(w, "  %s: %s of its rows are broken, if they are spread evenly;\n"+
			"      %s of its parts have broken rows, if they are together\n", t.Name, upTo(unseen(t.Rows)), upTo(unseen(int64(t.Read))))
	}
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

// String says how far a check is, in one line.
func (p Progress) String() string {
	what := "reading " + p.Table
	if p.Table == "" {
		what = "comparing references and counts"
	}
	line := fmt.Sprintf("%s: part %d of %d, %d rows, %s, %s", what, p.Part, p.Parts, p.Rows,
		words.Size(float64(p.Bytes)), p.Elapsed.Round(time.Second))
	switch {
	case p.Pausing > 0:
		line += fmt.Sprintf("; a read was slow: pause %d, %s left", p.Pauses, p.Pausing.Round(time.Second))
	case p.Pauses > 0:
		line += "; " + words.Plural(p.Pauses, "pause")
	}
	return line
}
