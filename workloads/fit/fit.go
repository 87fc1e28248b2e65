// Package fit measures mail, and writes a workload with the same sizes and counts. [Sample] holds the measurements:
// [Sample.ReadMbox] fills it, and [Sample.Workload] is the text of the workload. No address, name or subject gets into
// it.
//
// A size or count becomes a measured distribution (empirical): its quantiles and largest values.
package fit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Sample holds measurements of mail. Its zero value is empty.
type Sample struct {
	bodies     []int64 // bytes of text of each message
	html       int     // messages with text and HTML
	malformed  int
	notes      mail.Notes // what was skipped, repaired or guessed
	files      []int64    // number of files of each message that has any
	fileSizes  []int64    // bytes
	recipients []int64    // number of recipients that each header names
	folders    []int64    // number of folders of each user
	counts     []int64    // number of messages of each folder
}

// Message adds a message.
func (s *Sample) Message(m *mail.Message) {
	if m.Malformed {
		s.malformed++
	}
	s.bodies = append(s.bodies, m.Body.Content.Size())
	files, alternative := int64(0), m.Body.Type == "text/html"
	for i := range m.Attachments {
		p := &m.Attachments[i]
		if p.Type == "text/html" && !alternative && strings.HasPrefix(p.Name, "part-") {
			alternative = true // without a name of its own, it is the text again
			s.html++
			continue
		}
		files++
		s.fileSizes = append(s.fileSizes, p.Content.Size())
	}
	if files > 0 {
		s.files = append(s.files, files)
	}
	s.recipients = append(s.recipients, int64(max(1, len(m.To)+len(m.Cc)+len(m.Bcc))))
}

// User adds a user by the number of messages in each folder.
func (s *Sample) User(counts ...int64) {
	s.folders = append(s.folders, int64(len(counts)))
	s.counts = append(s.counts, counts...)
}

// ReadMbox adds the mail of mbox files, plain or compressed with gzip, as the folders of one
// user. most bounds the bytes of each file's messages, unpacked.
func (s *Sample) ReadMbox(ctx context.Context, most int64, paths ...string) error {
	var counts []int64
	for _, path := range paths {
		n, err := s.mbox(ctx, path, most)
		if err != nil {
			return err
		}
		counts = append(counts, n)
	}
	s.User(counts...)
	return nil
}

func (s *Sample) mbox(ctx context.Context, path string, most int64) (int64, error) {
	f, err := mail.Open(ctx, path, "", most)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, r, m := f.Info(), f.Reader(), mail.Message{}
	for n := range info.Messages {
		if err := r.Message(uint64(n), time.Time{}, &m); err != nil {
			return 0, err
		}
		s.Message(&m)
	}
	s.notes.Add(info.Notes)
	return info.Messages, nil
}

// writer writes the workload.
type writer struct{ strings.Builder }

func (w *writer) text(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// Workload is the workload that fits the sample, which has messages.
func (s *Sample) Workload() string {
	w := &writer{}
	w.text("version: 1\nname: fitted\ndescription: Fitted to %s\nmail:", words.Plural(len(s.bodies), "message"))
	w.dist("  ", "body", s.bodies, workloads.MaxMessage)
	w.text("  # html: messages with text and HTML: %d of %d\n  html: %v",
		s.html, len(s.bodies), share(s.html, len(s.bodies), 4))
	if len(s.files) > 0 {
		w.text("  attachments:\n    share: %v", share(len(s.files), len(s.bodies), 4))
		w.dist("    ", "count", s.files, 100)
		w.dist("    ", "size", s.fileSizes, workloads.MaxMessage)
	}
	if s.malformed > 0 {
		w.text("  # %s could be parsed only in part", words.Plural(s.malformed, "message"))
	}
	for _, note := range s.notes.Lines() {
		w.text("  # %s", note)
	}
	w.text("  # recipients are those that headers name: a list counts as one, and blind copies are not seen")
	w.dist("  ", "recipients", s.recipients, workloads.MaxRecipients)
	w.text("population:\n  users: %d", len(s.folders))
	w.dist("  ", "folders", s.folders, workloads.MaxFolders)
	w.dist("  ", "messages", s.counts, workloads.MaxFolderMessages)
	w.text("phases:\n  - load: {}\n  - settle: {}\n  - warmup: {duration: 10s}\n  - measure:\n      duration: 60s")
	w.text("      # rate and mix: not measured: mail has deliveries only. Add the operations of its readers")
	w.text("      # (list: 50, open: 25, …)\n      rate: 50/s\n      mix: {deliver: 1}")
	return w.String()
}

// dist writes a key with the distribution of the values, and both means. Values are cut to what the language accepts.
func (w *writer) dist(indent, key string, values []int64, most random.Size) {
	s, sum := make([]int64, len(values)), 0.0
	for i, v := range values {
		s[i] = min(max(1, v), int64(most))
		sum += float64(v)
	}
	d := distOf(s)
	w.text("%s# %s: %s, mean %.4g; mean of the distribution %.4g", indent, key, words.Plural(len(s), "value"),
		sum/float64(len(s)), d.Mean())
	w.text("%s%s: %s", indent, key, d)
}

// distOf is the distribution of values from 1 on. At each of its values it has the share of smaller ones and
// that up to the value, so that a frequent one is drawn as often as it is in the sample. It sorts the values.
func distOf(s []int64) random.Dist {
	slices.Sort(s)
	var at []int64
	for _, q := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99} {
		at = append(at, s[int(q*float64(len(s)))])
	}
	at = append(at, s[max(0, len(s)-5):]...) // a few large files can have most of the bytes
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) == 1 {
		return random.Constant{Value: random.Size(at[0])}
	}
	digits := max(4, len(strconv.Itoa(len(s)))) // with which the share of one value is above 0
	var d random.Empirical
	for _, v := range at {
		below, _ := slices.BinarySearch(s, v)
		upTo, _ := slices.BinarySearch(s, v+1)
		for _, n := range []int{below, upTo} {
			d = append(d, random.Point{Value: random.Size(v), Fraction: share(n, len(s), digits)})
		}
	}
	return slices.Compact(d)
}

func share(n, of, digits int) float64 { return scalar.Round(float64(n)/float64(of), digits) }
