package lint

import (
	"encoding/json"
	"fmt"
	"io"
)

// Baseline are the findings of an earlier report, with how often each was found. Lines
// and messages do not count, so that a finding stays the same when its file changes.
type Baseline map[findingKey]int

type findingKey struct{ schema, rule, engine, table, pattern, part string }

// ReadBaseline reads what WriteJSON wrote. Findings that were accepted are no part of it.
func ReadBaseline(r io.Reader) (Baseline, error) {
	var saved struct {
		Schemas []jsonReport `json:"schemas"`
	}
	if err := json.NewDecoder(r).Decode(&saved); err != nil {
		return nil, fmt.Errorf("%w; expected what schema lint --json prints", err)
	}
	if saved.Schemas == nil {
		return nil, fmt.Errorf("no schemas in it; expected what schema lint --json prints")
	}
	b := make(Baseline)
	for _, s := range saved.Schemas {
		for _, f := range s.Findings {
			if f.Accepted == "" {
				b[findingKey{s.Schema, f.Rule, f.Engine, f.Table, f.Pattern, f.Part}]++
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
		key := findingKey{r.Schema.Name, f.Rule.ID, f.Engine, f.Table, f.Pattern, f.Part}
		if f.Accepted == "" && b[key] > 0 {
			f.Known = true
			b[key]--
		}
	}
}

// Left returns how many findings of a schema the baseline still has.
func (b Baseline) Left(schema string) (n int) {
	for key, times := range b {
		if key.schema == schema {
			n += times
		}
	}
	return n
}
