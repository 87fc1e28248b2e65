package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// Rows are the phases and streams of a workload in words: name, load, length and operations.
func (w *Workload) Rows() (rows [][]string) {
	for i := range w.Phases {
		p := &w.Phases[i]
		if !p.HasStreams() {
			rows = append(rows, []string{p.Name, p.pace(), p.length(), p.operations()})
			continue
		}
		for k := range p.Streams {
			s := &p.Streams[k]
			rows = append(rows, []string{p.Name + ": " + s.Name, s.pace(), p.length(), s.operations()})
		}
	}
	return rows
}

// pace is the rate or the number of clients.
func (p *Phase) pace() string {
	switch {
	case !p.Runs():
		return "-"
	case p.Replay != nil:
		return "as recorded"
	case p.RemoteRate.Count > 0:
		return p.Rate.String() + ", remote " + p.RemoteRate.String()
	case p.Rate.Count > 0 && p.Session != nil:
		return p.Rate.String() + " sessions"
	case p.Rate.Count > 0:
		return p.Rate.String()
	}
	return words.Plural(p.Clients, "client")
}

func (p *Phase) length() string {
	switch {
	case p.Duration > 0:
		return p.Duration.String()
	case p.Operations > 0:
		return words.Plural(int64(p.Operations), "operation")
	}
	return "-"
}

// operations lists the operations of a phase, the most frequent first.
func (p *Phase) operations() string {
	if p.Kind == Interrupt {
		return fmt.Sprintf("move, delete of %s, interrupted", words.Plural(p.Messages, "message"))
	}
	if !p.Runs() || p.Replay != nil {
		return "-"
	}
	mix := p.PerSecond()
	var ops []Op
	for i := range mix {
		if op := Op(i); mix.Has(op) {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(mix[b], mix[a]) })
	var all []string
	for _, op := range ops {
		all = append(all, fmt.Sprintf("%s %.3g", p.Patterns.Name(op), 100*mix.Share(op)))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}
