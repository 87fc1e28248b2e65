package workloads

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Rate is how many operations are due in which time. It is written as 2000/s,
// 90/min or 0.5/s, and kept as a fraction, so that a schedule made from it does not drift.
type Rate struct {
	Count uint64
	Per   time.Duration
}

var rateUnits = []struct {
	name string
	per  time.Duration
}{{"/s", time.Second}, {"/min", time.Minute}, {"/h", time.Hour}}

// A rate is at least one operation an hour. The largest is far beyond what a client
// could issue.
const maxRate = 100_000_000

// ParseRate reads a rate. It must be above 0.
func ParseRate(s string) (Rate, error) {
	for _, u := range rateUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		number = strings.TrimSpace(number)
		if len(number) > 20 || strings.Trim(number, "-.0123456789") != "" {
			break
		}
		count, ok := new(big.Rat).SetString(number)
		if !ok {
			break
		}
		if count.Sign() < 0 {
			return Rate{}, fmt.Errorf("rate %s is negative", s)
		}
		if count.Sign() == 0 {
			return Rate{}, fmt.Errorf("rate %s is zero; leave the phase out instead", s)
		}
		per := new(big.Int).Mul(count.Denom(), big.NewInt(int64(u.per)))
		if !per.IsInt64() || !count.Num().IsUint64() {
			return Rate{}, fmt.Errorf("rate %s has too many digits", s)
		}
		r := Rate{count.Num().Uint64(), time.Duration(per.Int64())}
		if f := r.PerSecond(); f > maxRate || f < 1.0/3600 {
			return Rate{}, fmt.Errorf("rate %s is out of range; expected 1/h to %d/s", s, maxRate)
		}
		return r, nil
	}
	return Rate{}, fmt.Errorf("%q is not a rate; expected a number and its unit, such as 2000/s (/s, /min, /h)", s)
}

// PerSecond returns the rate in operations a second.
func (r Rate) PerSecond() float64 { return float64(r.Count) / r.Per.Seconds() }

// String returns the rate as the language writes it.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r.Per == u.per {
			return fmt.Sprintf("%d%s", r.Count, u.name)
		}
	}
	return fmt.Sprintf("%g/s", r.PerSecond())
}
