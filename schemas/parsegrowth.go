package schemas

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var (
	ownEntity  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)
	spreadKeys = []string{"of", "every", "busiest"}
)

// growth reads rows of an entity of the schema's own: {each: order, count: N, per: {day: N},
// partition: {of: N, every: day, busiest: N}}.
func (r *rowsReader) growth(n *yaml.Node, f map[string]strict.Entry) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(ownKeys, key) {
			r.Fail(f[key].Key, "%s: %s is for rows of mail; rows with count or per have %s", r.where, key,
				strings.Join(ownKeys, ", "))
		}
	}
	g := &Growth{Busiest: 1}
	r.Growth = g
	e, ok := f["each"]
	if !ok {
		r.Fail(n, "%s: no key \"each\"; expected the name of what there is a row for, such as order", r.where)
		return
	}
	if r.Each, ok = r.Text(e.Value, "each of "+r.where); !ok {
		return
	}
	if slices.Contains(Entities, r.Each) {
		r.Fail(e.Value, "%s: the workload says how many of a %s there are; leave out count and per, or name another "+
			"entity, such as order", r.where, r.Each)
		return
	}
	if !ownEntity.MatchString(r.Each) {
		r.Fail(e.Value, "each of %s must be a word of small letters such as order, found %s", r.where, strict.Found(e.Value))
	}
	r.Partition = r.Each
	if e, ok := f["count"]; ok {
		g.Count = r.Count(e.Value, "count of "+r.where)
	}
	if e, ok := f["per"]; ok {
		where := "per of " + r.where
		all := r.Fields(e.Value, where, Periods)
		for unit, n := range all {
			g.Unit, g.Per = unit, r.Count(n.Value, unit+" in "+where)
		}
		if len(all) != 1 && e.Value.Kind == yaml.MappingNode {
			r.Fail(e.Value, "%s must have one period, such as {day: 5000}", where)
		}
	}
	if e, ok := f["partition"]; ok {
		r.spread(g, e)
	}
}

// spread reads how rows share partitions: all, or {of: N, every: PERIOD, busiest: N}.
func (r *rowsReader) spread(g *Growth, e strict.Entry) {
	where := "partition of " + r.where
	if e.Value.Kind == yaml.ScalarNode {
		if e.Value.Value != "all" {
			r.Fail(e.Value, "%s must be all, or {of: NUMBER, every: PERIOD} with the number of partitions at a time, "+
				"found %s", where, strict.Found(e.Value))
		}
		g.Of, r.Partition = 1, "all"
		return
	}
	f := r.Fields(e.Value, where, spreadKeys)
	if g.Of = 1; f["of"].Value != nil {
		g.Of = r.Count(f["of"].Value, "of in "+where)
	}
	if f["every"].Value != nil {
		g.Every = r.word(f, "every", "period", Periods)
	}
	if b := f["busiest"]; b.Value != nil {
		if g.Busiest = r.Count(b.Value, "busiest in "+where); g.Busiest > g.Of {
			r.Fail(b.Value, "%s: the busiest of %d partitions cannot get %d times the mean", where, g.Of, g.Busiest)
		}
	}
	if g.Every != "" && g.Per == 0 {
		r.Fail(e.Value, "%s: new partitions every %s need rows that come in time; say how many, such as per: {%s: 100}",
			where, g.Every, g.Every)
	}
}

// formatGrowth adds count, per and partition to a kind of row.
func formatGrowth(b *block, r *Rows) {
	g := r.Growth
	if g.Count > 0 {
		b.count("count", g.Count)
	}
	if g.Per > 0 {
		per := newBlock()
		per.Style = yaml.FlowStyle
		per.count(g.Unit, g.Per)
		b.add("per", per.node())
	}
	switch {
	case r.Partition == "all":
		b.text("partition", "all")
	case g.Of > 0:
		spread := newBlock()
		spread.Style = yaml.FlowStyle
		spread.count("of", g.Of)
		if g.Every != "" {
			spread.text("every", g.Every)
		}
		if g.Busiest > 1 {
			spread.count("busiest", g.Busiest)
		}
		b.add("partition", spread.node())
	}
}
