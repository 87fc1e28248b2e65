package forecast

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// Report is a forecast as it is printed, and as JSON.
type Report struct {
	Schema   string `json:"schema"`
	Engine   string `json:"engine"`
	Workload string `json:"workload,omitempty"`

	Users    int `json:"users"`
	Folders  int `json:"folders"`
	Messages int `json:"messages"`
	// Daily is how many messages all folders receive in a day.
	Daily    float64 `json:"messages_received_daily"`
	Replicas int     `json:"replicas"`
	// Years are the times after the start for which there are sizes: 0 is now. Those of a
	// schema without mail begin with a month.
	Years      []float64     `json:"years"`
	Tables     []TableReport `json:"tables"`
	Partitions []GroupReport `json:"partitions"`
	Limits     []LimitReport `json:"limits_passed"`
	Space      SpaceReport   `json:"space"`
	// Outside are the stores of blobs outside of the engine that have files.
	Outside    []OutsideReport `json:"outside,omitempty"`
	Compressed *Compressed     `json:"compression,omitempty"`
}

// TableReport is the size of one table's files, one copy, at each of the years.
type TableReport struct {
	Table string    `json:"table"`
	Rows  []float64 `json:"rows"`
	Cells []float64 `json:"cells"`
	Bytes []float64 `json:"bytes"`
	// Undeclared: the schema does not say which rows the table has.
	Undeclared bool `json:"undeclared,omitempty"`
}

// GroupReport is the partitions of a table that hold the rows of one kind of entity.
type GroupReport struct {
	Table string `json:"table"`
	Each  string `json:"each"`
	// Count, and the partitions of these quantiles, at each of the years.
	Count   []float64 `json:"count"`
	Median  []Part    `json:"median"`
	P999    []Part    `json:"p99.9"`
	Largest []Part    `json:"largest"`
}

// LimitReport is when the partitions of a table that hold the rows of one kind of entity pass a limit, in years after
// the start: 0 if they have, nil if they do not within the last of Years. Limits of cells and tables have no Each, no
// Median and no P999.
type LimitReport struct {
	Limit   string   `json:"limit"`
	Hard    bool     `json:"refused"`
	Source  string   `json:"source"`
	Table   string   `json:"table"`
	Each    string   `json:"each,omitempty"`
	Median  *float64 `json:"median_years"`
	P999    *float64 `json:"p99.9_years"`
	Largest *float64 `json:"largest_years"`
}

// OutsideReport is what a store of blobs has at each of the years, in one copy.
type OutsideReport struct {
	Store string    `json:"store"`
	Files []float64 `json:"files"`
	Bytes []float64 `json:"bytes"`
}

// SpaceReport is what a cluster needs at each of the years.
type SpaceReport struct {
	Files []float64 `json:"files"` // bytes of one copy
	Disk  []float64 `json:"disk"`  // bytes with replicas and room for compaction
	// Room is the share of the files that compaction needs in addition.
	Room float64 `json:"compaction_room"`
	Why  string  `json:"why"`
}

// Compressed is what a compressor leaves of sampled mail, as a share of its bytes.
type Compressed struct {
	Compressor  string  `json:"compressor"`
	Block       int     `json:"block_bytes"`
	Messages    int     `json:"messages"`
	Raw         float64 `json:"raw"`
	Bodies      float64 `json:"bodies"`
	Attachments float64 `json:"attachments"`
}

// Report sums a forecast up at some years after the start; the largest is the horizon
// for limits. p is nil for a schema that has no rows of mail. The caller fills in Engine, Workload and Compressed.
func (f *Forecast) Report(p *Population, replicas int, years []float64) *Report {
	r := &Report{Schema: f.Schema.Name, Replicas: replicas, Years: years}
	if p != nil {
		t := p.totals()
		r.Users, r.Folders, r.Messages = len(p.Users), int(t.folders), int(t.messages)
		r.Daily = t.messages * p.Growth.Yearly / 365
	}
	space := f.Engine.Space
	r.Space = SpaceReport{
		Files: make([]float64, len(years)), Disk: make([]float64, len(years)), Room: space.Compaction, Why: space.Why,
	}
	for _, t := range f.Tables {
		tr := TableReport{Table: t.Name, Undeclared: len(t.Rows) == 0}
		for i, y := range years {
			at := t.At(y)
			tr.Rows, tr.Cells, tr.Bytes = append(tr.Rows, at.Rows), append(tr.Cells, at.Cells), append(tr.Bytes, at.Bytes)
			r.Space.Files[i] += at.Bytes
			r.Space.Disk[i] += at.Bytes * float64(replicas) * (1 + space.Compaction)
		}
		r.Tables = append(r.Tables, tr)
		for _, g := range t.Groups {
			gr := GroupReport{Table: t.Name, Each: g.Each}
			for _, y := range years {
				gr.Count = append(gr.Count, g.Count(y))
				gr.Median = append(gr.Median, g.Quantile(0.5, y))
				gr.P999 = append(gr.P999, g.Quantile(0.999, y))
				gr.Largest = append(gr.Largest, g.Quantile(1, y))
			}
			r.Partitions = append(r.Partitions, gr)
			for _, k := range g.kinds {
				if store := k.Store(); store != "" {
					r.outside(k, store, p)
				}
			}
		}
	}
	r.Limits = f.Limits(slices.Max(years))
	return r
}

// outside adds what the rows of a kind have in a store of blobs. A blob is counted at its length, without what a file
// system takes for a file.
func (r *Report) outside(k *kind, store string, p *Population) {
	at := slices.IndexFunc(r.Outside, func(o OutsideReport) bool { return o.Store == store })
	if at < 0 {
		at = len(r.Outside)
		r.Outside = append(r.Outside, OutsideReport{store, make([]float64, len(r.Years)), make([]float64, len(r.Years))})
	}
	for i, y := range r.Years {
		n := p.totals().messages * k.grown(p, y)
		r.Outside[at].Files[i] += n * k.outside.files
		r.Outside[at].Bytes[i] += n * k.outside.bytes
	}
}

// WriteText writes a report in lines of at most 80 columns.
func (r *Report) WriteText(to io.Writer) error {
	w := bufio.NewWriter(to)
	if r.Workload == "" {
		fmt.Fprintf(w, "%s on %s with the rows that the schema declares\n", r.Schema, r.Engine)
	} else {
		fmt.Fprintf(w, "%s on %s with the mail of workload %s\n", r.Schema, r.Engine, r.Workload)
		fmt.Fprintf(w, "%s users, %s folders, %s messages; %s new messages per day\n",
			count(float64(r.Users)), count(float64(r.Folders)), count(float64(r.Messages)), count(r.Daily))
		fmt.Fprintf(w, "Each user receives %s messages a day on average; --per-day N changes that.\n",
			strconv.FormatFloat(r.Daily/float64(max(1, r.Users)), 'g', 3, 64))
	}
	fmt.Fprint(w, "Sizes are those of one copy, compacted and not compressed.\n")
	r.tables(w)
	r.partitions(w)
	r.limits(w)
	if c := r.Compressed; c != nil {
		fmt.Fprintln(w)
		fmt.Fprintf(w, "Compression, not counted above: %s in blocks of %dKiB leaves %s of raw\n", c.Compressor, c.Block>>10,
			share(c.Raw))
		fmt.Fprintf(w, "messages, %s of text bodies and %s of attachments (%d messages sampled).\n", share(c.Bodies),
			share(c.Attachments), c.Messages)
	}
	return w.Flush()
}

// table writes rows in columns: as many as left says at the left, and then numbers.
func table(w io.Writer, left int, rows [][]string) {
	fmt.Fprint(w, "\n", words.Table(rows, left, 0))
}

func (r *Report) tables(w io.Writer) {
	last, rows := 0, "ROWS"
	if r.Years[0] > 0 {
		last = len(r.Years) - 1
		rows += " " + heading(r.Years[last])
		counts := [][]string{{"ROWS"}}
		for _, t := range r.Tables {
			counts = append(counts, numbers(count, t.Rows, t.Table))
		}
		r.overYears(w, counts)
	}
	sizes, undeclared := [][]string{{"TABLE", rows}}, ""
	for _, t := range r.Tables {
		if t.Undeclared {
			undeclared += " " + t.Table
		}
		sizes = append(sizes, numbers(words.Size, t.Bytes, t.Table, count(t.Rows[last])))
	}
	sizes = append(sizes, numbers(words.Size, r.Space.Files, "all", ""),
		numbers(words.Size, r.Space.Disk, "disk for "+words.Plural(r.Replicas, "replica"), ""))
	for _, o := range r.Outside {
		sizes = append(sizes, numbers(words.Size, o.Bytes, "files in "+o.Store, count(o.Files[last])))
	}
	r.overYears(w, sizes)
	if len(r.Outside) > 0 {
		fmt.Fprint(w, "The files are outside the engine, in one copy; all and disk are without them.\n")
	}
	fmt.Fprintf(w, "Disk includes %s free space for compaction:\n", share(r.Space.Room))
	fmt.Fprintf(w, "%s.\n", r.Space.Why)
	if undeclared != "" {
		fmt.Fprintf(w, "No row estimate, because the schema has no rows, for:%s.\n", undeclared)
	}
}

// numbers adds a cell for each number to a row.
func numbers(write func(float64) string, all []float64, row ...string) []string {
	for _, n := range all {
		row = append(row, write(n))
	}
	return row
}

// overYears writes rows that end with a number for each of the years.
func (r *Report) overYears(w io.Writer, rows [][]string) {
	for _, y := range r.Years {
		rows[0] = append(rows[0], strings.ToUpper(after(y)))
	}
	table(w, 1, rows)
}

func (r *Report) partitions(w io.Writer) {
	last := len(r.Years) - 1
	sizes := [][]string{{"PARTITIONS " + heading(r.Years[0]), "EACH", "COUNT", "MEDIAN", "P99.9", "LARGEST"}}
	largest := [][]string{{"LARGEST " + heading(r.Years[last]), "EACH", "SIZE", "ROWS", "CELLS", "TOMBSTONES"}}
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
	table(w, 2, sizes)
	table(w, 2, largest)
}

func (r *Report) limits(w io.Writer) {
	horizon := after(r.Years[len(r.Years)-1])
	if len(r.Limits) == 0 {
		fmt.Fprintf(w, "\nNo limit of %s is passed within %s.\n", r.Engine, horizon)
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
	table(w, 1, rows)
	fmt.Fprintf(w, "Times are after the start; a dash is not within %s. --json names the\nsource of each limit.\n", horizon)
}

func passed(years *float64) string {
	if years == nil {
		return "–"
	}
	return after(*years)
}

// heading writes a time after the start for the head of a column.
func heading(years float64) string {
	if years == 0 {
		return "NOW"
	}
	return "IN " + strings.ToUpper(after(years))
}

// after writes a time after the start.
func after(years float64) string {
	switch days := years * 365; {
	case years == 0:
		return "now"
	case years == schemas.Years("month"):
		return "1 month"
	case days < 100:
		return words.Plural(max(1, int(math.RoundToEven(days))), "day")
	case years == float64(int(years)):
		return words.Plural(int(years), "year")
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
	return words.Thousands(int64(math.RoundToEven(n)))
}

func share(f float64) string { return fmt.Sprintf("%.0f%%", 100*f) }
