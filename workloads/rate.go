package workloads

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Rate is how many operations are scheduled in which time. It is written as 2000/s,
// 90/min or 0.5/s, and kept as a fraction, so that a schedule made from it does not drift.
type Rate struct {
	Count uint64
	Per   time.Duration
}

var rateUnits = []struct {
	name string
	per  time.Duration
}{{"/s", time.Second}, {"/min", time.Minute}, {"/h", time.Hour}}

// ParseRate reads a rate.
func ParseRate(s string) (Rate, error) {
	for _, u := range rateUnits {
		number, is := strings.CutSuffix(s, u.name)
		if number = strings.TrimSpace(number); !is || len(number) > 20 || strings.Trim(number, "-.0123456789") != "" {
			continue
		}
		count, ok := new(big.Rat).SetString(number)
		if !ok {
			continue
		}
		per := new(big.Int).Mul(count.Denom(), big.NewInt(int64(u.per)))
		r := Rate{count.Num().Uint64(), time.Duration(per.Int64())}
		switch f, _ := count.Float64(); {
		case f/u.per.Seconds() > maxRate || f/u.per.Seconds() < 1.0/3600:
			return Rate{}, fmt.Errorf("rate %s is out of range; expected 1/h to %d/s", s, maxRate)
		case !per.IsInt64() || !count.Num().IsUint64():
			return Rate{}, fmt.Errorf("rate %s has too many digits", s)
		}
		return r, nil
	}
	return Rate{}, fmt.Errorf("%q is not a rate; expected a number and its unit, such as 2000/s (/s, /min, /h)", s)
}

// PerSecond returns the rate in operations a second: 0 without a rate.
func (r Rate) PerSecond() float64 { return float64(r.Count) / max(r.Per, 1).Seconds() }

// String returns the rate as the language writes it.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r.Per == u.per {
			return fmt.Sprintf("%d%s", r.Count, u.name)
		}
	}
	return fmt.Sprintf("%g/s", r.PerSecond())
}

// Shape is a rate that changes with time: pieces, one after another, in each of which
// it changes evenly. After the last piece the shape begins again.
type Shape []Piece

// Piece is a part of a shape. Rates are operations a second.
type Piece struct {
	Length   time.Duration
	From, To float64
}

// All is how many operations are scheduled in the piece.
func (p *Piece) All() float64 { return (p.From + p.To) / 2 * p.Length.Seconds() }

// Count is how many operations are scheduled until t, as a real number: the integral of
// the rate.
func (s Shape) Count(t time.Duration) (n float64) {
	var once float64
	var length time.Duration
	for i := range s {
		once += s[i].All()
		length += s[i].Length
	}
	n, t = float64(t/length)*once, t%length // whole repetitions, and the rest
	for _, p := range s {
		part := min(t, p.Length)
		x := part.Seconds()
		n, t = n+p.From*x+(p.To-p.From)*x*x/(2*p.Length.Seconds()), t-part
	}
	return n
}

// shape reads a rate that has a shape into the phase, whose duration it fills.
func (d *decoder) shape(p *Phase, n *yaml.Node, where string) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		d.Fail(n, "the rate of %s must be one rate or shape, found %s; expected a rate such as 2000/s, or one of ramp, steps, "+
			"burst, as in {ramp: {from: 100/s, to: 2000/s}}", where, strict.Found(n))
		return
	}
	d.Check(p.Duration != 0 || p.Operations == 0, n, "%s: a rate with a shape needs a duration, which it fills", where)
	faults, whole := len(d.Errs), max(p.Duration, time.Second)
	for name, e := range d.Fields(n, "the rate of "+where, []string{"ramp", "steps", "burst"}) {
		switch where := name + " of " + where; name {
		case "ramp":
			r := ramp{Over: whole}
			f := d.section(e.Value, where, &r, language["ramp"])
			d.Check(r.Over <= whole, f["over"].Value,
				"over of %s is %s, longer than the phase, which has %s", where, r.Over, whole)
			to := r.To.PerSecond()
			p.Shape = Shape{{r.Over, r.From.PerSecond(), to}}
			if r.Over < whole {
				p.Shape = append(p.Shape, Piece{whole - r.Over, to, to})
			}
		case "steps":
			items := e.Value.Content
			if !d.Check(e.Value.Kind == yaml.SequenceNode && len(items) >= 2 && len(items) <= maxSteps, e.Value,
				"%s must be a list of 2 to %d rates, as in [100/s, 200/s, 400/s], found %s", where, maxSteps, strict.Found(e.Value)) {
				break
			}
			parts := time.Duration(len(items))
			for i, item := range items {
				r, _ := d.rate(&key{form: "plain rate"}, item, "a rate of "+where).(Rate)
				from, to := whole*time.Duration(i)/parts, whole*time.Duration(i+1)/parts
				p.Shape = append(p.Shape, Piece{to - from, r.PerSecond(), r.PerSecond()})
			}
		case "burst":
			var b burst
			f := d.section(e.Value, where, &b, language["burst"])
			d.Check(b.Every == 0 || b.For < b.Every, f["for"].Value,
				"%s: a peak of %s does not fit into every %s", where, b.For, b.Every)
			base, peak := b.Base.PerSecond(), b.Peak.PerSecond()
			p.Shape = Shape{{b.Every - b.For, base, base}, {b.For, peak, peak}}
		}
	}
	if len(d.Errs) > faults {
		p.Shape = nil // it may have no length
		return
	}
	p.Rate = RateOf(p.Shape.Count(p.Duration) / whole.Seconds())
}

// ramp is a rate that changes evenly, over the whole phase or the time named. Then it stays.
type ramp struct {
	From Rate          `key:"from" form:"plain rate" need:"a rate such as 100/s" doc:"the rate at the start"`
	To   Rate          `key:"to" form:"plain rate" need:"a rate such as 2000/s" doc:"the rate at the end"`
	Over time.Duration `key:"over" form:"time" doc:"how long it takes (default: the phase)"`
}

// burst is a base rate with peaks. A phase begins with the base rate.
type burst struct {
	Base  Rate          `key:"base" form:"plain rate" doc:"between the peaks (default: none)"`
	Peak  Rate          `key:"peak" form:"plain rate" need:"a rate such as 500/s" doc:"in a peak"`
	Every time.Duration `key:"every" form:"time" need:"a time such as 10s" doc:"from a peak to the next"`
	For   time.Duration `key:"for" form:"time" need:"a time such as 1s" doc:"how long a peak is"`
}
