package fit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
)

// FuzzFit: whatever mail and trace there are, what is fitted to them is a workload.
func FuzzFit(f *testing.F) {
	const mixed = `{"time": 0, "user": "a", "op": "deliver", "size": 900, "recipients": ["a", "b"]}
{"time": 1.5, "user": "b", "op": "move", "folder": "x", "to": "y", "messages": 3}
{"time": 9, "user": "a", "op": "list"}
`
	f.Add(mixed, "From: a@b\nTo: c\nSubject: x\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\ntext\n", uint16(5), uint16(0))
	f.Add(`{"time": 0, "user": "a", "op": "restore"}`, "", uint16(0), uint16(0))
	f.Add(`{"time": 0, "user": "a", "op": "open"}`+"\n"+`{"time": 1e300, "user": "a", "op": "open"}`, "\n\n", uint16(65535), uint16(1))
	f.Add(strings.Repeat(`{"time": 7, "user": "a", "op": "deliver"}`+"\n", 40), "Date: Thu, 1 Jan 0001 00:00:00 +0000\n\n", uint16(0), uint16(9))
	f.Fuzz(func(t *testing.T, trace, message string, more, messages uint16) {
		var s Sample
		name := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(name, []byte(trace), 0o600); err != nil {
			t.Fatal(err)
		}
		if trace != "" && s.ReadTrace(t.Context(), name) != nil {
			return
		}
		p := mail.NewParser()
		for n := range int(messages % 20) {
			var m mail.Message
			if err := p.Parse(mail.BytesContent([]byte(message+strings.Repeat("x", n*int(more)))), time.Time{}, &m); err != nil {
				t.Fatal(err)
			}
			s.Message(&m)
		}
		if messages > 0 {
			s.User(int64(more), int64(messages))
		}
		if len(s.bodies)+len(s.times) == 0 {
			return
		}
		text := s.Workload()
		if _, err := workloads.Parse("fitted.yaml", []byte(text)); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	})
}
