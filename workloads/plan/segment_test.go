package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// drawnOp has the compared parts of an operation.
type drawnOp struct {
	n, message, pick uint64
	op               workloads.Op
	user, folder, to int
	due              time.Duration
}

const divided = `
version: 1
name: divided
population: {users: 23, folders: 3, messages: {uniform: {min: 1, max: 40}}}
mail: {recipients: {uniform: {min: 1, max: 6}}}
phases:
  - load: {}
  - measure: {name: mixed, duration: 2s, rate: 1000/s, arrivals: poisson, mix: {list: 50, deliver: 20, search-sender: 5, move: 5, flag: 5}}
  - measure: {name: even, operations: 997, rate: 500/s, mix: {list: 50, deliver: 20}}
  - measure:
      name: apart
      duration: 2s
      streams:
        - {rate: 300/s, mix: {deliver: 1}}
        - {rate: 700/s, mix: {list: 3, open: 1}}
`

// drawn draws all operations of a stream.
func drawn(t *testing.T, s Stream, see func(o *Operation)) []drawnOp {
	t.Helper()
	var all []drawnOp
	var o Operation
	for {
		due, ok := s.Next(0, &o)
		if !ok {
			return all
		}
		all = append(all, drawnOp{o.N, o.Message, o.Pick, o.Op, o.User, o.Folder, o.To, due})
		see(&o)
	}
}

// The operations of all segments are those of one load generator: none is missing, none is
// there twice, and each is scheduled when it would be. No segment touches another's users.
func TestSegmentsAreTheWhole(t *testing.T) {
	for _, text := range []string{divided, several} {
		sharesAreTheWhole(t, read(t, text))
	}
}

func sharesAreTheWhole(t *testing.T, w *workloads.Workload) {
	census := censusOf(t, w)
	streams := map[string]func(c *Census) Stream{
		"load": func(c *Census) Stream { return load(t, c, nil) },
	}
	for i := range w.Phases {
		if p := &w.Phases[i]; p.Runs() {
			streams[p.Name] = func(c *Census) Stream { return StreamOf(w, p, c) }
		}
	}
	byNumber := func(a, b drawnOp) int { return int(a.n) - int(b.n) }
	for name, stream := range streams {
		recipients := 0
		want := drawn(t, stream(census), func(o *Operation) { recipients += len(o.Recipients) })
		if len(want) < 100 {
			t.Fatalf("%s: %d operations, too few to tell anything", name, len(want))
		}
		for _, of := range []int{1, 2, 5} {
			var union []drawnOp
			messages, folders, own := 0, 0, 0
			for index := 1; index <= of; index++ {
				segment := Segment{Index: index, Of: of}
				c := census.OfSegment(segment)
				messages, folders = messages+c.Messages(), folders+c.Folders()
				union = append(union, drawn(t, stream(c), func(o *Operation) {
					own += len(o.Recipients)
					to := slices.Compact(slices.Sorted(slices.Values(o.Recipients)))
					foreign := func(u int) bool { return !segment.Has(u) }
					if !segment.Has(o.User) || len(to) < len(o.Recipients) || slices.ContainsFunc(to, foreign) {
						t.Fatalf("%s: segment %d of %d: operation %d of user %d goes to %v", name, index, of, o.N, o.User, o.Recipients)
					}
				})...)
			}
			slices.SortFunc(union, byNumber)
			if !slices.Equal(union, want) {
				t.Fatalf("%s: the operations of %d segments are not those of one", name, of)
			}
			if messages != census.Messages() || folders != census.Folders() {
				t.Errorf("%s: %d segments have %d folders and %d messages; expected %d and %d",
					name, of, folders, messages, census.Folders(), census.Messages())
			}
			if of <= 2 && own != recipients {
				t.Errorf("%s: deliveries of %d segments go to %d users in all; expected %d", name, of, own, recipients)
			}
		}
	}
}

// A workload that cannot be divided is refused.
func TestSegmentsRefused(t *testing.T) {
	for text, of := range map[string]int{
		"population: {users: 3, folders: 1, messages: 1}\nphases: [{load: {}}, {measure: {duration: 1s, rate: 1/s, mix: {list: 1}}}]":           4,
		"population: {users: 9, shared: true, messages: 1}\nphases: [{load: {}}, {measure: {duration: 1s, rate: 1/s, mix: {list: 1}}}]":         2,
		"population: {users: 9, folders: 1, messages: 1}\nphases: [{load: {}}, {measure: {duration: 1s, clients: 4, mix: {list: 1}}}]":          2,
		"population: {users: 9, folders: 1, messages: 1}\nphases: [{load: {clients: 1}}, {measure: {duration: 1s, rate: 1/s, mix: {list: 1}}}]": 0,
	} {
		w := read(t, "version: 1\nname: refused\n"+text+"\n")
		err := Segment{Index: 1, Of: max(4, of)}.Check(w)
		if got := err != nil; got != (of > 0) {
			t.Errorf("%s\n%d segments: %v", text, of, err)
		}
	}
}

// BenchmarkSegment draws an operation of a segment of 16: those of 15 others are drawn too.
func BenchmarkSegment(b *testing.B) {
	for _, of := range []int{1, 16} {
		b.Run(fmt.Sprint(of), func(b *testing.B) {
			w := read(b, "version: 1\nname: b\npopulation: {users: 10000, folders: 4, messages: 10}\nphases: [{load: {}}, "+
				"{measure: {operations: 1000000000, rate: 1000000/s, mix: {list: 50, open: 25, flag: 10, deliver: 10}}}]\n")
			s := StreamOf(w, &w.Phases[1], censusOf(b, w).OfSegment(Segment{Index: of, Of: of}))
			var o Operation
			for b.Loop() {
				s.Next(0, &o)
			}
		})
	}
}
