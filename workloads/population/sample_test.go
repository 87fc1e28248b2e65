package population

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// counted counts what is read of a source.
type counted struct {
	messages.Source
	read int
}

type countedReader struct {
	messages.Reader
	of *counted
}

func (c *counted) Reader() messages.Reader { return &countedReader{c.Source.Reader(), c} }

func (r *countedReader) Message(n uint64, date time.Time, m *mail.Message) error {
	r.of.read++
	return r.Reader.Message(n, date, m)
}

// TestSampleOfFewMessages: a sample reads no message of a file twice, however often the load delivers
// it. Mail that is made to be slow takes seconds a message.
func TestSampleOfFewMessages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.mbox")
	if err := os.WriteFile(file, []byte("From a\nFrom: a@b.c\n\nx\n\nFrom a\nFrom: a@b.c\n\nlonger\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mbox, err := mail.Open(t.Context(), file, "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer mbox.Close()
	w, err := workloads.Parse("few.yaml", []byte("version: 1\nname: few\npopulation: {users: 3, folders: 2, messages: 5}\n"+
		"phases: [load: {}, measure: {clients: 1, operations: 1, mix: {list: 1}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Source: messages.File{File: mbox}}
	p, err := Of(t.Context(), w, c, 300)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[float64]int{}
	for _, m := range p.Sample {
		bodies[m.Quantities["body"]]++
	}
	if c.read != 2 || len(p.Sample) != 2 || len(bodies) != 2 {
		t.Errorf("%d messages were read for a sample of %d with bodies %v; want 2 of 2", c.read, len(p.Sample), bodies)
	}
}
