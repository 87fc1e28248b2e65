package modeltest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"golang.org/x/sync/errgroup"
)

// benchPageGrowth compares the newest page of 25 messages of a large folder with that of a folder
// of 1,000, by their median times. Messages have 1 KB, or headers only in a folder of more than
// 1,000,000; the stores are settled and in cache. MAILBENCH_LARGE_FOLDER says how many messages
// there are in place of 20,000, and MAILBENCH_LARGE_ENGINE on which engine in place of the embedded
// one. The target is at most 1.5 times the time, for 10,000,000 messages.
func (s Suite) benchPageGrowth(b *testing.B) {
	large, engine := 20_000, "embedded"
	if s := os.Getenv("MAILBENCH_LARGE_FOLDER"); s != "" {
		n, err := strconv.Atoi(s)
		must(b, err)
		large = n
	}
	if s := os.Getenv("MAILBENCH_LARGE_ENGINE"); s != "" {
		engine = s
	}
	at := slices.IndexFunc(engines.All(), func(e drivers.Engine) bool { return e.Name == engine })
	if at < 0 {
		b.Fatalf("no engine is named %q", engine)
	}
	messages := mailOf(1<<10, 256)
	if large > 1_000_000 {
		messages = mailOf(0, 256)
	}
	// Filled once: only the benchmark within is called again with a larger N.
	e := engines.All()[at]
	small, big := filled(b, s.Model, e, messages, 1000), filled(b, s.Model, e, messages, large)
	b.Run(s.Model.Name, func(b *testing.B) {
		for range 200 { // until both are in cache
			small.page()
			big.page()
		}
		took := [2][]time.Duration{make([]time.Duration, b.N), make([]time.Duration, b.N)}
		b.ResetTimer()
		for n := range b.N {
			// They take turns, so that other load of the machine hits both.
			for i, x := range []*bench{small, big} {
				begin := time.Now()
				x.page()
				took[i][n] = time.Since(begin)
			}
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		of1000, ofLarge := float64(took[0][b.N/2]), float64(took[1][b.N/2])
		b.ReportMetric(of1000, "ns/page-of-1000")
		b.ReportMetric(ofLarge, fmt.Sprintf("ns/page-of-%d", large))
		b.ReportMetric(ofLarge/of1000, "ratio")
	})
}

func (x *bench) page() {
	must(x.TB, x.mb.List(context.Background(), x.folders[0], models.Handle{}, 25, discard))
}

// filled opens a model with n messages in its inbox, settled. Over a network several workers
// deliver them.
func filled(b *testing.B, m models.Model, e drivers.Engine, messages []*mail.Message, n int) *bench {
	b.Helper()
	x := open(b, m, e, nil)
	workers := 1
	if e.Remote {
		workers = 8
	}
	begin := time.Now()
	var group errgroup.Group
	for w := range workers {
		s, err := x.store.Session()
		must(b, err)
		group.Go(func() error {
			defer s.Close()
			mb, handles := x.bound.Mailbox(s), make([]models.Handle, 1)
			for i := w; i < n; i += workers {
				msg := *messages[i%len(messages)]
				msg.Date = messages[0].Date.Add(time.Duration(i) * time.Second)
				msg.Arrived = msg.Date // a label of datastax is in use for hours, not for half a second
				if err := mb.Deliver(context.Background(), &msg, x.folders[:1], handles); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, group.Wait())
	if s, ok := x.store.(drivers.Settler); ok {
		must(b, s.Settle(b.Context()))
	}
	b.Logf("%s: %d messages in %v", m.Name, n, time.Since(begin).Round(time.Second))
	return x
}
