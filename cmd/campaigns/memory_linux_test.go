//go:build campaigns

package campaigns

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mostMemory is the promise of SECURITY.md: memory of the process's own.
const mostMemory = 270 << 20

// memoryMixes are the mixes of 32 clients. The last has all operations.
var memoryMixes = []string{
	"deliver: 1", "open: 1, raw: 1", "move: 1", "attachment: 1", "list: 1, counters: 1, flag: 1",
	"deliver: 2, open: 2, move: 2, attachment: 1, raw: 1, list: 1",
}

// hostileMail is an mbox of a few large messages: text and attachments of so many bytes,
// which are UTF-8 or not.
func hostileMail(text, attachment int, line string) []byte {
	content := func(n int) string { return strings.Repeat(line, n/len(line)) }
	message := "From a\nFrom: a@b.c\nTo: d@e.f\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" +
		"--b\nContent-Transfer-Encoding: 8bit\n\n" + content(text) +
		"\n--b\nContent-Type: application/octet-stream; name=x\nContent-Transfer-Encoding: 8bit\n\n" + content(attachment) + "\n--b--\n\n"
	return bytes.Repeat([]byte(message), 3)
}

// TestMemory: 32 clients that load, deliver, open, move and list large mail, audit it, and begin
// again with the same store, use less than 270 MB, the embedded engine and all. The largest
// mail just fits into one row: text that is not UTF-8 grows by a third there.
//
// The peak has two parts that vary with the load of the machine (docs/internals/performance.md, "Memory"): Go's heap, which
// grows while a collection runs, since workers allocate messages in the meantime; and memtables and cache of the engine,
// in C's memory. The 28 to 36 MB of pages of the program's file are the kernel's, and are not counted.
// MAILBENCH_MEMORY=all tries all models, mail and mixes one by one, in minutes.
func TestMemory(t *testing.T) {
	t.Parallel() // it is the memory of other processes
	const junk = "\xff\xfe\xe4 abcdefgh \xff abcdefgh \xfe abcdefgh \xe4 abcdefgh \xff abcdefgh \xfe abcdefgh\n"
	const most = 10<<20 - 64<<10 // the embedded engine's largest row
	plain := strings.Repeat("fox ", 18) + "\n"
	mails := []struct {
		name string
		mbox func() []byte
	}{
		{"most of junk as text", func() []byte { return hostileMail(most/4*3, 100, junk) }},
		{"most of junk attached", func() []byte { return hostileMail(100, most/4*3, junk) }},
		{"most of text and attachment", func() []byte { return hostileMail(most/2, most/2, plain) }},
		{"31 MB of junk", func() []byte { return hostileMail(100, 31_000_000, junk) }},
	}
	names, mixes, operations := []string{"conversation"}, memoryMixes[len(memoryMixes)-1:], 24
	if os.Getenv("MAILBENCH_MEMORY") == "all" {
		names, mixes, operations = []string{"elasticinbox", "james", "datastax", "oracle", "conversation"}, memoryMixes, 36
	} else {
		mails = mails[:1]
	}
	for _, mail := range mails {
		file := filepath.Join(t.TempDir(), "x.mbox")
		if err := os.WriteFile(file, mail.mbox(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, model := range names {
			if strings.HasPrefix(mail.name, "31 MB") && (model == "oracle" || model == "conversation") {
				continue // too large for a row
			}
			for _, mix := range mixes {
				t.Run(model+"/"+mail.name+"/"+mix, func(t *testing.T) {
					dir := t.TempDir()
					for _, run := range []string{"of a new data set", "of the data set that is there"} {
						if took := takes(t, dir, model, file, mix, operations); took > mostMemory {
							t.Errorf("the process of a run %s took %d MB, want at most %d MB", run, took>>20, mostMemory>>20)
						}
					}
				})
			}
		}
	}
}

// takes is the most memory in bytes that a run takes.
func takes(t *testing.T, dir, model, mail, mix string, operations int) (took int64) {
	t.Helper()
	workload := filepath.Join(dir, "memory.yaml")
	text := fmt.Sprintf(`version: 1
name: memory
mail: {attachments: {share: 1, size: 1KB}}
population: {users: 6, folders: 2, messages: 1}
access: {users: uniform, folders: uniform, messages: uniform}
phases: [load: {clients: 32}, measure: {clients: 32, operations: %d, mix: {%s}}]
`, operations, mix)
	if err := os.WriteFile(workload, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	took, out := peakOfRun(t, workload, "-m", model, "--mail", mail, "--durability", "memory",
		"--verify", "--data", filepath.Join(dir, "data"), "--fail-on=none", "-o", filepath.Join(t.TempDir(), "out"))
	if took < 50<<20 {
		t.Errorf("the process took %d bytes: that was not read", took)
	}
	t.Logf("the process took %d MB", took>>20)
	if bytes.Contains(out, []byte("failed")) {
		t.Errorf("operations failed:\n%s", out)
	}
	return took
}

// TestMemoryOfHugeMail: a mail file whose one message is larger than any model takes is read, and
// forecast, within the same memory. MAILBENCH_MEMORY=all tries the larger ones too, in minutes.
func TestMemoryOfHugeMail(t *testing.T) {
	t.Parallel()
	const line = "fox fox fox fox fox fox fox fox fox fox fox fox\n"
	mails := []struct {
		name, head, content, end string
		bytes                    int
	}{
		{"body of 200 MB, not UTF-8 at its end", "\n", line, "\xff", 200 << 20},
		{"line of 1 GB", "\n", "x", "", 1 << 30},
		{
			"attachment of 600 MB", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n" +
				"--b\nContent-Type: application/octet-stream; name=x\nContent-Transfer-Encoding: 8bit\n\n", "\xff\xfe " + line, "\n--b--\n", 600 << 20,
		},
	}
	if os.Getenv("MAILBENCH_MEMORY") != "all" {
		mails = mails[:1]
	}
	dir := t.TempDir()
	workload := filepath.Join(dir, "huge.yaml")
	if err := os.WriteFile(workload, []byte(`version: 1
name: huge
mail: {attachments: {share: 1, size: 1KB}}
population: {users: 1, folders: 1, messages: 1}
phases: [load: {}, measure: {clients: 2, operations: 4, mix: {deliver: 1, list: 1}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range mails {
		file := filepath.Join(dir, "x.mbox.gz")
		packed(t, file, "From a\nFrom: a@b.c\nTo: d@e.f\n"+x.head, x.content, x.bytes, x.end+"\n")
		for _, how := range []string{"--dry-run", "--no-overhead"} {
			t.Run(x.name+"/"+how, func(t *testing.T) {
				took, _ := peakOfRun(t, workload, "-m", "conversation", "--mail", file, how, "--fail-on=none", "-o", filepath.Join(t.TempDir(), "out"))
				if t.Logf("the process took %d MB", took>>20); took > mostMemory || took < 1<<20 {
					t.Errorf("the process took %d MB, want at most %d MB", took>>20, mostMemory>>20)
				}
			})
		}
	}
}

// packed writes a gzip file with content repeated to so many bytes.
func packed(t *testing.T, name, head, content string, size int, end string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	many := strings.Repeat(content, 1<<20/len(content))
	_, err = io.WriteString(z, head)
	for n := 0; n < size && err == nil; n += len(many) {
		_, err = io.WriteString(z, many)
	}
	if err == nil {
		_, err = io.WriteString(z, end)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
}

// peakOfRun is the most memory in bytes that "mailbench run" uses, and its output.
func peakOfRun(t *testing.T, args ...string) (took int64, printed []byte) {
	t.Helper()
	cmd := exec.Command("mailbench", append([]string{"run"}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GOMEMLIMIT=") })
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := make(chan int64)
	go func() { peak <- peakOf(cmd.Process.Pid) }()
	err := cmd.Wait()
	took = <-peak
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return took, out.Bytes()
}

// peakOf is the most memory in bytes that a process had of its own, until it ends: not counted are pages of
// its program's file, which the kernel takes back when it needs them.
func peakOf(pid int) (peak int64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, printed := strings.Cut(string(status), "RssAnon:") // a process that has ended has none
		if err != nil || !printed {
			return peak
		}
		var kb int64
		if _, err := fmt.Sscan(after, &kb); err == nil {
			peak = max(peak, kb<<10)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
