package mail

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzFile: a file, packed or not, is refused, or all of its messages can be read again
// and come to what Info says.
func FuzzFile(f *testing.F) {
	pack := func(b []byte) []byte {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(b)
		w.Close()
		return packed.Bytes()
	}
	small, err := os.ReadFile("testdata/small.mbox")
	if err != nil {
		f.Fatal(err)
	}
	whole := pack(small)
	f.Add(small)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(append(bytes.Clone(whole), whole...)) // two members
	f.Add(append(bytes.Clone(whole), "and more"...))
	f.Add(pack(bytes.Repeat([]byte("From a\n\n\n"), 10_000)))
	f.Add(pack(append([]byte("From a\n\n"), make([]byte, 4<<20)...)))
	const most = 1 << 20
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		name := filepath.Join(dir, "mail")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Open(t.Context(), name, dir, most)
		if err != nil {
			return
		}
		info, total := file.Info(), int64(0)
		if info.Messages < 1 || info.Bytes > most || info.Malformed > info.Messages {
			t.Errorf("%+v", info)
		}
		r, m := file.Reader(), Message{}
		for n := range uint64(info.Messages) {
			if err := r.Message(n, time.Unix(0, 0), &m); err != nil {
				t.Fatal(err)
			}
			if n < 100 {
				check(t, &m)
			}
			if m.Raw.Size() != r.Size(n) {
				t.Errorf("message %d has %d bytes, and %d were said", n, m.Raw.Size(), r.Size(n))
			}
			total += m.Raw.Size()
		}
		if total != info.Bytes {
			t.Errorf("%d bytes in all, and %d were said", total, info.Bytes)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
