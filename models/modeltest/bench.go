package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// bench is a model on an engine with one account.
type bench struct {
	testing.TB
	store   drivers.Store
	bound   models.Bound
	mb      models.Mailbox
	folders []*models.Folder // INBOX, Work
	handle  [1]models.Handle
}

func open(b testing.TB, m models.Model, e drivers.Engine, wrap func(drivers.Session) drivers.Session) *bench {
	b.Helper()
	ctx := b.Context()
	var st drivers.Store
	var err error
	if e.Remote {
		st = drivertest.OpenLive(b, e, drivers.Options{Contact: []string{live.Contact(b, e.Name)}, Namespace: newNamespace()})
	} else {
		st, err = e.Open(ctx, drivers.Options{Dir: b.TempDir(), Durability: drivers.Process, CacheBytes: 512 << 20})
		must(b, err)
		b.Cleanup(func() { st.Close() })
	}
	schema, err := m.Schema()
	must(b, err)
	must(b, st.Apply(ctx, schema))
	p, err := drivers.PrepareAll(ctx, st, schema)
	must(b, err)
	bound, err := m.Bind(ctx, p, models.Options{})
	must(b, err)
	s, err := st.Session()
	must(b, err)
	b.Cleanup(func() { s.Close() })
	if wrap != nil {
		s = wrap(s)
	}
	x := &bench{TB: b, store: st, bound: bound, mb: bound.Mailbox(s)}
	a, err := x.mb.CreateUser(ctx, "ann@example.org", []string{"INBOX", "Work"})
	must(b, err)
	x.folders = a.Folders
	return x
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// mailOf returns n messages of about size bytes, whose text compresses about 2:1.
func mailOf(size, n int) []*mail.Message {
	words := strings.Fields("the message arrived late but nobody at the office had been waiting for it anyway 7f3a 91c2 e05b d4a8")
	ms := make([]*mail.Message, n)
	for i := range ms {
		var text strings.Builder
		for x := uint32(i + 1); text.Len() < size-350; {
			x = x*1664525 + 1013904223
			text.WriteString(words[x>>8%uint32(len(words))])
			fmt.Fprintf(&text, " %x ", x>>20)
		}
		ms[i] = Draft{
			Date:    time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC),
			From:    mail.Address{Name: "Ann Sender", Address: "ann@sender.example"},
			To:      []mail.Address{{Name: "Bob", Address: "bob@example.org"}},
			Subject: "message " + strconv.Itoa(i),
			Text:    []byte(text.String()),
		}.Message()
	}
	return ms
}

func (x *bench) deliver(m *mail.Message) models.Handle {
	must(x.TB, x.mb.Deliver(context.Background(), m, x.folders[:1], x.handle[:]))
	return x.handle[0]
}

// Bench measures each operation on one worker: on the null engine the model's own CPU and
// allocations, on the embedded engine both together.
func (s Suite) Bench(b *testing.B) {
	for _, e := range []drivers.Engine{null.Engine(), pebble.Engine()} {
		for _, op := range operations {
			b.Run(fmt.Sprintf("Model/%s/%s/%s", e.Name, s.Model.Name, op.name), func(b *testing.B) {
				x := open(b, s.Model, e, nil)
				messages := mailOf(8<<10, 64)
				var hs []models.Handle
				for i := range max(100, op.needs(b.N)) {
					hs = append(hs, x.deliver(messages[i%len(messages)]))
				}
				if op.name == "raw" && errors.Is(op.run(x, 0, hs, messages), models.ErrNotOffered) {
					b.Skip("the model has no whole messages")
				}
				if s, ok := x.store.(drivers.Settler); ok {
					must(b, s.Settle(b.Context()))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					must(b, op.run(x, i, hs, messages))
				}
			})
		}
	}
}

var opened models.Opened

// operations are the operations that Bench and testAllocations run. needs returns how
// many messages n runs need.
var operations = []struct {
	name  string
	needs func(n int) int
	run   func(x *bench, i int, hs []models.Handle, messages []*mail.Message) error
}{
	{"deliver", none, func(x *bench, i int, _ []models.Handle, messages []*mail.Message) error {
		return x.mb.Deliver(context.Background(), messages[i%len(messages)], x.folders[:1], x.handle[:])
	}},
	{"list", none, func(x *bench, i int, _ []models.Handle, _ []*mail.Message) error {
		return x.mb.List(context.Background(), x.folders[0], models.Handle{}, 25, discard)
	}},
	{"open", none, func(x *bench, i int, hs []models.Handle, _ []*mail.Message) error {
		return x.mb.Open(context.Background(), x.folders[0], hs[i%len(hs)], &opened)
	}},
	{"raw", none, func(x *bench, i int, hs []models.Handle, _ []*mail.Message) error {
		_, err := x.mb.Raw(context.Background(), x.folders[0], hs[i%len(hs)], io.Discard)
		return err
	}},
	{"flag", none, func(x *bench, i int, hs []models.Handle, _ []*mail.Message) error {
		return x.mb.Flag(context.Background(), x.folders[0], hs[i%len(hs)], models.Seen, i/len(hs)%2 == 0)
	}},
	{"move", none, func(x *bench, i int, hs []models.Handle, _ []*mail.Message) error {
		if x.store.Capabilities().Discards { // nothing is kept, so nothing has moved
			return x.mb.Move(context.Background(), x.folders[0], x.folders[1], hs[i%len(hs):i%len(hs)+1], x.handle[:])
		}
		// All messages move to the other folder one by one, and then back.
		from := i / len(hs) % 2
		h := hs[i%len(hs) : i%len(hs)+1]
		return x.mb.Move(context.Background(), x.folders[from], x.folders[1-from], h, h)
	}},
	{"delete", func(n int) int { return n }, func(x *bench, i int, hs []models.Handle, _ []*mail.Message) error {
		return x.mb.Delete(context.Background(), x.folders[0], hs[i:i+1])
	}},
	{"stats", none, func(x *bench, i int, _ []models.Handle, _ []*mail.Message) error {
		_, err := x.mb.Stats(context.Background(), x.folders[0])
		return err
	}},
}

func none(int) int { return 0 }

func discard(*models.Entry) error { return nil }
