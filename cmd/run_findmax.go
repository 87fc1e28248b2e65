package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

// findMaxFlags are the flags of a search for the highest rate.
type findMaxFlags struct {
	on        bool
	from, max string
	precision float64 // percent
	step      time.Duration
}

// Bounds of a search.
const (
	leastPrecision, mostPrecision = 1.0, 50.0 // percent
	leastStep, mostStep           = 500 * time.Millisecond, time.Hour
)

func (f *findMaxFlags) bind(flags *pflag.FlagSet) {
	f.precision = 100 * run.DefaultPrecision
	flags.BoolVar(&f.on, "find-max", false, "search for the highest rate at which each measured phase keeps what "+
		"the workload expects")
	flags.StringVar(&f.from, "from-rate", "", "first `RATE` of --find-max, such as 500/s (default: the phase's, "+
		"and on an embedded engine 1580/s at least)")
	flags.StringVar(&f.max, "max-rate", fmt.Sprintf("%d/s", run.DefaultMaxRate), "`RATE` at which --find-max ends")
	flags.Var(unset[time.Duration]{bounded[time.Duration]{
		&f.step, leastStep, mostStep,
		"a duration such as 500ms,", time.ParseDuration,
	}}, "step",
		"least `TIME` of a measurement of --find-max ("+text(leastStep)+" to "+text(mostStep)+
			"; default "+text(run.DefaultStep)+", embedded "+text(run.InProcessStep)+
			"); a measurement of few operations lasts longer")
	flags.Var(number(&f.precision, leastPrecision, mostPrecision), "precision",
		fmt.Sprintf("`PERCENT` of the rate (%g to %g) to which --find-max narrows it down", leastPrecision, mostPrecision))
}

// check refuses a search's flags without --find-max.
func (f *findMaxFlags) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"from-rate", "max-rate", "step", "precision"} {
		if flags.Changed(name) && !f.on {
			return usagef("--%s belongs to --find-max: add that, or leave it out", name)
		}
	}
	return nil
}

// config turns the flags into the configuration of the search; nil if there is no search.
func (f *findMaxFlags) config() (*run.FindMax, error) {
	if !f.on {
		return nil, nil
	}
	c := run.FindMax{Precision: f.precision / 100, Step: f.step}
	for _, r := range []struct {
		flag, text string
		into       *float64
	}{{"--from-rate", f.from, &c.From}, {"--max-rate", f.max, &c.Max}} {
		if r.text == "" {
			continue
		}
		rate, err := workloads.ParseRate(r.text)
		if err != nil {
			return nil, usagef("%s: %w", r.flag, err)
		}
		*r.into = rate.PerSecond()
	}
	if c.From > c.Max {
		return nil, usagef("--from-rate %s is above --max-rate %s", f.from, f.max)
	}
	return &c, nil
}

// repeat takes the search of a saved run, except for flags that were given. Flags with bounds are
// left to repeatNumbers.
func (f *findMaxFlags) repeat(flags *pflag.FlagSet, was *results.FindMax) {
	if was == nil {
		return
	}
	for name, take := range map[string]func(){
		"find-max": func() { f.on = true },
		"from-rate": func() {
			if was.From > 0 {
				f.from = fmt.Sprintf("%f/s", was.From)
			}
		},
		"max-rate": func() { f.max = fmt.Sprintf("%f/s", was.Max) },
	} {
		if !flags.Changed(name) {
			take()
		}
	}
}
