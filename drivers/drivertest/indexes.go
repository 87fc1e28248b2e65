package drivertest

import (
	"errors"

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

// fallbacks tests patterns that an engine may be unable to run. Prepare of such an engine
// returns ErrUnsupported, and the schema's fallback yields the same rows.
func fallbacks(s *suite) {
	c := s.client()
	if s.caps.PlainIndexes != s.offers("dated") {
		s.Errorf("capabilities say plain indexes: %v, Prepare says %v", s.caps.PlainIndexes, s.offers("dated"))
	}
	mailbox(c)
	finds := s.caps.PlainIndexes || s.caps.EqualIndexes
	for _, name := range []string{"sent", "sent_box"} {
		p := s.schema.Pattern(name)
		_, err := s.store.Prepare(s.ctx, p)
		switch {
		case finds && err != nil:
			s.Errorf("capabilities say indexes over plain columns, and Prepare of %s: %v", name, err)
		case !finds && !errors.Is(err, drivers.ErrUnsupported):
			s.Errorf("capabilities say no indexes over plain columns, and Prepare of %s: %v; expected ErrUnsupported", name, err)
		}
		if emulated := c.statement(name).Emulates(); (emulated == p) == finds {
			s.Errorf("%s: emulated %v, though indexes over plain columns: %v", name, emulated != nil, finds)
		}
	}
	bare := 0 // a session runs a fallback by itself too, not only below a meter
	err := c.session.Session.Read(c.ctx, c.statement("sent"), c.args("sent", []any{"x"}),
		func([]drivers.Value) error { bare++; return nil })
	if err != nil || bare != 4 {
		s.Errorf("sent (x) without a meter yields %d rows and %v, expected 4", bare, err)
	}
}
