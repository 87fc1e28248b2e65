package page

import "github.com/mailbench/mailbench/reports"

// newLags is the table of response, service and lag of an open loop. It is nil for a closed loop,
// which has no due times.
func newLags(s *reports.Section, cs []column) *table {
	if c := s.Cells[0]; !c.Measured() || c.Arrivals == "closed" {
		return nil
	}
	t := &table{Label: "Response, service and lag of " + s.Cells[0].Where(), Head: []head{
		{"response p50", ""},
		{"service p50", ""},
		{"lag p50", ""},
		{"response p99", ""},
		{"service p99", ""},
		{"lag p99", ""},
	}}
	for _, op := range s.Ops {
		g := group{Op: op}
		for i := range cs {
			o, ok := cs[i].op(op)
			if !ok || o.Count == 0 {
				continue
			}
			r := row{Name: cs[i].name, Trouble: cs[i].trouble()}
			add := func(p float64, times ...int64) {
				for _, ns := range times {
					r.Values = append(r.Values, value{Text: percentile(o, ns, p)})
				}
			}
			add(0.5, o.Response.P50, o.Service.P50, o.Lag.P50)
			add(0.99, o.Response.P99, o.Service.P99, o.Lag.P99)
			g.Rows = append(g.Rows, r)
		}
		if len(g.Rows) > 0 {
			t.Groups = append(t.Groups, g)
		}
	}
	return t
}
