package modeltest

import (
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// The operations of a random sequence: each draws its arguments, and calls the model and the reference.

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
