package mail

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// bombs are messages that are small when packed, and were large in memory or slow.
func bombs() []string {
	const mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
	long := strings.Repeat("n", 60_000)
	lines := strings.Repeat(strings.Repeat("QUJD", 19)+"\n", 1000)
	return []string{
		mixed + strings.Repeat("--b\nContent-Transfer-Encoding: base64\n\n"+lines, 160) + "--b--\n",
		mixed + strings.Repeat("--b\nContent-Transfer-Encoding: "+long+"\n\n\n", 160) + "--b--\n",
		mixed + strings.Repeat("--b\nContent-Type: a/b; name="+long+"\n\n\n", 160) + "--b--\n",
		mixed + strings.Repeat("--b\nContent-Type: a/"+long+"\n\n\n", 160) + "--b--\n",
		strings.Repeat("Content-Type: multipart/mixed; boundary=b\n\n--b\n", 160) + strings.Repeat("Content-Type: multipart/mixed; boundary="+long+"\n\n--b\n", 160),
		mixed + strings.Repeat("--b\n\n", 100_000),
		mixed + strings.Repeat("--b\nContent-Type: a/b; name=x\n\n", maxParts) + "--b--\n",
		"From: " + strings.Repeat("a,", 30_000) + "a\nTo: " + strings.Repeat("a@b,", 15_000) + "a@b\nCc: " + strings.Repeat("a,", 30_000) +
			"a\nBcc: " + strings.Repeat("a@b,", 15_000) + "a@b\n\nx\n",
		strings.Repeat("Content-Type: x;"+strings.Repeat("a=b;", 2000)+"\n", 30) + "b: c\n" + strings.Repeat("--c\n", 200) + "\nx\n",
		"To: " + strings.Repeat("<,", 30_000) + "\nCc: " + strings.Repeat(`"<;`, 20_000) + "\n\nx\n",
		"To: " + strings.Repeat(`\("a"`, 12_000) + "\nDate: " + strings.Repeat(`\("a"`, 12_000) + "\n\nx\n",
		"Cc: " + strings.Repeat("(", 30_000) + strings.Repeat(")", 30_000) + "\nTo: " + strings.Repeat(",", 60_000) + "a@b\n\nx\n",
	}
}

// TestBombs: 32 readers of any mail use less than 300 MB, program and all. The value is
// the largest that a process of its own ever took, which the kernel reports.
func TestBombs(t *testing.T) {
	const readers, most, file = 32, 300 << 20, "MAILBENCH_TEST_BOMBS"
	if runtime.GOOS != "linux" {
		t.Skip("the kernel does not tell what a process took at most in the way of Linux")
	}
	if path := os.Getenv(file); path != "" {
		explode(t, path, readers, most)
		return
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, m := range bombs()[:2] { // the others are slow when so many read them
		fmt.Fprintf(z, "From a\n%s\n\n", m)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBombs$", "-test.v")
	cmd.Env = append(os.Environ(), file+"="+write(t, "bombs.mbox.gz", b.Bytes()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%d bytes of gzip, %v:\n%s", b.Len(), err, out)
	}
	t.Logf("%d bytes of gzip: %s", b.Len(), out)
}

// explode has many readers read all messages of a file, and some of each part, concurrently.
func explode(t *testing.T, path string, readers int, most int64) {
	f, err := Open(t.Context(), path, t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			r, m, buf := f.Reader(), Message{}, make([]byte, 100)
			for n := range uint64(f.Info().Messages) {
				if err := r.Message(n+uint64(i), time.Time{}, &m); err != nil {
					t.Error(err)
					return
				}
				for _, a := range m.Attachments {
					if err := ReadFull(a.Content, buf[:min(int64(len(buf)), a.Content.Size())], 0); err != nil {
						t.Error(err)
					}
				}
				if took := peak(t); took > most {
					t.Errorf("the process took %d MB with %d readers; want at most %d MB", took>>20, readers, most>>20)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("the process took at most %d MB with %d readers", peak(t)>>20, readers)
}

// peak is the most memory that the process ever had.
func peak(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Error(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Errorf("VmHWM: %v", err)
	}
	return kb << 10
}

// TestBombsAreMail: a reader holds at most 3 MB of any message and parses it within seconds, and what it does not hold
// can be read all the same.
func TestBombsAreMail(t *testing.T) {
	for i, raw := range bombs() {
		before, begun := live(), time.Now()
		p, m := NewParser(), &Message{}
		if err := p.Parse(BytesContent(raw), time.Time{}, m); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("bomb %d of %d bytes takes %v", i, len(raw), took)
		}
		held := live() - before - int64(len(raw)) // BytesContent is a copy
		check(t, m)
		if held > 3<<20 {
			t.Errorf("bomb %d of %d bytes: a reader holds %d bytes", i, len(raw), held)
		}
		runtime.KeepAlive(p)
	}
}

// live is how much memory is in use.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLimits: a file with more mail than allowed is refused, and what was unpacked of it
// is gone.
func TestLimits(t *testing.T) {
	file := []byte(strings.Repeat("From a\n\n"+strings.Repeat("x", 999)+"\n\n", 10))
	temp := t.TempDir()
	if f, err := Open(t.Context(), write(t, "x.mbox", file), temp, 10_010); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	_, err := Open(t.Context(), write(t, "x.mbox.gz", gzipped(t, file)), temp, 10_009)
	var format *FormatError
	if !errors.As(err, &format) || !strings.Contains(err.Error(), "more than 10009 bytes of mail; if that is intended, allow more with --max-mail-size") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%s is left behind", left[0].Name())
	}
	file = bytes.Repeat([]byte("From a\n\n"), maxMessages+1)
	_, err = Open(t.Context(), write(t, "many.mbox", file), temp, 1)
	if !errors.As(err, &format) || !strings.Contains(err.Error(), "more than 5000000 messages; divide it") {
		t.Errorf("error %v", err)
	}
}

// TestParsingStops: when the context of Open ends, parsing stops within a message too,
// and what was parsed before can be read to its end.
func TestParsingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, err := Open(ctx, write(t, "x.mbox", []byte("From a\n"+bombs()[0])), t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, m := f.Reader(), Message{}
	if err := r.Message(0, time.Time{}, &m); err != nil {
		t.Fatal(err)
	}
	cancel()
	check(t, &m)
	if err := r.Message(0, time.Time{}, &m); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
