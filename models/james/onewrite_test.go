package james

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/schemas"
)

// TestOneWriteLive: on Cassandra a delivery of james@one-lwt is one conditional write and the
// count. Concurrent deliveries get different UIDs, and messages of several chunks are whole as well.
func TestOneWriteLive(t *testing.T) {
	st := drivertest.OpenLive(t, cassandra.Engine(), drivers.Options{
		Contact: []string{live.Contact(t, "cassandra")}, Namespace: "j" + strings.ToLower(rand.Text()[:15]),
	})
	s, err := schemas.Bundled("james@one-lwt")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	s.Parameter("chunk_size").Value = 1000
	must(st.Apply(t.Context(), s))
	p, err := drivers.PrepareAll(t.Context(), st, s)
	must(err)
	b, err := bind(t.Context(), p, models.Options{Node: 1})
	must(err)
	worker := func() (*mailbox, drivers.Session) {
		session, err := st.Session()
		must(err)
		t.Cleanup(func() { session.Close() })
		return b.Mailbox(session).(*mailbox), session
	}
	mb, session := worker()
	a, err := mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work"})
	must(err)
	in, work := a.Folders[0], a.Folders[1]

	var ran []string
	session.Watch(nil, func(st drivers.Statement, _ time.Duration, _ int64) { ran = append(ran, st.Pattern().Name) })
	h := make([]models.Handle, 1)
	must(mb.Deliver(t.Context(), message(100), []*models.Folder{in}, h))
	session.Watch(nil, nil)
	if want := []string{"last_uid", "message_if", "numbers", "count_if"}; !slices.Equal(ran, want) {
		t.Errorf("a delivery runs %v, want %v", ran, want)
	}
	uids, unknown := []uint64{mb.UID(h[0])}, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		mb, _ := worker()
		wg.Go(func() {
			h := make([]models.Handle, 1)
			for n := range 5 {
				err := mb.Deliver(t.Context(), message(100+2000*(i%2)), []*models.Folder{in}, h)
				mu.Lock()
				switch {
				case errors.Is(err, drivers.ErrUnknown): // contention may leave the outcome open
					unknown++
				case err != nil:
					t.Errorf("delivery %d of worker %d: %v", n, i, err)
				default:
					uids = append(uids, mb.UID(h[0]))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(uids)
	if given := len(slices.Compact(slices.Clone(uids))); given != len(uids) || len(uids) < 10 {
		t.Errorf("UIDs %v: some are given twice, or few are", uids)
	}
	var listed []models.Handle
	must(mb.List(t.Context(), in, models.Handle{}, 1000, func(e *models.Entry) error {
		listed = append(listed, e.Handle)
		return nil
	}))
	for _, uid := range uids {
		if !slices.ContainsFunc(listed, func(h models.Handle) bool { return mb.UID(h) == uid }) {
			t.Errorf("message %d is lost", uid)
		}
	}
	moved := make([]models.Handle, 5)
	must(mb.Move(t.Context(), in, work, listed[:5], moved))
	for _, h := range moved {
		var raw bytes.Buffer
		if n, err := mb.Raw(t.Context(), work, h, &raw); err != nil || n != sizeOf(h) {
			t.Errorf("message %d has %d bytes of %d, %v", uidOf(h), n, sizeOf(h), err)
		}
	}
	must(mb.Flag(t.Context(), work, moved[0], models.Seen, true))
	must(mb.Delete(t.Context(), work, moved[:2]))
	if err := mb.Flag(t.Context(), work, moved[0], models.Seen, true); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("a flag of a deleted message: %v", err)
	}
	gone, err := mb.Expunge(t.Context(), in, 0, uint64(uidOf(listed[6])))
	must(err)
	if gone != len(listed)-6 {
		t.Errorf("%d are expunged of %d", gone, len(listed)-6)
	}
	found, err := audit.Run(t.Context(), st, s, mb, validate.Config{Dir: t.TempDir()})
	must(err)
	if unknown > 0 {
		t.Logf("%d deliveries of unknown outcome", unknown)
		found.CounterDrift, found.Unreferenced = 0, 0
	}
	if found.Messages != 4 || found.Dangling+found.BrokenBodies+found.CounterDrift+found.Unreferenced != 0 {
		t.Errorf("the audit finds %+v", found)
	}
}
