package paired

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

//go:embed paired.yaml
var source []byte

// Sides are the two loops of a client: one that writes a row in each
// operation, and one that reads and checks it.
type Sides struct{ Write, Read Side }

func newNamespace() string { return "t" + strings.ToLower(rand.Text()[:15]) }

// bareSides returns the loops of somebody who knows the client library.
func bareSides(writing, reading func() Op) Sides {
	return Sides{
		Write: Side{Name: "bare", Client: func() (Op, error) { return writing(), nil }},
		Read:  Side{Name: "bare", Client: func() (Op, error) { return reading(), nil }},
	}
}

// onServer opens a store of an engine that is reached over the network, in a namespace of its own.
func onServer(t testing.TB, e drivers.Engine) (st drivers.Store, namespace string) {
	t.Helper()
	namespace = newNamespace()
	o := drivers.Options{Contact: []string{live.Contact(t, e.Name)}, Namespace: namespace}
	return drivertest.OpenLive(t, e, o), namespace
}

// applied applies a schema to a store.
func applied(t testing.TB, st drivers.Store, source []byte) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("source", source)
	if err == nil {
		err = st.Apply(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Driver returns the loops over the one table that both sides share.
func Driver(t testing.TB, st drivers.Store) Sides {
	t.Helper()
	s := applied(t, st, source)
	return Sides{Write: driverSide(t, st, s, "write", writing), Read: driverSide(t, st, s, "read", reading)}
}

// driverSide returns the loop op of a pattern. It closes the sessions when the test ends.
func driverSide(t testing.TB, st drivers.Store, s *schemas.Schema, pattern string,
	op func(drivers.Session, drivers.Statement) Op,
) Side {
	t.Helper()
	set, err := drivers.PrepareAll(t.Context(), st, s)
	if err != nil {
		t.Fatal(err)
	}
	return Side{Name: "driver", Client: func() (Op, error) {
		stmt, err := set.Get(pattern)
		if err != nil {
			return nil, err
		}
		session, err := st.Session()
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { session.Close() })
		return op(session, stmt), nil
	}}
}

func writing(session drivers.Session, stmt drivers.Statement) Op {
	row, args := NewRow(), make([]drivers.Value, 8)
	return func(ctx context.Context, n uint64) error {
		row.Turn(n)
		args[0], args[1] = drivers.TextBytes(row.Mailbox), drivers.TimeUUID(row.ID)
		args[2], args[3] = drivers.Text(row.From), drivers.Text(row.Subject)
		args[4], args[5] = drivers.Timestamp(row.Date.UnixMicro()), drivers.Bigint(row.Size)
		args[6], args[7] = drivers.Boolean(row.Seen), drivers.Blob(row.Body)
		result, err := session.Write(ctx, stmt, args)
		if err == nil && !result.Applied {
			err = fmt.Errorf("row %s %x was not written", row.Mailbox, row.ID)
		}
		return err
	}
}

func reading(session drivers.Session, stmt drivers.Statement) Op {
	row, args, found := NewRow(), make([]drivers.Value, 2), 0
	check := func(v []drivers.Value) error {
		found++
		return row.Check(v[0].Raw(), v[1].Raw(), v[2].Time(), v[3].Int64(), v[4].Bool(), v[5].Raw())
	}
	return func(ctx context.Context, n uint64) error {
		row.Turn(n)
		args[0], args[1] = drivers.TextBytes(row.Mailbox), drivers.TimeUUID(row.ID)
		found = 0
		err := session.Read(ctx, stmt, args, check)
		if err == nil && found != 1 {
			err = fmt.Errorf("row %s %x: %d rows were read; expected one", row.Mailbox, row.ID, found)
		}
		return err
	}
}
