package drive

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
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

// slotsOf returns the slots slotsOf a stream and an operation. A negative stream or op is all slotsOf them.
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
		names = append(names, reports.StreamOp(p.Streams[s.all[i].stream].Name, s.all[i].op.String()))
	}
	return names
}

// byOp sums a tick's records by operation, and puts the slots of operations that several
// streams ask for behind that. It is valid until the next tick.
func (p *phase) byOp(ticked []latency.Op) []latency.Op {
	if len(p.slots.at) == 1 && len(p.slots.all) == workloads.NumOps {
		return ticked
	}
	shared := p.slots.shared()
	if p.ops == nil {
		p.ops, p.sums = make([]latency.Op, workloads.NumOps+len(shared)), make([]latency.Op, workloads.NumOps)
	}
	for op := range workloads.NumOps {
		switch of := p.slots.slotsOf(-1, op); len(of) {
		case 0:
		case 1:
			p.ops[op] = ticked[of[0]]
		default:
			sum := &p.sums[op]
			sum.Reset()
			for _, i := range of {
				sum.Add(&ticked[i])
			}
			p.ops[op] = *sum
		}
	}
	for i, k := range shared {
		p.ops[workloads.NumOps+i] = ticked[k]
	}
	return p.ops
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
func (p *phase) streams() (all []reports.Stream) {
	if !p.Phase.HasStreams() {
		return nil
	}
	for i := range p.Phase.Streams {
		s, of := &p.Phase.Streams[i], p.slots.slotsOf(i, -1)
		var counted tally
		if i < len(p.stats.streams) {
			counted = p.stats.streams[i]
		}
		one := reports.Stream{
			Name: s.Name, Arrivals: s.Arrivals.String(), Clients: s.Clients, Ops: map[string]reports.Op{},
			Offered: p.offered(&counted, of), Late: counted.late, Queued: counted.queued,
		}
		if asks := s.Asks(); s.Arrivals != workloads.Closed {
			for _, n := range asks {
				one.Rate += n
			}
		}
		var recorded []*latency.Op
		for _, k := range of {
			recorded = append(recorded, p.recorder.Total(k))
			one.Ops[p.slots.all[k].op.String()] = p.op([]int{k})
		}
		if p.hiccups != nil { // a phase that began
			one.AllOps = summary.All(recorded, p.reported())
			if d := summary.Delays(recorded, p.reported()); d.Operations > 0 {
				one.Undelayed = &d.Undelayed
			}
		}
		all = append(all, one)
	}
	return all
}

// streamIntervals counts how each stream's operations of a tick ended, by name of the stream.
func (p *phase) streamIntervals(ticked []latency.Op, scratch *hdr.Histogram) map[string]reports.OpInterval {
	if !p.Phase.HasStreams() {
		return nil
	}
	all := map[string]reports.OpInterval{}
	for i := range p.Phase.Streams {
		sum := latency.Op{}
		scratch.Reset()
		sum.Times[p.reported()] = scratch
		for _, k := range p.slots.slotsOf(i, -1) {
			for out, n := range ticked[k].Counts {
				sum.Counts[out] += n
			}
			if h := ticked[k].Times[p.reported()]; h != nil {
				scratch.Merge(h)
			}
		}
		if sum.Counts != ([latency.NumOutcomes]int64{}) {
			all[p.Phase.Streams[i].Name] = opInterval(&sum, p.reported())
		}
	}
	return all
}
