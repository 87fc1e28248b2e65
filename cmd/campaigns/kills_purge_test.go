//go:build campaigns && unix

package campaigns

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/cmd"
	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/results"
)

const purgesWorkload = "testdata/purges.yaml"

// TestKillsOfPurges kills mailbench while it removes messages for good, with every model on the
// embedded engine, and audits what is left: nothing may be wrong. Elasticinbox removes them in a
// purge, the other models in a delete. "make check CHECK=kills" does so hundreds of times.
//
// No ledger records purges. So the mailbench that is killed notes when a removal begins, writes
// and ends (removingMain), and the test reads what was under way. A kill that strikes none is
// audited too, and does not count.
func TestKillsOfPurges(t *testing.T) {
	kills := killsOfModels(t)
	for i, m := range everyModel {
		t.Run(m.Name, func(t *testing.T) {
			var sum audits
			var under strike
			var all, struck int
			for ; struck*len(everyModel)+i < kills; all++ {
				if all > 3*struck+10 {
					t.Fatalf("%d of %d kills struck a removal", struck, all)
				}
				s, a := killRemoval(t, m.Name)
				sum.add(a)
				if s.begun > 0 {
					struck++
				}
				under.begun, under.wrote = under.begun+s.begun, under.wrote+s.wrote
			}
			t.Logf("%d kills, of which %d struck %d removals, %d of them after a write: %v",
				all, struck, under.begun, under.wrote, &sum)
		})
	}
}

// strike counts the removals that a kill interrupted: those that had begun to write, and those of
// which at least one write had come back.
type strike struct{ begun, wrote int }

// killRemoval kills a run while a removal writes, and audits what is left.
func killRemoval(t *testing.T, model string) (strike, *results.Audit) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "purge")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, notes := filepath.Join(dir, "data"), filepath.Join(dir, "removals")
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// One kill of three comes from outside while a removal writes, the others the moment when its
	// first write has come back: that is too short to be hit from outside.
	some, outside := 1+rand.IntN(100), rand.IntN(3) == 0
	itself := some
	if outside {
		itself = math.MaxInt
	}
	t.Setenv("MAILBENCH_TEST_REMOVALS", notes)
	t.Setenv("MAILBENCH_TEST_REMOVALS_KILL", strconv.Itoa(itself))
	p := startProgram(t, "removing", purgesWorkload, "-m", model, "--data", data, "--no-overhead", "--quiet",
		"--durability", "process")
	read := func() []byte {
		b, err := os.ReadFile(notes)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if outside {
		p.await("removals", func() bool { return bytes.Count(read(), []byte(" ended\n")) >= some })
		for end := time.Now().Add(time.Second); struckIn(read()).begun == 0 && time.Now().Before(end); {
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if status := p.finish(); status != -1 {
		t.Fatalf("a run that was killed ended with status %d:\n%s", status, p.printed("stderr"))
	}
	s := struckIn(read())
	t.Logf("killed after %d removals (from outside: %v), with %d under way, %d of them after a write",
		some, outside, s.begun, s.wrote)
	return s, auditOnly(t, data, model, exitOK)
}

// struckIn reads the notes of removals: which had begun and not ended.
func struckIn(notes []byte) (s strike) {
	open := map[string]string{}
	for line := range strings.Lines(string(notes)) {
		removal, event, whole := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if whole {
			open[removal] = event
		}
	}
	for _, event := range open {
		switch event {
		case "begun":
			s.begun++
		case "wrote":
			s.begun++
			s.wrote++
		}
	}
	return s
}

// removingMain is a mailbench that notes in the file MAILBENCH_TEST_REMOVALS what becomes of each
// removal of messages: "N begun" before its first write, "N wrote" after that, and "N ended". It
// kills itself after the first write of removal MAILBENCH_TEST_REMOVALS_KILL.
func removingMain() {
	f, err := os.OpenFile(os.Getenv("MAILBENCH_TEST_REMOVALS"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	last, err := strconv.ParseInt(os.Getenv("MAILBENCH_TEST_REMOVALS_KILL"), 10, 64)
	if err != nil {
		panic(err)
	}
	notes := &removalNotes{file: f, last: last}
	noted := slices.Clone(everyModel)
	for i := range noted {
		m := &noted[i]
		bind := m.Bind
		m.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
			b, err := bind(ctx, p, o)
			return removingModel{b, notes}, err
		}
	}
	cmd.Main(noted...)
}

// removalNotes has the state of the removals of all mailboxes.
type removalNotes struct {
	file  *os.File
	last  int64 // the one that a kill interrupts
	begun atomic.Int64
}

func (n *removalNotes) note(removal int64, event string) {
	if _, err := fmt.Fprintf(n.file, "%d %s\n", removal, event); err != nil {
		panic(err)
	}
}

type removingModel struct {
	models.Bound
	notes *removalNotes
}

// Mailbox implements models.Bound. Of the operations that a model supports beyond a Mailbox, restores and purges
// remain: the workload needs no more.
func (b removingModel) Mailbox(s drivers.Session) models.Mailbox {
	noted := &removingSession{Session: s, notes: b.notes}
	mb := b.Bound.Mailbox(noted)
	if p, ok := mb.(models.Purger); ok {
		return &purgingMailbox{mb, p, noted}
	}
	return &deletingMailbox{mb, noted}
}

type purgingMailbox struct {
	models.Mailbox
	models.Purger
	session *removingSession
}

// Purge implements models.Purger.
func (m *purgingMailbox) Purge(ctx context.Context, a *models.Account, before time.Time) (n int, err error) {
	m.session.during(func() { n, err = m.Purger.Purge(ctx, a, before) })
	return n, err
}

type deletingMailbox struct {
	models.Mailbox
	session *removingSession
}

// Delete implements models.Mailbox.
func (m *deletingMailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	m.session.during(func() { err = m.Mailbox.Delete(ctx, f, hs) })
	return err
}

// removingSession notes the writes of removals.
type removingSession struct {
	drivers.Session
	notes    *removalNotes
	removing bool
	removal  int64 // 0: the one under way has written nothing
	writes   int
}

func (s *removingSession) during(remove func()) {
	s.removing, s.removal, s.writes = true, 0, 0
	remove()
	if s.removing = false; s.removal > 0 {
		s.notes.note(s.removal, "ended")
	}
}

// Write implements drivers.Session.
func (s *removingSession) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (
	r drivers.Result, err error,
) {
	s.write(func() { r, err = s.Session.Write(ctx, st, args) })
	return r, err
}

// Batch implements drivers.Session.
func (s *removingSession) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) (err error) {
	s.write(func() { err = s.Session.Batch(ctx, st, parts) })
	return err
}

func (s *removingSession) write(call func()) {
	if s.removing && s.removal == 0 {
		s.removal = s.notes.begun.Add(1)
		s.notes.note(s.removal, "begun")
	}
	call()
	if s.writes++; !s.removing || s.writes > 1 {
		return
	}
	if s.notes.note(s.removal, "wrote"); s.removal == s.notes.last {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

// killsOfModels is the number of kills in MAILBENCH_KILLS, or one of each model.
func killsOfModels(t *testing.T) int {
	t.Helper()
	kills := len(everyModel)
	if s := os.Getenv("MAILBENCH_KILLS"); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatal("MAILBENCH_KILLS:", err)
		}
	}
	return kills
}

// audits is the sum of several.
type audits struct{ results.Audit }

func (s *audits) add(a *results.Audit) {
	s.Delivered += a.Delivered
	s.Deleted += a.Deleted
	s.Verified += a.Verified
	s.Unknown += a.Unknown
	s.Unreferenced += a.Unreferenced
	s.Duplicated += a.Duplicated
	s.CounterDrift += a.CounterDrift
}

func (s *audits) String() string {
	return fmt.Sprintf("%d delivered, %d deleted, %d verified, %d of unknown outcome; "+
		"%d unreferenced, %d duplicated, counter drift of %d",
		s.Delivered, s.Deleted, s.Verified, s.Unknown, s.Unreferenced, s.Duplicated, s.CounterDrift)
}
