package drivertest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// traces tests the sessions of a [drivers.Tracer].
func traces(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	tracer, ok := c.store.(drivers.Tracer)
	if !ok {
		t.Skip("the store is no Tracer")
	}
	for k := 1; k <= 10; k++ {
		c.write("put_a", "p", k, "v")
	}
	for k := 1; k <= 4; k++ {
		c.write("drop", "p", k)
	}
	session, err := tracer.Traced()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	traced := &client{suite: c.suite, fail: t, session: session}
	work := func(runs ...func()) []drivers.Work {
		var calls []int64
		for _, run := range runs {
			session.Begin()
			run()
			calls = append(calls, traced.session.Take().Calls)
		}
		all, err := session.Work(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(runs) {
			t.Fatalf("Work returned %d pieces of work, expected %d", len(all), len(runs))
		}
		for i := range all {
			if all[i].Requests != calls[i] {
				t.Errorf("piece of work %d took %d requests, and the session counted %d", i, all[i].Requests, calls[i])
			}
		}
		return all
	}
	all := work(
		func() { traced.expectCount(1, "get_a", "p", 7) },
		func() { traced.expectCount(1, "first", "p") },
		func() { traced.expectCount(6, "scan") },
	)
	get, first, scan := all[0], all[1], all[2]
	for k := 11; k <= 13; k++ { // an engine may take two requests to put some columns of a new row
		c.write("put_a", "p", k, "old")
	}
	c.write("put_a", "q", 1, "old")
	all = work(
		func() { traced.write("put_a", "p", 11, "a") },
		func() {
			if err := traced.batch("several_puts", with(0, "p", 12, "a"), with(0, "p", 13, "b"),
				with(0, "q", 1, "c")); err != nil {
				t.Fatal(err)
			}
		},
	)
	put, several := all[0], all[1]
	if get.Requests != 1 || get.Rows != 1 {
		t.Errorf("a get: %+v, want one request and one row", get)
	}
	if passed := max(first.Tombstones, first.Hidden); first.Rows < 1 || passed >= 0 && passed < 4 {
		t.Errorf("a read behind four deleted rows: %+v", first)
	}
	if scan.Rows < 6 || scan.Rows <= get.Rows {
		t.Errorf("a scan of six rows: %+v", scan)
	}
	if max(get.Tombstones, 0)+max(get.Hidden, 0) > 0 {
		t.Errorf("a get of a row that was written once: %+v", get)
	}
	if c.caps.InProcess {
		return
	}
	// An engine sends the parts one by one, or together. Nodes are -1 where it does not report them.
	if put.Requests != 1 || put.Nodes == 0 || several.Requests != 3 && several.Requests != 1 || several.Nodes == 0 {
		t.Errorf("a put: %+v, and three in a batch that is not atomic: %+v", put, several)
	}
	if rest := work(); len(rest) != 0 {
		t.Errorf("Work returned work a second time: %+v", rest)
	}
}
