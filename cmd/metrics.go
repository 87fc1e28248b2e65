package cmd

import (
	"fmt"
	"io"
	"net"

	"github.com/mailbench/mailbench/reports/metrics"
	"github.com/mailbench/mailbench/workloads/run"
)

// serveMetrics shows the run to Prometheus until stop is called.
func (f *runFlags) serveMetrics(w io.Writer, c *run.Config) (stop func(), err error) {
	if _, _, err := net.SplitHostPort(f.metrics); err != nil {
		return nil, usagef("--metrics %q: expected :PORT or HOST:PORT, such as :9464", f.metrics)
	}
	m := metrics.New()
	at, stop, err := m.Serve(f.metrics)
	if err != nil {
		return nil, err
	}
	c.Observe = m.Add
	progress := c.Progress
	c.Progress = func(p run.Progress) {
		m.Progress(p.Done)
		progress(p)
	}
	if !f.quiet {
		fmt.Fprintf(w, "metrics: http://%s/metrics\n", at)
	}
	return stop, nil
}
