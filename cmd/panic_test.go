package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
)

// brittle is a model whose List panics.
type brittle struct{ models.Bound }

func (b brittle) Mailbox(s drivers.Session) models.Mailbox { return brittleMailbox{b.Bound.Mailbox(s)} }

type brittleMailbox struct{ models.Mailbox }

func (brittleMailbox) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	panic("no such column")
}

func brittleModel() models.Model {
	m := james.Model()
	m.Name = "brittle"
	bind := m.Bind
	m.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
		b, err := bind(ctx, p, o)
		return brittle{b}, err
	}
	return m
}

// A panic of a model is a failed cell: the run goes on, its results are saved, and the exit
// status is not that of wrong usage, which Go's own is.
func TestPanicOfAModel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	status := execute(bundled(brittleModel()), []string{
		"run", "quick", "-m", "brittle,oracle", "-q", "--fail-on=failed", "--no-overhead", "--set", "phases.measure.duration=200ms", "--trials", "1", "-o", out,
	}, &stdout, &stderr)
	if want := "mailbench: brittle on embedded, phase "; status != exitFailed || !strings.HasPrefix(stderr.String(), want) ||
		!strings.Contains(stderr.String(), "no such column") || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit status %d, stderr %q; want %d and one line", status, stderr.String(), exitFailed)
	}
	r, err := results.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	failed, measured := 0, 0
	for _, c := range r.Cells {
		switch {
		case c.Model == "brittle" && c.Verdict == results.Failed:
			failed++
			if !strings.Contains(c.Stack, "brittleMailbox.List") {
				t.Errorf("%s has the stack %q", c.Key, c.Stack)
			}
		case c.Model == "oracle" && c.Kind == results.KindMeasure && c.Verdict != results.Failed:
			measured++
		}
	}
	if failed != 1 || measured != 2 {
		t.Errorf("%d cells failed, and %d were measured of the other model; want one and two", failed, measured)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

// A panic elsewhere ends the command, with the stack after the message.
func TestPanicOfACommand(t *testing.T) {
	m := brittleModel()
	m.Schema = func() (*schemas.Schema, error) { panic("no such file") }
	var stdout, stderr bytes.Buffer
	status := execute(bundled(m), []string{"models", "brittle"}, &stdout, &stderr)
	first, stack, _ := strings.Cut(stderr.String(), "\n")
	if status != exitFailed || first != "mailbench: panic, which is a defect: no such file" || !strings.Contains(stack, "panic_test.go") {
		t.Errorf("exit status %d, stderr %q", status, stderr.String())
	}
}
