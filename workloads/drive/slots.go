package drive

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/summary"
	"github.com/mailbench/mailbench/workloads"
)

// slots numbers the counters and histograms of a phase: one slot for each operation of each
// stream. Each operation is recorded once, and the figures of operations and of streams are
// sums of slots. A phase without streams has one slot for each operation, with its number.
type slots struct {
	at  [][workloads.NumOps]int // by stream and operation
	all []slot
}

type slot struct {
	stream int
	op     workloads.Op
}

func newSlots(p *workloads.Phase) slots {
	var s slots
	if !p.HasStreams() {
		s.at = make([][workloads.NumOps]int, 1)
		for op := range workloads.NumOps {
			s.at[0][op], s.all = op, append(s.all, slot{0, workloads.Op(op)})
		}
		return s
	}
	s.at = make([][workloads.NumOps]int, len(p.Streams))
	for i := range p.Streams {
		asks := p.Streams[i].Asks()
		for op := range workloads.NumOps {
			s.at[i][op] = math.MaxInt // never used, unless the stream asks for the operation
			if asks.Has(workloads.Op(op)) {
				s.at[i][op], s.all = len(s.all), append(s.all, slot{i, workloads.Op(op)})
			}
		}
	}
	return s
}

// slotsOf returns the slots of a stream and an operation. A negative stream or op stands for all.
func (s *slots) slotsOf(stream, op int) (all []int) {
	for i, k := range s.all {
		if (stream < 0 || k.stream == stream) && (op < 0 || int(k.op) == op) {
			all = append(all, i)
		}
	}
	return all
}

// shared are the slots of operations that several streams ask for.
func (s *slots) shared() (all []int) {
	for i, k := range s.all {
		if len(s.slotsOf(-1, int(k.op))) > 1 {
			all = append(all, i)
		}
	}
	return all
}

// slot is where the worker counts and records the operation under way.
func (w *worker) slot() int { return w.phase.slots.at[w.op.Stream][w.op.Op] }

// tally has the worker's counts of the stream of the operation under way.
func (w *worker) tally() *tally { return &w.stats.streams[w.op.Stream] }

// LogNames names what Spec.Log gets. First come all operations. Then come, as
// STREAM:OPERATION, those operations that several streams of the phase ask for, one name
// for each stream.
func LogNames(p *workloads.Phase) []string {
	names := workloads.OpNames()[:workloads.NumOps:workloads.NumOps]
	s := newSlots(p)
	for _, i := range s.shared() {
		names = append(names, results.StreamOp(p.Streams[s.all[i].stream].Name, s.all[i].op.String()))
	}
	return names
}

// byOp sums a tick's records by operation, and puts the slots of operations that several
// streams ask for behind that. It is valid until the next tick.
func (c *collector) byOp(ticked []latency.Op) []latency.Op {
	if len(c.slots.at) == 1 && len(c.slots.all) == workloads.NumOps {
		return ticked
	}
	shared := c.slots.shared()
	if c.ops == nil {
		c.ops, c.sums = make([]latency.Op, workloads.NumOps+len(shared)), make([]latency.Op, workloads.NumOps)
	}
	for op := range workloads.NumOps {
		switch of := c.slots.slotsOf(-1, op); len(of) {
		case 0:
		case 1:
			c.ops[op] = ticked[of[0]]
		default:
			sum := &c.sums[op]
			sum.Reset()
			for _, i := range of {
				sum.Add(&ticked[i])
			}
			c.ops[op] = *sum
		}
	}
	for i, k := range shared {
		c.ops[workloads.NumOps+i] = ticked[k]
	}
	return c.ops
}

// total is the sum of what was recorded in these slots.
func (p *phase) total(of []int) *latency.Op {
	if len(of) == 1 {
		return p.recorder.Total(of[0])
	}
	var sum latency.Op
	for _, i := range of {
		sum.Add(p.recorder.Total(i))
	}
	return &sum
}

// streams are the figures of each stream; nil for a phase without streams.
func (f *figures) streams() (all []results.Stream) {
	if !f.Phase.HasStreams() {
		return nil
	}
	for i := range f.Phase.Streams {
		s, of := &f.Phase.Streams[i], f.slots.slotsOf(i, -1)
		var counted tally
		if i < len(f.stats.streams) {
			counted = f.stats.streams[i]
		}
		one := results.Stream{
			Name: s.Name, Arrivals: s.Arrivals.String(), Clients: s.Clients, Ops: map[string]results.Op{},
			Offered: f.offered(&counted, of), Late: counted.late, Queued: counted.queued,
		}
		if asks := s.Asks(); s.Arrivals != workloads.Closed {
			for _, n := range asks {
				one.Rate += n
			}
		}
		var recorded []*latency.Op
		for _, k := range of {
			recorded = append(recorded, f.recorder.Total(k))
			one.Ops[f.slots.all[k].op.String()] = f.op([]int{k})
		}
		if f.hiccups != nil { // a phase that began
			one.AllOps = summary.All(recorded, latency.Latency)
		}
		all = append(all, one)
	}
	return all
}

// streamIntervals counts how each stream's operations of a tick ended, by name of the stream.
func (c *collector) streamIntervals(ticked []latency.Op, scratch *hdr.Histogram) map[string]results.OpInterval {
	if !c.Phase.HasStreams() {
		return nil
	}
	all := map[string]results.OpInterval{}
	for i := range c.Phase.Streams {
		sum := latency.Op{}
		scratch.Reset()
		sum.Times[latency.Latency] = scratch
		for _, k := range c.slots.slotsOf(i, -1) {
			for out, n := range ticked[k].Counts {
				sum.Counts[out] += n
			}
			if h := ticked[k].Times[latency.Latency]; h != nil {
				scratch.Merge(h)
			}
		}
		if sum.Counts != ([latency.NumOutcomes]int64{}) {
			all[c.Phase.Streams[i].Name] = opInterval(&sum, latency.Latency)
		}
	}
	return all
}
