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

func (m *machine) randomDeliver() {
	if m.last == nil || m.int("again", 0, 3) > 0 {
		m.last = m.draft()
	}
	var to []*folder
	for range m.int("recipients", 1, 3) {
		f := pick(m, "folder", m.drawAccount().folders)
		if !slices.ContainsFunc(to, func(x *folder) bool { return x.box == f.box }) {
			to = append(to, f)
		}
	}
	for _, x := range m.deliver(m.last, to...) {
		m.checkMessage(x)
	}
}

// seams are sizes on both sides of the boundaries of chunks, and in between.
var seams = []int{
	0, 1, 100, randomChunk - 1, randomChunk, randomChunk + 1, 2*randomChunk - 1, 2 * randomChunk,
	2*randomChunk + 1, 7*randomChunk + 300,
}

// own gives a draft a date that those of other processes do not have: which of them would be the newer one?
func (m *machine) own(d Draft) Draft {
	d.Date = d.Date.Add(time.Duration(m.process) * time.Second)
	return d
}

// draft draws a message.
func (m *machine) draft() *mail.Message {
	d := sample(m.n)
	m.n++
	switch m.int("kind", 0, 7) {
	case 0:
		return unparsable(m.own(d).Date, noise(pick(m, "size", seams), m.n))
	case 1, 2:
		d = pick(m, "odd", oddMail())
	case 3, 4:
		d.Date = start
		fallthrough
	default:
		d.Text = noise(pick(m, "text", seams), m.n)
		d.TextEncoding = mail.Encoding(m.int("encoding", 0, 2))
	}
	for i := range m.int("files", 0, 4) {
		d.Files = append(d.Files, File{
			Name:     fmt.Sprintf("file %d", i),
			Encoding: mail.Encoding(m.int("encoding", 0, 2)),
			Content:  noise(pick(m, "size", seams), i),
		})
	}
	const long = 70_000 // some engines' short types end at 64 KB
	switch m.int("long", 0, 39) {
	case 0:
		d.Text = noise(long, m.n)
	case 1:
		d.Files = append(d.Files, File{Name: "long", Encoding: mail.Base64, Content: noise(long, m.n)})
	}
	l := m.own(d).Message()
	if has[models.Slicer](m.got) && m.int("arrived", 0, 5) == 0 { // it counts, not the time of the delivery
		l.Arrived = m.clock.now().Add(24 * time.Hour)
	}
	return l
}

// farDate delivers a message with a date outside the range of a TimeUUID, where the order is lost, and the message is
// not. Outside of mail.MinDate to mail.MaxDate, the date is the nearest of these.
func (m *machine) farDate() {
	m.n++
	d, f := sample(m.n), m.drawFolder(m.drawAccount())
	d.Date = pick(m, "date", []time.Time{
		{},
		mail.MaxDate.Truncate(time.Second),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600)),
		mail.MinDate.AddDate(-2, 0, 0),
	})
	x := m.deliver(d.Message(), f)[0]
	m.checkMessage(x)
	m.delete(f, x)
}

func (m *machine) randomFlag(f *folder, ms []message) {
	if f.shared() {
		return
	}
	for range m.int("flags", 1, 3) {
		flag := pick(m, "flag", allFlags)
		for _, on := range [][]bool{{true, true, false}, {true, false, false, true}}[m.int("last on", 0, 1)] {
			m.flag(ms[0], flag, on)
		}
		m.userFlag(ms[0], pick(m, "user flag", []string{"$Forwarded", "Junk"}), m.bool("on"))
		m.checkFolder(f, 30)
		m.checkMessage(ms[0])
	}
}

func (m *machine) randomMove(f *folder, ms []message) {
	to := m.drawFolder(f.in)
	if to == f || f.shared() {
		return
	}
	if m.int("twice", 0, 9) == 0 {
		hs := append(handlesOf(ms), ms[0].got)
		m.agree("move one message twice in a call", m.got.Move(m.ctx, f.got, to.got, hs, make([]models.Handle, len(hs))),
			models.ErrNotFound)
		return
	}
	if moved, err := m.move(f, to, ms...); err == nil {
		m.stale = append(m.stale, ms...)
		m.checkMessage(moved[0])
	}
}

// randomDelete deletes messages, or names one of them twice in a call: then it is deleted once, or the
// call returns ErrNotFound.
func (m *machine) randomDelete(f *folder, ms []message) {
	if m.int("twice", 0, 4) == 0 {
		err := m.got.Delete(m.ctx, f.got, append(handlesOf(ms), ms[0].got))
		if tooMany(err, ms) {
			return
		} else if err != nil {
			m.agree("delete one message twice in a call", err, models.ErrNotFound)
			return
		}
		for _, x := range ms {
			m.reference.delete(x, m.clock.now())
		}
	} else if m.delete(f, ms...) != nil {
		return
	}
	m.stale = append(m.stale, ms...)
}

// drawStale picks a message that has gone, or none at all.
func (m *machine) drawStale() message {
	if m.int("zero", 0, 5) == 0 || len(m.stale) == 0 {
		return message{&entry{}, m.drawFolder(m.drawAccount())}
	}
	return pick(m, "stale", m.stale)
}

// lives reports whether the model's handle names a message of the folder now: one that came back may have its earlier
// handle.
func (m *machine) lives(x message) bool {
	return slices.ContainsFunc(x.in.entries, func(e *entry) bool { return e.got == x.got })
}

// useStale uses the handle of a message that has gone, alone and with one that is there.
func (m *machine) useStale() {
	x := m.drawStale()
	if m.lives(x) { // it is back, under the handle it had
		return
	}
	c := newCall(m.ctx, m.got, x.in.in.got)
	c.in, c.to, c.hs = x.in.got, m.drawFolder(x.in.in).got, []models.Handle{x.got}
	names := []string{"raw", "flag", "move", "delete", "label", "range", "user flag", "seen", "seen by"}
	if !has[models.Keeper](m.got) || x.got.IsZero() {
		names = append(names, "open", "attachment")
	}
	for _, name := range names {
		for _, c.on = range []bool{true, false} {
			m.refuses(c, name, "with a stale handle", models.ErrNotFound)
		}
	}
	to := m.drawFolder(x.in.in)
	ms := append(m.list(x.in)[:min(2, len(x.in.entries))], x)
	m.move(x.in, to, ms...)
	m.delete(x.in, ms...)
}

// turn reads the page that follows the one before, whatever has happened to the folder and to the
// message with which that page ended.
func (m *machine) turn() {
	f := pick(m, "folder", m.drawAccount().folders)
	m.cursors[f] = m.checkAfter(f, m.cursors[f], m.int("page", 1, 6))
}

func (m *machine) randomPage() {
	a := m.drawAccount()
	f := pick(m, "folder", a.folders)
	m.checkFolder(f, m.int("page", 1, 30))
	m.checkSearches(f)
	m.checkAccount(a)
}

// randomAccount creates accounts and folders, new ones and such as exist, and logs in to others.
func (m *machine) randomAccount() {
	name := pick(m, "name", []string{"", "1", ":1", "11", "unknown", "2", "3"})
	switch m.int("create", 0, 3) {
	case 0:
		m.checkLogin(pick(m, "address", []string{"", m.name, m.at(m.name + "nobody"), m.at(m.name)}))
	case 1:
		ten := []string{"INBOX", "2", "3", "4", "5", "6", "7", "8", "9", "10"} // as text, a number of 10 comes before 2
		m.createUser(m.at(m.name+name), pick(m, "folders", [][]string{{"INBOX", "Work"}, {"INBOX", "Work", "Work"}, ten})...)
	default:
		m.createFolder(m.drawAccount(), pick(m, "name", append(oddNames(), "1"+name)))
	}
}

// randomClock sets how fast the clock goes, or sets it back.
func (m *machine) randomClock() {
	m.tick = pick(m, "tick", []time.Duration{0, time.Millisecond, time.Second})
	if m.bool("back") && !m.ascends {
		m.backs++
		m.clock.advance(-5*time.Minute - time.Duration(m.backs)*137*time.Millisecond)
	}
}

// randomProcess goes on through the mailbox of another process, at another time: of two messages of
// the same time and different processes, either may be the newer one.
func (m *machine) randomProcess() {
	m.clock.advance(time.Millisecond)
	m.last = nil
	m.process = m.int("process", 0, len(m.processes)-1)
	m.got = m.processes[m.process]
	for _, a := range m.accounts {
		a.use(m.checkLogin(a.address))
	}
}

func (m *machine) randomLabel(f *folder, ms []message) {
	if f.shared() {
		return
	}
	x, to, on := ms[0], m.drawFolder(f.in), m.bool("on")
	m.clock.advance(m.tick)
	got, err := m.got.(models.Labeler).Label(m.ctx, f.got, x.got, to.got, on)
	m.agree("label", err, nil)
	if on {
		st := *x.state
		if m.OneMessage {
			m.learn(to, to.put(x.state), got, false)
		} else {
			m.learn(to, to.put(&st), got, false)
		}
		return
	}
	if e := to.entry(x.state); e != nil {
		to.drop(e)
	}
	if f == to {
		m.stale = append(m.stale, x)
	}
}

func (m *machine) randomRestore() {
	x, want := m.drawStale(), error(nil)
	a := x.in.in
	i := slices.IndexFunc(a.deleted, func(d deletion) bool { return slices.Contains(d.entries, x.entry) })
	if i < 0 {
		if want = models.ErrNotFound; !x.got.IsZero() && !m.lives(x) {
			return // moved, or purged
		}
	} else {
		d := a.deleted[i]
		for j, f := range d.folders {
			f.entries = append(f.entries, d.entries[j])
		}
		a.deleted, a.mail = slices.Delete(a.deleted, i, i+1), append(a.mail, d.came)
	}
	m.agree("restore", m.got.(models.Purger).Restore(m.ctx, a.got, x.got), want)
}

func (m *machine) randomPurge() {
	m.purge(m.drawAccount(), m.clock.now().Add(-time.Duration(m.int("seconds", -1, 5))*time.Second))
}

func (m *machine) randomExpunge(f *folder, ms []message) {
	u := m.got.(models.UIDs)
	from, to := u.UID(ms[len(ms)-1].got), u.UID(ms[0].got)
	switch m.int("range", 0, 5) {
	case 0:
		from, to = 0, 0
	case 1:
		from = 0
	case 2: // nothing: beyond what is there
		m.expunge(f, 1<<40, 1<<41)
		return
	case 3: // one, or nothing: the range is empty
		from, to = to, from
	}
	m.expunge(f, from, to)
	m.stale = append(m.stale, ms...)
}

func (m *machine) randomSubscribe() {
	a, folder, on := m.drawAccount(), pick(m, "folder", []string{"INBOX", "no folder", "1"}), m.bool("on")
	m.agree("subscribe", m.got.(models.Subscriber).Subscribe(m.ctx, a.got, folder, on), nil)
	a.subs = set(a.subs, folder, on)
}

func (m *machine) randomSeen(_ *folder, ms []message) {
	x := ms[0]
	for range m.int("viewers", 1, 4) {
		who := pick(m, "who", []string{"zoe@example.org", "bob@example.org", "yan@example.org"})
		err := m.got.(models.Seer).Seen(m.ctx, x.in.got, x.got, who)
		if m.agree("seen", err, x.in.has(ms)) == nil {
			x.seenBy = append(x.seenBy, who)
		}
	}
	m.checkMessage(x)
}

// randomJoin creates a folder that accounts share, joins it or leaves it. One account stays.
func (m *machine) randomJoin() {
	var in []*folder
	for _, a := range m.accounts {
		if i := slices.IndexFunc(a.folders, (*folder).shared); i >= 0 {
			in = append(in, a.folders[i])
		}
	}
	a := m.drawAccount()
	at := slices.IndexFunc(in, func(f *folder) bool { return f.in == a })
	switch {
	case len(in) == 0:
		m.createFolder(a, plans)
	case at < 0:
		got, err := m.got.(models.Poster).Join(m.ctx, a.got, in[0].got)
		m.agree("join", err, nil)
		a.folders = append(a.folders, &folder{in[0].box, plans, got, a})
	case len(in) > 1:
		for range 2 { // and again
			m.agree("leave", m.got.(models.Poster).Leave(m.ctx, in[at].got), nil)
		}
		a.folders = slices.DeleteFunc(a.folders, (*folder).shared)
	}
}
