package merge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/workloads/results"
)

// namedMost is how many missing shards an error names.
const namedMost = 10

// belong refuses sources that are not all shards of one run, each of them once. The error
// names what differs.
func belong(sources []Source) error {
	if len(sources) == 0 {
		return fmt.Errorf("%w: no shards", ErrApart)
	}
	first := &sources[0]
	for _, s := range sources {
		if len(s.Run.Shards) > 0 {
			return fmt.Errorf("%w: %s is a merged run already", ErrApart, s.Name)
		}
		if s.Run.Shard.Of < 2 {
			return fmt.Errorf("%w: %s is a complete run, not a shard", ErrApart, s.Name)
		}
		if s.Run.Workload.Text == "" {
			return fmt.Errorf("%w: %s is a verification without a run", ErrApart, s.Name)
		}
		times := []string{s.Run.Started, cmp.Or(s.Run.Ended, s.Run.Started)}
		for i := range s.Run.Cells {
			if c := &s.Run.Cells[i]; c.Started+c.Ended != "" || len(c.Timeline) > 0 {
				times = append(times, c.Started, cmp.Or(c.Ended, c.Started))
			}
		}
		for _, text := range times {
			if stamp(text).Unix() < 0 { // the latency log counts from 1970
				return fmt.Errorf("%w: %s has the time %.40q; expected one from 1970 on", ErrApart, s.Name, text)
			}
		}
		if d := differences(first.Run, s.Run); len(d) > 0 {
			return fmt.Errorf("%w: %s and %s are not shards of one run: they differ in %s", ErrApart, first.Name,
				s.Name, strings.Join(d, "; "))
		}
	}
	of := first.Run.Shard.Of
	have := map[int]string{}
	for _, s := range sources {
		i := s.Run.Shard.Index
		if i < 1 || i > of {
			return fmt.Errorf("%w: %s is shard %d of %d", ErrApart, s.Name, i, of)
		}
		if have[i] != "" {
			return fmt.Errorf("%w: shard %d of %d is there twice: %s and %s", ErrApart, i, of, have[i], s.Name)
		}
		have[i] = s.Name
	}
	var missing []string
	for i := 1; i <= of && len(missing) <= namedMost; i++ {
		if have[i] == "" {
			missing = append(missing, strconv.Itoa(i))
		}
	}
	if len(missing) > namedMost {
		missing[namedMost] = "…"
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %d shards in all, %d given; missing: %s", ErrApart, of,
			len(have), strings.Join(missing, ", "))
	}
	return nil
}

// differences are the ways in which two runs cannot be shards of one.
func differences(a, b *results.Run) []string {
	var found []string
	differ := func(what string, a, b any) {
		if x, y := asJSON(a), asJSON(b); x != y {
			found = append(found, fmt.Sprintf("%s (%s and %s)", what, x, y))
		}
	}
	differ("the number of shards", a.Shard.Of, b.Shard.Of)
	differ("the start", a.Shard.Start, b.Shard.Start)
	differ("the workload", a.Workload.Name+" "+a.Workload.SHA256, b.Workload.Name+" "+b.Workload.SHA256)
	differ("the seed", a.Seed, b.Seed)
	differ("the version of mailbench", version(a), version(b))
	differ("models, engines or flags", a.Config, b.Config)
	differ("settings of engines", settings(a), settings(b))
	differ("the objectives", a.Objectives, b.Objectives)
	differ("the phases", phases(a), phases(b))
	schemas := map[string]string{}
	for _, s := range a.Schemas {
		schemas[s.Model] = s.SHA256
	}
	for _, s := range b.Schemas {
		if was, ok := schemas[s.Model]; ok {
			differ("the schema of "+s.Model, was, s.SHA256)
		}
	}
	if a.Mail != nil && b.Mail != nil {
		differ("the mail file", a.Mail.SHA256, b.Mail.SHA256)
	}
	return found
}

func version(r *results.Run) string {
	e := r.Environment
	v := e.Version + " " + e.Commit
	if e.Dirty {
		v += " with changes"
	}
	return v
}

// phases are the names of the phases, and how many trials have a digest.
func phases(r *results.Run) (all []string) {
	for _, p := range r.Phases {
		all = append(all, fmt.Sprintf("%s with %d trials", p.Name, len(p.Trials)))
	}
	return all
}

// settings are the settings that must be the same. Contact points may differ: shards may name
// different nodes of one cluster.
func settings(r *results.Run) map[string]string {
	all := maps.Clone(r.Settings)
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasSuffix(name, ".contact") })
	return all
}

// asJSON writes a value as JSON, without quotes at its ends.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(b), `"`)
}

// audits adds up what the shards' audits found. Each audit compared the shard's own ledger with
// the store. The model's own audit read the whole store, also if shards have it in common.
func audits(sources []Source) []results.Audit {
	var all []results.Audit
	for _, s := range sources {
		for _, a := range s.Run.Audits {
			at := slices.IndexFunc(all, func(have results.Audit) bool {
				return have.Model == a.Model && have.Engine == a.Engine && have.Trial == a.Trial
			})
			if at < 0 {
				all = append(all, a)
				all[len(all)-1].Notes, all[len(all)-1].Shard = slices.Clone(a.Notes), 1
				continue
			}
			all[at].Add(&a, sharesStore(s.Run, a.Engine))
		}
	}
	return all
}

// sharesStore reports whether the shards have the engine's store in common.
func sharesStore(r *results.Run, engine string) bool {
	return slices.ContainsFunc(r.Cells, func(c results.Cell) bool {
		return c.Engine == engine && c.Evidence != nil && c.Kind == results.KindLoad && !c.Evidence.InProcess
	})
}
