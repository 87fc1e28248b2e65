package page

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/reports"
)

// waiting shows how much of the response times is waiting. It has a chart for each model, and in
// it a row for each operation, with a line from its service time to its response time.
type waiting struct {
	Charts []chart
	Head   []head
	Rows   []row
}

const rowHeight = 17

// opMargin is the room for names of operations beside a chart.
const opMargin = 98

// newWaiting returns no charts for a closed loop, which has no due times.
func newWaiting(cs []column, ops []string) waiting {
	var w waiting
	least, most := int64(math.MaxInt64), int64(1)
	for i := range cs {
		if !open(cs[i].cells[0]) {
			return w
		}
		for _, op := range ops {
			if o, ok := cs[i].op(op); ok && o.Count > 0 {
				least, most = min(least, o.Service.P50), max(most, o.Response.P99, o.Service.P99)
			}
		}
	}
	if least > most {
		return w
	}
	w.Head = []head{
		{"service p50", ""},
		{"response p50", ""},
		{"lag p50", ""},
		{"service p99", ""},
		{"response p99", ""},
		{"lag p99", ""},
	}
	for i := range cs {
		c := &cs[i]
		var shown []string
		for _, op := range ops {
			if o, ok := c.op(op); ok && o.Count > 0 {
				shown = append(shown, op)
			}
		}
		ch := newChart(c.name, "", marginTop+marginBottom+rowHeight*float64(len(shown)))
		ch.Left = opMargin
		x := newLogScale(least, most, ch.Left, ch.Right)
		ch.X = x.ticks()
		if len(ch.X) > 6 { // there is no room for more labels
			for n := range ch.X {
				if n%2 == 1 {
					ch.X[n].Label = ""
				}
			}
		}
		for n, op := range shown {
			o, _ := c.op(op)
			y := ch.Top + rowHeight*(float64(n)+0.5)
			ch.Y = append(ch.Y, tick{y, shortened(op, opMargin)})
			if percentile(o, o.Service.P50, 0.5) != "-" {
				ch.Pairs = append(ch.Pairs, pair{
					y, x.at(float64(o.Service.P50)), x.at(float64(o.Response.P50)),
					seriesP50, op + " p50",
				})
			}
			r := row{Name: op + ", " + c.name}
			add := func(p float64, service, response, lag int64) {
				for _, ns := range []int64{service, response, lag} {
					r.Values = append(r.Values, value{Text: percentile(o, ns, p)})
				}
			}
			add(0.5, o.Service.P50, o.Response.P50, o.Lag.P50)
			add(0.99, o.Service.P99, o.Response.P99, o.Lag.P99)
			if percentile(o, o.Service.P99, 0.99) != "-" {
				ch.Pairs = append(ch.Pairs, pair{
					y, x.at(float64(o.Service.P99)), x.at(float64(o.Response.P99)),
					seriesP99, op + " p99",
				})
			}
			w.Rows = append(w.Rows, r)
		}
		if len(shown) > 0 {
			ch.Summary = fmt.Sprintf("Service and response times of %s, by operation. The numbers are in the table below.",
				c.name)
			w.Charts = append(w.Charts, ch)
		}
	}
	return w
}

// open reports whether a cell is of an open loop.
func open(c *reports.Cell) bool { return c.Measured() && c.Arrivals != "closed" }
