package paired

import (
	"context"
	"math"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestCassandra shows that a bare gocql loop and the driver read what the other
// wrote.
func TestCassandra(t *testing.T) {
	bare, driver := openCassandra(t)
	agree(t, bare, driver)
}

// BenchmarkCassandra measures what the driver costs over a bare gocql loop:
//
//	MAILBENCH_PAIRS=15 go test -run '^$' -bench Cassandra -benchtime 10s -timeout 3h ./drivers/drivertest/paired
func BenchmarkCassandra(b *testing.B) {
	bare, driver := openCassandra(b)
	compare(b, bare, driver)
}

// BenchmarkFlushed compares reads of rows in memtables with those of rows in files, which Settle
// flushes: a phase after a load reads files.
//
//	MAILBENCH_PAIRS=12 go test -run '^$' -bench Flushed -benchtime 1s ./drivers/drivertest/paired
func BenchmarkFlushed(b *testing.B) {
	read := make(map[string]Side)
	for _, name := range []string{"memtables", "files"} {
		st, _ := onServer(b, cassandra.Engine())
		sides := Driver(b, st)
		Each(b, sides.Write, Rows)
		var err error
		if name == "files" {
			err = st.(drivers.Settler).Settle(b.Context())
		}
		if on := st.(drivers.Observer).Observe().DiskBytes; err != nil || on > 0 != (name == "files") {
			b.Fatalf("%s: %d bytes on disk, %v", name, on, err)
		}
		sides.Read.Name = name
		read[name] = sides.Read
	}
	inTurns(b, read["memtables"], read["files"])
}

// openCassandra returns both loops, over one table and the same statements.
func openCassandra(t testing.TB) (bare, driver Sides) {
	t.Helper()
	st, namespace := onServer(t, cassandra.Engine())
	table := `"` + drivers.Prefix + namespace + `_paired"."messages"`
	loop := &gocqlLoop{
		session: openGocql(t),
		write: `INSERT INTO ` + table + ` ("mailbox", "id", "from", "subject", "date", "size", "seen", "body") ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		read: `SELECT "from", "subject", "date", "size", "seen", "body" FROM ` + table + ` WHERE "mailbox" = ? AND "id" = ?`,
	}
	return bareSides(loop.writing, loop.reading), Driver(t, st)
}

// openGocql opens a gocql session as its users do, prepared statements and timestamps of the
// client being gocql's defaults, with what the driver sets too: so many connections, the
// consistency, and no waiting for requests that could go together.
func openGocql(t testing.TB) *gocql.Session {
	t.Helper()
	host, port, err := net.SplitHostPort(live.Contact(t, "cassandra"))
	if err != nil {
		t.Fatal(err)
	}
	c := gocql.NewCluster(host)
	if c.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	c.Consistency = gocql.LocalQuorum
	c.NumConns = 2
	c.Timeout = 12 * time.Second
	c.WriteCoalesceWaitTime = 0
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.DCAwareRoundRobinPolicy("datacenter1"))
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// gocqlLoop is the loop that somebody who knows gocql writes.
type gocqlLoop struct {
	session     *gocql.Session
	write, read string
}

func (l *gocqlLoop) writing() Op {
	row := NewRow()
	return func(ctx context.Context, n uint64) error {
		row.Turn(n)
		q := l.session.Query(l.write, row.Mailbox, gocql.UUID(row.ID),
			row.From, row.Subject, row.Date.UnixMicro(), row.Size, row.Seen, row.Body).WithContext(ctx)
		defer q.Release()
		return q.Exec()
	}
}

func (l *gocqlLoop) reading() Op {
	var (
		row                 = NewRow()
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

// TestAllocs: a call allocates no more than the bare loop does that sends the
// same statement. (All of it is gocql's: what the driver needs is kept.)
func TestAllocs(t *testing.T) {
	bare, driver := openCassandra(t)
	count := func(s Side) float64 {
		t.Helper()
		op, err := s.Client()
		if err != nil {
			t.Fatal(err)
		}
		n, least := uint64(0), math.Inf(1)
		for range 3 { // the count includes other goroutines, so one of three is high on a busy machine
			least = min(least, testing.AllocsPerRun(200, func() {
				if err := op(t.Context(), n%20); err != nil {
					t.Fatal(err)
				}
				n++
			}))
		}
		return least
	}
	for what, sides := range map[string][2]Side{"write": {bare.Write, driver.Write}, "read": {bare.Read, driver.Read}} {
		if what == "read" {
			count(driver.Write) // what is read must be there
		}
		if b, d := count(sides[0]), count(sides[1]); d > b {
			t.Errorf("a %s allocates %.0f times, the bare loop %.0f", what, d, b)
		}
	}
}
