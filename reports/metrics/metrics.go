// Package metrics shows a run to Prometheus while it goes on. It reads what the collector
// of a phase has merged at each tick, so it costs workers nothing.
package metrics

import (
	"fmt"
	"net"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

var outcomes = [latency.NumOutcomes]string{"ok", "not_found", "failed", "unknown", "too_large", "dropped"}

// bounds are the upper bounds of the buckets in seconds: 1, 2 and 5 of each power of ten.
var bounds = [...]float64{
	1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100,
}

// labels are those of all metrics of an operation. Each has one more.
var labels = []string{"model", "engine", "phase", "trial", "operation"}

var durations = prometheus.NewDesc("mailbench_operation_duration_seconds",
	"Times of successful operations: response (scheduled start to end), service (start to end) and lag, "+
		"the wait (scheduled start to start).", append(labels, "kind"), nil)

// Metrics are the metrics of one run.
type Metrics struct {
	operations *prometheus.CounterVec
	progress   prometheus.Gauge

	mu    sync.Mutex
	times map[[6]string]histogram // by the values of labels and the kind
}

// histogram adds whole buckets, so that a tick takes the measurement no time, however many operations it has.
type histogram struct {
	below [len(bounds)]uint64 // up to each bound
	count uint64
	sum   float64 // seconds
}

// New returns the metrics of a run that has not begun.
func New() *Metrics {
	return &Metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mailbench_operations_total", Help: "Operations by outcome.",
		}, append(labels, "outcome")),
		progress: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mailbench_run_progress_ratio", Help: "Share of the run that is done.",
		}),
		times: map[[6]string]histogram{},
	}
}

// Add adds what a phase recorded since its last tick. Op names the operation with an index.
func (m *Metrics) Add(key results.Key, op func(int) string, ops []latency.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ops {
		if ops[i].Counts == ([latency.NumOutcomes]int64{}) {
			continue
		}
		of := func(last string) [6]string {
			return [6]string{key.Model, key.Engine, key.Where(), strconv.Itoa(key.Trial), op(i), last}
		}
		for out, n := range ops[i].Counts {
			values := of(outcomes[out])
			m.operations.WithLabelValues(values[:]...).Add(float64(n))
		}
		for _, kind := range []latency.Kind{latency.Latency, latency.Response, latency.Service, latency.Wait} {
			h := m.times[of(kind.String())]
			for bar := range ops[i].Times[kind].Buckets {
				middle, n := float64(bar.From+bar.To)/2e9, uint64(bar.Count)
				for b := sort.SearchFloat64s(bounds[:], middle); b < len(bounds); b++ {
					h.below[b] += n
				}
				h.count, h.sum = h.count+n, h.sum+middle*float64(n)
			}
			if h.count > 0 {
				m.times[of(kind.String())] = h
			}
		}
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { to <- durations }

// Collect implements prometheus.Collector: the times.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, h := range m.times {
		below := map[float64]uint64{}
		for i, b := range bounds {
			below[b] = h.below[i]
		}
		to <- prometheus.MustNewConstHistogram(durations, h.count, h.sum, below, of[:]...)
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
	r.MustRegister(m.operations, m.progress, m)
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // it ends with stop
	return l.Addr().String(), func() { _ = s.Close() }, nil
}
