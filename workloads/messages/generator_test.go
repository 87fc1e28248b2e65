package messages

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
)

// testYAML has every kind of message.
const testYAML = `
version: 1
name: test
mail:
  body: {lognormal: {median: 4KB, p99: 64KB}}
  html: 0.4
  attachments: {share: 0.3, count: {zipf: {s: 1.5, max: 5}}, size: {pareto: {min: 1, alpha: 0.8, max: 2MB}}}
  recipients: {zipf: {s: 1.5, max: 20}}
population: {users: 100, messages: 10}
phases: [load, measure: {duration: 1s, rate: 1/s, mix: {list: 1}}]
`

func testWorkload(t testing.TB) *workloads.Workload {
	t.Helper()
	w, err := workloads.Parse("test.yaml", []byte(testYAML))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// testGenerator is the generator of testWorkload, whose pools take a while.
var testGenerator = sync.OnceValue(func() *Generator {
	w, err := workloads.Parse("test.yaml", []byte(testYAML))
	if err != nil {
		panic(err)
	}
	return NewGenerator(w)
})

var someDate = time.Date(2026, 5, 6, 7, 8, 9, 123, time.FixedZone("", 3600))

// TestGeneratorAndParserAgree: what the generator says of a message is what
// the parser finds in it, part by part.
func TestGeneratorAndParserAgree(t *testing.T) {
	g := testGenerator()
	r, m := g.Reader(), mail.Message{}
	kinds := map[string]int{}
	for n := range uint64(1000) {
		if err := r.Message(n, someDate, &m); err != nil {
			t.Fatal(err)
		}
		raw, err := mail.AppendContent(nil, m.Raw)
		if err != nil {
			t.Fatal(err)
		}
		checkParsed(t, &m, raw)
		kinds[fmt.Sprintf("html %t, files %t", strings.Contains(string(raw), "multipart/alternative"), strings.Contains(string(raw), "multipart/mixed"))]++
		if from, _ := r.From(n); from != m.From.Address {
			t.Errorf("From(%d) = %q, the message says %q", n, from, m.From.Address)
		}
		for line := range bytes.Lines(raw) {
			if !bytes.HasSuffix(line, []byte("\r\n")) && !bytes.HasSuffix(raw, line) || len(line) > 300 {
				t.Fatalf("message %d has the line %q", n, line)
			}
		}
	}
	for kind, share := range map[string]float64{
		"html true, files true": 0.12, "html true, files false": 0.28, "html false, files true": 0.18, "html false, files false": 0.42,
	} {
		// 1,000 messages: four standard deviations are 0.063 at most.
		if got := float64(kinds[kind]) / 1000; got < share-0.063 || got > share+0.063 {
			t.Errorf("%s: share %.3f, want %.3f", kind, got, share)
		}
	}
}

// checkParsed parses raw and holds what is found in it against m, whose content
// it replaces by digests.
func checkParsed(t *testing.T, m *mail.Message, raw []byte) {
	t.Helper()
	parsed := &mail.Message{}
	if err := mail.NewParser().Parse(mail.BytesContent(raw), time.Unix(0, 0), parsed); err != nil {
		t.Fatal(err)
	}
	if !parsed.Date.Equal(m.Date) {
		t.Errorf("date %v, parsed %v", m.Date, parsed.Date)
	}
	parsed.Date = m.Date
	for _, x := range []*mail.Message{m, parsed} {
		x.Raw = nil
		for _, p := range append([]*mail.Part{&x.Body}, pointers(x.Attachments)...) {
			h := fnv.New64a()
			if _, err := io.Copy(h, io.NewSectionReader(p.Content, 0, p.Content.Size())); err != nil {
				t.Fatal(err)
			}
			p.Content = mail.BytesContent(h.Sum(nil)) // a difference of megabytes says nothing
		}
	}
	if diff := cmp.Diff(m, parsed, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("generated -, parsed +\n%s\n%.2000s", diff, raw)
	}
}

func pointers(parts []mail.Part) []*mail.Part {
	var ps []*mail.Part
	for i := range parts {
		ps = append(ps, &parts[i])
	}
	return ps
}

// TestGeneratorReplays: a message is a function of seed, n and date alone.
// The digest is that of the day on which this was written.
func TestGeneratorReplays(t *testing.T) {
	w := testWorkload(t)
	digest := func(g *Generator, ns ...uint64) string {
		h := fnv.New64a()
		r, m := g.Reader(), mail.Message{}
		for _, n := range ns {
			if err := r.Message(n, someDate, &m); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(h, io.NewSectionReader(m.Raw, 0, m.Raw.Size())); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprintf("%016x", h.Sum64())
	}
	g := testGenerator()
	if digest(g, 5) != digest(NewGenerator(w), 5) {
		t.Error("message 5 is another in another generator")
	}
	if digest(g, 5) == digest(g, 6) {
		t.Error("messages 5 and 6 are the same")
	}
	if got, want := digest(g, 1, 2, 3, 1<<40+7), "465eb95397e8c0c6"; got != want {
		t.Errorf("digest %s, want %s: what is generated has changed; runs do not compare with those of before", got, want)
	}
	w.Seed++
	if digest(g, 5) == digest(NewGenerator(w), 5) {
		t.Error("another seed makes the same message")
	}
}

// TestCompression: text compresses about 2:1, attachments do not.
func TestCompression(t *testing.T) {
	g := testGenerator()
	ratio := func(b []byte) float64 {
		var out bytes.Buffer
		z, _ := flate.NewWriter(&out, flate.DefaultCompression)
		z.Write(b)
		z.Close()
		return float64(len(b)) / float64(out.Len())
	}
	r, m := g.Reader(), mail.Message{}
	var text, files []byte
	for n := uint64(0); len(text) < 1<<20 || len(files) < 1<<20; n++ {
		if err := r.Message(n, someDate, &m); err != nil {
			t.Fatal(err)
		}
		if len(text) < 1<<20 {
			text, _ = mail.AppendContent(text, m.Body.Content)
		}
		for i := range m.Attachments {
			if len(files) < 1<<20 && m.Attachments[i].Encoding == mail.Base64 {
				files, _ = mail.AppendContent(files, m.Attachments[i].Content)
			}
		}
	}
	block := ratio(text[:32<<10])
	t.Logf("text %.2f:1 (one 32 KiB block %.2f:1), attachments %.3f:1", ratio(text), block, ratio(files))
	if block < 1.8 || block > 2.3 {
		t.Errorf("a block of 32 KiB of text compresses %.2f:1, want about 2:1", block)
	}
	if f := ratio(files[:1<<20]); f > 1.01 {
		t.Errorf("attachments compress %.3f:1, want not at all", f)
	}
}

// TestGeneratorAllocates: nothing, once its buffers have grown.
func TestGeneratorAllocates(t *testing.T) {
	g := testGenerator()
	r, m := g.Reader(), mail.Message{}
	make200 := func() {
		for n := range uint64(200) {
			if err := r.Message(n, someDate, &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	make200()
	if n := testing.AllocsPerRun(5, make200); n != 0 {
		t.Errorf("%v allocations in 200 messages, want none", n)
	}
}

// TestLargeMessage: 25 MB are a rope of a few pieces.
func TestLargeMessage(t *testing.T) {
	w, err := workloads.Parse("large.yaml", []byte("version: 1\nname: large\nmail: {body: 10MB, attachments: {share: 1, size: 25MB}}\n"+
		"population: {users: 1, messages: 1}\nphases: [load, measure: {duration: 1s, clients: 1, mix: {list: 1}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var m mail.Message
	if err := NewGenerator(w).Reader().Message(1, someDate, &m); err != nil {
		t.Fatal(err)
	}
	if m.Body.Content.Size() != 10e6 || m.Attachments[0].Content.Size() != 25e6 || len(m.Raw.(*rope).pieces) > 40 {
		t.Errorf("body %d, attachment %d bytes, %d pieces", m.Body.Content.Size(), m.Attachments[0].Content.Size(),
			len(m.Raw.(*rope).pieces))
	}
	raw, err := mail.AppendContent(nil, m.Raw)
	if err != nil {
		t.Fatal(err)
	}
	checkParsed(t, &m, raw)
}

// TestWorkdaySizes compares the sizes of workday's messages with those of a
// mailing-list archive (2002), as PEERS.md cites them.
func TestWorkdaySizes(t *testing.T) {
	w, err := workloads.Bundled("workday")
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	below := map[int64]float64{ // bytes: part of all messages
		2e3: 0.235, 4e3: 0.492, 8e3: 0.676, 16e3: 0.796, 32e3: 0.854, 64e3: 0.905, 128e3: 0.933, 256e3: 0.957, 1e6: 0.985, 2e6: 0.9996,
	}
	counts := map[int64]int{}
	r, m := NewGenerator(w).Reader(), mail.Message{}
	for i := range uint64(n) {
		if err := r.Message(i, someDate, &m); err != nil {
			t.Fatal(err)
		}
		for size := range below {
			if m.Raw.Size() < size {
				counts[size]++
			}
		}
	}
	for size, want := range below {
		if got := float64(counts[size]) / n; got < want-0.07 || got > want+0.07 {
			t.Errorf("%.3f of the messages are below %d bytes; in the archive %.3f are", got, size, want)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	g := testGenerator()
	r, m := g.Reader(), mail.Message{}
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		if err := r.Message(n, someDate, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	g := testGenerator()
	w, m := g.Reader(), mail.Message{}
	var raws []mail.BytesContent
	size := 0
	for n := range uint64(200) {
		if err := w.Message(n, time.Unix(0, 0), &m); err != nil {
			b.Fatal(err)
		}
		raw, _ := mail.AppendContent(nil, m.Raw)
		raws, size = append(raws, raw), size+len(raw)
	}
	p := mail.NewParser()
	b.SetBytes(int64(size / len(raws)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := p.Parse(raws[i%len(raws)], time.Time{}, &m); err != nil {
			b.Fatal(err)
		}
	}
}
