package oraclenosql

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// answering gives the same answer to all requests.
type answering struct {
	body   []byte
	length int64 // as its header says
}

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: a.length, Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

// BenchmarkAnswer reads an answer of 1 MB, whose length is known.
func BenchmarkAnswer(b *testing.B) {
	over := bounding{&answering{make([]byte, 1<<20), 1 << 20}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := over.RoundTrip(&http.Request{Method: http.MethodPost}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAnswerAllocs: an answer of known length is read into one buffer, and is an error if it breaks off. One of
// unknown length ends where it ends.
func TestAnswerAllocs(t *testing.T) {
	body := make([]byte, 1<<20)
	read := func(length int64) ([]byte, error) {
		answer, err := bounding{&answering{body, length}}.RoundTrip(&http.Request{Method: http.MethodPost})
		if err != nil {
			return nil, err
		}
		return io.ReadAll(answer.Body)
	}
	for _, length := range []int64{int64(len(body)), -1} {
		if got, err := read(length); err != nil || !bytes.Equal(got, body) {
			t.Errorf("length %d: %d bytes, %v", length, len(got), err)
		}
	}
	if _, err := read(int64(len(body)) + 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer that breaks off: %v", err)
	}
	over := bounding{&answering{body, int64(len(body))}}
	if n := testing.AllocsPerRun(20, func() { over.RoundTrip(&http.Request{Method: http.MethodPost}) }); n > 8 {
		t.Errorf("%v allocations, expected at most 8", n)
	}
}

// TestKeyAllocs: a text key without escapes is sent from the value's bytes.
func TestKeyAllocs(t *testing.T) {
	key, text := field{typ: schemas.Type{Kind: schemas.Text}, key: true}, drivers.Text("ann.smith@example.org/Inbox/2026/日本語")
	if n := testing.AllocsPerRun(100, func() { key.encode(text) }); n > 1 {
		t.Errorf("%v allocations, expected 1 for the interface", n)
	}
}
