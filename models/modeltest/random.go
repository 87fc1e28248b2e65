package modeltest

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// randomDefaults are the values of rapid's flags unless the command line sets them: the seed of the
// first sequence (0 for another one in each run), number of sequences of all suites, mean number of operations
// in each, and time to shorten a failing one.
var randomDefaults = map[string]string{
	"rapid.seed":       "1",
	"rapid.checks":     strconv.Itoa(sequencesInAll),
	"rapid.steps":      "80",
	"rapid.shrinktime": "20s",
	"rapid.nofailfile": "true", // the seed is printed, and is enough
}

// Sequences are numbered, and each has its seed. The embedded engine runs the first ones, and each limited engine the
// next ones: no two of these run the same. Few run on a variant, with other values on limited engines, and on a shared
// store, where each call is a round trip. There the first pages of all folders are compared after each seldom-th
// operation only, and all at the end.
const (
	onEmbedded     = 40
	onLimited      = 15
	withValues     = 20
	fewSequences   = 2
	sequencesInAll = onEmbedded + 2*onLimited
	seldom         = 10
)

// boundRandom sets rapid's flags. It reports whether the command line has the seed of the sequence to begin with.
var boundRandom = sync.OnceValue(func() bool {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range randomDefaults {
		if !given[name] {
			flag.Set(name, value)
		}
	}
	return given["rapid.seed"]
})

// The sizes of chunks in random sequences. A large chunk holds a body that some engines' short types would cut.
const (
	randomChunk = 512
	largeChunk  = 128 << 10
)

// perStore is how many sequences share tables: an audit after each reads the mail of all. One that is run again
// after it failed has its own, since it may have left them broken.
const perStore = 5

// testRandom runs random sequences of all operations on the model and the reference. Overflow labels
// and many chunks are small, so that operations often cross their boundaries. Several
// sequences use the same tables, each with accounts and two processes of its own.
func testRandom(t *testing.T, s *suite) {
	seeded := boundRandom()
	var f, second *fixture
	var all *reference
	number, sequence, failed := 0, 0, false
	rapid.Check(t, func(rt *rapid.T) {
		number++
		if others := number <= s.after && !seeded || sequence == s.sequences; others && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }() // rapid then runs it again, to shorten it
		sequence++
		if f == nil || !s.shared && (failed || sequence%perStore == 1) {
			f = s.start(t, Sized(0, 4))
			one, world := *f, *f.World
			second, one.World = &one, &world
			if s.second != nil {
				second.Store = s.second
			}
			all = &reference{Traits: s.Traits}
		}
		chunk := randomChunk
		if !s.many {
			chunk = rapid.SampledFrom([]int{randomChunk, largeChunk}).Draw(rt, "chunk")
		}
		var processes []models.Mailbox
		for i, f := range []*fixture{f, second} {
			o := f.opts
			o.Node += uint64(i)<<16 + uint64(sequence)<<8
			o.Values = maps.Clone(o.Values)
			maps.Copy(o.Values, Sized(chunk, 4).Values)
			processes = append(processes, f.Bind(o).Mailbox(f.Session()))
		}
		m := &machine{
			differential: f.differentialOf(all, processes[0]), rt: rt, processes: processes,
			name: fmt.Sprintf("o'brien+%d-", sequence), cursors: map[*folder]message{}, ascends: s.variant, shared: s.shared,
			several: 4, limit: bodyLimit(f.Store.Capabilities()),
		}
		m.t = rt
		m.user(m.at(m.name), "INBOX", "1", "11", "1:")
		m.user(m.at(m.name+"1"), "INBOX", "Entwürfe/2024 📬")
		if s.many {
			m.fillMany()
		}
		rt.Repeat(m.actions())
		if s.sequences == fewSequences && sequence == fewSequences {
			a := m.accounts[0] // the random steps may lack some odd names and mail, and calls that fail
			for _, name := range oddNames() {
				m.createFolder(a, name)
			}
			for i, d := range oddMail() {
				m.deliver(m.own(d).Message(), a.folders[i%len(a.folders)])
			}
			m.onMails(1, m.stopEarly)()
			m.onMails(1, m.cancel)()
			for how := range tooLarge + 1 {
				m.onMails(1, func(f *folder, _ []message) { m.failDelivery(f, how) })()
			}
		}
		m.check()
	})
}

// testMany runs a random sequence on many messages.
func testMany(t *testing.T, s *suite) {
	one := *s
	one.many, one.after, one.sequences = true, 0, 1
	testRandom(t, &one)
}

// fillMany leaves more messages in a folder, and more chunks in one of them, than any model takes from its store at a
// time. The steps that follow change up to 100 together. Here no engine may refuse so many: they are small, and
// documents name one or more messages in a call.
func (m *machine) fillMany() {
	m.several = 100
	in, to := m.accounts[0].folders[0], m.accounts[0].folders[1]
	large := m.deliver(unparsable(start, noise(400_000, 2)), in)
	for n := range 269 {
		m.deliver(sample(n).Message(), in)
	}
	for _, page := range []int{7, 25, 270, 300} {
		m.checkFolder(in, page)
	}
	m.checkAudit()
	m.must(m.delete(in, large...), "delete one of many chunks")
	for range 2 { // more than a purge takes at a time
		moved, err := m.move(in, to, m.list(in)[:m.several]...)
		m.must(err, "move %d messages", m.several)
		m.must(m.delete(to, moved...), "delete %d messages", m.several)
	}
	if has[models.Purger](m.got) {
		m.purge(m.accounts[0], m.clock.now().Add(time.Hour))
	}
	if u, ok := m.got.(models.UIDs); ok {
		m.expunge(in, u.UID(m.list(in)[m.several/2].got), 0)
	}
}

// machine is the state of one random sequence.
type machine struct {
	*differential
	rt        *rapid.T
	processes []models.Mailbox
	process   int    // the one that works
	name      string // with which the addresses of its accounts begin
	n         int    // number of messages delivered
	last      *mail.Message
	shared    bool
	several   int // messages that a step changes together at most
	limit     int64
	observed  int
	ascends   bool // the clock is never set back: a variant may store times that only ascend
	backs     int  // how often the clock was set back, each time to times that were not before
	stale     []message
	cursors   map[*folder]message // the last message of the page that was read last
}

// plans is the name of folders that several accounts share. A model may keep a flag for each of
// them, so their messages are not flagged.
const plans = "Plans"

// actions returns the actions of a sequence.
func (m *machine) actions() map[string]func(*rapid.T) {
	as := map[string]func(){
		"deliver": m.randomDeliver, "deliver more": m.randomDeliver,
		"flag": m.onMails(1, m.randomFlag), "flag more": m.onMails(1, m.randomFlag),
		"move":    m.onMails(m.several, m.randomMove),
		"delete":  m.onMails(m.several, m.randomDelete),
		"stale":   m.useStale,
		"turn":    m.turn,
		"page":    m.randomPage,
		"open":    m.onMails(1, func(_ *folder, ms []message) { m.checkMessage(ms[0]) }),
		"account": m.randomAccount,
		"clock":   m.randomClock,
		"process": m.randomProcess,
		"far":     m.farDate,
		"stop":    m.onMails(1, m.stopEarly),
		"cancel":  m.onMails(1, m.cancel),
		"fail": m.onMails(1, func(f *folder, _ []message) {
			if m.int("fails", 0, 2) == 0 { // an audit before and after it reads all mail
				m.failDelivery(f, m.int("how", 0, tooLarge))
			}
		}),
		"label":     when[models.Labeler](m, m.onMails(1, m.randomLabel)),
		"restore":   when[models.Purger](m, m.randomRestore),
		"purge":     when[models.Purger](m, m.randomPurge),
		"expunge":   when[models.UIDs](m, m.onMails(m.several, m.randomExpunge)),
		"subscribe": when[models.Subscriber](m, m.randomSubscribe),
		"seen":      when[models.Seer](m, m.onMails(1, m.randomSeen)),
		"join":      when[models.Poster](m, m.randomJoin),
		"":          m.observe,
	}
	actions := map[string]func(*rapid.T){}
	for name, do := range as {
		if do != nil {
			actions[name] = func(*rapid.T) { do() }
		}
	}
	return actions
}

// when returns an action of models that are an I, and nil for others.
func when[I any](m *machine, do func()) func() {
	if !has[I](m.got) {
		return nil
	}
	return do
}

func pick[T any](m *machine, what string, from []T) T {
	return from[m.int(what, 0, len(from)-1)]
}

func (m *machine) bool(what string) bool { return rapid.Bool().Draw(m.rt, what) }

func (m *machine) int(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(m.rt, what)
}

// observe compares the folders of all accounts after each operation.
func (m *machine) observe() {
	if m.observed++; m.shared && m.observed%seldom > 0 {
		return
	}
	for _, a := range m.accounts {
		for _, f := range a.folders {
			m.checkFolder(f, 3)
		}
	}
}

func (m *machine) drawAccount() *account { return pick(m, "account", m.accounts) }

// drawFolder picks a folder of an account that is not shared with others.
func (m *machine) drawFolder(a *account) *folder {
	return pick(m, "folder", slices.DeleteFunc(slices.Clone(a.folders), (*folder).shared))
}

func (f *folder) shared() bool { return f.name == plans }

// onMails is an action on up to limit messages of one folder. It does nothing if all are empty.
func (m *machine) onMails(limit int, do func(*folder, []message)) func() {
	return func() {
		var full []*folder
		for _, a := range m.accounts {
			for _, f := range a.folders {
				if len(f.entries) > 0 {
					full = append(full, f)
				}
			}
		}
		if len(full) == 0 {
			return
		}
		f := pick(m, "folder", full)
		ms := m.list(f)
		at := m.int("message", 0, len(ms)-1)
		do(f, ms[at:at+m.int("messages", 1, min(limit, len(ms)-at))])
	}
}
