package forecast

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// WriteText writes a report in lines of at most 80 columns.
func (r *Report) WriteText(to io.Writer) error {
	w := &writer{to: to}
	if r.Workload == "" {
		w.line("%s on %s with the rows that the schema declares", r.Schema, r.Engine)
	} else {
		w.line("%s on %s with the mail of workload %s", r.Schema, r.Engine, r.Workload)
		w.line("%s users, %s folders, %s messages; %s new messages per day",
			count(float64(r.Users)), count(float64(r.Folders)), count(float64(r.Messages)), count(r.Daily))
		w.line("Each user receives %s messages a day on average; --per-day N changes that.",
			strconv.FormatFloat(r.Daily/float64(max(1, r.Users)), 'g', 3, 64))
	}
	w.line("Sizes are those of one copy, compacted and not compressed.")
	w.tables(r)
	w.partitions(r)
	w.limits(r)
	if c := r.Compressed; c != nil {
		w.line("")
		w.line("Compression, not counted above: %s in blocks of %dKiB leaves %s of raw", c.Compressor, c.Block>>10,
			share(c.Raw))
		w.line("messages, %s of text bodies and %s of attachments (%d messages sampled).", share(c.Bodies),
			share(c.Attachments), c.Messages)
	}
	return w.err
}

type writer struct {
	to  io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format+"\n", args...)
	}
}

// table writes rows in columns: as many as left says at the left, and then numbers.
func (w *writer) table(left int, rows [][]string) {
	w.line("\n%s", strings.TrimSuffix(words.Table(rows, left, 0), "\n"))
}

func (w *writer) tables(r *Report) {
	rows, last := [][]string{{"TABLE", "ROWS"}}, 0
	if r.Years[0] > 0 {
		last = len(r.Years) - 1
		w.rows(r)
	}
	for _, y := range r.Years {
		rows[0] = append(rows[0], strings.ToUpper(after(y)))
	}
	sums := func(name string, sizes []float64) {
		row := []string{name, ""}
		for _, n := range sizes {
			row = append(row, words.Size(n))
		}
		rows = append(rows, row)
	}
	if r.Years[0] > 0 {
		rows[0][1] = "ROWS IN " + strings.ToUpper(after(r.Years[last]))
	}
	undeclared := ""
	for _, t := range r.Tables {
		if t.Undeclared {
			undeclared += " " + t.Table
		}
		row := []string{t.Table, count(t.Rows[last])}
		for _, n := range t.Bytes {
			row = append(row, words.Size(n))
		}
		rows = append(rows, row)
	}
	sums("all", r.Space.Files)
	sums("disk for "+words.Plural(r.Replicas, "replica"), r.Space.Disk)
	for _, o := range r.Outside {
		row := []string{"files in " + o.Store, count(o.Files[last])}
		for _, n := range o.Bytes {
			row = append(row, words.Size(n))
		}
		rows = append(rows, row)
	}
	w.table(1, rows)
	if len(r.Outside) > 0 {
		w.line("The files are outside the engine, in one copy; all and disk are without them.")
	}
	w.line("Disk includes %s free space for compaction:", share(r.Space.Room))
	w.line("%s.", r.Space.Why)
	if undeclared != "" {
		w.line("No row estimate, because the schema has no rows, for:%s.", undeclared)
	}
}

// rows writes how many rows there are at each time.
func (w *writer) rows(r *Report) {
	rows := [][]string{{"ROWS"}}
	for _, y := range r.Years {
		rows[0] = append(rows[0], strings.ToUpper(after(y)))
	}
	for _, t := range r.Tables {
		row := []string{t.Table}
		for _, n := range t.Rows {
			row = append(row, count(n))
		}
		rows = append(rows, row)
	}
	w.table(1, rows)
}

func (w *writer) partitions(r *Report) {
	first := "NOW"
	if r.Years[0] > 0 {
		first = "IN " + strings.ToUpper(after(r.Years[0]))
	}
	sizes := [][]string{{"PARTITIONS " + first, "EACH", "COUNT", "MEDIAN", "P99.9", "LARGEST"}}
	last := len(r.Years) - 1
	head := "LARGEST"
	if last > 0 {
		head += " IN " + strings.ToUpper(after(r.Years[last]))
	}
	largest := [][]string{{head, "EACH", "SIZE", "ROWS", "CELLS", "TOMBSTONES"}}
	for _, g := range r.Partitions {
		sizes = append(sizes, []string{
			g.Table, g.Each, count(g.Count[0]),
			words.Size(g.Median[0].Bytes), words.Size(g.P999[0].Bytes), words.Size(g.Largest[0].Bytes),
		})
		p := g.Largest[last]
		largest = append(largest, []string{
			g.Table, g.Each, words.Size(p.Bytes), count(p.Rows),
			count(p.Cells), count(p.Tombstones),
		})
	}
	w.table(2, sizes)
	w.table(2, largest)
}

func (w *writer) limits(r *Report) {
	horizon := after(r.Years[len(r.Years)-1])
	if len(r.Limits) == 0 {
		w.line("\nNo limit of %s is passed within %s.", r.Engine, horizon)
		return
	}
	rows := [][]string{{"LIMIT PASSED BY", "MEDIAN", "P99.9", "LARGEST"}}
	limit := ""
	for _, l := range r.Limits {
		if l.Limit != limit {
			limit = l.Limit
			what := "warned of"
			if l.Hard {
				what = "refused"
			}
			rows = append(rows, []string{limit + " (" + what + ")"})
		}
		name := "  " + l.Table
		if l.Each != "" {
			name += ", of each " + l.Each
		}
		rows = append(rows, []string{name, passed(l.Median), passed(l.P999), passed(l.Largest)})
	}
	w.table(1, rows)
	w.line("Times are after the start; a dash is not within %s. --json names the", horizon)
	w.line("source of each limit.")
}

func passed(years *float64) string {
	if years == nil {
		return "–"
	}
	return after(*years)
}

// after writes a time after the start.
func after(years float64) string {
	days := years * 365
	switch {
	case years == 0:
		return "now"
	case years == schemas.Years("month"):
		return "1 month"
	case days < 1.5:
		return "1 day"
	case days < 100:
		return fmt.Sprintf("%.0f days", days)
	case years == 1:
		return "1 year"
	case years == float64(int(years)):
		return fmt.Sprintf("%.0f years", years)
	}
	return fmt.Sprintf("%.1f years", years)
}

// count writes a number with commas, or with a unit from 10 million on.
func count(n float64) string {
	switch {
	case n >= 1e10:
		return fmt.Sprintf("%.1f bn", n/1e9)
	case n >= 1e7:
		return fmt.Sprintf("%.1f m", n/1e6)
	case n > 0 && n < 0.95:
		return fmt.Sprintf("%.1f", n)
	}
	s := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func share(f float64) string { return fmt.Sprintf("%.0f%%", 100*f) }
