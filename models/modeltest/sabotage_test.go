package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// saboteur is the reference with one rule broken: the suite has to see it.
type saboteur struct {
	*reference
	breaks string
}

var sabotages = []string{
	"a page is one too long", "a page skips one", "oldest first", "an entry comes with the wrong flag",
	"the last recipient gets nothing", "what fails is delivered", "an address can be taken twice",
	"a stale handle is no error", "a flag set twice counts twice", "a move loses flags", "a move is a copy",
	"half a move", "the last byte is lost", "a neighbour loses mail", "drift goes unseen",
	"a label comes alone", "a purge ignores the time", "a restore loses the order", "UIDs are used again",
	"expunge leaves the last", "a slice is open", "seen by is sorted", "a cancelled context is not seen",
	"a yield's error is bare",
}

// TestSuiteSees runs the suite over each saboteur, in a process of its own,
// and expects it to fail. Over one that breaks nothing it passes.
func TestSuiteSees(t *testing.T) {
	sabotaged := func(t *testing.T, breaks string) {
		tr := Traits{Order: ByDate, OneMessage: true}
		m := referenceModel(tr, func(r *reference) models.Mailbox { return &saboteur{r, breaks} })
		Suite{Model: m, Traits: tr}.on(openReference).run(t, all())
	}
	if breaks := os.Getenv(sabotageEnv); breaks != "" {
		sabotaged(t, breaks)
		return
	}
	t.Run("nothing", func(t *testing.T) { sabotaged(t, "nothing") })
	for _, breaks := range sabotages {
		t.Run(breaks, func(t *testing.T) {
			t.Parallel()
			expectFailure(t, "^TestSuiteSees$", sabotageEnv+"="+breaks)
		})
	}
}

const sabotageEnv = "MAILBENCH_SABOTAGE"

var failedTest = regexp.MustCompile(`--- FAIL: \S+?/(\S+)`)

// expectFailure runs tests of this binary in another process, which must fail
// by its tests. It logs and returns which of them saw it.
func expectFailure(t *testing.T, run string, env ...string) (saw []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+run, "-test.timeout=5m", "-rapid.shrinktime=0s")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run the suite: %v", err)
	}
	for _, m := range failedTest.FindAllStringSubmatch(string(out), -1) {
		saw = append(saw, m[1])
	}
	switch {
	case err == nil:
		t.Errorf("%s: the suite did not see it", strings.Join(env, " "))
	case len(saw) == 0:
		t.Errorf("%s: the suite broke off:\n%s", strings.Join(env, " "), out)
	default:
		t.Logf("%s: seen by %s", strings.Join(env, " "), strings.Join(saw, ", "))
	}
	return saw
}

func (s *saboteur) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	var es []models.Entry
	switch s.breaks {
	case "a page is one too long":
		limit++
	case "oldest first":
		if after.IsZero() {
			limit = 1 << 20
		}
	}
	if err := s.reference.List(ctx, f, after, limit, func(e *models.Entry) error {
		es = append(es, *e)
		return nil
	}); err != nil {
		return err
	}
	for i := range es {
		if s.breaks == "an entry comes with the wrong flag" && i == 6 {
			es[i].Seen = !es[i].Seen
		}
	}
	if s.breaks == "oldest first" {
		slices.Reverse(es)
	}
	if s.breaks == "a page skips one" && !after.IsZero() && len(es) > 0 {
		es = es[1:]
	}
	for i := range es {
		if err := yield(&es[i]); err != nil {
			if s.breaks == "a yield's error is bare" {
				return err
			}
			return fmt.Errorf("list: %w", err)
		}
	}
	return nil
}

func (s *saboteur) Deliver(ctx context.Context, m *mail.Message, to []*models.Folder, handles []models.Handle) error {
	if s.breaks == "what fails is delivered" {
		healthy := *m
		healthy.Raw = mail.BytesContent("nothing")
		if err := s.reference.Deliver(ctx, &healthy, to, handles); err != nil {
			return err
		}
		_, err := mail.AppendContent(nil, m.Raw)
		return err
	}
	if s.breaks == "a cancelled context is not seen" {
		ctx = context.WithoutCancel(ctx)
	}
	if s.breaks == "the last recipient gets nothing" && len(to) > 2 {
		if err := s.reference.Deliver(ctx, m, to[:2], handles); err != nil {
			return err
		}
		handles[2] = models.Handle{1}
		return nil
	}
	return s.reference.Deliver(ctx, m, to, handles)
}

func (s *saboteur) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	a, err := s.reference.CreateUser(ctx, address, folders)
	if s.breaks == "an address can be taken twice" && errors.Is(err, models.ErrExists) {
		return s.reference.Login(ctx, address)
	}
	return a, err
}

func (s *saboteur) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	err := s.reference.Flag(ctx, f, h, flag, on)
	if s.breaks == "a stale handle is no error" && errors.Is(err, models.ErrNotFound) {
		return nil
	}
	return err
}

func (s *saboteur) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	st, err := s.reference.Stats(ctx, f)
	if s.breaks == "a flag set twice counts twice" && st.Unread < st.Messages {
		st.Unread--
	}
	return st, err
}

func (s *saboteur) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	if s.breaks == "half a move" && len(hs) > 1 {
		if err := s.reference.Move(ctx, from, to, hs[:1], handles); err != nil {
			return err
		}
	}
	entries := s.found(from, hs)
	if err := s.reference.Move(ctx, from, to, hs, handles); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		switch s.breaks {
		case "a move loses flags":
			e.state.flags = 0
		case "a move is a copy":
			s.folder(from).entries = append(s.folder(from).entries, e)
		}
	}
	return nil
}

// found are those of the messages that the folder has.
func (s *saboteur) found(f *models.Folder, hs []models.Handle) (es []*refEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hs {
		if e, err := s.find(f, h); err == nil {
			es = append(es, e)
		}
	}
	return es
}

func (s *saboteur) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	err := s.reference.Delete(ctx, f, hs)
	if s.breaks == "a neighbour loses mail" && err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, a := range s.accounts {
			if a != f.Account.Ref && len(a.folders[0].entries) > 0 {
				a.folders[0].entries = a.folders[0].entries[1:]
			}
		}
	}
	return err
}

func (s *saboteur) Raw(ctx context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	if s.breaks != "the last byte is lost" {
		return s.reference.Raw(ctx, f, h, w)
	}
	es := s.found(f, []models.Handle{h})
	if len(es) == 0 {
		return s.reference.Raw(ctx, f, h, w)
	}
	return s.reference.RawRange(ctx, f, h, 0, max(0, es[0].state.mail.Raw.Size()-1), w)
}

func (s *saboteur) Audit(ctx context.Context) (models.Audit, error) {
	a, err := s.reference.Audit(ctx)
	if s.breaks == "drift goes unseen" {
		a.CounterDrift++
	}
	return a, err
}

func (s *saboteur) Label(ctx context.Context, f *models.Folder, h models.Handle, label *models.Folder,
	on bool,
) (models.Handle, error) {
	l, err := s.reference.Label(ctx, f, h, label, on)
	if s.breaks == "a label comes alone" && err == nil && on && f.Ref != label.Ref {
		_, err = s.reference.Label(ctx, f, h, f, false)
	}
	return l, err
}

func (s *saboteur) Purge(ctx context.Context, a *models.Account, before time.Time) (int, error) {
	if s.breaks == "a purge ignores the time" {
		before = before.AddDate(100, 0, 0)
	}
	return s.reference.Purge(ctx, a, before)
}

func (s *saboteur) Restore(ctx context.Context, a *models.Account, h models.Handle) error {
	err := s.reference.Restore(ctx, a, h)
	if s.breaks == "a restore loses the order" && err == nil {
		e := s.lookup(h)
		s.mu.Lock()
		defer s.mu.Unlock()
		late := *e.state.mail.Message
		late.Date = start.AddDate(1, 0, 0)
		e.state.mail.Message = &late
	}
	return err
}

func (s *saboteur) UID(h models.Handle) uint64 {
	if s.breaks == "UIDs are used again" {
		return s.reference.UID(h) % 7
	}
	return s.reference.UID(h)
}

func (s *saboteur) Expunge(ctx context.Context, f *models.Folder, from, to uint64) (int, error) {
	if s.breaks == "expunge leaves the last" && to > from {
		to--
	}
	return s.reference.Expunge(ctx, f, from, to)
}

func (s *saboteur) Slice(ctx context.Context, f *models.Folder, from, to time.Time, limit int,
	yield func(*models.Entry) error,
) error {
	if s.breaks == "a slice is open" {
		to = to.Add(-time.Nanosecond)
	}
	return s.reference.Slice(ctx, f, from, to, limit, yield)
}

func (s *saboteur) SeenBy(ctx context.Context, f *models.Folder, h models.Handle, yield func(string) error) error {
	var who []string
	if err := s.reference.SeenBy(ctx, f, h, func(w string) error {
		who = append(who, w)
		return nil
	}); err != nil {
		return err
	}
	if s.breaks == "seen by is sorted" {
		slices.Sort(who)
	}
	for _, w := range who {
		if err := yield(w); err != nil {
			return fmt.Errorf("seen by: %w", err)
		}
	}
	return nil
}
