package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSlowMail: mail that takes long to read says so, while it is read.
func TestSlowMail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slow.mbox")
	slow := "From a\nFrom: a@b.c\nContent-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n" +
		strings.Repeat("=\n", 2<<20) + "\n\n"
	if err := os.WriteFile(file, []byte("From a\nFrom: a@b.c\n\nx\n\n"+slow), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	source, err := openMail(t.Context(), &notes, file, defaultMail, 2*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if !strings.Contains(notes.String(), "slow.mbox: reads it") {
		t.Errorf("it noted %q", notes.String())
	}
}
