package drive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/subject"
)

// countingMail counts the messages that it makes.
type countingMail struct {
	*mail.FileReader
	made int
}

func (c *countingMail) Message(n uint64, date time.Time, m *mail.Message) error {
	c.made++
	return c.FileReader.Message(n, date, m)
}

// TestLoadWaitsBeforeItDecodes: a large message of a file is not even parsed while too
// many large ones are under way.
func TestLoadWaitsBeforeItDecodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mbox")
	if err := os.WriteFile(path, []byte("From a\n\n"+strings.Repeat("x", 2*models.LargeMessage)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mail.Open(t.Context(), path, t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &countingMail{FileReader: f.Reader()}
	w := &worker{task: task{mail: c, target: &subject.Target{Large: subject.NewBudget(32 << 20)}}}
	w.stats.streams = make([]tally, 1)
	if !w.target.Large.TryAcquire(w.target.Large.Most) {
		t.Fatal("the semaphore has no room at first")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.loadOne(ctx, ctx); !errors.Is(err, context.Canceled) || c.made > 0 {
		t.Errorf("%d messages made, error %v; want none and %v", c.made, err, context.Canceled)
	}
}
