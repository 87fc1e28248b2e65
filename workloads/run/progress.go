package run

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	// Done is the share of the whole run, and Left how long the rest takes, as far as
	// is known; 0: not known yet.
	Done float64
	Left time.Duration
	drive.Progress
}

// Widths in columns: of the bar between its brackets, of the time left, and of the counts of
// operations.
const (
	barMost, barLeast = 20, 5
	leftWidth         = 11
	amountWidth       = 32
)

// Line is a progress line of at most width columns. It says what is under way, how much of the
// whole run is done and how long the rest takes, and counts the operations of the phase. The
// place of each depends on names and width only. If there is no room, the bar is left out.
func (p Progress) Line(names, width int) string {
	s := fmt.Sprintf("%-*s", names, p.Where())
	behind := width - names - leftWidth
	if room := min(barMost, behind-amountWidth-3); room >= barLeast {
		behind -= room + 3
		full := int(min(max(p.Done, 0), 1) * float64(room))
		s += " [" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
	}
	all := []rune(strings.TrimRight(s+fmt.Sprintf("%*s%s", leftWidth, p.left(""), p.amount(behind)), " "))
	return string(all[:min(len(all), max(width, 0))])
}

// Ended says of a phase that has ended what it did, and how long the rest of the run takes.
func (p Progress) Ended() string { return p.Where() + " done" + p.amount(1000) + p.left(", ") }

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

// amount says how many operations succeeded, how many did not, the rate, and how long they took so far.
// Parts without room are left out, from the first on: users look for the times.
func (p Progress) amount(room int) string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	all := []string{fmt.Sprintf("%d ok", p.OK)}
	if p.Failed > 0 {
		all = append(all, fmt.Sprintf("%d not", p.Failed))
	}
	if p.Dropped > 0 {
		all = append(all, fmt.Sprintf("%d dropped", p.Dropped))
	}
	all = append(all, fmt.Sprintf("%.0f/s", p.Rate))
	if p.P50 > 0 {
		times := "p50 " + words.Duration(float64(p.P50))
		if p.P99 > 0 {
			times += " p99 " + words.Duration(float64(p.P99))
		}
		all = append(all, times)
	}
	text := func() string { return " " + strings.Join(all, ", ") }
	for p.P50 > 0 && len(all) > 1 && utf8.RuneCountInString(text()) > room {
		all = all[1:]
	}
	return text()
}

// timeLeft estimates how long a run still takes. The combination under way takes as long as its own progress and the
// plan say, and a later one as long as the plan says, in proportion to the time that those before took.
type timeLeft struct {
	each []*Estimate // what each combination does

	started, began, phaseBegan time.Time // when the run, this combination and this phase began
	combination                int
	next                       int // number of the phase after this one
}

// note adds to p how much of the run is done and how long the rest takes.
func (l *timeLeft) note(p *Progress, now time.Time) {
	if p.Combination < 1 || p.Combination > len(l.each) { // segments meet before the first; an audit has no plan
		return
	}
	if p.Combination != l.combination {
		l.combination, l.began, l.next = p.Combination, now, 0
	}
	phases := l.each[p.Combination-1].Phases
	at := slices.IndexFunc(phases, func(x PlanPhase) bool {
		return p.Phase == x.Name || strings.HasPrefix(p.Phase, x.Name+stepOf)
	})
	if at >= 0 && at+1 != l.next {
		l.next, l.phaseBegan = at+1, now
	}
	left := p.ETA.Seconds()
	if at >= 0 && left == 0 && !p.Finished {
		left = max(0, phases[at].Seconds-now.Sub(l.phaseBegan).Seconds())
	}
	for _, x := range phases[l.next:] {
		left += x.Seconds
	}
	pace := 1.0
	if before := planned(l.each[:p.Combination-1]); before > 0 {
		pace = l.began.Sub(l.started).Seconds() / before
	}
	p.Left = duration(left + pace*planned(l.each[p.Combination:]))
	elapsed := now.Sub(l.started)
	p.Done = float64(elapsed) / float64(max(elapsed+p.Left, 1))
}

// planned is how many seconds combinations take, with one to open and close the store of each.
func planned(each []*Estimate) (sum float64) {
	for _, e := range each {
		sum += 1 + e.seconds()
	}
	return sum
}
