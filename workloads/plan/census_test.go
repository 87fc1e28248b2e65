package plan

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

func censusOf(t testing.TB, w *workloads.Workload) *Census {
	t.Helper()
	c, err := NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func load(t testing.TB, c *Census, has []uint64) Stream {
	t.Helper()
	s, err := c.LoadStream(t.Context(), has)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loadOf returns what yields the deliveries of a load.
func loadOf(t testing.TB, c *Census) func() (Operation, bool) {
	t.Helper()
	l := load(t, c, nil)
	var o Operation
	return func() (Operation, bool) {
		_, ok := l.Next(0, &o)
		return o, ok
	}
}

// TestLoadOrder: every folder gets what the census says, in order of time,
// and users alternate.
func TestLoadOrder(t *testing.T) {
	w := bundledForTest(t, "quick")
	c := censusOf(t, w)
	type place struct{ user, folder int }
	counts := map[place]int{}
	firstHalf := map[int]int{}
	last, changes, previous := time.Time{}, 0, -1
	next := loadOf(t, c)
	n := 0
	for {
		a, ok := next()
		if !ok {
			break
		}
		if a.N != uint64(n) || a.Date.Before(last) || a.Date.Before(loadEnd.Add(-workloads.LoadSpan)) || a.Date.After(loadEnd) {
			t.Fatalf("message %d is %+v after %v", n, a, last)
		}
		if a.User != previous {
			changes++
		}
		if n < c.Messages()/2 {
			firstHalf[a.User]++
		}
		counts[place{a.User, a.Folder}]++
		last, previous = a.Date, a.User
		n++
	}
	if n != c.Messages() {
		t.Errorf("%d messages, want %d", n, c.Messages())
	}
	if changes < n*9/10 {
		t.Errorf("the user changes %d times in %d messages; users are not interleaved", changes, n)
	}
	for u := range c.Users() {
		all := 0
		for f := range c.FolderCount(u) {
			if got, want := counts[place{u, f}], c.FolderMessages(u, f); got != want {
				t.Errorf("folder %d of user %d gets %d messages, want %d", f, u, got, want)
			}
			all += c.FolderMessages(u, f)
		}
		// Half of a user's mail comes in the first half: five standard deviations.
		if d := 2*firstHalf[u] - all; d*d > 25*all {
			t.Errorf("user %d gets %d of %d messages in the first half", u, firstHalf[u], all)
		}
	}
}

// TestMoreUsersChangeNoOthers: users keep their mail when others are added.
func TestMoreUsersChangeNoOthers(t *testing.T) {
	a, b := censusOf(t, bundledForTest(t, "workday")), censusOf(t, bundledForTest(t, "workday", "population.users=33"))
	for u := range a.Users() {
		if a.FolderCount(u) != b.FolderCount(u) || a.FolderMessages(u, 0) != b.FolderMessages(u, 0) {
			t.Fatalf("user %d has %d folders and %d, %d messages and %d", u,
				a.FolderCount(u), b.FolderCount(u), a.FolderMessages(u, 0), b.FolderMessages(u, 0))
		}
	}
}

func TestSharedPopulation(t *testing.T) {
	c := censusOf(t, bundledForTest(t, "conversation", "population.users=5", "population.messages=10"))
	if !c.Shared || c.Users() != 5 || c.Folders() != 1 || c.Messages() != 10 || c.FolderCount(4) != 1 || c.FolderMessages(4, 0) != 10 {
		t.Errorf("%+v", c)
	}
	next := loadOf(t, c)
	for n := range 10 {
		if a, ok := next(); !ok || a.User != 0 || a.Folder != 0 {
			t.Errorf("message %d: %+v, %t", n, a, ok)
		}
	}
}

// TestPopulationTooLarge: what could not be held in memory is refused where it is
// read, and where more is drawn than could be expected.
func TestPopulationTooLarge(t *testing.T) {
	for _, tc := range []struct{ population, want string }{
		{"{users: 10000000, folders: 1000, messages: 0}", "population is too large: 10000000000 folders or more in all (users × folders), at most 20000000"},
		{"{users: 10000000, messages: 1000000}", "at most 20000000, and 10000000000000 messages, at most 1000000000"},
		{"{users: 20000, folders: 1000, messages: 50}", ""},
		{"{users: 10000000, messages: 100000000, shared: true}", ""},
	} {
		_, err := workloads.Bundled("delivery", "population="+tc.population)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %s", tc.population, err, tc.want)
		}
	}
	w := bundledForTest(t, "delivery")
	w.Population = workloads.Population{Users: 1000, Folders: random.Constant{Value: 1}, Messages: random.Constant{Value: workloads.MaxFolderMessages}}
	if _, err := NewCensus(t.Context(), w); !errors.Is(err, workloads.ErrPopulation) || !strings.Contains(err.Error(), "messages, at most") {
		t.Errorf("a census of 10^11 messages: %v", err)
	}
}

// endsAt ends when it was checked so many times. A step that takes long must check often.
type endsAt struct {
	context.Context
	left, after int // questions until the end, and since
}

// Err implements context.Context.
func (c *endsAt) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	c.after++
	return context.Canceled
}

// TestPlanningStops: the steps before the first operation end with their context.
func TestPlanningStops(t *testing.T) {
	w := bundledForTest(t, "delivery", "population={users: 10000000, messages: 1}")
	ctx := &endsAt{Context: t.Context(), left: 10_000}
	if _, err := NewCensus(ctx, w); !errors.Is(err, context.Canceled) || ctx.after > 2 {
		t.Errorf("census of 10 million users: %v; it asked %d times after the end", err, ctx.after)
	}
	ctx = &endsAt{Context: t.Context(), left: 5}
	if _, err := censusOf(t, bundledForTest(t, "quick")).LoadStream(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("load of many users: %v", err)
	}
}

func TestPeople(t *testing.T) {
	seen := map[string]bool{}
	for n := range 5000 {
		a := Address(n)
		if seen[a] {
			t.Fatalf("two people have the address %s", a)
		}
		seen[a] = true
	}
	if got := Name(1) + " " + Address(1) + " " + Address(1025); got != "Björn Abe bjoern.abe@mailbench.example bjoern.abe1@mailbench.example" {
		t.Error(got)
	}
	names := map[string]bool{}
	for f := range workloads.MaxFolders {
		names[FolderName(f)] = true
	}
	if len(names) != workloads.MaxFolders || FolderName(0) != "Inbox" {
		t.Errorf("%d names of %d folders, the first %s", len(names), workloads.MaxFolders, FolderName(0))
	}
}

func BenchmarkLoadOrder(b *testing.B) {
	c := censusOf(b, bundledForTest(b, "quick", "population.users=10000"))
	next := loadOf(b, c)
	for b.Loop() {
		if _, ok := next(); !ok {
			next = loadOf(b, c)
		}
	}
}

// TestLoadGoesOn: a load leaves out what a data set has, and the rest is as in a whole load, also in a segment.
func TestLoadGoesOn(t *testing.T) {
	all := censusOf(t, bundledForTest(t, "quick"))
	for _, c := range []*Census{all, all.OfSegment(Segment{Index: 2, Of: 3})} {
		var has []uint64
		var left []Operation
		whole := load(t, c, nil)
		for {
			var o Operation
			if _, ok := whole.Next(0, &o); !ok {
				break
			}
			if o.Message < 1000 && o.Message%3 != 0 {
				has = append(has, o.Message)
			} else {
				left = append(left, o)
			}
		}
		if len(has) == 0 || len(has)+len(left) != c.Messages() {
			t.Fatalf("%d and %d of %d messages", len(has), len(left), c.Messages())
		}
		rest := load(t, c, has)
		var got Operation
		for i, want := range left {
			if _, ok := rest.Next(0, &got); !ok || !cmp.Equal(got, want, cmpopts.IgnoreUnexported(Operation{})) {
				t.Fatalf("message %d is %+v, want %+v", i, got, want)
			}
		}
		if _, ok := rest.Next(0, &got); ok {
			t.Errorf("message %d comes after the last", got.Message)
		}
	}
}
