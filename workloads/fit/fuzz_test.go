package fit

import (
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
)

// FuzzFit: whatever mail there is, what is fitted to it is a workload.
func FuzzFit(f *testing.F) {
	f.Add("From: a@b\nTo: c\nSubject: x\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\ntext\n", uint16(5), uint16(1))
	f.Add("\n\n", uint16(65535), uint16(1))
	f.Add("Date: Thu, 1 Jan 0001 00:00:00 +0000\n\n", uint16(0), uint16(9))
	f.Fuzz(func(t *testing.T, message string, more, messages uint16) {
		var s Sample
		p := mail.NewParser()
		for n := range 1 + int(messages%20) {
			var m mail.Message
			if err := p.Parse(mail.BytesContent([]byte(message+strings.Repeat("x", n*int(more)))), time.Time{}, &m); err != nil {
				t.Fatal(err)
			}
			s.Message(&m)
		}
		s.User(int64(more), int64(messages))
		text := s.Workload()
		if _, err := workloads.Parse("fitted.yaml", []byte(text)); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	})
}
