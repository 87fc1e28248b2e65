package modeltest

import (
	"bytes"
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

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// sabotages are faults of a model. Each says on which model it is planted, and the rule that must see it, within
// fewSequences if it is one of calls that fail.
var sabotages = []struct {
	breaks string
	detector
}{
	{"a page is one too long", detector{"elasticinbox", "random"}},
	{"a page skips one", detector{"elasticinbox", "random"}},
	{"oldest first", detector{"elasticinbox", "random"}},
	{"an entry comes with the wrong flag", detector{"elasticinbox", "random"}},
	{"the last recipient gets nothing", detector{"elasticinbox", "random"}},
	{"what fails is delivered", detector{"elasticinbox", "random"}},
	{"an address can be taken twice", detector{"elasticinbox", "random"}},
	{"a stale handle is no error", detector{"elasticinbox", "random"}},
	{"a flag set twice counts twice", detector{"elasticinbox", "random"}},
	{"a move loses flags", detector{"elasticinbox", "random"}},
	{"a move cuts attachments", detector{"elasticinbox", "random"}},
	{"the second recipient's text is cut", detector{"elasticinbox", "random"}},
	{"a move is a copy", detector{"elasticinbox", "random"}},
	{"half a move", detector{"elasticinbox", "random"}},
	{"a move stops at the first missing", detector{"elasticinbox", "random"}},
	{"a delete stops at the first missing", detector{"elasticinbox", "random"}},
	{"the last byte is lost", detector{"elasticinbox", "random"}},
	{"a neighbor loses mail", detector{"elasticinbox", "random"}},
	{"a label comes alone", detector{"elasticinbox", "random"}},
	{"a purge ignores the time", detector{"elasticinbox", "random"}},
	{"a restore loses the order", detector{"elasticinbox", "random"}},
	{"UIDs are used again", detector{"james", "random"}},
	{"expunge leaves the last", detector{"james", "random"}},
	{"a range ends at a boundary", detector{"james", "random"}},
	{"a range begins a byte late after a boundary", detector{"james", "random"}},
	{"a range beyond the end fails", detector{"james", "random"}},
	{"a slice is open", detector{"conversation", "random"}},
	{"a slice misses the oldest", detector{"conversation", "random"}},
	{"a search misses the last", detector{"conversation", "random"}},
	{"a search has no limit", detector{"conversation", "random"}},
	{"a search finds the mail of one folder", detector{"conversation", "random"}},
	{"seen by is sorted", detector{"conversation", "random"}},
	{"a canceled context is not seen", detector{"elasticinbox", "random"}},
	{"a yield's error is bare", detector{"elasticinbox", "random"}},
	{"one account for all", detector{"elasticinbox", "random"}},
}

// failing are the sabotages of calls that fail.
var failing = []string{"what fails is delivered", "a canceled context is not seen", "a yield's error is bare"}

const sabotageEnv = "MAILBENCH_SABOTAGE"

// TestSuiteSees runs a rule over each saboteur, in a process of its own, and expects it to fail. Over
// models that are not sabotaged the rules pass: that is the contract of the models.
func TestSuiteSees(t *testing.T) {
	planted := os.Getenv(sabotageEnv)
	for _, x := range sabotages {
		t.Run(x.breaks, func(t *testing.T) {
			if planted == "" {
				t.Parallel()
				expectFailure(t, "^TestSuiteSees$", sabotageEnv+"="+x.breaks)
			} else if planted == x.breaks {
				s := x.suite()
				bind := s.Model.Bind
				s.Model.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
					b, err := bind(ctx, p, o)
					return sabotaged{b, x.breaks}, err
				}
				on := s.on(openEmbedded)
				if slices.Contains(failing, x.breaks) {
					on.sequences = fewSequences
				}
				on.run(t, x.rule)
			}
		})
	}
}

var failedTest = regexp.MustCompile(`--- FAIL: \S+?/(\S+)`)

// expectFailure runs tests of this binary in another process, which must fail
// by its tests. It logs which of them saw it.
func expectFailure(t *testing.T, run string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+run, "-test.timeout=5m", "-rapid.shrinktime=0s")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run the suite: %v", err)
	}
	var saw []string
	for _, m := range failedTest.FindAllStringSubmatch(string(out), -1) {
		saw = append(saw, m[1])
	}
	switch {
	case err == nil:
		t.Errorf("%s: the suite did not see it", strings.Join(env, " "))
	case len(saw) == 0:
		t.Errorf("%s: the suite ended early:\n%s", strings.Join(env, " "), out)
	default:
		t.Logf("%s: seen by %s", strings.Join(env, " "), strings.Join(saw, ", "))
	}
}

type sabotaged struct {
	models.Bound
	breaks string
}

// Mailbox returns a saboteur that offers what the model offers.
func (b sabotaged) Mailbox(session drivers.Session) models.Mailbox {
	s := &saboteur{Mailbox: b.Bound.Mailbox(session), breaks: b.breaks}
	switch mb := s.Mailbox.(type) {
	case models.Labeler:
		return labelSaboteur{s, s.Mailbox.(models.AllMailer), s.Mailbox.(models.Inspector)}
	case models.UIDs:
		return uidSaboteur{s, mb}
	default:
		return postSaboteur{s, mb.(models.Poster)}
	}
}

// saboteur is a mailbox with one rule broken.
type saboteur struct {
	models.Mailbox
	breaks   string
	accounts []*models.Account
	restored bool
	cut      map[models.Handle]bool // messages of which something is lost
}

// loses notes that something of messages is lost if that is what breaks.
func (s *saboteur) loses(breaks string, hs ...models.Handle) {
	if s.breaks != breaks {
		return
	}
	if s.cut == nil {
		s.cut = map[models.Handle]bool{}
	}
	for _, h := range hs {
		s.cut[h] = true
	}
}

func (s *saboteur) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	err := s.Mailbox.Open(ctx, f, h, o)
	if s.breaks == "the second recipient's text is cut" && s.cut[h] {
		o.Body = o.Body[:len(o.Body)/2]
	}
	return err
}

func (s *saboteur) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string, w io.Writer,
) (int64, error) {
	if s.breaks != "a move cuts attachments" || !s.cut[h] {
		return s.Mailbox.Attachment(ctx, f, h, name, w)
	}
	return withoutEnd(w, func(w io.Writer) (int64, error) { return s.Mailbox.Attachment(ctx, f, h, name, w) })
}

// withoutEnd runs a call, and writes what it writes without the last byte.
func withoutEnd(w io.Writer, read func(io.Writer) (int64, error)) (int64, error) {
	var all bytes.Buffer
	if _, err := read(&all); err != nil {
		return 0, err
	}
	n, err := w.Write(all.Bytes()[:max(0, all.Len()-1)])
	return int64(n), err
}

// collect returns the entries that a call yields.
func collect(list func(y func(*models.Entry) error) error) (es []models.Entry, err error) {
	err = list(func(e *models.Entry) error {
		c := *e
		c.From, c.Subject = bytes.Clone(e.From), bytes.Clone(e.Subject)
		es = append(es, c)
		return nil
	})
	return es, err
}

func (s *saboteur) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	switch {
	case s.breaks == "a page is one too long":
		limit++
	case s.breaks == "oldest first" && after.IsZero():
		limit = 1 << 20
	}
	es, err := collect(func(y func(*models.Entry) error) error { return s.Mailbox.List(ctx, f, after, limit, y) })
	if err != nil {
		return err
	}
	switch {
	case s.breaks == "an entry comes with the wrong flag" && len(es) > 2:
		es[2].Seen = !es[2].Seen
	case s.breaks == "oldest first", s.restored:
		slices.Reverse(es)
	case s.breaks == "a page skips one" && !after.IsZero() && len(es) > 0:
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
	switch {
	case s.breaks == "what fails is delivered":
		if _, fails := mail.AppendContent(nil, m.Raw); fails != nil {
			healthy := *m
			healthy.Raw, healthy.Attachments = mail.BytesContent("nothing"), nil
			healthy.Body.Content = healthy.Raw
			return errors.Join(fails, s.Mailbox.Deliver(ctx, &healthy, to, handles))
		}
	case s.breaks == "a canceled context is not seen":
		ctx = context.WithoutCancel(ctx)
	case s.breaks == "the last recipient gets nothing" && len(to) > 2:
		if err := s.Mailbox.Deliver(ctx, m, to[:2], handles); err != nil {
			return err
		}
		handles[2] = models.Handle{1}
		return nil
	}
	err := s.Mailbox.Deliver(ctx, m, to, handles)
	if err == nil && len(to) > 1 {
		s.loses("the second recipient's text is cut", handles[1])
	}
	return err
}

func (s *saboteur) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	if s.breaks == "one account for all" && len(s.accounts) == 0 {
		address = "user0@example.org"
	}
	a, err := s.Mailbox.CreateUser(ctx, address, folders)
	switch {
	case err == nil:
		s.accounts = append(s.accounts, a)
	case s.breaks == "an address can be taken twice" && errors.Is(err, models.ErrExists):
		return s.Mailbox.Login(ctx, address)
	}
	return a, err
}

func (s *saboteur) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	err := s.Mailbox.Flag(ctx, f, h, flag, on)
	if s.breaks == "a stale handle is no error" && errors.Is(err, models.ErrNotFound) {
		return nil
	}
	return err
}

func (s *saboteur) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	st, err := s.Mailbox.Stats(ctx, f)
	if s.breaks == "a flag set twice counts twice" && st.Unread < st.Messages {
		st.Unread--
	}
	return st, err
}

func (s *saboteur) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	switch {
	case s.breaks == "half a move" && len(hs) > 1:
		if err := s.Mailbox.Move(ctx, from, to, hs[:1], handles); err != nil {
			return err
		}
	case s.breaks == "a move stops at the first missing" && len(distinct(hs)) == len(hs):
		for i := range hs {
			if err := s.Mailbox.Move(ctx, from, to, hs[i:i+1], handles[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.Mailbox.Move(ctx, from, to, hs, handles); err != nil {
		return err
	}
	s.loses("a move cuts attachments", handles[:len(hs)]...)
	for _, h := range handles {
		switch s.breaks {
		case "a move loses flags":
			if err := s.Mailbox.Flag(ctx, to, h, models.Seen, false); err != nil {
				return err
			}
		case "a move is a copy":
			if _, err := s.Mailbox.(models.Labeler).Label(ctx, to, h, from, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *saboteur) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	if s.breaks == "a delete stops at the first missing" && len(distinct(hs)) == len(hs) {
		for i := range hs {
			if err := s.Mailbox.Delete(ctx, f, hs[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	err := s.Mailbox.Delete(ctx, f, hs)
	if s.breaks != "a neighbor loses mail" || err != nil {
		return err
	}
	for _, a := range s.accounts {
		if a.Address != f.Account.Address {
			es, err := collect(func(y func(*models.Entry) error) error {
				return s.Mailbox.List(ctx, a.Folders[0], models.Handle{}, 1, y)
			})
			if err == nil && len(es) > 0 {
				err = s.Mailbox.Delete(ctx, a.Folders[0], []models.Handle{es[0].Handle})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *saboteur) Raw(ctx context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	if s.breaks != "the last byte is lost" {
		return s.Mailbox.Raw(ctx, f, h, w)
	}
	return withoutEnd(w, func(w io.Writer) (int64, error) { return s.Mailbox.Raw(ctx, f, h, w) })
}

// labelSaboteur sabotages elasticinbox.
type labelSaboteur struct {
	*saboteur
	models.AllMailer
	models.Inspector
}

func (s labelSaboteur) Label(ctx context.Context, f *models.Folder, h models.Handle, label *models.Folder,
	on bool,
) (models.Handle, error) {
	m := s.Mailbox.(models.Labeler)
	l, err := m.Label(ctx, f, h, label, on)
	if s.breaks == "a label comes alone" && err == nil && on && f.Ref != label.Ref {
		_, err = m.Label(ctx, f, h, f, false)
	}
	return l, err
}

func (s labelSaboteur) Purge(ctx context.Context, a *models.Account, before time.Time) (int, error) {
	if s.breaks == "a purge ignores the time" {
		before = before.AddDate(100, 0, 0)
	}
	return s.Mailbox.(models.Purger).Purge(ctx, a, before)
}

func (s labelSaboteur) Restore(ctx context.Context, a *models.Account, h models.Handle) error {
	err := s.Mailbox.(models.Purger).Restore(ctx, a, h)
	s.restored = s.restored || s.breaks == "a restore loses the order" && err == nil
	return err
}

// uidSaboteur sabotages james.
type uidSaboteur struct {
	*saboteur
	uids models.UIDs
}

func (s uidSaboteur) UID(h models.Handle) uint64 {
	if s.breaks == "UIDs are used again" {
		return s.uids.UID(h) % 7
	}
	return s.uids.UID(h)
}

func (s uidSaboteur) Expunge(ctx context.Context, f *models.Folder, from, to uint64) (int, error) {
	if s.breaks == "expunge leaves the last" && to > from {
		to--
	}
	return s.uids.Expunge(ctx, f, from, to)
}

func (s uidSaboteur) RawRange(ctx context.Context, f *models.Folder, h models.Handle, off, n int64, w io.Writer,
) (int64, error) {
	const first, last = randomChunk - 1, randomChunk // bytes on both sides of a boundary
	switch {
	case s.breaks == "a range ends at a boundary" && off <= first && off+n > last:
		n = last - off
	case s.breaks == "a range begins a byte late after a boundary" && off >= last && n > 0:
		off, n = off+1, n-1
	}
	var all bytes.Buffer
	got, err := s.Mailbox.(models.RangeReader).RawRange(ctx, f, h, off, n, &all)
	if err == nil && s.breaks == "a range beyond the end fails" && got > 0 && got < n {
		return 0, errBroken
	}
	if err == nil {
		_, err = w.Write(all.Bytes())
	}
	return got, err
}

// postSaboteur sabotages conversation.
type postSaboteur struct {
	*saboteur
	models.Poster
}

func (s postSaboteur) Slice(ctx context.Context, f *models.Folder, from, to time.Time, limit int,
	yield func(*models.Entry) error,
) error {
	if s.breaks == "a slice is open" {
		to = to.Add(-time.Microsecond)
	}
	return s.yieldAll("a slice misses the oldest", limit, yield, func(y func(*models.Entry) error) error {
		return s.Mailbox.(models.Slicer).Slice(ctx, f, from, to, limit, y)
	})
}

func (s postSaboteur) BySender(ctx context.Context, f *models.Folder, sender string, limit int,
	yield func(*models.Entry) error,
) error {
	switch {
	case s.breaks == "a search has no limit":
		limit = 1 << 20
	case s.breaks == "a search finds the mail of one folder" && f == nil && len(s.accounts) > 0:
		f = s.accounts[0].Folders[0]
	}
	return s.yieldAll("a search misses the last", limit, yield, func(y func(*models.Entry) error) error {
		return s.Mailbox.(models.SenderSearcher).BySender(ctx, f, sender, limit, y)
	})
}

// yieldAll yields the entries of a call, without the last of several where that is what breaks and no limit ends it.
func (s postSaboteur) yieldAll(breaks string, limit int, yield func(*models.Entry) error,
	list func(y func(*models.Entry) error) error,
) error {
	es, err := collect(list)
	if err != nil {
		return err
	}
	if n := len(es); s.breaks == breaks && n > 1 && n < limit {
		es = es[:n-1]
	}
	for i := range es {
		if err := yield(&es[i]); err != nil {
			return fmt.Errorf("search: %w", err)
		}
	}
	return nil
}

func (s postSaboteur) Seen(ctx context.Context, f *models.Folder, h models.Handle, who string) error {
	return s.Mailbox.(models.Seer).Seen(ctx, f, h, who)
}

func (s postSaboteur) SeenBy(ctx context.Context, f *models.Folder, h models.Handle, yield func(string) error) error {
	var who []string
	if err := s.Mailbox.(models.Seer).SeenBy(ctx, f, h, func(w string) error {
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
