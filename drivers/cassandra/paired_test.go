package cassandra

import (
	"context"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/drivertest/paired"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestPaired shows that a bare gocql loop and the driver read what the other
// wrote.
func TestPaired(t *testing.T) {
	bare, driver := openPaired(t)
	paired.Test(t, bare, driver)
}

// BenchmarkPaired measures what the driver costs over a bare gocql loop:
//
//	MAILBENCH_PAIRS=15 go test -run '^$' -bench Paired -benchtime 10s -timeout 3h ./drivers/cassandra
func BenchmarkPaired(b *testing.B) {
	bare, driver := openPaired(b)
	paired.Each(b, bare.Write, paired.Rows)
	b.Run("write", func(b *testing.B) { paired.Benchmark(b, bare.Write, driver.Write) })
	b.Run("read", func(b *testing.B) { paired.Benchmark(b, bare.Read, driver.Read) })
}

// openPaired returns both loops, over one table and the same statements.
func openPaired(t testing.TB) (bare, driver paired.Sides) {
	t.Helper()
	st := openLive(t, nil)
	s, err := paired.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	driver = paired.Driver(t, st, s)
	text := func(pattern string) string {
		stmt, err := st.Prepare(t.Context(), s.Pattern(pattern))
		if err != nil {
			t.Fatal(err)
		}
		return stmt.(*statement).queries[0].text
	}
	loop := &bareLoop{session: openBare(t, st), write: text("write"), read: text("read")}
	return paired.Sides{
		Write: paired.Side{Name: "bare", Client: func() (paired.Op, error) { return loop.writing(), nil }},
		Read:  paired.Side{Name: "bare", Client: func() (paired.Op, error) { return loop.reading(), nil }},
	}, driver
}

// openBare opens a gocql session as its users do, prepared statements and
// timestamps of the client being gocql's defaults, with what the driver sets
// too: so many connections, the consistency, and no waiting for requests that
// could go together.
func openBare(t testing.TB, like *Store) *gocql.Session {
	t.Helper()
	hosts, port, err := addresses([]string{live.Contact(t, "cassandra")})
	if err != nil {
		t.Fatal(err)
	}
	c := gocql.NewCluster(hosts...)
	c.Port = port
	c.Consistency = like.settings.consistency
	c.NumConns = like.settings.connections
	c.Timeout = like.settings.timeout
	c.WriteCoalesceWaitTime = 0
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.DCAwareRoundRobinPolicy(like.datacenter))
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// bareLoop is the loop that somebody who knows gocql writes.
type bareLoop struct {
	session     *gocql.Session
	write, read string
}

func (l *bareLoop) writing() paired.Op {
	row := paired.NewRow()
	return func(ctx context.Context, n uint64) error {
		row.Turn(n)
		q := l.session.Query(l.write, row.Mailbox, gocql.UUID(row.ID),
			row.From, row.Subject, row.Date.UnixMicro(), row.Size, row.Seen, row.Body).WithContext(ctx)
		defer q.Release()
		return q.Exec()
	}
}

func (l *bareLoop) reading() paired.Op {
	var (
		row                 = paired.NewRow()
		from, subject, body []byte
		date, size          int64
		seen                bool
	)
	return func(ctx context.Context, n uint64) error {
		row.Turn(n)
		q := l.session.Query(l.read, row.Mailbox, gocql.UUID(row.ID)).WithContext(ctx)
		defer q.Release()
		if err := q.Scan(&from, &subject, &date, &size, &seen, &body); err != nil {
			return err
		}
		return row.Check(from, subject, time.UnixMicro(date), size, seen, body)
	}
}
