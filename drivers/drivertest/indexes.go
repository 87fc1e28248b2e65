package drivertest

import (
	"errors"
	"testing"

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
