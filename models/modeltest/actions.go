package modeltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// The ways in which a step calls an operation.
const (
	plainly  = iota
	canceled // with a canceled context: nothing changes
	stopped  // yields and writers return errors; a delivery is of content that cannot be read to its end
	stoppedLater
	canceledLater
	tooLarge // for one row
	ways
)

var (
	// streams are the operations whose yields and writers may stop them.
	streams = []string{
		"folders", "list", "all mail", "nested", "by sender in a folder", "by sender everywhere", "slice", "seen by",
		"subscriptions", "raw", "range", "attachment",
	}
	// onMessages are the operations on messages of a folder, of which those on flags are not called where accounts share
	// it: a model may keep a flag for each.
	onMessages = []string{
		"flag", "user flag", "move", "label", "delete", "open", "raw", "attachment", "range", "seen", "seen by", "restore",
	}
	onFlags   = onMessages[:4]
	takesMany = []string{"move", "delete"}
)

// often says which operations are drawn more often than once.
var often = map[string]int{
	"deliver": 8, "list": 3, "flag": 3, "move": 3, "delete": 2, "label": 2, "open": 3, "range": 3, "slice": 3,
}

// step calls an operation with drawn arguments.
func (m *machine) step(name string, way int) {
	in, ms := m.drawMessages(name)
	to := m.drawFolder(in.in)
	if in.shared() && slices.Contains(onFlags, name) || name == "move" && to == in {
		return
	}
	c := m.on(in, ms...)
	c.to = to.got
	switch m.draw(c, ms); name {
	case "create user":
		ten := []string{"INBOX", "2", "3", "4", "5", "6", "7", "8", "9", "10"} // as text, a number of 10 comes before 2
		c.who = m.at(m.name + pick(m, "address", []string{"", "1", ":1", "11", "2", "3"}))
		c.names = pick(m, "folders", [][]string{{"INBOX", "Work"}, {"INBOX", "Work", "Work"}, ten})
		c.a = &models.Account{Address: c.who}
	case "login":
		address := pick(m, "address", []string{"", m.name, m.at(m.name + "nobody"), m.at(m.name)})
		c.a = &models.Account{Address: address}
	case "deliver":
		c.m, c.folders = m.drawMail(), modelsOf(m.drawRecipients())
	case "list": // what follows the newest, or a message that is there or gone
		gone := slices.DeleteFunc(slices.Clone(m.stale), func(x message) bool { return x.in != in })
		c.after = pick(m, "after", slices.Concat([]message{{entry: &entry{}}}, ms, gone)).got
	case "purge":
		c.until = m.clock.now().Add(-time.Duration(m.int("seconds", -1, 5)) * time.Second)
	case "seen":
		c.who = pick(m, "viewer", viewers)
	}
	switch {
	case !slices.Contains(onMessages, name):
		c.hs = nil
	case slices.Contains(takesMany, name) && m.int("twice", 0, 7) == 0:
		c.hs = append(c.hs, c.hs[0])
	}
	switch {
	case way != plainly && name == "deliver":
		m.fail(c, way)
	case way == canceled:
		m.cancel(name, in, to, ms[0])
	case way == stopped && slices.Contains(streams, name):
		m.stop(name, c)
	case m.change(name, c).err == nil:
		m.repeat(name, c)
		for _, x := range ms {
			if _, err := in.find(x.got); err != nil {
				m.stale = append(m.stale, x)
			}
		}
	}
}

// viewers are not in the order of the alphabet.
var viewers = []string{"zoe@example.org", "bob@example.org", "yan@example.org"}

// repeat repeats a call that sets something, right after it.
func (m *machine) repeat(name string, c *call) {
	if !slices.Contains([]string{"flag", "user flag", "label", "seen"}, name) {
		return
	}
	for range pick(m, "more", []int{2, 3, 0}) {
		c.on, c.who = !c.on, pick(m, "viewer", viewers)
		m.change(name, c)
	}
	if name != "label" {
		m.agree("open", c)
		m.agree("seen by", c)
	}
}

// cancel calls an operation on a message that is there, with a canceled context.
func (m *machine) cancel(name string, in, to *folder, x message) {
	if _, err := in.find(x.got); err != nil {
		return
	}
	c := m.on(in, x)
	c.to, c.until = to.got, m.clock.now().Add(time.Hour)
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(m.ctx)
	cancel()
	if err := the(name).run(c); !errors.Is(err, context.Canceled) && !errors.Is(err, models.ErrNotOffered) {
		m.t.Fatalf("%s with a canceled context: error is %v", c.describe(name), err)
	}
	m.checkMessage(x)
}

// stop returns an error from a yield or a writer. The call ends and returns it, wrapped if it is from a yield.
func (m *machine) stop(name string, c *call) {
	c.after = models.Handle{}
	want := c.do(name, func(c *call) error { return m.reference.run(name, c) })
	if want.err != nil || len(want.items) == 0 && want.bytes.n == 0 {
		return
	}
	for stop := 1; stop <= 2; stop++ {
		n := 0
		c.w, c.yield = brokenWriter{}, func(item) error {
			if n++; n == stop {
				return errBroken
			}
			return nil
		}
		err, stops := the(name).run(c), len(want.items) >= stop || want.bytes.n > 0
		switch {
		case errors.Is(err, models.ErrNotOffered):
		case n > stop, errors.Is(err, errBroken) != stops, err == errBroken && n > 0:
			m.t.Fatalf("%s, stopped at %d: error %v after %d; want %q wrapped: %t", c.describe(name), stop, err, n,
				errBroken, stops)
		}
	}
}

// fail makes a delivery of content that cannot be read to its end or is too large, or cancels it before or meanwhile.
// No folder shows the message, unless the delivery was acknowledged nevertheless.
func (m *machine) fail(c *call, way int) {
	if way == tooLarge && !m.WholeRows && !m.KeepsBodies {
		return
	}
	m.checkAudit()
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	x, to, want, certain := c.m, c.folders, context.Canceled, way == canceled || way == tooLarge
	after := 0
	if way == stoppedLater || way == canceledLater {
		after = m.int("after", 0, 3) // so many reads, such as those for the first recipient
	}
	x = breakContent(x, func() error {
		switch after--; {
		case after >= 0 || way == canceled:
		case way == canceledLater:
			cancel()
		default:
			certain = true
			return errBroken
		}
		return nil
	})
	switch way {
	case canceled:
		cancel()
	case stopped, stoppedLater:
		want = errBroken
	case tooLarge:
		want = drivers.ErrTooLarge
		body := zeros(m.limit + 1)
		x = &mail.Message{Date: start, Raw: body, Body: mail.Part{Type: "text/plain", Content: body}}
	}
	err := m.got.Deliver(ctx, x, to, c.made)
	switch {
	case err == nil && !certain:
		m.must(m.reference.run("deliver", c), "deliver")
		m.learn("deliver", c, outcome{})
	case !errors.Is(err, want):
		m.t.Fatalf("deliver what fails: error is %v, want %q", err, want)
	}
	if m.failed(); way == canceledLater && m.shared { // over a network, a write of a canceled call may come later
		m.left, m.late = math.MaxInt64, true
	}
	m.checkAudit()
}

// bodyLimit is the size in bytes of the largest body that a model puts into one row of the engine.
func bodyLimit(c drivers.Capabilities) int64 {
	limits := []int64{models.MaxRow, c.MaxCellBytes, c.MaxRowBytes}
	return slices.Min(slices.DeleteFunc(limits, func(n int64) bool { return n == 0 }))
}

// drawMessages draws messages of a folder. They are there or, sometimes and to be restored, one is gone. Where an
// operation takes many it is at any place, since those before it must not change. Where it takes one it is the first.
func (m *machine) drawMessages(name string) (*folder, []message) {
	if slices.Contains(onMessages, name) && (name == "restore" || m.int("stale", 0, 7) == 0) {
		x := message{&entry{}, m.drawFolder(m.drawAccount())}
		if m.int("zero", 0, 5) > 0 && len(m.stale) > 0 {
			x = pick(m, "stale", m.stale)
		}
		left := x.in.in.folder(x.in.name) != x.in
		keeps := has[models.Keeper](m.got) && !x.got.IsZero() && (name == "open" || name == "attachment")
		if !left && !keeps {
			ms := []message{x}
			if slices.Contains(takesMany, name) {
				ms = m.list(x.in)[:min(2, len(x.in.entries))]
				ms = slices.Insert(ms, m.int("place", 0, len(ms)), x)
			}
			return x.in, ms
		}
	}
	var full []*folder
	for _, a := range m.accounts {
		for _, f := range a.folders {
			if len(f.entries) > 0 {
				full = append(full, f)
			}
		}
	}
	if len(full) == 0 {
		f := m.drawFolder(m.drawAccount())
		return f, []message{{&entry{}, f}}
	}
	f := pick(m, "folder", full)
	ms, most := m.list(f), 1
	if slices.Contains(takesMany, name) {
		most = m.several
	}
	at := m.int("message", 0, len(ms)-1)
	return f, ms[at : at+m.int("messages", 1, min(most, len(ms)-at))]
}

// draw draws the arguments of a call, of which an operation uses some.
func (m *machine) draw(c *call, ms []message) {
	c.flag, c.keyword = pick(m, "flag", allFlags), pick(m, "keyword", []string{"$Forwarded", "Junk"})
	c.on, c.limit = m.bool("on"), pick(m, "limit", []int{1, 2, 3, 7, 25, 1000})
	c.name = pick(m, "name", append(oddNames(), "INBOX", "1", "11", "12", "1:1", "unknown"))
	c.off, c.n = int64(pick(m, "size", seams)), int64(pick(m, "size", seams))
	x := ms[m.int("of", 0, len(ms)-1)]
	if x.state == nil {
		return
	}
	around := []time.Duration{0, time.Millisecond, -time.Millisecond, -time.Second, time.Minute}
	c.who, c.since, c.until = x.From.Address, x.at.Add(pick(m, "since", around)), x.at.Add(pick(m, "until", around))
	c.file = pick(m, "file", append([]mail.Part{{Name: "no such name"}}, x.Attachments...)).Name
	if u, ok := m.got.(models.UIDs); ok {
		uid := u.UID(x.got)
		c.uids = pick(m, "range", [][2]uint64{{uid, uid}, {uid, uid + 2}, {0, 0}, {0, uid}, {uid, 1}, {1 << 40, 1 << 41}})
	}
}

var allFlags = []models.Flag{models.Answered, models.Seen, models.Flagged, models.Deleted, models.Draft}

// drawMail draws a message that was delivered last, or a new one.
func (m *machine) drawMail() *mail.Message {
	if m.last == nil || m.int("again", 0, 3) > 0 {
		m.last = m.draft()
	}
	return m.last
}

func (m *machine) drawRecipients() (to []*folder) {
	for range m.int("recipients", 1, 3) {
		f := pick(m, "folder", m.drawAccount().folders)
		if !slices.ContainsFunc(to, func(x *folder) bool { return x.box == f.box }) {
			to = append(to, f)
		}
	}
	return to
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
	case 3:
		d.Text = fmt.Appendf(d.Text, "NUL \x00 within %d", m.n)
	case 4, 5:
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
	m.change("delete", m.on(f, x))
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
		a.use(m.agree("login", m.of(a)).account)
	}
}

// randomJoin creates a folder that accounts share, joins it or leaves it. One account stays.
func (m *machine) randomJoin() {
	var in []*folder
	for _, a := range m.accounts {
		if f := a.folder(plans); f != nil {
			in = append(in, f)
		}
	}
	a := m.drawAccount()
	switch f := a.folder(plans); {
	case len(in) == 0:
		m.createFolder(a, plans)
	case f == nil:
		c := m.of(a)
		c.joins, c.to = a.got, in[0].got
		m.agree("join", c)
	case len(in) > 1:
		c := m.on(f)
		for range 2 { // and again
			m.agree("leave", c)
		}
	}
}
