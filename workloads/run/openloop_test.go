package run

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
)

// BenchmarkOpenLoop runs 20,000 operations a second on the null engine and
// reports how late they started.
func BenchmarkOpenLoop(b *testing.B) {
	for b.Loop() {
		c := config(b, newFake(), `
  - measure: {rate: 20000/s, duration: 5s, arrivals: poisson, mix: {list: 40, open: 40, deliver: 10, flag: 10}}
`)
		c.Workers = 0
		c.Models, c.Engines = []models.Model{elasticinbox.Model()}, []drivers.Engine{null.Engine()}
		r, err := Run(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		m := phaseOf(b, r, "measure")
		var dropped int64
		for name, o := range m.Ops {
			dropped += o.Dropped
			b.ReportMetric(float64(o.Wait.P999)/1e6, name+"-p99.9-lag-ms")
			b.ReportMetric(float64(o.Wait.P50)/1e6, name+"-p50-lag-ms")
		}
		b.ReportMetric(float64(dropped), "dropped")
		b.ReportMetric(m.Client.CPUShare, "cpu-share")
		b.Logf("%s %s %v", m.Verdict, why(m), m.Doubts)
	}
}
