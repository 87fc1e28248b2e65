package modeltest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// randomDefaults are the values of rapid's flags unless the command line sets them: number of
// sequences, mean number of operations in each, and time to shorten a failing one.
var randomDefaults = map[string]string{
	"rapid.checks":     "12",
	"rapid.steps":      "25",
	"rapid.shrinktime": "20s",
	"rapid.nofailfile": "true", // the seed is printed, and is enough
}

// sharedSequences is how many sequences run on a shared store.
const sharedSequences = 4

var boundRandom = sync.OnceFunc(func() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range randomDefaults {
		if !given[name] {
			flag.Set(name, value)
		}
	}
})

// testRandom runs random sequences of all operations on the model and the reference. Chunks
// and overflow labels are small, so that operations often cross their boundaries. All
// sequences use the same tables, each with accounts of its own.
func testRandom(t *testing.T, s *suite) {
	boundRandom()
	f := s.start(t, Sized(512, 4))
	all := f.differential()
	sequence := 0
	rapid.Check(t, func(rt *rapid.T) {
		if sequence++; s.shared && sequence > sharedSequences {
			return // each call is a round trip there
		}
		m := &machine{differential: f.differentialOf(all.ref, all.got)}
		m.t = rt
		for i := range 2 {
			m.user(m.at(fmt.Sprintf("seq%d-%d", sequence, i)), "INBOX", "Work", "Archive")
		}
		rt.Repeat(m.actions())
		m.t = rt
		m.check()
	})
}

// machine is the state of one random sequence.
type machine struct {
	*differential
	n     int // number of messages delivered
	last  *mail.Message
	stale []message
}

// actions returns the actions of a sequence.
func (m *machine) actions() map[string]func(*rapid.T) {
	as := map[string]func(*rapid.T){
		"deliver": m.randomDeliver,
		"flag":    m.onMails(1, m.randomFlag),
		"move":    m.onMails(4, m.randomMove),
		"delete":  m.onMails(4, m.randomDelete),
		"stale":   m.useStale,
		"page":    m.randomPage,
		"open":    m.onMails(1, m.randomOpen),
		"folder":  m.randomFolder,
		"instant": func(t *rapid.T) {
			m.tick = rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "tick")
			if rapid.Bool().Draw(t, "back") {
				m.clock.advance(-5 * time.Minute)
			}
		},
		"": m.compareFolders,
	}
	if has[models.Labeler](m.got) {
		as["label"] = m.onMails(1, m.randomLabel)
	}
	if has[models.Purger](m.got) {
		as["restore"], as["purge"] = m.randomRestore, m.randomPurge
	}
	if has[models.UIDs](m.got) {
		as["expunge"] = m.onMails(4, m.randomExpunge)
	}
	return as
}

func (m *machine) compareFolders(t *rapid.T) {
	m.t = t
	for _, a := range m.accounts {
		for _, f := range a.folders {
			m.checkFolder(f, 3)
		}
	}
}

func (m *machine) drawFolder(t *rapid.T, a *account) *folder {
	return a.folders[rapid.IntRange(0, len(a.folders)-1).Draw(t, "folder")]
}

func (m *machine) drawAccount(t *rapid.T) *account {
	return m.accounts[rapid.IntRange(0, len(m.accounts)-1).Draw(t, "account")]
}

// drawMails picks up to limit messages of one folder, or none if all folders are empty.
func (m *machine) drawMails(t *rapid.T, limit int) (*folder, []message) {
	m.t = t
	var full []*folder
	for _, a := range m.accounts {
		for _, f := range a.folders {
			if len(m.live(f)) > 0 {
				full = append(full, f)
			}
		}
	}
	if len(full) == 0 {
		return nil, nil
	}
	f := full[rapid.IntRange(0, len(full)-1).Draw(t, "folder")]
	ms := m.live(f)
	at := rapid.IntRange(0, len(ms)-1).Draw(t, "message")
	n := rapid.IntRange(1, min(limit, len(ms)-at)).Draw(t, "messages")
	return f, ms[at : at+n]
}

// onMails is an action on up to limit messages of one folder. It does nothing if all are empty.
func (m *machine) onMails(limit int, do func(*rapid.T, *folder, []message)) func(*rapid.T) {
	return func(t *rapid.T) {
		if f, ms := m.drawMails(t, limit); ms != nil {
			do(t, f, ms)
		}
	}
}

func (m *machine) randomDeliver(t *rapid.T) {
	m.t = t
	if m.last == nil || rapid.IntRange(0, 3).Draw(t, "again") > 0 {
		m.last = m.draft(t)
	}
	var to []*folder
	for range rapid.IntRange(1, 3).Draw(t, "recipients") {
		if f := m.drawFolder(t, m.drawAccount(t)); !slices.Contains(to, f) {
			to = append(to, f)
		}
	}
	for _, x := range m.deliver(m.last, to...) {
		m.checkMessage(x)
	}
}

// draft draws a message.
func (m *machine) draft(t *rapid.T) *mail.Message {
	d := sample(m.n)
	m.n++
	if rapid.Bool().Draw(t, "same date") {
		d.Date = start
	}
	d.Text = noise(rapid.IntRange(0, 1500).Draw(t, "text"), m.n)
	d.TextEncoding = mail.Encoding(rapid.IntRange(0, 2).Draw(t, "encoding"))
	for i := range rapid.IntRange(0, 3).Draw(t, "files") {
		d.Files = append(d.Files, File{
			Name:     fmt.Sprintf("file %d", i),
			Encoding: mail.Encoding(rapid.IntRange(0, 2).Draw(t, "encoding")),
			Content:  noise(rapid.IntRange(0, 2000).Draw(t, "size"), i),
		})
	}
	return d.Message()
}

func (m *machine) randomFlag(t *rapid.T, _ *folder, ms []message) {
	flag, on := rapid.SampledFrom(allFlags).Draw(t, "flag"), rapid.Bool().Draw(t, "on")
	m.flag(ms[0], flag, on)
	m.userFlag(ms[0], rapid.SampledFrom([]string{"$Forwarded", "Junk"}).Draw(t, "user flag"), on)
	m.checkMessage(ms[0])
}

func (m *machine) randomMove(t *rapid.T, f *folder, ms []message) {
	to := m.drawFolder(t, f.in)
	if to == f {
		return
	}
	moved, err := m.move(f, to, ms...)
	if err == nil {
		m.stale = append(m.stale, ms...)
		m.checkMessage(moved[0])
	}
}

func (m *machine) randomDelete(_ *rapid.T, f *folder, ms []message) {
	if m.delete(f, ms...) == nil {
		m.stale = append(m.stale, ms...)
	}
}

// useStale uses the handle of a message that has gone, alone or with one that
// is there.
func (m *machine) useStale(t *rapid.T) {
	m.t = t
	if len(m.stale) == 0 {
		return
	}
	x := m.stale[rapid.IntRange(0, len(m.stale)-1).Draw(t, "stale")]
	if m.lives(x) { // it is back, under the handle it had
		return
	}
	ms := append(slices.Clone(m.live(x.in)[:min(1, len(m.live(x.in)))]), x)
	switch rapid.IntRange(0, 2).Draw(t, "operation") {
	case 0:
		m.flag(x, models.Seen, rapid.Bool().Draw(t, "on"))
	case 1:
		m.delete(x.in, ms...)
	default:
		if to := m.drawFolder(t, x.in.in); to != x.in {
			m.move(x.in, to, ms...)
		}
	}
}

func (m *machine) randomPage(t *rapid.T) {
	m.t = t
	f := m.drawFolder(t, m.drawAccount(t))
	m.checkFolder(f, rapid.IntRange(1, 30).Draw(t, "page"))
	m.checkAccount(f.in)
}

func (m *machine) randomOpen(_ *rapid.T, _ *folder, ms []message) {
	m.checkMessage(ms[0])
}

func (m *machine) randomFolder(t *rapid.T) {
	m.t = t
	a := m.drawAccount(t)
	m.createFolder(a, rapid.SampledFrom([]string{"INBOX", "Work", "More", "Even more"}).Draw(t, "name"))
	m.checkAccount(a)
}

func (m *machine) randomLabel(t *rapid.T, f *folder, ms []message) {
	to := m.drawFolder(t, f.in)
	on := rapid.Bool().Draw(t, "on")
	m.label(ms[0], to, on)
	if !on && f == to {
		m.stale = append(m.stale, ms[0])
	}
}

func (m *machine) randomRestore(t *rapid.T) {
	m.t = t
	if len(m.stale) == 0 {
		return
	}
	x := m.stale[rapid.IntRange(0, len(m.stale)-1).Draw(t, "stale")]
	if m.ref.Restore(m.ctx, x.in.in.ref, x.ref) != nil {
		return // moved, or purged
	}
	if err := m.got.(models.Purger).Restore(m.ctx, x.in.in.got, x.got); err != nil {
		t.Fatalf("restore: %v", err)
	}
}

func (m *machine) randomPurge(t *rapid.T) {
	m.t = t
	before := m.clock.now().Add(-time.Duration(rapid.IntRange(-1, 5).Draw(t, "seconds")) * time.Second)
	m.purge(m.drawAccount(t), before)
}

func (m *machine) randomExpunge(_ *rapid.T, f *folder, ms []message) {
	m.expunge(f, ms[len(ms)-1], ms[0])
	m.stale = append(m.stale, ms...)
}

// tb is the part of *testing.T and *rapid.T that rules use.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// differential runs each operation on a model's mailbox (got) and on the reference
// (ref). It fails the test if they differ.
type differential struct {
	t   tb
	ctx context.Context
	Traits
	domain
	clock *clock
	tick  time.Duration // how far the clock advances before each operation
	got   models.Mailbox
	ref   *reference

	accounts []*account
	handles  map[models.Handle]models.Handle // from the reference's to the model's
	lastUID  map[*folder]uint64
	// leftovers says that deliveries have failed halfway. They may have left unreferenced
	// bodies. An audit counts those, but they are no fault.
	leftovers bool
	opened    models.Opened // reused, as callers do
}

// account and folder hold the account and the folder of both sides.
type account struct {
	got, ref *models.Account
	folders  []*folder
}

type folder struct {
	got, ref *models.Folder
	in       *account
}

// message is a message in a folder: its handles on both sides.
type message struct {
	in       *folder
	got, ref models.Handle
}

func (f *fixture) differential() *differential {
	return f.differentialOf(newReference(f.Traits, f.clock.now), f.mailbox())
}

// differentialOf returns a differential of a mailbox and a reference that others may share.
func (f *fixture) differentialOf(ref *reference, got models.Mailbox) *differential {
	return &differential{
		t: f.t, ctx: f.ctx, Traits: f.Traits, domain: f.domain, clock: f.clock, tick: time.Second,
		got: got, ref: ref,
		handles: map[models.Handle]models.Handle{},
		lastUID: map[*folder]uint64{},
	}
}

// through returns a differential that sees the same accounts through another mailbox,
// as another process would.
func (diff *differential) through(got models.Mailbox) *differential {
	diff.t.Helper()
	other := &differential{}
	*other = *diff
	other.got, other.accounts = got, nil
	for _, a := range diff.accounts {
		again, err := got.Login(diff.ctx, a.ref.Address)
		if err != nil {
			diff.t.Fatalf("login through another mailbox: %v", err)
		}
		other.accounts = append(other.accounts, other.pair(again, a.ref))
	}
	return other
}

// agree fails the test unless both sides succeeded or failed for the same reason. It
// returns that reason.
func (diff *differential) agree(what string, got, ref error) error {
	diff.t.Helper()
	if ref == nil {
		if got != nil {
			diff.t.Fatalf("%s: %v", what, got)
		}
		return nil
	}
	for _, reason := range []error{models.ErrNotFound, models.ErrExists, context.Canceled} {
		if errors.Is(ref, reason) {
			if !errors.Is(got, reason) {
				diff.t.Fatalf("%s: error is %v, want %q", what, got, reason)
			}
			return reason
		}
	}
	diff.t.Fatalf("%s: the reference failed: %v", what, ref)
	return ref
}

func (diff *differential) user(address string, folders ...string) *account {
	diff.t.Helper()
	a, err := diff.createUser(address, folders...)
	if err != nil {
		diff.t.Fatalf("create user %s: %v", address, err)
	}
	return a
}

func (diff *differential) createUser(address string, folders ...string) (*account, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, err := diff.got.CreateUser(diff.ctx, address, folders)
	ref, refErr := diff.ref.CreateUser(diff.ctx, address, folders)
	if err := diff.agree("create user "+address, err, refErr); err != nil {
		return nil, err
	}
	a := diff.pair(got, ref)
	diff.accounts = append(diff.accounts, a)
	return a, nil
}

// pair pairs the account of both sides, folder by folder.
func (diff *differential) pair(got, ref *models.Account) *account {
	diff.t.Helper()
	if got.Address != ref.Address || len(got.Folders) != len(ref.Folders) {
		diff.t.Fatalf("account %q has %d folders, want %q with %d", got.Address, len(got.Folders), ref.Address,
			len(ref.Folders))
	}
	if len(got.Folders) > 0 && got.Folders[0].Name != ref.Folders[0].Name {
		diff.t.Fatalf("account %q: the first folder is %q, not its inbox %q", got.Address, got.Folders[0].Name,
			ref.Folders[0].Name)
	}
	a := &account{got: got, ref: ref}
	for _, r := range ref.Folders {
		g := got.Folder(r.Name)
		if g == nil {
			diff.t.Fatalf("account %q has no folder %q", got.Address, r.Name)
		}
		if g.Account != got {
			diff.t.Fatalf("folder %q of %q does not name its account", r.Name, got.Address)
		}
		a.folders = append(a.folders, &folder{g, r, a})
	}
	return a
}

func (diff *differential) createFolder(a *account, name string) (*folder, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, err := diff.got.CreateFolder(diff.ctx, a.got, name)
	ref, refErr := diff.ref.CreateFolder(diff.ctx, a.ref, name)
	if err := diff.agree("create folder "+name, err, refErr); err != nil {
		return nil, err
	}
	f := &folder{got, ref, a}
	a.folders = append(a.folders, f)
	return f, nil
}

// live returns the messages that the reference has in a folder, newest first.
func (diff *differential) live(f *folder) []message {
	diff.t.Helper()
	var ms []message
	err := diff.ref.List(context.Background(), f.ref, models.Handle{}, 1<<30, func(e *models.Entry) error {
		ms = append(ms, message{f, diff.handles[e.Handle], e.Handle})
		return nil
	})
	if err != nil {
		diff.t.Fatalf("list reference: %v", err)
	}
	return ms
}

// lives reports whether the model's handle names a message of the folder now. A
// message that came back may have its earlier handle.
func (diff *differential) lives(m message) bool {
	for _, l := range diff.live(m.in) {
		if l.got == m.got {
			return true
		}
	}
	return false
}
