package merge

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
)

// WriteLog writes the latency log of the merged run: one line for each tag, for the whole phase.
func (m *Merged) WriteLog(w io.Writer) error {
	log, err := latency.NewLog(w, stamp(m.Run.Started))
	if err != nil {
		return err
	}
	for i := range m.Run.Cells {
		c := &m.Run.Cells[i]
		if c.Kind == results.KindStep {
			continue
		}
		from, to := stamp(c.Started), stamp(c.Ended)
		for _, op := range slices.Sorted(maps.Keys(logged(c))) {
			for k := range latency.Kind(latency.NumKinds) {
				if err := m.writeOne(log, c.Tag(op, k.String()), from, to); err != nil {
					return err
				}
			}
		}
		if err := m.writeOne(log, c.Tag("client", "hiccup"), from, to); err != nil {
			return err
		}
	}
	return log.Flush()
}

func (m *Merged) writeOne(log *latency.Log, tag string, from, to time.Time) error {
	h := m.histograms[tag]
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	return log.WriteOne(tag, h, from, to)
}
