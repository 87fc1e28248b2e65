package lint

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Baseline are the findings of an earlier report, with how often each was found. Lines
// and messages do not count, so that a finding stays the same when its file changes.
type Baseline map[findingKey]int

// findingKey has the statement of an imported pattern in place of its name, which follows from the statements
// before it.
type findingKey struct{ Schema, Rule, Engine, Table, Pattern, Statement, Part string }

func (k findingKey) unnamed() findingKey {
	if k.Statement != "" {
		k.Pattern = ""
	}
	return k
}

// ReadBaseline reads what WriteJSON wrote. Findings that were accepted are no part of it.
func ReadBaseline(text []byte) (Baseline, error) {
	var saved struct {
		Schemas []struct {
			Schema   string
			Findings []struct {
				findingKey
				Accepted string
			} `json:"findings"`
		} `json:"schemas"`
	}
	if err := strict.JSON(text, &saved); err != nil {
		return nil, fmt.Errorf("%w; expected the output of schema lint --json", err)
	}
	if saved.Schemas == nil {
		return nil, fmt.Errorf("no schemas in it; expected the output of schema lint --json")
	}
	b := make(Baseline)
	for _, s := range saved.Schemas {
		for _, f := range s.Findings {
			if f.Accepted == "" {
				f.Schema = s.Schema
				b[f.unnamed()]++
			}
		}
	}
	return b, nil
}

// Mark marks the findings of a report that the baseline has (Finding.Known), and takes
// them out of it: what is left in the end is no longer found.
func (b Baseline) Mark(r *Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		key := findingKey{r.Name, f.Rule.ID, f.Engine, f.Table, f.Pattern, f.Statement, f.Part}.unnamed()
		if f.Accepted == "" && b[key] > 0 {
			f.Known = true
			b[key]--
		}
	}
}

// Left returns how many findings of a schema the baseline still has.
func (b Baseline) Left(schema string) (n int) {
	for key, times := range b {
		if key.Schema == schema {
			n += times
		}
	}
	return n
}
