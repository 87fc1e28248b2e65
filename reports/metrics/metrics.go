// Package metrics shows a run to Prometheus while it goes on. It reads what the collector
// of a phase has merged at each tick, so it costs workers nothing.
package metrics

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

var outcomes = [latency.NumOutcomes]string{"ok", "not_found", "failed", "unknown", "too_large", "dropped"}

// kinds are the times that are shown.
var kinds = []latency.Kind{latency.Latency, latency.Response, latency.Service, latency.Wait}

// bounds are the upper bounds of the buckets in seconds: 1, 2 and 5 of each power of ten.
var bounds = []float64{
	1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100,
}

// labels are those of all metrics of an operation. Each has one more.
var labels = []string{"model", "engine", "phase", "trial", "operation"}

// Metrics are the metrics of one run.
type Metrics struct {
	operations *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	progress   prometheus.Gauge
}

// New returns the metrics of a run that has not begun.
func New() *Metrics {
	return &Metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mailbench_operations_total", Help: "Operations by outcome.",
		}, append(labels, "outcome")),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mailbench_operation_duration_seconds",
			Help: "Times of successful operations: response (scheduled start to end), service (start to end) and lag, " +
				"the wait (scheduled start to start).",
			Buckets: bounds,
		}, append(labels, "kind")),
		progress: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mailbench_run_progress_ratio", Help: "Share of the run that is done.",
		}),
	}
}

// Add adds what a phase recorded since its last tick. Op names the operation with an index.
func (m *Metrics) Add(key results.Key, op func(int) string, ops []latency.Op) {
	for i := range ops {
		if ops[i].Counts == ([latency.NumOutcomes]int64{}) {
			continue
		}
		of := func(last string) []string {
			return []string{key.Model, key.Engine, key.Where(), strconv.Itoa(key.Trial), op(i), last}
		}
		for out, n := range ops[i].Counts {
			m.operations.WithLabelValues(of(outcomes[out])...).Add(float64(n))
		}
		for _, kind := range kinds {
			times := m.durations.WithLabelValues(of(kind.String())...)
			for bar := range ops[i].Times[kind].Buckets {
				for range bar.Count {
					times.Observe(float64(bar.From+bar.To) / 2e9)
				}
			}
		}
	}
}

// Progress notes the share of the run that is done.
func (m *Metrics) Progress(done float64) { m.progress.Set(done) }

// Serve answers at http://ADDRESS/metrics until stop is called. An address without a host
// is on loopback. It returns the address.
func (m *Metrics) Serve(address string) (at string, stop func(), err error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("serve metrics: %w; name a free address of this machine with --metrics", err)
	}
	r, mux := prometheus.NewRegistry(), http.NewServeMux()
	r.MustRegister(m.operations, m.durations, m.progress)
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // it ends with stop
	return l.Addr().String(), func() { _ = s.Close() }, nil
}
