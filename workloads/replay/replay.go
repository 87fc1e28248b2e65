// Package replay reads operations from a file, a trace, and repeats them at their original
// speed or a multiple of it.
//
// A trace is a text file with one JSON object a line, in order of time:
//
//	{"time": 0.35, "user": "anna", "op": "list", "folder": "INBOX"}
//	{"time": 0.41, "user": "bob", "op": "deliver", "size": 4711, "recipients": ["bob", "carol"]}
//	{"time": 1.20, "user": "anna", "op": "move", "folder": "INBOX", "to": "Archive", "messages": 3}
//
// Time is in seconds from any start. Op is an operation of the workload language. The user who
// comes first in the trace is the first of the population, and so on. The folders of a user are
// numbered in the same way, but INBOX is always the first. Size is the whole message's, in bytes.
// If a line leaves out a field, the workload decides.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Trace is a trace that was read into memory.
type Trace struct {
	name   string
	all    []operation
	users  int
	counts workloads.Mix
	// SHA256 is the digest of the file, in hex.
	SHA256 string
}

// operation is one operation of a trace. It is small, since a long trace has millions.
type operation struct {
	due        float64 // whole nanoseconds after the first operation
	user       int32
	size       int32
	folder, to int32 // of the user; to is -1 without one
	messages   int16
	op         workloads.Op
	recipients []int32
}

// mostOperations bounds the memory of a trace, to about 2 GB while it is read.
const mostOperations = 20_000_000

// Open reads a trace.
func Open(ctx context.Context, name string) (*Trace, error) {
	f, err := plainfile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	t, sum := &Trace{name: name}, sha256.New()
	err = t.read(ctx, io.TeeReader(f, sum))
	t.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err == nil && len(t.all) == 0 {
		err = fmt.Errorf("trace %s has no operations", name)
	}
	return t, err
}

// folder is the number of a folder among those of its user; the inbox is 0.
func folder(all map[string]int32, name string) int32 {
	if strings.EqualFold(name, "inbox") {
		name = ""
	}
	return number(all, name)
}

// number returns the number of a name, in the order in which they appear.
func number(of map[string]int32, name string) int32 {
	n, ok := of[name]
	if !ok {
		n = int32(len(of))
		of[name] = n
	}
	return n
}

// longest bounds a replay to ten years. A time.Duration ends at 292 years.
const longest = 10 * 365 * 24 * time.Hour

// Prepare sets the phase's mix, rate and number of operations to the trace's. The error says
// why the workload cannot replay the trace.
func (t *Trace) Prepare(w *workloads.Workload, p *workloads.Phase) error {
	if t.users > w.Population.Users {
		return fmt.Errorf("trace %s has %d users, and the population %d; set population.users to %d or more",
			t.name, t.users, w.Population.Users, t.users)
	}
	if t.counts.Has(workloads.Restore) && !t.counts.Has(workloads.Delete) {
		return fmt.Errorf("trace %s restores messages and deletes none", t.name)
	}
	n := uint64(len(t.all))
	last := t.all[n-1].due / p.Replay.Speed
	if days := last / float64(24*time.Hour); days > longest.Hours()/24 {
		return fmt.Errorf("trace %s at speed %g takes %.0f days, expected at most %d; raise the speed",
			t.name, p.Replay.Speed, days, longest/(24*time.Hour))
	}
	p.Replay.Source, p.Mix = t, t.counts
	if p.Operations == 0 || p.Operations > n {
		p.Operations = n
	}
	// From the first operation to the last, and one mean gap.
	span := max(time.Duration(last*float64(n)/float64(max(1, n-1))), time.Nanosecond)
	p.Duration = min(p.Duration, span+time.Nanosecond)
	p.Rate = workloads.RateOf(float64(n) / span.Seconds())
	return nil
}

// Due implements plan.Recorded.
func (t *Trace) Due(n uint64, speed float64) (due time.Duration, ok bool) {
	if n >= uint64(len(t.all)) {
		return 0, false
	}
	return time.Duration(t.all[n].due / speed), true
}

// Operation implements plan.Recorded.
func (t *Trace) Operation(p *plan.Plan, c *plan.Census, n uint64, o *plan.Operation) {
	is := &t.all[n]
	user := int(is.user)
	folders := c.FolderCount(user)
	p.Given(n, is.op, user, int(is.folder)%folders, o)
	to := int(is.to) % folders // -1 without one; of a single folder it is that folder
	if to >= 0 && to != o.Folder && (is.op == workloads.Move || is.op == workloads.Label) {
		o.To = to
	}
	if is.messages > 0 {
		o.Messages = int(is.messages)
	}
	o.Size = int(is.size)
	if is.op == workloads.Deliver {
		o.Recipients = o.Recipients[:0]
		for _, u := range is.recipients {
			if !slices.Contains(o.Recipients, int(u)) {
				o.Recipients = append(o.Recipients, int(u))
			}
		}
		if len(o.Recipients) == 0 {
			o.Recipients = append(o.Recipients, user)
		}
		o.User = o.Recipients[0]
	}
}

// line is one operation of a trace.
type line struct {
	Time       float64  `json:"time"`
	User       string   `json:"user"`
	Op         string   `json:"op"`
	Folder     string   `json:"folder"`
	To         string   `json:"to"`         // move and label: the other folder
	Size       float64  `json:"size"`       // deliver: bytes of the whole message; some programs write 4711.0
	Recipients []string `json:"recipients"` // deliver: the users it goes to; empty: to User
	Messages   float64  `json:"messages"`   // move, delete and flag: number of messages
}

// maxLine bounds a line of a trace.
const maxLine = 1 << 20

// LineError is a fault of a line of a trace. Err may quote the line.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// read adds the operations of a file. The error is a LineError if something is wrong in a line.
func (t *Trace) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	users, folders := map[string]int32{}, map[int32]map[string]int32{} // folders by user
	first, last, n := math.NaN(), math.Inf(-1), 1
	for ; in.Scan() && ctx.Err() == nil; n++ {
		text := in.Bytes()
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l, op, err := parseLine(text)
		switch {
		case err != nil:
		case l.Time < last:
			err = fmt.Errorf("time %.15g follows %.15g; expected lines in order of time", l.Time, last)
		case len(t.all) == mostOperations:
			err = fmt.Errorf("more than %d operations; divide the trace into files of whole lines", mostOperations)
		}
		if err != nil {
			return &LineError{t.name, n, err}
		}
		if last = l.Time; len(t.all) == 0 {
			first = last
		}
		user := number(users, l.User)
		if folders[user] == nil {
			folders[user] = map[string]int32{"": 0}
		}
		o := operation{
			due: math.Trunc((last - first) * 1e9), user: user, op: op, size: int32(l.Size), messages: int16(l.Messages),
			folder: folder(folders[user], l.Folder), to: -1,
		}
		if l.To != "" {
			o.to = folder(folders[user], l.To)
		}
		for _, r := range l.Recipients {
			o.recipients = append(o.recipients, number(users, r))
		}
		t.all = append(t.all, o)
		t.counts[op]++
	}
	t.users = len(users)
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line has more than %d bytes", t.name, n, maxLine)
	} else if err != nil {
		return fmt.Errorf("read trace %s after line %d: %w", t.name, n-1, err)
	}
	return ctx.Err()
}

func wholeTo(v, most float64) bool { return v >= 0 && v <= most && v == math.Trunc(v) }

// parseLine reads a line, and checks all that can be checked without the lines before it.
func parseLine(text []byte) (l line, op workloads.Op, err error) {
	l.Time = math.NaN() // no number of JSON
	err = strict.JSON(text, &l, "time", "user", "op", "folder", "to", "size", "recipients", "messages")
	if err != nil {
		return l, op, fmt.Errorf("not a line of a trace: %w", err)
	}
	op, known := workloads.Patterns(nil).Op(l.Op)
	switch {
	case l.User == "":
		err = errors.New("no user")
	case slices.Contains(l.Recipients, "") || len(l.Recipients) > workloads.MaxRecipients:
		err = fmt.Errorf("a recipient is empty, or there are more than %d", workloads.MaxRecipients)
	case l.Op == "":
		err = fmt.Errorf("no op; expected an operation such as %q", "list")
	case !known:
		err = strict.Unknown("operation", l.Op, workloads.OpNames()...)
	case math.IsNaN(l.Time):
		err = errors.New("no time; expected seconds such as 12.5")
	case !wholeTo(l.Size, float64(workloads.MaxMessage)):
		err = fmt.Errorf("size must be a whole number from 0 to %d, found %v", int64(workloads.MaxMessage), l.Size)
	case !wholeTo(l.Messages, workloads.MaxMessages):
		err = fmt.Errorf("messages must be a whole number from 0 to %d, found %v", workloads.MaxMessages, l.Messages)
	}
	return l, op, err
}
