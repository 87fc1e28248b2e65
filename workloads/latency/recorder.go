// Package latency records how mail operations ended and how long they took.
//
// An operation that was ok has three times: response time, service time and wait. An
// operation that failed or whose outcome is unknown has one: how long it kept its
// caller waiting. Times are kept in HDR histograms of nanoseconds.
//
// Each worker records into histograms of its own. A collector takes these at
// ticks, writes them as an interval log that HdrHistogram's tools read, and adds
// them to the totals of the phase.
package latency

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Kind is one of the times of an operation.
type Kind uint8

// The kinds. An open loop reports Response, which contains the wait for earlier operations
// that were late. A closed loop has no scheduled times and records Service only. The other kinds are
// no latencies. FailedAfter and UnknownAfter show how long an engine in trouble kept its callers
// waiting. Latency is what is compared and ranked: the response without the client's own delays. Rest
// is added to it to get all scheduled operations. Queued is the part of Service that found all
// workers busy.
const (
	Response     Kind = iota // end − scheduled start
	Service                  // end − start
	Wait                     // start − scheduled start
	FailedAfter              // end − start of operations that failed
	UnknownAfter             // end − start of operations whose outcome is unknown
	Latency                  // end − scheduled start without the client's own delays; closed loop: end − start
	Rest                     // the same of operations that were executed and did not succeed
	Queued                   // end − start of operations that found all workers busy
	NumKinds     int  = iota
)

var kindNames = [NumKinds]string{
	"response", "service", "lag", "failed", "unknown", "latency", "rest", "queued",
}

// String returns the kind's name in tags and results.
func (k Kind) String() string { return kindNames[k] }

// Outcome is how an operation ended. Only OK is in the latency figures.
type Outcome uint8

// The outcomes.
const (
	OK          Outcome = iota
	NotFound            // the message or folder was not there
	Failed              // known not to be applied
	Unknown             // timed out: may be applied
	TooLarge            // beyond a limit of the engine; nothing was applied
	Dropped             // scheduled, but never started
	NumOutcomes int     = iota
)

// Highest is the end of the histograms' range. A longer time is recorded as Highest and
// counted in Clamped, because the histogram would not count it.
const Highest = 100 * time.Second

// Significant decimal digits of the histograms. Latencies have digits; wait and the times of
// failures need less.
const (
	digits      = 3 // 229 KB a histogram
	digitsRough = 2 // 31 KB
)

// Op is what was recorded of one operation. A histogram is nil until its first
// value.
type Op struct {
	Counts  [NumOutcomes]int64
	Clamped int64 // times beyond Highest
	// First and Last are when the first and the last operation that was ok ended. A gap without
	// an operation that was ok ends at First or begins at Last.
	First, Last time.Duration
	Times       [NumKinds]*hdr.Histogram
}

// Add adds b to o. It yields the processor between histograms: a merge takes about
// 0.2 ms, and workers should not wait longer.
func (o *Op) Add(b *Op) {
	if b.Counts[OK] > 0 {
		if o.Counts[OK] == 0 || b.First < o.First {
			o.First = b.First
		}
		o.Last = max(o.Last, b.Last)
	}
	for i, n := range b.Counts {
		o.Counts[i] += n
	}
	o.Clamped += b.Clamped
	for k, from := range b.Times {
		if from == nil || from.TotalCount() == 0 {
			continue
		}
		if o.Times[k] == nil {
			o.Times[k] = hdr.New(1, int64(Highest), int(from.SignificantFigures()))
		}
		o.Times[k].Merge(from)
		runtime.Gosched()
	}
}

// Free is the distribution of the service times of operations that found a free worker; nil if there are none.
func (o *Op) Free() *hdr.Histogram {
	all, queued := o.Times[Service], o.Times[Queued]
	if all == nil || queued == nil {
		return all
	}
	free, less := all.Export(), queued.Export().Counts
	for i, n := range less {
		free.Counts[i] -= n
	}
	return hdr.Import(free)
}

// Reset empties o and keeps its histograms.
func (o *Op) Reset() {
	o.Counts, o.Clamped, o.First, o.Last = [NumOutcomes]int64{}, 0, 0, 0
	for _, h := range o.Times {
		if h != nil && h.TotalCount() > 0 {
			h.Reset()
		}
	}
}

// Worker has the counts that a worker records into. There are at most two Workers for each
// processor, and their histograms fit into workerBytes. Further workers of a phase share them. So
// memory does not grow with clients and processors. Locks stay free, because few workers record at
// the same time.
type Worker struct {
	mu    sync.Mutex
	ops   []recorded
	parts [][]Part // by operation
	open  bool
	rough bool     // all histograms have digitsRough, because there are many operations
	_     [64]byte // keeps the locks of two workers out of one cache line
}

// Record adds one operation that was started. Queued says that it found all workers busy. Times are read
// from one monotonic clock. Delay is the time that the client lost: it is not in the latency. Parts are those
// of an operation that was ok. Record allocates only for the first time of each kind and part.
func (w *Worker) Record(op int, out Outcome, queued bool, due, start, end, delay time.Duration, parts ...PartTime) {
	took := end - due - delay
	w.mu.Lock()
	o := &w.ops[op]
	o.Counts[out]++
	switch out {
	case OK:
		if o.Counts[OK] == 1 || end < o.First {
			o.First = end
		}
		o.Last = max(o.Last, end)
		w.record(o, Service, end-start)
		if queued {
			w.record(o, Queued, end-start)
		}
		w.record(o, Latency, took)
		if w.open {
			w.record(o, Response, end-due)
			w.record(o, Wait, start-due)
		}
		for i := range parts {
			w.recordPart(op, &parts[i])
		}
	case Failed:
		w.record(o, FailedAfter, end-start)
		w.record(o, Rest, took)
	case Unknown:
		w.record(o, UnknownAfter, end-start)
		w.record(o, Rest, took)
	case NotFound:
		w.record(o, Rest, took)
	}
	w.mu.Unlock()
}

// record records a time. One beyond the histograms' range counts at its end; an operation that starts before it is
// due is on time. Latency and Queued are further times of an operation, which counts in Clamped already.
func (w *Worker) record(r *recorded, k Kind, d time.Duration) {
	c := r.times[k]
	if c == nil {
		precise := digits
		if w.rough || k == Wait || k == FailedAfter || k == UnknownAfter {
			precise = digitsRough
		}
		b := bits.Len64(2*uint64(math.Pow10(precise))-1) - 1
		c = &counts{digits: precise, bits: b, of: make([]int64, (bits.Len64(uint64(Highest))-b+1)<<b)}
		r.times[k] = c
	}
	if d > Highest && k != Latency && k != Queued {
		r.Clamped++
	}
	v := uint64(min(max(d, 0), Highest))
	width := max(0, bits.Len64(v)-c.bits-1) // logarithm to base 2 of the bucket's width
	c.of[uint64(width)<<(c.bits&63)+v>>(width&63)]++
	c.total++
}

// Drop adds one operation that was scheduled and never started.
func (w *Worker) Drop(op int) {
	w.mu.Lock()
	w.ops[op].Counts[Dropped]++
	w.mu.Unlock()
}

const (
	// opBytes is the size of an operation's histograms of latency, response, service and wait.
	opBytes = 3*229<<10 + 31<<10
	// workerBytes bounds the histograms of all Workers.
	workerBytes = 64 << 20
	// mostPrecise is how many operations can have histograms of three digits. An operation counts
	// once for each stream that has it. If there are more, all have two digits: 122 KB an operation.
	mostPrecise = 64
	roughBytes  = 4 * 31 << 10
)

// Recorder collects what the workers of one phase record.
type Recorder struct {
	workers  []*Worker
	spare    []recorded // swapped with the ops of one worker after the other
	interval []Op
	total    []Op
}

// NewRecorder returns a recorder for that many operations and workers. Open says whether
// operations have scheduled times. Beyond mostPrecise operations, times are kept to two digits: a
// percentile is then within 1% and not 0.1%.
func NewRecorder(ops, workers int, open bool) *Recorder {
	rough, each := ops > mostPrecise, opBytes+partBytes
	if rough {
		each = roughBytes + partBytes
	}
	r := &Recorder{spare: make([]recorded, ops), interval: make([]Op, ops), total: make([]Op, ops)}
	for range max(1, min(workers, 2*runtime.NumCPU(), workerBytes/(ops*each))) {
		r.workers = append(r.workers, &Worker{
			ops: make([]recorded, ops), parts: make([][]Part, ops), open: open, rough: rough,
		})
	}
	return r
}

// Worker returns what worker i records into.
func (r *Recorder) Worker(i int) *Worker { return r.workers[i%len(r.workers)] }

// Tick takes what the workers recorded since the last Tick, adds it to the totals and
// returns it by operation. The result is valid until the next Tick. One goroutine
// calls Tick and Total. When the workers have ended, one more Tick takes the last
// partial interval.
func (r *Recorder) Tick() []Op {
	for i := range r.interval {
		r.interval[i].Reset()
	}
	for _, w := range r.workers {
		w.mu.Lock()
		w.ops, r.spare = r.spare, w.ops
		w.mu.Unlock()
		for i := range r.spare {
			r.spare[i].moveTo(&r.interval[i])
		}
	}
	for i := range r.interval {
		r.total[i].Add(&r.interval[i])
	}
	return r.interval
}

// Total returns the total of some operations together over all Ticks so far.
func (r *Recorder) Total(ops ...int) *Op {
	if len(ops) == 1 {
		return &r.total[ops[0]]
	}
	var sum Op
	for _, op := range ops {
		sum.Add(&r.total[op])
	}
	return &sum
}

// recorded is what one worker recorded of an operation since the last Tick. Its times are in
// counts. A Tick adds them to the histograms of Op.
type recorded struct {
	Op
	times [NumKinds]*counts
}

// moveTo adds what was recorded to o, and empties r.
func (r *recorded) moveTo(o *Op) {
	o.Add(&r.Op)
	r.Reset()
	for k, c := range r.times {
		if c == nil || c.total == 0 {
			continue
		}
		if o.Times[k] == nil {
			o.Times[k] = hdr.New(1, int64(Highest), c.digits)
		}
		for i, n := range c.of {
			if n > 0 {
				width := max(0, i>>c.bits-1)                                  // as in record
				_ = o.Times[k].RecordValues(int64(i-width<<c.bits)<<width, n) // every bucket is in the histogram's range
			}
		}
		clear(c.of)
		c.total = 0
		runtime.Gosched() // as Op.Add does
	}
}

// counts are how often each bucket of an HDR histogram was hit. Adding is faster than in the
// histogram itself, which checks again what the recorder has checked. The first 2 << bits buckets
// have one value each. Then each power of two has half as many, of twice the width.
type counts struct {
	digits int // of the histogram
	bits   int // each power of two has 1 << bits buckets
	total  int64
	of     []int64 // by index, in the histogram's order
}

// At is a percentile of a histogram in nanoseconds, 0 <= percent <= 100: the least time that at
// least so many of the values do not exceed. It is 0 if there are no values.
func At(h *hdr.Histogram, percent float64) int64 { return AtOfAll(h, 0, percent) }

// NeverEnded is the percentile that lies among operations that never ended.
const NeverEnded = -1

// AtOfAll is At of the values and of so many operations that never ended.
//
// Its rank is the ceiling of percent × values, as in the definition and in Java's HdrHistogram
// (AbstractHistogram.getValueAtPercentile). hdrhistogram-go rounds the rank to the nearest, which
// is one too low half of the time.
func AtOfAll(h *hdr.Histogram, neverEnded int64, percent float64) int64 {
	n := h.TotalCount()
	all := n + neverEnded
	below := math.Nextafter(percent, 0) // 99% of 100 is 99.00000000000001 in floating point
	switch rank := min(all, max(1, int64(math.Ceil(below*float64(all)/100)))); {
	case all == 0:
		return 0
	case rank > n:
		return NeverEnded
	default:
		return h.ValueAtPercentile(100 * float64(rank) / float64(n))
	}
}
