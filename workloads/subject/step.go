package subject

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Step is the first load of a data set, or one growth.
type Step struct {
	First    uint64 `json:"first"`    // number of the first message
	Messages int64  `json:"messages"` // messages that it delivers
	Users    int    `json:"users"`    // users and folders of the population afterwards
	Folders  int    `json:"folders"`
}

// end is the number of the first message after the step.
func (s *Step) end() uint64 { return s.First + uint64(s.Messages) }

// last is the step that ended last, or is under way.
func (d *Dataset) last() *Step { return &d.Steps[len(d.Steps)-1] }

// begin adds a step that leads to the census.
func (d *Dataset) begin(g *plan.Growth, c *plan.Census) {
	d.Complete = false
	d.Steps = append(d.Steps, Step{First: g.First, Messages: c.Lacks(g), Users: c.Users(), Folders: c.Folders()})
}

// step is the growth of one Step, with the messages that it has delivered already.
type step struct {
	plan.Growth
	done numberSet
}

// interruptedStep returns the step that was interrupted.
func (t *Target) interruptedStep(h *ledger.History) *step {
	last := t.Dataset.last()
	s := &step{Growth: plan.Growth{Step: len(t.Dataset.Steps) - 1, First: last.First}}
	if s.Step > 0 {
		s.Has = loaded(h, last.First).of
	}
	s.done.first = last.First
	for d := range h.Deliveries {
		if plan.OfLoad(d.N) && d.N >= last.First {
			s.done.add(d.N)
		}
	}
	s.Done = s.done.has
	return s
}

// next begins another step, from the messages that the folders have to those of a census.
// It returns an error and changes nothing if the census has less.
func (t *Target) next(want *Dataset, census *plan.Census, has counts) (*step, error) {
	d, last := t.Dataset, t.Dataset.last()
	shrinks := func(format string, args ...any) error {
		return fmt.Errorf("the data set in %s can grow, but not shrink: %s; %s or name another",
			t.Dir, fmt.Sprintf(format, args...), d.removal())
	}
	if census.Users() < last.Users || census.Folders() < last.Folders {
		return nil, shrinks("it has %d users with %d folders, and the workload says %d with %d",
			last.Users, last.Folders, census.Users(), census.Folders())
	}
	for _, place := range has.places() {
		u, f := int(place.Account), int(place.Folder)
		if u >= census.Users() || f >= census.FolderCount(u) {
			return nil, shrinks("it has %d messages in folder %d of account %d, which the workload's population does not have",
				has[place], f, u)
		}
		if most := census.FolderMessages(u, f); int(has[place]) > most {
			return nil, shrinks("folder %s of %s was loaded with %d messages, and the workload says %d",
				plan.FolderName(f), plan.Address(u), has[place], most)
		}
	}
	s := &step{Growth: plan.Growth{Step: len(d.Steps), First: last.end(), Has: has.of}}
	d.begin(&s.Growth, census)
	d.Workload, d.Mail = want.Workload, want.Mail
	return s, nil
}

// counts is how many messages of loads each folder has; a folder not in it has none.
type counts map[ledger.Place]int32

func (c counts) of(user, folder int) int {
	return int(c[ledger.Place{Account: uint32(user), Folder: uint16(folder)}])
}

// places returns the folders in order.
func (c counts) places() []ledger.Place {
	return slices.SortedFunc(maps.Keys(c), func(a, b ledger.Place) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Folder, b.Folder))
	})
}

func (c counts) sum() (n int64) {
	for _, one := range c {
		n += int64(one)
	}
	return n
}

// loaded counts a ledger's deliveries of message numbers below before. Those of unknown
// outcome count: a load does not try them again.
func loaded(h *ledger.History, before uint64) counts {
	c := counts{}
	for d := range h.Deliveries {
		if d.N < before {
			c[d.Place]++
		}
	}
	return c
}

// countsOf returns the counts of all messages of a census.
func countsOf(census *plan.Census) counts {
	c := counts{}
	for u := range census.Users() {
		if census.Shared() && u > 0 {
			break
		}
		for f := range census.FolderCount(u) {
			if n := census.FolderMessages(u, f); n > 0 {
				c[ledger.Place{Account: uint32(u), Folder: uint16(f)}] = int32(n)
			}
		}
	}
	return c
}

// numberSet is a set of message numberSet, a bit each.
type numberSet struct {
	first uint64 // the lowest number that it can hold
	bits  []uint64
	n     int64 // size of the set
}

func (s *numberSet) add(n uint64) {
	at, bit := (n-s.first)/64, uint64(1)<<((n-s.first)%64)
	for uint64(len(s.bits)) <= at {
		s.bits = append(s.bits, 0)
	}
	if s.bits[at]&bit == 0 {
		s.bits[at] |= bit
		s.n++
	}
}

func (s *numberSet) has(n uint64) bool {
	at := (n - s.first) / 64
	return n >= s.first && at < uint64(len(s.bits)) && s.bits[at]&(1<<((n-s.first)%64)) != 0
}
