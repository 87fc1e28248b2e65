package ledger

import (
	"context"
	"io"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// An audit judges a message by the acknowledged writes of it.
func TestJudge(t *testing.T) {
	const listed, opens, whole = 1, 2, 4
	lost, corrupt, resurrected := results.Audit{Lost: 1}, results.Audit{Corrupt: 1}, results.Audit{Resurrected: 1}
	for _, c := range []struct {
		state       State
		found       int
		interrupted bool
		want        results.Audit
	}{
		{Live, listed | opens | whole, false, results.Audit{Verified: 1}},
		{Live, listed | opens | whole, true, results.Audit{Verified: 1}},
		{Live, 0, true, lost},
		{Live, listed, true, lost},
		{Live, opens | whole, true, lost},
		{Live, listed | opens, true, corrupt},
		{Gone, 0, false, results.Audit{}},
		{Gone, listed, true, resurrected},
		{Gone, opens | whole, true, resurrected},
		// The outcome is unknown: there or not, but not half, unless an operation may
		// have been interrupted half way.
		{LiveOrGone, listed | opens | whole, false, results.Audit{}},
		{LiveOrGone, 0, false, results.Audit{}},
		{LiveOrGone, listed | opens, false, corrupt},
		{LiveOrGone, listed | opens, true, results.Audit{}},
		{GoneOrLive, listed, true, results.Audit{}},
		{GoneOrLive, opens, true, results.Audit{}},
	} {
		w := Auditor{}
		w.Found.Interrupted = c.interrupted
		w.judge(&Entry{State: c.state}, c.found&listed > 0, c.found&opens > 0, c.found&whole > 0)
		if a := w.Found; a.Verified != c.want.Verified || a.Lost != c.want.Lost || a.Corrupt != c.want.Corrupt || a.Resurrected != c.want.Resurrected {
			t.Errorf("state %d, found %03b, interrupted %v: %+v", c.state, c.found, c.interrupted, a)
		}
	}
}

// keeper is a mailbox that still opens what is deleted.
type keeper struct{ models.Mailbox }

func (keeper) KeepsBodies() {}

// TestKeeper: a message that such a mailbox opens may be deleted, but not one that it lists.
func TestKeeper(t *testing.T) {
	for listed, want := range map[bool]int64{false: 0, true: 1} {
		w := Auditor{Mailbox: keeper{}}
		w.judge(&Entry{State: Gone}, listed, true, true)
		if w.Found.Resurrected != want {
			t.Errorf("a deleted message, listed %t, opened: %d still there, want %d", listed, w.Found.Resurrected, want)
		}
	}
}

// channel is a mailbox of two accounts with one folder in common, which has one message.
type channel struct {
	models.Mailbox
	models.Poster
}

func (channel) Accounts(context.Context) ([]string, error) {
	return []string{"guest", plan.Address(0)}, nil
}

func (channel) Login(_ context.Context, address string) (*models.Account, error) {
	a := &models.Account{Address: address}
	a.Folders = []*models.Folder{{Name: "Inbox", Account: a, Ref: 1}}
	return a, nil
}

func (channel) List(
	_ context.Context, _ *models.Folder, _ models.Handle, _ int, yield func(*models.Entry) error,
) error {
	return yield(&models.Entry{Handle: models.Handle{1}})
}

func (channel) Raw(context.Context, *models.Folder, models.Handle, io.Writer) (int64, error) {
	return 0, nil
}

func (channel) Stats(context.Context, *models.Folder) (models.Stats, error) {
	return models.Stats{}, nil
}

// TestSharedFolder: a folder of several accounts is compared in the account that the ledger names, which the store
// lists last.
func TestSharedFolder(t *testing.T) {
	digest, err := models.NewDigester(models.Promise{Raw: true}).Message(&mail.Message{Raw: mail.BytesContent(nil)})
	if err != nil {
		t.Fatal(err)
	}
	a := Auditor{
		Mailbox: channel{}, History: &History{Entries: []Entry{{Key: Key{Handle: models.Handle{1}}, Digest: digest}}},
		Rows:    func(context.Context) (models.Audit, error) { return models.Audit{}, nil },
		Promise: models.Promise{Raw: true},
	}
	if err := a.Audit(t.Context()); err != nil || a.Found.Verified != 1 || a.Found.Messages != 1 || a.Found.Lost > 0 {
		t.Errorf("%+v, %v", a.Found, err)
	}
}
