package drivers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// Cost is what calls to a store cost. Engines count the requests and the rows that they read for them. plan.Session
// counts rows and bytes read and written. Bytes are payload as Value.Size counts it: arguments of writes, and the
// columns of rows read.
type Cost struct {
	// Requests are the requests that went to the engine, without Retries. An operation of several
	// requests counts as several: the pages of a read, the elements of a parallel get, the
	// parts of a batch that are sent one by one. The engines' packages say what a request is.
	Requests int64
	// Retries are further attempts of requests, by the driver, its client or the model.
	Retries int64
	// Throttled are the requests that the engine refused because the client may not send so
	// much in a time. Requests that were sent again are Retries too. Backoff is how long the driver
	// waited before it sent them again.
	Throttled int64
	Backoff   time.Duration
	// RowsScanned are the rows and the index entries that the engine read for the calls,
	// returned or not.
	RowsScanned int64
	// Unreported is the number of calls for which the engine does not report RowsScanned. That is
	// known if Unreported is 0.
	Unreported int64

	RowsRead, RowsWritten, BytesRead, BytesWritten int64
	// BytesAdded are those of BytesRead and BytesWritten that the model's document does not have: of
	// patterns, tables and columns that are additions.
	BytesAdded int64

	// BlobRequests are the requests of a model to a store of blobs outside of the engine. BlobBytesRead and
	// BlobBytesWritten went there; they are part of BytesRead and BytesWritten.
	BlobRequests, BlobBytesRead, BlobBytesWritten int64
}

// Add adds d to c.
func (c *Cost) Add(d *Cost) {
	c.Requests += d.Requests
	c.Retries += d.Retries
	c.Throttled += d.Throttled
	c.Backoff += d.Backoff
	c.RowsScanned += d.RowsScanned
	c.Unreported += d.Unreported
	c.RowsRead += d.RowsRead
	c.RowsWritten += d.RowsWritten
	c.BytesRead += d.BytesRead
	c.BytesWritten += d.BytesWritten
	c.BytesAdded += d.BytesAdded
	c.BlobRequests += d.BlobRequests
	c.BlobBytesRead += d.BlobBytesRead
	c.BlobBytesWritten += d.BlobBytesWritten
}

// Meter counts what the calls of a session cost. The sessions of all engines have one (plan.Session), which runs each
// call.
type Meter struct {
	// Cost is what calls have cost since the last Take. Only the goroutine that runs the call changes it: others Count.
	Cost Cost

	mu        sync.Mutex
	counted   Cost        // by Count; Run adds it to Cost
	counts    atomic.Bool // there is some of it
	repeating bool
	clock     func() time.Duration
	watch     func(st Statement, took time.Duration, calls int64)

	// Of a traced session:
	idle   *Work  // a piece of work without calls; nil in other sessions
	rows   bool   // the rows scanned are those that the engine read
	pieces []Work // since the last Work
}

// Count counts what requests have cost. Several goroutines of a call may count at the same time. A nil Meter counts
// nothing.
func (m *Meter) Count(c Cost) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted.Add(&c)
	m.counts.Store(true)
}

// Run runs a call of a statement. Of one that repeats an earlier call, Retries remain.
func (m *Meter) Run(st Statement, call func() error) error {
	before, began, took := m.Cost, time.Duration(0), time.Duration(0)
	if m.clock != nil {
		began = m.clock()
	}
	err := call()
	if m.clock != nil {
		took = m.clock() - began
	}
	if m.counts.Load() { // an engine in this process counts in Cost, and takes no lock
		m.mu.Lock()
		m.Cost.Add(&m.counted)
		m.counted = Cost{}
		m.counts.Store(false)
		m.mu.Unlock()
	}
	if m.repeating {
		repeated := m.Cost
		m.Cost = before
		m.Cost.Retries = repeated.Retries + repeated.Requests - before.Requests
		m.Cost.Throttled, m.Cost.Backoff = repeated.Throttled, repeated.Backoff
	}
	if m.idle != nil {
		m.Did(func(w *Work) {
			w.Requests += m.Cost.Requests - before.Requests
			if m.rows {
				w.Rows += m.Cost.RowsScanned - before.RowsScanned
			}
		})
	}
	if m.watch != nil {
		m.watch(st, took, m.Cost.Requests-before.Requests)
	}
	return err
}

// Trace makes the session of the meter a TracedSession. idle is a piece of work without calls. Run adds the requests of
// calls and, if rows, the rows that they scanned; the engine adds all else by Did.
func (m *Meter) Trace(idle Work, rows bool) { m.idle, m.rows = &idle, rows }

// Traced reports whether the session of the meter is a TracedSession.
func (m *Meter) Traced() bool { return m != nil && m.idle != nil }

// Did adds to the piece of work under way, if there is one. Several goroutines of a call may add at the same time.
func (m *Meter) Did(add func(w *Work)) {
	if !m.Traced() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.pieces); n > 0 {
		add(&m.pieces[n-1])
	}
}

// Begin implements TracedSession.
func (m *Meter) Begin() { m.pieces = append(m.pieces, *m.idle) }

// Work implements TracedSession.
func (m *Meter) Work(context.Context) (all []Work, err error) {
	all, m.pieces = m.pieces, nil
	return all, nil
}

// Take implements Session.
func (m *Meter) Take() Cost {
	took := m.Cost
	m.Cost = Cost{}
	return took
}

// Repeating implements Session.
func (m *Meter) Repeating(on bool) { m.repeating = on }

// Blob implements Session.
func (m *Meter) Blob(read, written int64) {
	m.Cost.BlobRequests++
	m.Cost.BytesRead += read
	m.Cost.BlobBytesRead += read
	m.Cost.BytesWritten += written
	m.Cost.BlobBytesWritten += written
}

// Watch implements Session.
func (m *Meter) Watch(clock func() time.Duration, watch func(st Statement, took time.Duration, calls int64)) {
	m.clock, m.watch = clock, watch
}

// DiskReads returns how many bytes the processes have read from disk since they began, past
// the page cache. It returns -1 if that is not known of one of them, or if there is none.
func DiskReads(pids ...int) (total int64) {
	for _, pid := range pids {
		// No NewProcess: that looks up the process first.
		io, err := (&process.Process{Pid: int32(pid)}).IOCounters()
		if err != nil {
			return -1
		}
		total += int64(io.DiskReadBytes)
	}
	if len(pids) == 0 {
		return -1
	}
	return total
}

// ProcessorTime returns the processor time that the processes have used since they began, user and
// system. It returns 0 if that is not known of one of them, or if there is none.
func ProcessorTime(pids ...int) (total time.Duration) {
	for _, pid := range pids {
		used, err := (&process.Process{Pid: int32(pid)}).Times()
		if err != nil {
			return 0
		}
		total += time.Duration((used.User + used.System) * float64(time.Second))
	}
	return total
}

// JavaOptions returns the heap and the garbage collector of an engine's processes on this machine,
// as settings of results: the words of -Xmx and -XX:+Use…GC in their command lines. Values that are not
// known of one of them are left out, and values that differ between them are a list.
func JavaOptions(pids ...int) map[string]string {
	var heaps, collectors []string
	for _, pid := range pids {
		words, err := (&process.Process{Pid: int32(pid)}).CmdlineSlice()
		if err != nil {
			return nil
		}
		heap, collector := "", ""
		for _, word := range words {
			if of, ok := strings.CutPrefix(word, "-Xmx"); ok {
				heap = of
			}
			of, is := strings.CutPrefix(word, "-XX:+Use")
			if of, gc := strings.CutSuffix(of, "GC"); is && gc {
				collector = of
			}
		}
		heaps, collectors = append(heaps, heap), append(collectors, collector)
	}
	settings := make(map[string]string)
	for name, values := range map[string][]string{"server_heap": heaps, "server_gc": collectors} {
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 && values[0] != "" {
			settings[name] = strings.Join(values, ", ")
		}
	}
	return settings
}
