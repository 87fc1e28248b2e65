package subject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
)

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
