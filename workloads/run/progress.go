package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/drive"
)

// Progress is how far a run is.
type Progress struct {
	Model, Engine, Phase string
	Point                string // the sweep's value
	Trial, Trials        int    // the trial, from 1, and how many there are
	// Note, if set, is a message that should stay visible. The other fields say which
	// combination it is about.
	Note string
	// Combination is the number of this combination of model, engine, trial and point, from 1.
	// Combinations is how many there are.
	Combination, Combinations int
	Left                      time.Duration // how long the rest of the run takes; 0: not known yet
	Done                      float64       // the share of the whole run that is done; 0: not known yet
	drive.Progress
}

// Line is a progress line of at most width columns. It says what is under way, in at least so many columns of names,
// how long the rest of the run takes, and counts the operations of the phase.
func (p Progress) Line(names, width int) string {
	all := []rune(strings.TrimRight(fmt.Sprintf("%-*s%11s%s", names, p.Where(), p.left(""), p.amount()), " "))
	return string(all[:min(len(all), max(width, 0))])
}

// Ended says of a phase that has ended what it did, and how long the rest of the run takes.
func (p Progress) Ended() string { return p.Where() + " done" + p.amount() + p.left(", ") }

// left is how long the rest of the run takes, after a prefix; "" if that is not known.
func (p Progress) left(prefix string) string {
	if p.Left <= 0 {
		return ""
	}
	return prefix + words.About(p.Left) + " left"
}

// Where says what is under way.
func (p Progress) Where() string {
	if p.Model == "" { // no cell has begun yet
		return p.Phase
	}
	at := ""
	if p.Point != "" {
		at = " at " + p.Point
	}
	head := fmt.Sprintf("[%d/%d]", p.Combination, p.Combinations)
	if p.Trials > 1 {
		head = fmt.Sprintf("trial %d/%d", p.Trial, p.Trials)
	}
	return fmt.Sprintf("%s %s on %s%s: %s", head, p.Model, p.Engine, at, p.Phase)
}

// amount says how long operations took so far, how many succeeded, how many did not, and the rate. A narrow terminal
// cuts the end off: users look for the times.
func (p Progress) amount() string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	text := " "
	if p.P50 > 0 {
		text += "p50 " + words.Duration(float64(p.P50)) + " "
	}
	if p.P99 > 0 {
		text += "p99 " + words.Duration(float64(p.P99)) + " "
	}
	text += fmt.Sprintf("%d ok, ", p.OK)
	if p.Failed > 0 {
		text += fmt.Sprintf("%d not, ", p.Failed)
	}
	if p.Dropped > 0 {
		text += fmt.Sprintf("%d dropped, ", p.Dropped)
	}
	return text + fmt.Sprintf("%.0f/s", p.Rate)
}

// timeLeft says how much of a run is done, as its plan and the progress of the phase under way say, and how long the
// rest takes if it goes on as it did so far.
type timeLeft struct {
	each []*Estimate // what each combination does
	done float64     // seconds of the plan that are over
}

// note adds to p how much of the run is done and how long the rest takes.
func (l *timeLeft) note(p *Progress, elapsed time.Duration) {
	if p.Combination < 1 || p.Combination > len(l.each) { // segments meet before the first; an audit has no plan
		return
	}
	done := planned(l.each[:p.Combination-1])
	for _, x := range l.each[p.Combination-1].Phases {
		if p.Phase == x.Name || strings.HasPrefix(p.Phase, x.Name+stepOf) {
			l.done = max(l.done, done+x.Seconds*p.Fraction)
		}
		done += x.Seconds
	}
	if p.Done = l.done / planned(l.each); p.Done > 0 {
		p.Left = duration(elapsed.Seconds() * (1/p.Done - 1))
	}
}

// planned is how many seconds combinations take, with one to open and close the store of each.
func planned(each []*Estimate) (sum float64) {
	for _, e := range each {
		sum += 1 + e.seconds
	}
	return sum
}
