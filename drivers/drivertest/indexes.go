package drivertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
)

// mailbox puts six rows in three folders of two users.
func mailbox(c *client) {
	for _, r := range []struct {
		u, f   string
		m      int
		sender any
		date   int
	}{
		{"u", "b", 1, "x", 3000},
		{"u", "a", 2, "y", 1000},
		{"u", "b", 3, nil, 2000},
		{"u", "a", 3, "x", 2000},
		{"u", "b", -4, "x", 1000},
		{"v", "a", 5, "x", 1000},
	} {
		c.write("put", r.u, r.f, r.m, r.sender, r.date)
	}
}

// indexes tests slices through indexes. They yield the same rows in the index's order,
// whatever was written, changed and deleted before.
func indexes(t testing.TB, open Open) {
	s := begin(t, open, "indexes.yaml")
	c := s.client()
	mailbox(c)
	if s.offers("newest") {
		overKeys(c)
	}
	mailbox(c)
	if s.caps.PlainIndexes != s.offers("dated") {
		t.Errorf("capabilities say plain indexes: %v, Prepare says %v", s.caps.PlainIndexes, s.offers("dated"))
	}
	if s.offers("dated") {
		overPlain(c)
	}
}

func overKeys(c *client) {
	all := []string{"3 a x", "3 b null", "2 a y", "1 b x", "-4 b x"}
	c.expect(all, "newest", "u", nil, nil, 100)
	c.expect(all[:2], "newest", "u", nil, nil, 2)
	c.expect(all[1:3], "newest", "u", 3, "a", 2)
	c.expect(all[2:], "newest", "u", 3, "b", 100)
	c.expect([]string{"-4 b", "1 b", "2 a", "3 b", "3 a"}, "oldest", "u")
	c.expect([]string{"a x", "b null"}, "of_m", "u", 3)
	c.expect([]string{"2 a", "1 b"}, "between", "u", 1, 3)
	c.write("put_sender", "u", "b", 3, "z")
	c.write("put_sender", "u", "c", 3, "new row")
	c.expect([]string{"a x", "b z", row("c", "new row")}, "of_m", "u", 3)
	c.write("drop", "u", "b", 3)
	c.expect([]string{"a x", row("c", "new row")}, "of_m", "u", 3)
	c.write("drop", "u", "b", -4)
	c.expect([]string{"1 b", "2 a", "3 c", "3 a"}, "oldest", "u")
	c.write("drop_folder", "u", "a")
	c.expect([]string{"1 b", "3 c"}, "oldest", "u")
	c.write("drop_user", "u")
	c.expect(nil, "oldest", "u")
	c.expect([]string{"5 a x"}, "newest", "v", nil, nil, 1)
	c.write("put", "u", "b", 1, nil, nil)
	c.expect([]string{"1 b"}, "oldest", "u")
}

func overPlain(c *client) {
	c.expect([]string{"3000 1", "2000 3", "1000 -4"}, "dated", "u", "b", nil, nil, 10)
	c.expect([]string{"2000 3"}, "dated", "u", "b", 3000, 1, 1)
	c.write("put_date", "u", "b", -4, 9000) // the old entry goes
	c.expect([]string{"9000 -4", "3000 1", "2000 3"}, "dated", "u", "b", nil, nil, 10)
	c.write("drop", "u", "b", 1)
	c.expect([]string{"9000 -4", "2000 3"}, "dated", "u", "b", nil, nil, 10)
	c.write("drop_folder", "u", "b")
	c.expect(nil, "dated", "u", "b", nil, nil, 10)
	mailbox(c)
}

// fallbacks tests patterns that an engine may be unable to run. Prepare of such an engine
// returns ErrUnsupported, and the schema's fallback yields the same rows.
func fallbacks(t testing.TB, open Open) {
	s := begin(t, open, "indexes.yaml")
	c := s.client()
	mailbox(c)
	finds := s.caps.PlainIndexes || s.caps.EqualIndexes
	for _, name := range []string{"sent", "sent_box"} {
		p := s.schema.Pattern(name)
		_, err := s.store.Prepare(s.ctx, p)
		switch {
		case finds && err != nil:
			t.Errorf("capabilities say indexes over plain columns, and Prepare of %s: %v", name, err)
		case !finds && !errors.Is(err, drivers.ErrUnsupported):
			t.Errorf("capabilities say no indexes over plain columns, and Prepare of %s: %v; expected ErrUnsupported", name, err)
		}
		if emulated := c.statement(name).Emulates(); (emulated == p) == finds {
			t.Errorf("%s: emulated %v, though indexes over plain columns: %v", name, emulated != nil, finds)
		}
	}
	c.same([]string{"u a 3", "u b -4", "u b 1", "v a 5"}, "sent", "x")
	c.expect([]string{"-4", "1"}, "sent_box", "u", "b", "x")
	c.write("put_sender", "u", "b", 1, "w")
	c.write("drop", "u", "a", 3)
	c.write("put_sender", "v", "a", 5, nil)
	c.write("put_sender", "u", "a", 2, "x")
	c.same([]string{"u a 2", "u b -4"}, "sent", "x")
	c.same([]string{"u b 1"}, "sent", "w")
	c.expect([]string{"-4"}, "sent_box", "u", "b", "x")
	c.write("drop_folder", "u", "b")
	c.same([]string{"u a 2"}, "sent", "x")
	c.expect(nil, "sent", "y")
	bare := 0 // a session runs a fallback by itself too, not only below a meter
	err := c.session.Session.Read(c.ctx, c.statement("sent"), c.args("sent", []any{"x"}),
		func([]drivers.Value) error { bare++; return nil })
	if err != nil || bare != 1 {
		t.Errorf("sent (x) without a meter yields %d rows and %v, expected 1", bare, err)
	}
}

// randomIndexes compares look-ups through indexes over plain columns, after random writes, with a search in
// a plain map. An engine that writes the entries itself must find that they agree with the rows.
func randomIndexes(t testing.TB, open Open) {
	s := begin(t, open, "indexes.yaml")
	if s.shared {
		limitChecks(t, sharedChecks)
	}
	c := s.client()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := &indexed{
			client: &client{suite: c.suite, fail: rt, session: c.session},
			u:      fmt.Sprint("indexes", runs), first: runs * 100,
			mails: make(map[mailKey]*mailRow), users: make(map[int]*userRow),
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "part": m.part, "rewrite": m.rewrite, "delete": m.delete, "user": m.user, "": func(t *rapid.T) {
				if !s.shared {
					m.compare(senders...)
				} else if len(m.mails)+len(m.users) > 0 { // a look-up takes milliseconds
					m.compare(rapid.SampledFrom(senders).Draw(t, "compared"))
				}
			},
		})
		m.compare(senders...)
		m.agree()
	})
}

type mailKey struct {
	f string
	m int
}

type mailRow struct{ sender, date any }

type userRow struct{ mail, n any }

// indexed is a partition of mail and some users as maps.
type indexed struct {
	*client
	u     string
	first int // number of the first user
	mails map[mailKey]*mailRow
	users map[int]*userRow
}

var (
	someFolder = rapid.SampledFrom([]string{"a", "b"})
	someSender = rapid.SampledFrom([]any{nil, "", "x", "x\x00", "y"})
	someDate   = rapid.SampledFrom([]any{nil, 1000, 2000, -1000})
)

var senders = []string{"", "x", "x\x00", "y"}

var someMail = rapid.Custom(func(t *rapid.T) mailKey {
	return mailKey{someFolder.Draw(t, "f"), someZ.Draw(t, "m")}
})

func (m *indexed) put(t *rapid.T) {
	k, r := someMail.Draw(t, "key"), &mailRow{m.sender(someSender.Draw(t, "sender")), someDate.Draw(t, "date")}
	m.write("put", m.u, k.f, k.m, r.sender, r.date)
	m.mails[k] = r
}

// sender makes a sender that no other run has: the index is over all partitions.
func (m *indexed) sender(s any) any {
	if s == nil {
		return nil
	}
	return m.u + s.(string)
}

func (m *indexed) part(t *rapid.T) {
	k := someMail.Draw(t, "key")
	r := m.mails[k]
	if r == nil {
		r = &mailRow{}
	}
	if rapid.Bool().Draw(t, "of sender") {
		r.sender = m.sender(someSender.Draw(t, "sender"))
		m.write("put_sender", m.u, k.f, k.m, r.sender)
	} else {
		r.date = someDate.Draw(t, "date")
		m.write("put_date", m.u, k.f, k.m, r.date)
	}
	m.mails[k] = r
}

// rewrite writes one row several times in a batch.
func (m *indexed) rewrite(t *rapid.T) {
	k, gone := someMail.Draw(t, "key"), someMail.Draw(t, "gone")
	if k == gone {
		return
	}
	r := &mailRow{m.sender(someSender.Draw(t, "last")), someDate.Draw(t, "date")}
	first := m.sender(someSender.Draw(t, "first"))
	err := m.batch("rewrite",
		with(0, m.u, k.f, k.m, first, r.date), with(1, m.u, k.f, k.m, r.sender), with(2, m.u, gone.f, gone.m))
	if err != nil {
		m.fail.Fatalf("%v", err)
	}
	m.mails[k] = r
	delete(m.mails, gone)
}

func (m *indexed) delete(t *rapid.T) {
	k := someMail.Draw(t, "key")
	switch rapid.IntRange(0, 3).Draw(t, "scope") {
	case 0:
		m.write("drop_user", m.u)
		clear(m.mails)
	case 1:
		m.write("drop_folder", m.u, k.f)
		for l := range m.mails {
			if l.f == k.f {
				delete(m.mails, l)
			}
		}
	default:
		m.write("drop", m.u, k.f, k.m)
		delete(m.mails, k)
	}
}

// user adds a user, or changes one, under conditions.
func (m *indexed) user(t *rapid.T) {
	id, mail := m.first+rapid.IntRange(0, 3).Draw(t, "id"), m.sender(someSender.Draw(t, "mail"))
	r := m.users[id]
	if r == nil || rapid.Bool().Draw(t, "again") {
		res, err := m.try("new_user", id, mail, m.first)
		if err != nil || res.Applied != (r == nil) {
			m.fail.Fatalf("new_user %d: applied %v, %v", id, res.Applied, err)
		}
		if r == nil {
			m.users[id] = &userRow{mail, m.first}
		}
		return
	}
	old := m.sender(someSender.Draw(t, "old"))
	res, err := m.try("change_mail", id, mail, old)
	if err != nil || res.Applied != (old == r.mail) {
		m.fail.Fatalf("change_mail %d of %v if %v: applied %v, %v", id, r.mail, old, res.Applied, err)
	}
	if res.Applied {
		r.mail = mail
	}
}

// compare looks up these senders, and every other value.
func (m *indexed) compare(senders ...string) {
	keys := slices.SortedFunc(func(yield func(mailKey) bool) {
		for k := range m.mails {
			if !yield(k) {
				return
			}
		}
	}, func(a, b mailKey) int { return cmp.Or(cmp.Compare(a.f, b.f), cmp.Compare(a.m, b.m)) })
	for _, s := range senders {
		var all, users []string
		boxes := make(map[string][]string)
		for _, k := range keys {
			if m.mails[k].sender == m.sender(s) {
				all = append(all, row(m.u, k.f, k.m))
				boxes[k.f] = append(boxes[k.f], row(k.m))
			}
		}
		for id, u := range m.users {
			if u.mail == m.sender(s) {
				users = append(users, row(id, u.mail))
			}
		}
		m.same(all, "sent", m.sender(s))
		m.same(all, "sent_scan", m.sender(s))
		m.same(users, "who", m.sender(s))
		for _, f := range []string{"a", "b"} {
			m.same(boxes[f], "sent_box", m.u, f, m.sender(s))
			m.same(boxes[f], "sent_box_filter", m.u, f, m.sender(s))
		}
	}
	for n := m.first; n < m.first+3; n++ {
		var users []string
		for id, u := range m.users {
			if u.n == n {
				users = append(users, row(id))
			}
		}
		m.same(users, "who_n", n)
	}
	if m.offers("dated") {
		m.dated(keys)
	}
}

func (m *indexed) dated(keys []mailKey) {
	for _, f := range []string{"a", "b"} {
		var want []string
		for _, date := range []int{2000, 1000, -1000} {
			for _, k := range keys {
				if k.f == f && m.mails[k].date == date {
					want = append(want, row(date, k.m))
				}
			}
		}
		got := m.read("dated", m.u, f, nil, nil, 100)
		got = slices.DeleteFunc(got, func(line string) bool { return len(line) > 4 && line[:4] == "null" })
		if !slices.Equal(got, want) {
			m.fail.Fatalf("dated %s yields %q, expected %q", f, got, want)
		}
	}
}

// agree has the engine compare its index entries with the rows.
func (m *indexed) agree() {
	store, ok := m.store.(drivers.IndexChecker)
	if !ok {
		return
	}
	var faults []error
	for _, t := range m.schema.Tables {
		err := store.CheckIndexes(m.ctx, t, func() error { return nil }, func(f drivers.IndexFault) {
			if !f.Stale {
				faults = append(faults, fmt.Errorf("%s %s: %s", t.Name, f.Index, f.What))
			}
		})
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		m.fail.Fatalf("index entries: %v", err)
	}
}
