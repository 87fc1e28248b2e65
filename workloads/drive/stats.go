package drive

import (
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// stats are what one worker, or all of them, counted besides latencies.
type stats struct {
	tally                         // sum of all streams; a worker counts in streams instead
	streams         []tally       // by number; a phase without streams has one
	crowded         int64         // operations of queued for which there were too few workers
	droppedByClient int64         // see results.Delays
	delayed         int64         // see results.Delays
	largeWaits      int64         // see results.Evidence
	copies          int64         // see results.Evidence
	mailBytes       int64         // see results.Evidence
	busy            time.Duration // time spent in calls
	own, service    time.Duration // see results.Evidence
	ops             []opStats     // by slot
}

// tally is what is counted of one stream, or of all.
type tally struct {
	due, skipped, replaced int64
	started, late, queued  int64
	lastStart              time.Duration
}

func (t *tally) add(b *tally) {
	t.due += b.due
	t.skipped += b.skipped
	t.replaced += b.replaced
	t.started += b.started
	t.late += b.late
	t.queued += b.queued
	t.lastStart = max(t.lastStart, b.lastStart)
}

// count adds what was counted of a stream.
func (s *stats) count(stream int, t *tally) {
	for len(s.streams) <= stream {
		s.streams = append(s.streams, tally{})
	}
	s.streams[stream].add(t)
	s.tally.add(t)
}

// opStats are the counts of one slot. Cost, squares and patterns count only successful calls.
type opStats struct {
	cost       drivers.Cost
	patterns   patternCounts
	squares    squares
	missing    models.Known
	fallbacks  []string
	errors     errorCounts
	noTarget   int64
	notOffered bool // a call returned models.ErrNotOffered
}

// squares are sums of squares, for standard deviations between operations.
type squares struct{ calls, examined, rows, bytes float64 }

func (q *squares) add(c *drivers.Cost) {
	examined := float64(c.RowsExamined)
	q.examined += examined * examined
	calls, rows, bytes := float64(c.Calls), float64(c.RowsRead+c.RowsWritten), float64(c.BytesRead+c.BytesWritten)
	q.calls += calls * calls
	q.rows += rows * rows
	q.bytes += bytes * bytes
}

func (q *squares) merge(p squares) {
	q.calls += p.calls
	q.examined += p.examined
	q.rows += p.rows
	q.bytes += p.bytes
}

// deviation is the standard deviation of n values with that sum and sum of squares. It
// is 0 if the values differ by no more than rounding.
func deviation(n, sum, squares float64) float64 {
	mean := sum / n
	variance := squares/n - mean*mean
	if n < 2 || variance <= 1e-12*mean*mean {
		return 0
	}
	return math.Sqrt(variance * n / (n - 1))
}

// noteTiming counts an operation that has ended. If it started too late, it counts as late,
// or as queued if its worker was still busy when it was due.
func (w *worker) noteTiming(slot int, queued bool, due, start, end time.Duration) {
	s, t, service := &w.stats, w.tally(), end-start
	t.started++
	t.lastStart = start
	s.busy += service
	if queued || w.timer == nil {
		s.own += start - w.last
		s.service += service
	}
	if w.timer == nil {
		return
	}
	late := start-due > w.phase.Lateness
	switch {
	case !queued:
		w.usualTime = 0
		if late {
			t.late++
		}
	case late:
		t.queued++
		// There were too few workers: none may be added, and this one has spent longer in usual
		// calls than a start may be late.
		if w.usualTime > w.phase.Lateness && w.phase.pool.whole.Load() {
			s.crowded++
		}
	}
	w.addUsualTime(slot, service)
}

// listed notes which fields one line of a listing lacks.
func (t *task) listed(e *models.Entry) error {
	t.missing |= (models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen) &^ e.Known
	return nil
}

// folderListed notes which fields one folder of a list of folders lacks.
func (t *task) folderListed(f models.FolderInfo) error {
	t.missing |= (models.KnowMessages | models.KnowUnread) &^ f.Known
	return nil
}

func appendNew(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// add adds what another worker counted.
func (s *stats) add(b *stats) {
	for i := range b.streams {
		s.count(i, &b.streams[i])
	}
	s.crowded += b.crowded
	s.delayed += b.delayed
	s.droppedByClient += b.droppedByClient
	s.largeWaits += b.largeWaits
	s.copies += b.copies
	s.mailBytes += b.mailBytes
	s.busy += b.busy
	s.own += b.own
	s.service += b.service
	if s.ops == nil {
		s.ops = make([]opStats, len(b.ops))
	}
	for i := range b.ops {
		s.ops[i].merge(&b.ops[i])
	}
}

func (o *opStats) merge(p *opStats) {
	o.cost.Add(&p.cost)
	o.patterns.addAll(p.patterns)
	o.squares.merge(p.squares)
	o.missing |= p.missing
	o.noTarget += p.noTarget
	o.notOffered = o.notOffered || p.notOffered
	for _, name := range p.fallbacks {
		o.fallbacks = appendNew(o.fallbacks, name)
	}
	for _, e := range p.errors {
		o.errors.add(e.Text, e.Count)
	}
}
