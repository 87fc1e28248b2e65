package modeltest

import (
	"flag"
	"fmt"
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
// first sequence (0 for another one in each run), number of sequences, mean number of operations
// in each, and time to shorten a failing one.
var randomDefaults = map[string]string{
	"rapid.seed":       "1",
	"rapid.checks":     strconv.Itoa(onEmbedded),
	"rapid.steps":      "80",
	"rapid.shrinktime": "20s",
	"rapid.nofailfile": "true", // the seed is printed, and is enough
}

// So many sequences run on the embedded engine, and on each limited one. Few run on a variant, with other values on
// limited engines, and on a shared store, where each call is a round trip. There the first pages of all folders are
// compared after each seldom-th operation only, and all at the end.
const (
	onEmbedded   = 40
	onLimited    = 15
	withValues   = 20
	fewSequences = 2
	seldom       = 10
)

// boundRandom sets rapid's flags.
var boundRandom = sync.OnceFunc(func() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range randomDefaults {
		if !given[name] {
			flag.Set(name, value)
		}
	}
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
	boundRandom()
	var f *fixture
	var all *reference
	sequence, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if sequence == s.sequences && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }() // rapid then runs it again, to shorten it
		sequence++
		for range s.shift {
			rapid.Uint64().Draw(rt, "what follows is another sequence")
		}
		if f == nil || !s.shared && (failed || sequence%perStore == 1) {
			f = s.start(t, Sized(0, 4))
			all = f.reference()
		}
		chunk := randomChunk
		if !s.many {
			chunk = rapid.SampledFrom([]int{randomChunk, largeChunk}).Draw(rt, "chunk")
		}
		var processes []models.Mailbox
		for i := range 2 {
			w, o := *f.World, f.opts
			if i > 0 && s.second != nil {
				w.Store = s.second
			}
			o.Node += uint64(i)<<16 + uint64(sequence)<<8
			o.Values = Sized(chunk, 4).Values
			processes = append(processes, w.Bind(o).Mailbox(w.Session()))
		}
		m := &machine{
			differential: f.differentialOf(all, processes[0]), rt: rt, processes: processes,
			name: fmt.Sprintf("o'brien+%d-", sequence), ascends: s.variant, shared: s.shared,
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
			for _, name := range slices.Compact(m.words()) {
				for way := range ways {
					m.step(name, way)
				}
			}
		}
		m.check()
	})
}

// testMany runs a random sequence on many messages.
func testMany(t *testing.T, s *suite) {
	one := *s
	one.many, one.sequences = true, 1
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
	m.checkFolder(in, 300)
	m.change("delete", m.on(in, large...))
	for range 2 { // more than a purge takes at a time
		moved, err := m.move(in, to, m.list(in)[:m.several]...)
		m.must(err, "move %d messages", m.several)
		m.must(m.change("delete", m.on(to, moved...)).err, "delete %d messages", m.several)
	}
	c := m.on(in)
	c.until = m.clock.now().Add(time.Hour)
	m.agree("purge", c)
	if u, ok := m.got.(models.UIDs); ok {
		c.uids[0] = u.UID(m.list(in)[m.several/2].got)
		m.agree("expunge", c)
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
}

// plans is the name of folders that several accounts share. A model may keep a flag for each of
// them, so their messages are not flagged.
const plans = "Plans"

// words returns the operations to draw from.
func (m *machine) words() (names []string) {
	for _, op := range operations {
		if op.in(m.got) && op.name != "join" && op.name != "leave" {
			names = append(names, slices.Repeat([]string{op.name}, max(1, often[op.name]))...)
		}
	}
	return names
}

// actions returns the actions of a sequence.
func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"clock":   func(*rapid.T) { m.randomClock() },
		"process": func(*rapid.T) { m.randomProcess() },
		"far":     func(*rapid.T) { m.farDate() },
		"":        func(*rapid.T) { m.observe() },
	}
	if has[models.Poster](m.got) {
		actions["join"] = func(*rapid.T) { m.randomJoin() }
	}
	for i, name := range m.words() {
		actions[fmt.Sprintf("%s %d", name, i)] = func(*rapid.T) {
			const least = 20 // rapid draws numbers near 0 more often than others
			m.step(name, max(plainly, m.int("way", 0, least+ways-1)-least))
		}
	}
	return actions
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
