package subject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// TestSegmentsGoOn: segments whose loads were interrupted, each at another message and one of them twice, go on with
// numbers that no message of another segment or of an earlier step has.
func TestSegmentsGoOn(t *testing.T) {
	w, err := workloads.Parse("w.yaml", []byte(`
version: 1
name: w
population: {users: 4, folders: 2, messages: 10}
phases: [{load: {}}, {measure: {operations: 1, clients: 1, mix: {list: 1}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[uint64]bool{}
	for index, delivers := range [][]int{{15, 5, 20}, {3, 37}} { // of 40
		census := all.OfSegment(plan.Segment{Index: index + 1, Of: 2})
		target := Target{Dataset: &Dataset{Segment: index + 1, Of: 2}}
		has := loads{in: map[ledger.Place]int{}}
		for step, n := range delivers {
			load, err := target.next(&Dataset{}, census, has)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := census.LoadStream(t.Context(), &load.growth)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				var o plan.Operation
				if _, ok := stream.Next(0, &o); !ok || numbers[o.Message] || !plan.OfLoad(o.Message) {
					t.Fatalf("segment %d, step %d: message %d comes twice", index+1, step, o.Message)
				}
				numbers[o.Message] = true
				has.in[ledger.Place{Account: uint32(o.User), Folder: uint16(o.Folder)}]++
				has.messages, has.next = has.messages+1, max(has.next, o.Message+1)
			}
		}
		want := Step{Messages: int64(delivers[0]), Planned: 40, Users: 4, Folders: 4}
		if got := target.Dataset.Steps[0]; got != want {
			t.Errorf("segment %d: its first step is %+v, want %+v", index+1, got, want)
		}
	}
	if len(numbers) != 80 {
		t.Errorf("%d messages, want 80", len(numbers))
	}
}

// attachments is mail of which each third message has an attachment. It counts the messages that are made.
type attachments struct {
	messages.Source
	made int
}

type attachmentsReader struct {
	messages.Reader
	*attachments
}

func (a *attachments) Reader() messages.Reader { return attachmentsReader{attachments: a} }

func (a attachmentsReader) Message(n uint64, _ time.Time, m *mail.Message) error {
	a.made++
	*m = mail.Message{}
	if n%3 == 0 {
		m.Attachments = []mail.Part{{Name: fmt.Sprint(n)}}
	}
	return nil
}

// TestReloadAttached: a data set that is used again knows the newest messages with attachments of its loads, as a
// new one does, and makes only the mail that it needs for that.
func TestReloadAttached(t *testing.T) {
	source := &attachments{}
	live := func(attached bool) *Live {
		return &Live{keepAttached: attached, Accounts: []Account{{Folders: []Folder{{FolderSet: &FolderSet{}}}}}}
	}
	var h ledger.History
	for n := range 300 {
		h.Entries = append(h.Entries, ledger.Entry{Key: ledger.Key{Handle: handle(n)}, N: uint64(n)})
	}
	h.Entries[297].State = ledger.Gone
	target := Target{Config: Config{Mail: source}, Live: live(false)}
	if err := target.reload(t.Context(), &h); err != nil || source.made != 0 {
		t.Errorf("without attachments: %d messages made, %v", source.made, err)
	}
	target.Live = live(true)
	if err := target.reload(t.Context(), &h); err != nil {
		t.Fatal(err)
	}
	f := target.Live.Accounts[0].Folders[0].FolderSet
	var got []string
	for _, a := range f.attached {
		got = append(got, a.name)
	}
	var want []string
	for n := 294 - 3*(attachedMost-1); n <= 294; n += 3 {
		want = append(want, fmt.Sprint(n))
	}
	if !slices.Equal(got, want) || f.Len() != 299 || source.made > 3*attachedMost+3 {
		t.Errorf("of %d messages, %d made: %v, want %v", f.Len(), source.made, got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	target.Live = live(true)
	if err := target.reload(ctx, &h); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
