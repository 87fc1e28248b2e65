package messages

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// TestPoolsReplay: the pools are those that all data sets were made of so far, byte by byte.
func TestPoolsReplay(t *testing.T) {
	h := fnv.New64a()
	p := thePools()
	for _, b := range [][]byte{p.text.text, p.html.text, p.quoted.text, p.binary, p.base64} {
		h.Write(b)
	}
	var subjects []string
	for _, s := range p.subjects {
		subjects = append(subjects, s.text)
	}
	fmt.Fprint(h, p.text.start, p.html.start, p.quoted.start, subjects, len(subjects)*7/8)
	if got, want := fmt.Sprintf("%016x", h.Sum64()), "9bf3065a6c255f64"; got != want {
		t.Errorf("digest %s, want %s: what is generated has changed; runs do not compare with those of before", got, want)
	}
}
