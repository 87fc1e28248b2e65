package validate

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas/words"
)

// Pace bounds the reads of a store that others use. All sessions that it returns share the
// bounds. Its zero value has none.
type Pace struct {
	// Rate is how many rows a second sessions read at most, on average: a page of rows is read at
	// once. 0: no bound.
	Rate float64
	// Latency is how long a read may take. One that takes longer makes all sessions pause. 0: no bound.
	Latency time.Duration

	mu    sync.Mutex
	next  time.Time // when the next row is scheduled
	until time.Time // end of the last pause
	last  time.Duration
	kept  Paced // without the bounds
}

// A pause is twice as long as the one before, up to mostPause. If no read was slow for as long
// as the pause before took, it is of firstPause again. HBase closes a scanner after a minute.
const (
	firstPause = time.Second
	mostPause  = 30 * time.Second
)

// ahead is how far before its time a row may be taken, so that not every row needs a timer.
const ahead = 5 * time.Millisecond

// Session returns a session that keeps to the pace.
func (p *Pace) Session(s drivers.Session) drivers.Session {
	if p.Rate == 0 && p.Latency == 0 {
		return s
	}
	return &pacedSession{s, p}
}

// pacedSession is a session whose reads wait for the pace.
type pacedSession struct {
	drivers.Session
	pace *Pace
}

// Read implements drivers.Session. How long the engine took for a row is what Read waits for it: the first
// row of a page takes the time of the page.
func (s *pacedSession) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	if err := s.pace.wait(ctx, 0); err != nil {
		return err
	}
	asked := time.Now()
	err := s.Session.Read(ctx, st, args, func(row []drivers.Value) error {
		s.pace.took(asked, time.Now())
		if err := s.pace.wait(ctx, 1); err != nil {
			return err
		}
		err := yield(row)
		asked = time.Now()
		return err
	})
	s.pace.took(asked, time.Now())
	return err
}

// took notes how long a read took, and begins a pause if that was too long.
func (p *Pace) took(asked, now time.Time) {
	d := now.Sub(asked)
	if p.Latency == 0 || d <= p.Latency {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept.Slowest = max(p.kept.Slowest, d.Seconds())
	if asked.Before(p.until) {
		return // it was under way when the pause began
	}
	pause := firstPause
	if p.last > 0 && asked.Sub(p.until) < p.last {
		pause = min(2*p.last, mostPause)
	}
	p.until, p.last = now.Add(pause), pause
	p.kept.Pauses++
	p.kept.Paused += pause.Seconds()
}

// wait waits until a session may go on with rows.
func (p *Pace) wait(ctx context.Context, rows float64) error {
	for {
		p.mu.Lock()
		now := time.Now()
		left := p.until.Sub(now)
		if p.Rate > 0 && left <= 0 {
			if p.next.Before(now) {
				p.next = now
			}
			if left = p.next.Sub(now); left <= ahead {
				p.next = p.next.Add(time.Duration(rows / p.Rate * float64(time.Second)))
				left = 0
			}
		}
		p.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		if err := drivers.Pause(ctx, left); err != nil {
			return err
		}
	}
}

// Paced says how a check kept to its pace.
type Paced struct {
	Rate    float64 `json:"rate_limit,omitempty"`               // rows a second
	Latency float64 `json:"pause_on_latency_seconds,omitempty"` // 0: reads are not timed
	Pauses  int     `json:"pauses"`
	Paused  float64 `json:"paused_seconds"`
	Slowest float64 `json:"slowest_read_seconds,omitempty"` // of the reads that took longer
}

// Kept returns how the pace was kept until now, or nil if there are no bounds.
func (p *Pace) Kept() *Paced {
	if p.Rate == 0 && p.Latency == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	kept.Rate, kept.Latency = p.Rate, p.Latency.Seconds()
	return &kept
}

// pausing says for how much longer sessions pause, and how often they have.
func (p *Pace) pausing() (left time.Duration, pauses int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(time.Until(p.until), 0), p.kept.Pauses
}

// write says in a line or two how the pace was kept.
func (p *Paced) write(w io.Writer) {
	fmt.Fprintln(w)
	if p.Rate > 0 {
		fmt.Fprintf(w, "At most %s rows a second were read.\n", strconv.FormatFloat(p.Rate, 'f', -1, 64))
	}
	switch {
	case p.Pauses > 0:
		fmt.Fprintf(w, "Paused %s, %s in all: reads took longer than %s, one of them %s.\n",
			words.Plural(p.Pauses, "time"), seconds(p.Paused), words.Duration(1e9*p.Latency), words.Duration(1e9*p.Slowest))
	case p.Latency > 0:
		fmt.Fprintf(w, "No pause: no read took longer than %s.\n", words.Duration(1e9*p.Latency))
	}
}
