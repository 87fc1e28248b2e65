// Package latency records how mail operations ended and how long they took.
//
// An operation that was ok has latency, response time, service time and wait. Another one that was executed has
// one time: when it was over. Times are kept in HDR histograms of nanoseconds.
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
)

// Kind is one of the times of an operation.
type Kind uint8

// The kinds. An open loop reports Response, which contains the wait for earlier operations
// that were late. A closed loop has no scheduled times and records Service only. The other kinds are
// no latencies. Latency is what is compared and ranked: the response without the client's own delays. Rest
// is added to it to get all scheduled operations. Free is the part of Service that found a free
// worker.
const (
	Response Kind = iota // end − scheduled start
	Service              // end − start
	Wait                 // start − scheduled start
	Latency              // end − scheduled start without the client's own delays; closed loop: end − start
	Rest                 // the same of operations that were executed and did not succeed
	Free                 // end − start of operations that found a free worker; not in the log
	NumKinds int  = iota
)

var kindNames = [NumKinds]string{
	"response", "service", "lag", "latency", "rest", "free",
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

// Significant decimal digits of the histograms. Latencies have digits; Wait and Free need less.
const (
	digits      = 3 // 229 KB a histogram
	digitsRough = 2 // 31 KB
)

// Op is what was recorded of one operation.
type Op struct {
	Counts [NumOutcomes]int64
	// First and Last are when the first and the last operation that was ok ended. A gap without
	// an operation that was ok ends at First or begins at Last.
	First, Last time.Duration
	Times       [NumKinds]Histogram
}

// Clamped is how many times were beyond Highest. Latency and Free are further times of an operation that counts
// already.
func (o *Op) Clamped() int64 {
	t := &o.Times
	return t[Response].clamped + t[Service].clamped + t[Wait].clamped + t[Rest].clamped
}

// Add adds b to o. It yields the processor between histograms, so that workers do not wait for all of them.
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
	for k := range b.Times {
		if from := &b.Times[k]; from.count > 0 {
			o.Times[k].Add(from)
			runtime.Gosched()
		}
	}
}

// Reset empties o and keeps its histograms.
func (o *Op) Reset() {
	o.Counts, o.First, o.Last = [NumOutcomes]int64{}, 0, 0
	for k := range o.Times {
		if h := &o.Times[k]; h.count > 0 {
			clear(h.of)
			h.count, h.clamped = 0, 0
		}
	}
}

// Worker has the counts that a worker records into. There are at most two Workers for each
// processor, and their histograms fit into workerBytes. Further workers of a phase share them. So
// memory does not grow with clients and processors. Locks stay free, because few workers record at
// the same time.
type Worker struct {
	mu    sync.Mutex
	ops   []Op     // since the last Tick
	parts [][]Part // by operation
	open  bool
	_     [64]byte // keeps the locks of two workers out of one cache line
}

// Record adds one operation. One that was Dropped has no times. Queued says that it found all workers busy. Times are
// read from one monotonic clock. Delay is the time that the client lost: it is not in the latency. Parts are those
// of an operation that was ok. Record allocates only for the first time of each kind and part.
func (w *Worker) Record(op int, out Outcome, queued bool, due, start, end, delay time.Duration, parts ...PartTime) {
	took, service := end-due-delay, end-start
	w.mu.Lock()
	o := &w.ops[op]
	o.Counts[out]++
	switch out {
	case OK:
		if o.Counts[OK] == 1 || end < o.First {
			o.First = end
		}
		o.Last = max(o.Last, end)
		o.Times[Service].Record(service, 1)
		o.Times[Latency].Record(took, 1)
		if w.open {
			if !queued {
				o.Times[Free].Record(service, 1)
			}
			o.Times[Response].Record(end-due, 1)
			o.Times[Wait].Record(start-due, 1) // an operation that starts before it is due is on time
		}
		for i := range parts {
			p := partOf(&w.parts[op], parts[i].Name)
			p.Calls += parts[i].Calls
			p.Times.Record(parts[i].Took, 1)
		}
	case Failed, Unknown, NotFound:
		o.Times[Rest].Record(took, 1)
	}
	w.mu.Unlock()
}

const (
	// opBytes is the size of an operation's histograms of latency, response and service; of wait and free; and of the
	// few parts that it has.
	opBytes = 3*229<<10 + 2*31<<10 + 4*31<<10
	// workerBytes bounds the histograms of all Workers.
	workerBytes = 64 << 20
	// mostPrecise is how many operations can have histograms of three digits. An operation counts
	// once for each stream that has it. If there are more, all have two digits: 279 KB an operation.
	mostPrecise = 64
	roughBytes  = 9 * 31 << 10
)

// Recorder collects what the workers of one phase record.
type Recorder struct {
	// Total is what was recorded up to the last Tick.
	Total []Op

	workers  []*Worker
	sums     [][]int
	spare    []Op // swapped with the ops of one worker after the other
	interval []Op
}

// NewRecorder returns a recorder for that many operations and workers. Open says whether
// operations have scheduled times. Beyond mostPrecise operations, times are kept to two digits: a
// percentile is then within 1% and not 0.1%. Each of sums are operations that are added up.
func NewRecorder(ops, workers int, open bool, sums ...[]int) *Recorder {
	rough, each := ops > mostPrecise, opBytes
	if rough {
		each = roughBytes
	}
	all := ops + len(sums)
	r := &Recorder{Total: make([]Op, all), sums: sums, spare: newOps(ops, rough), interval: make([]Op, all)}
	for range max(1, min(workers, 2*runtime.NumCPU(), workerBytes/(ops*each))) {
		r.workers = append(r.workers, &Worker{ops: newOps(ops, rough), parts: make([][]Part, ops), open: open})
	}
	return r
}

// newOps are operations to record.
func newOps(n int, rough bool) []Op {
	ops := make([]Op, n)
	for i := range ops {
		for k := range ops[i].Times {
			precise := digits
			if k := Kind(k); rough || k == Wait || k == Free { // no report compares these
				precise = digitsRough
			}
			ops[i].Times[k] = *NewHistogram(precise)
		}
	}
	return ops
}

// Worker returns what worker i records into.
func (r *Recorder) Worker(i int) *Worker { return r.workers[i%len(r.workers)] }

// Tick takes what the workers recorded since the last Tick, adds it to Total and
// returns it by operation, followed by the sums. The result is valid until the next Tick. One goroutine
// calls Tick and reads Total. When the workers have ended, one more Tick takes the last
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
			r.interval[i].Add(&r.spare[i])
			r.spare[i].Reset()
		}
	}
	for k, of := range r.sums {
		for _, i := range of {
			r.interval[len(r.spare)+k].Add(&r.interval[i])
		}
	}
	for i := range r.interval {
		r.Total[i].Add(&r.interval[i])
	}
	return r.interval
}

// Histogram counts nanoseconds from 0 to Highest in the buckets of an HDR histogram: up to 2 << bits each value has
// a bucket of its own, and from there each power of two has 1 << bits. Recording and adding are faster than in the
// library's type, which checks again what the recorder has checked; the log has that type. A histogram has no
// buckets until its first value. A nil *Histogram has no values.
type Histogram struct {
	digits  int // significant decimal digits; 0: those of the first histogram that is added
	bits    int
	count   int64
	clamped int64   // values beyond Highest
	of      []int64 // by bucket, in the order of the library's histogram
}

// NewHistogram returns an empty histogram that keeps so many significant decimal digits.
func NewHistogram(digits int) *Histogram {
	return &Histogram{digits: digits, bits: bits.Len64(2*uint64(math.Pow10(digits))-1) - 1}
}

// Record adds a time that came n times. One beyond the range counts at its end, and one below 0 as 0.
func (h *Histogram) Record(d time.Duration, n int64) {
	if h.of == nil {
		h.of = make([]int64, (bits.Len64(uint64(Highest))-h.bits+1)<<h.bits)
	}
	if d > Highest {
		h.clamped += n
	}
	v := uint64(min(max(d, 0), Highest))
	width := max(0, bits.Len64(v)-h.bits-1) // logarithm to base 2 of the bucket's width
	h.of[uint64(width)<<(h.bits&63)+v>>(width&63)] += n
	h.count += n
}

// Add adds the values of another histogram.
func (h *Histogram) Add(b *Histogram) {
	if b.Count() == 0 {
		return
	}
	if h.digits == 0 {
		h.digits, h.bits = b.digits, b.bits
	}
	h.clamped += b.clamped
	for bucket := range b.Buckets {
		h.Record(time.Duration(bucket.From), bucket.Count)
	}
}

// Count is the number of values.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Bucket is how many values are within From and To.
type Bucket struct{ From, To, Count int64 }

// Buckets yields the buckets that have values, the lowest first.
func (h *Histogram) Buckets(yield func(Bucket) bool) {
	if h == nil {
		return
	}
	for i, n := range h.of {
		if n == 0 {
			continue
		}
		width := max(0, i>>h.bits-1) // as in Record
		from := int64(i-width<<h.bits) << width
		if !yield(Bucket{from, from + 1<<width - 1, n}) {
			return
		}
	}
}

// NeverEnded is the percentile that lies among operations that never ended.
const NeverEnded = -1

// At is a percentile in nanoseconds of the values and of so many operations that never ended, 0 <= percent <= 100:
// the least time that at least so many of them do not exceed. It is 0 if there are none.
//
// Its rank is the ceiling of percent × values, as in the definition and in Java's HdrHistogram
// (AbstractHistogram.getValueAtPercentile). hdrhistogram-go rounds the rank to the nearest, which
// is one too low half of the time.
func (h *Histogram) At(percent float64, neverEnded int64) int64 {
	all := h.Count() + neverEnded
	if all == 0 {
		return 0
	}
	below := math.Nextafter(percent, 0) // 99% of 100 is 99.00000000000001 in floating point
	rank := min(all, max(1, int64(math.Ceil(below*float64(all)/100))))
	for b := range h.Buckets {
		if rank -= b.Count; rank <= 0 {
			return b.To
		}
	}
	return NeverEnded
}

// Max is the longest time.
func (h *Histogram) Max() int64 { return h.At(100, 0) }

// Mean is the mean of the times; 0 if there are none.
func (h *Histogram) Mean() (mean float64) {
	for b := range h.Buckets {
		mean += float64(b.Count) * float64((b.From+b.To+1)/2) / float64(h.count)
	}
	return mean
}
