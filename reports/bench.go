package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

// WriteBench writes the run as Go benchmark lines for benchstat and similar tools.
// Trials are repeated lines. Workload, load, durability and verdict are configuration
// lines: benchstat does not compare figures that differ in them. What differs from
// run to run is left out.
func WriteBench(w io.Writer, r *Run) error {
	out := bufio.NewWriter(w) // keeps the first error
	e := &r.Environment
	b := bench{out: out, procs: e.MaxProcs, set: map[string]string{}}
	b.config("goos", e.OS)
	b.config("goarch", e.Arch)
	b.config("cpu", e.CPU)
	b.config("pkg", "github.com/mailbench/mailbench")
	b.config("workload", r.Workload.Name)
	fmt.Fprint(out, "Unit ops/s better=higher\n")
	for _, s := range Sections(r) {
		for _, c := range s.Cells {
			for _, name := range s.Ops {
				if o, ok := c.Ops[name]; ok && o.Count+o.others() > 0 {
					b.line(c, name, &o)
				}
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write benchmark lines: %w", err)
	}
	return nil
}

type bench struct {
	out   *bufio.Writer
	procs int
	set   map[string]string // configuration in force
}

// config writes a configuration line unless it is in force.
func (b *bench) config(key, value string) {
	if value = units.OneLine(value); value != b.set[key] {
		b.set[key] = value
		fmt.Fprintf(b.out, "%s: %s\n", key, value)
	}
}

// line writes one operation. Its latencies are of the operations that were ok; the
// others are counted.
func (b *bench) line(c *Cell, name string, o *Op) {
	b.config("load", c.Load())
	b.config("durability", c.Durability)
	b.config("verdict", string(c.Verdict))
	fmt.Fprintf(b.out, "BenchmarkMail/model=%s/engine=%s/phase=%s/op=%s-%d\t%8d",
		benchName(c.Model), benchName(c.Engine), benchName(c.Phase), benchName(name), b.procs, o.Count)
	if o.Count > 0 {
		l, st := c.Latency(o), &o.Store
		fmt.Fprintf(b.out, "\t%.0f ns/op", l.Mean)
		for _, p := range []struct {
			of   float64
			name string
			ns   int64
		}{{0.5, "p50", l.P50}, {0.99, "p99", l.P99}, {0.999, "p99.9", l.P999}} {
			if o.Count >= EnoughFor(p.of) {
				fmt.Fprintf(b.out, "\t%d %s-ns", p.ns, p.name)
			}
		}
		fmt.Fprintf(b.out, "\t%d max-ns", l.Max)
		fmt.Fprintf(b.out, "\t%.4g calls/op\t%.4g rows-read/op\t%.4g rows-written/op\t%.0f B-read/op\t%.0f B-written/op",
			st.Calls, st.RowsRead, st.RowsWritten, st.BytesRead, st.BytesWritten)
	}
	fmt.Fprintf(b.out, "\t%.4g ops/s\t%d not-found\t%d failed\t%d unknown\t%d dropped\t%d too-large\n",
		o.Rate, o.NotFound, o.Failed, o.Unknown, o.Dropped, o.TooLarge)
}

// benchName replaces the slashes and spaces of a name. A benchmark's name ends at a
// space, and slashes divide it.
func benchName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '_'
		}
		return r
	}, units.OneLine(s))
}
