package james

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/schemas"
)

var errKilled = errors.New("killed")

// mortal is a session of a client that is killed: it makes some more writes, and then none.
type mortal struct {
	drivers.Session
	left int
}

func (m *mortal) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if m.left--; m.left < 0 {
		return drivers.Result{}, errKilled
	}
	return m.Session.Write(ctx, st, args)
}

// TestOneWriteBrokenOff: james@one-lwt moves a message by one write of the new row, one that removes the
// old one, and the two counts. A client that is killed in between loses nothing, and never leaves a
// UID twice. The message may be in both mailboxes, or counted in the wrong one: the audit finds that as a count that is not the number of messages.
func TestOneWriteBrokenOff(t *testing.T) {
	st := drivertest.OpenLive(t, cassandra.Engine(), drivers.Options{
		Contact: []string{live.Contact(t, "cassandra")}, Namespace: "j" + strings.ToLower(rand.Text()[:15]),
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := schemas.Bundled("james@one-lwt")
	must(err)
	must(st.Apply(t.Context(), s))
	p, err := drivers.PrepareAll(t.Context(), st, s)
	must(err)
	b, err := bind(t.Context(), p, models.Options{Node: 1})
	must(err)
	raw, err := st.Session()
	must(err)
	t.Cleanup(func() { raw.Close() })
	client := &mortal{raw, 1000}
	mb := b.Mailbox(client).(*mailbox)
	a, err := mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work"})
	must(err)
	in, work := a.Folders[0], a.Folders[1]

	adrift, total := int64(0), int64(0)
	for _, c := range []struct {
		writes         int
		copies, drifts int64 // more messages than were delivered, and counts that are wrong by one
	}{{0, 0, 0}, {1, 1, 1}, {2, 0, 2}, {3, 0, 1}, {4, 0, 0}} {
		h := make([]models.Handle, 1)
		must(mb.Deliver(t.Context(), message(100), []*models.Folder{in}, h))
		client.left = c.writes
		err := mb.Move(t.Context(), in, work, h, make([]models.Handle, 1))
		if (c.writes == 4) != (err == nil) {
			t.Errorf("after %d writes: %v", c.writes, err)
		}
		client.left = 1000
		total += 1 + c.copies
		adrift += c.drifts
		found, err := audit.Run(t.Context(), st, s, mb, validate.Config{Dir: t.TempDir(), Workers: 1})
		must(err)
		if found.Messages != total || found.CounterDrift != adrift || found.Dangling+found.BrokenBodies+found.Unreferenced != 0 {
			t.Errorf("after %d writes: the audit finds %+v, want %d messages and counts wrong by %d", c.writes, found, total, adrift)
		}
	}
}
