package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// bench is a model on an engine with one account.
type bench struct {
	*World
	*call
	bound    models.Bound
	messages []*mail.Message // to deliver
	all      []models.Handle // delivered before
	first    [1]models.Handle
	discards bool
}

// cache is the size in bytes of an engine's cache in benchmarks.
const cache = 512 << 20

func open(b testing.TB, m models.Model, stores drivertest.Open) *bench {
	b.Helper()
	w := newWorld(b, m, stores)
	x := &bench{World: w, bound: w.Bind(models.Options{Now: time.Now}), discards: w.Store.Capabilities().Discards}
	mb := x.bound.Mailbox(w.Session())
	a, err := mb.CreateUser(b.Context(), "ann@example.org", []string{"INBOX", "Work"})
	must(b, err)
	x.call = newCall(context.Background(), mb, a)
	x.entry = func(*models.Entry) error { return nil }
	return x
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
	x.m, x.made = m, x.first[:]
	must(x.TB, the("deliver").run(x.call))
	return x.made[0]
}

// fill delivers n messages.
func (x *bench) fill(n int) {
	for i := range n {
		x.all = append(x.all, x.deliver(x.messages[i%len(x.messages)]))
	}
}

// benched are the operations that Bench and testAllocations run.
var benched = []string{"deliver", "list", "open", "raw", "flag", "move", "delete", "stats"}

// run runs an operation for the i-th time. Messages take turns. All of them move to the other folder one by
// one, and then back; the null engine stores nothing, so nothing has moved there.
func (x *bench) run(op *operation, i int) error {
	at, round := i%len(x.all), i/len(x.all)%2
	x.m, x.hs, x.on = x.messages[i%len(x.messages)], x.all[at:at+1], round == 0
	x.in, x.to, x.made = x.a.Folders[0], x.a.Folders[1], x.first[:]
	if op.name == "move" && !x.discards {
		x.in, x.to, x.made = x.a.Folders[round], x.a.Folders[1-round], x.hs
	}
	return op.run(x.call)
}

// Bench measures each operation on one worker: on the null engine the model's own CPU and
// allocations, on the embedded engine both together.
func (s Suite) Bench(b *testing.B) {
	for _, e := range []drivers.Engine{null.Engine(), pebble.Engine()} {
		for _, name := range benched {
			op := the(name)
			b.Run(fmt.Sprintf("Model/%s/%s/%s", e.Name, s.Model.Name, name), func(b *testing.B) {
				x := open(b, s.Model, opening(e, cache))
				x.messages = mailOf(8<<10, 64)
				if x.fill(100); name == "delete" {
					x.fill(max(0, b.N-100))
				}
				if name == "raw" && errors.Is(x.run(op, 0), models.ErrNotOffered) {
					b.Skip("the model has no whole messages")
				}
				if s, ok := x.Store.(drivers.Settler); ok {
					must(b, s.Settle(b.Context()))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					must(b, x.run(op, i))
				}
			})
		}
	}
}
