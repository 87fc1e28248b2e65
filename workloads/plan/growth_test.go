package plan

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// TestGrowth: a population that grows in steps gets as many messages in each folder as it
// has in the end, each step of later mail, and every number once.
func TestGrowth(t *testing.T) {
	const file = `
version: 1
name: growing
population: {users: 3, folders: 2, messages: 10}
phases: [{load: {}}, {measure: {operations: 1, clients: 1, mix: {list: 1}}}]
`
	parse := func(overrides ...string) *Census {
		w, err := workloads.Parse("growing.yaml", []byte(file), overrides...)
		if err != nil {
			t.Fatal(err)
		}
		return censusOf(t, w)
	}
	type place struct{ user, folder int }
	has, numbers, latest := map[place]int{}, map[uint64]bool{}, time.Time{}
	var first uint64
	for step, c := range []*Census{
		parse(), parse("population.messages=17"), parse("population.messages=17", "population.folders=3"),
		parse("population.messages={uniform: {min: 20, max: 40}}", "population.folders=4", "population.users=5"),
	} {
		g := Growth{Step: step, First: first}
		was := map[place]int{}
		for p, n := range has {
			was[p] = n
		}
		g.Has = func(user, folder int) int { return was[place{user, folder}] }
		lacks := c.Lacks(&g)
		s := load(t, c, &g)
		var o Operation
		delivered, began := int64(0), latest
		for {
			_, ok := s.Next(0, &o)
			if !ok {
				break
			}
			delivered++
			if o.Date.Before(began) || o.Date.Before(latest) {
				t.Fatalf("step %d: message %d arrives at %v, before %v", step, o.Message, o.Date, latest)
			}
			latest = o.Date
			if numbers[o.Message] || o.Message < first || o.Message >= first+uint64(lacks) || !OfLoad(o.Message) {
				t.Fatalf("step %d: message %d comes twice, or is not of this step", step, o.Message)
			}
			numbers[o.Message] = true
			has[place{o.User, o.Folder}]++
		}
		if delivered != lacks {
			t.Errorf("step %d: %d delivered of %d", step, delivered, lacks)
		}
		first += uint64(lacks)
		for u := range c.Users() {
			for f := range c.FolderCount(u) {
				if got, want := has[place{u, f}], c.FolderMessages(u, f); got != want {
					t.Errorf("step %d: folder %d of user %d has %d messages, want %d", step, f, u, got, want)
				}
			}
		}
	}
	if phase := loadEnd.Add(growthSpan); !latest.Before(phase) {
		t.Errorf("the last message arrives at %v, and phases begin at %v", latest, phase)
	}
}
