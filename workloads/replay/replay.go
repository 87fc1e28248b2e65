// Package replay reads operations from a file, a trace, and repeats them at their original
// speed or a multiple of it.
//
// A trace is a text file with one JSON object a line, in order of time:
//
//	{"time": 0.35, "user": "anna", "op": "list", "folder": "INBOX"}
//	{"time": 0.41, "user": "bob", "op": "deliver", "size": 4711, "recipients": ["bob", "carol"]}
//	{"time": 1.20, "user": "anna", "op": "move", "folder": "INBOX", "to": "Archive", "messages": 3}
//
// Time is in seconds from any start, or a date and time (RFC 3339), in years 1 to 9999. Op is an operation of
// the workload language. The user who comes first in the trace is the first of the
// population, and so on. The folders of a user are numbered in the same way, but INBOX is
// always the first. Size is the whole message's, in bytes. If a line leaves out a field, the
// workload decides.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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
	others []int32 // recipients of all deliveries that name any
	users  int
	counts workloads.Mix
	// SHA256 is the digest of the file, in hex.
	SHA256 string
}

// operation is one operation of a trace, in 32 bytes, since a long trace has millions.
type operation struct {
	due        time.Duration // after the first operation
	user       int32
	others     int32 // index of its first recipient in Trace.others
	size       int32
	folder, to int16
	recipients int16
	messages   int16
	op         workloads.Op
}

// mostOperations bounds the memory that a trace takes, to some 700 MB.
const mostOperations = 20_000_000

// longest bounds a trace and its replay to ten years. A time.Duration ends at 292 years.
const longest = 10 * 365 * 24 * time.Hour

// Open reads a trace.
func Open(ctx context.Context, name string) (*Trace, error) {
	f, err := plainfile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	t := &Trace{name: name}
	first := Seconds(0)
	users := map[string]int32{}
	folders := map[[2]string]int16{}
	counts := map[string]int16{}
	user := func(s string) int32 {
		n, ok := users[s]
		if !ok {
			n = int32(len(users))
			users[strings.Clone(s)] = n
		}
		return n
	}
	folder := func(u, s string) int16 {
		if s == "" || strings.EqualFold(s, "inbox") {
			return 0
		}
		key := [2]string{u, s}
		n, ok := folders[key]
		if !ok && counts[u] < math.MaxInt16 {
			counts[u]++
			n = counts[u]
			folders[key] = n
		}
		return n
	}
	sum := sha256.New()
	err = Read(ctx, name, io.TeeReader(f, sum), func(l *Line, op workloads.Op) error {
		if len(t.all) == 0 {
			first = l.Time
		}
		if float64(l.Time-first) > longest.Seconds() {
			return fmt.Errorf("its time is more than %d days after the first; divide the trace", longest/(24*time.Hour))
		}
		if len(l.Recipients) > workloads.MaxRecipients {
			return fmt.Errorf("%d recipients; expected at most %d", len(l.Recipients), workloads.MaxRecipients)
		}
		o := operation{
			due: time.Duration(float64(l.Time-first) * 1e9), user: user(l.User), op: op, size: int32(l.Size),
			folder: folder(l.User, l.Folder), messages: int16(l.Messages), to: -1,
			others: int32(len(t.others)), recipients: int16(len(l.Recipients)),
		}
		if l.To != "" {
			o.to = folder(l.User, l.To)
		}
		for _, r := range l.Recipients {
			t.others = append(t.others, user(r))
		}
		t.all = append(t.all, o)
		t.counts[op]++
		return nil
	})
	t.users, t.SHA256 = len(users), hex.EncodeToString(sum.Sum(nil))
	if err == nil && len(t.all) == 0 {
		err = fmt.Errorf("trace %s has no operations", name)
	}
	return t, err
}

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
	if days := t.all[len(t.all)-1].due.Hours() / 24 / p.Replay.Speed; days > longest.Hours()/24 {
		return fmt.Errorf("trace %s at speed %g takes %.0f days, expected at most %d; raise the speed",
			t.name, p.Replay.Speed, days, longest/(24*time.Hour))
	}
	p.Replay.Source, p.Mix = t, t.counts
	n := uint64(len(t.all))
	if p.Operations == 0 || p.Operations > n {
		p.Operations = n
	}
	// From the first operation to the last, and one mean gap.
	last := float64(t.all[n-1].due) / p.Replay.Speed
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
	return time.Duration(float64(t.all[n].due) / speed), true
}

// Operation implements plan.Recorded.
func (t *Trace) Operation(p *plan.Plan, c *plan.Census, n uint64, o *plan.Operation) {
	is := &t.all[n]
	user := int(is.user)
	folders := c.FolderCount(user)
	p.Given(n, is.op, user, int(is.folder)%folders, o)
	if is.to >= 0 && folders > 1 && (is.op == workloads.Move || is.op == workloads.Label) {
		if to := int(is.to) % folders; to != o.Folder {
			o.To = to
		}
	}
	if is.messages > 0 {
		o.Messages = int(is.messages)
	}
	o.Size = int(is.size)
	if is.op == workloads.Deliver {
		o.Recipients = append(o.Recipients[:0], user)
		for i, u := range t.others[is.others : int(is.others)+int(is.recipients)] {
			if i == 0 {
				o.Recipients[0], o.User = int(u), int(u)
			} else {
				o.AddRecipient(int(u))
			}
		}
	}
}

// Line is one operation of a trace.
type Line struct {
	Time       Seconds  `json:"time"`
	User       string   `json:"user"`
	Op         string   `json:"op"`
	Folder     string   `json:"folder"`
	To         string   `json:"to"`         // move and label: the other folder
	Size       float64  `json:"size"`       // deliver: bytes of the whole message; some programs write 4711.0
	Recipients []string `json:"recipients"` // deliver: the users it goes to; empty: to User
	Messages   float64  `json:"messages"`   // move, delete and flag: number of messages
}

// Seconds is a time in seconds.
type Seconds float64

// Bounds of a time: the years 1 to 9999, in seconds from 1970 on.
const (
	firstTime = -62_135_596_800
	lastTime  = 253_402_300_799
)

const timeForm = "expected seconds such as 12.5, or 2026-01-31T12:00:00.5Z"

// UnmarshalJSON reads a number of seconds, or a date and time (RFC 3339).
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil && b[0] == '"' {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return fmt.Errorf("%.60q is not a time; %s", text, timeForm)
		}
		*s = Seconds(float64(t.Unix()) + float64(t.Nanosecond())/1e9)
	} else if v, err := strconv.ParseFloat(string(b), 64); err == nil || errors.Is(err, strconv.ErrRange) {
		*s = Seconds(v)
	} else {
		return fmt.Errorf("time must be a number or a text, found %.60s; %s", b, timeForm)
	}
	if *s < firstTime || *s > lastTime {
		return fmt.Errorf("time %.60s is out of range; expected a date in years 1 to 9999, or as many seconds", b)
	}
	return nil
}

var fields = []string{"time", "user", "op", "folder", "to", "size", "recipients", "messages"}

// maxLine bounds a line of a trace.
const maxLine = 1 << 20

// Read calls do for each line of a trace. The error says in which line something is wrong.
func Read(ctx context.Context, name string, r io.Reader, do func(*Line, workloads.Op) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	operations, last := 0, Seconds(0)
	n := 0
	for in.Scan() {
		if n++; n%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := in.Bytes()
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l, op, err := parseLine(text)
		if err == nil && operations == mostOperations {
			err = fmt.Errorf("more than %d operations; divide the trace", mostOperations)
		}
		if err == nil && operations > 0 && l.Time < last {
			err = fmt.Errorf("time %.15g follows %.15g; expected lines in order of time", float64(l.Time), float64(last))
		}
		if err == nil {
			operations, last = operations+1, l.Time
			err = do(&l, op)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line has more than %d bytes", name, n+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("read trace %s after line %d: %w", name, n, err)
	}
	return nil
}

func wholeTo(v, most float64) bool { return v >= 0 && v <= most && v == math.Trunc(v) }

// parseLine reads a line, and checks all that can be checked without the lines before it.
func parseLine(text []byte) (l Line, op workloads.Op, err error) {
	l.Time = Seconds(math.NaN()) // no number of JSON
	if err := strict.JSON(text, &l, fields...); err != nil {
		return l, op, fmt.Errorf("not a line of a trace: %w", err)
	}
	op, known := workloads.ParseOp(l.Op)
	switch {
	case l.User == "":
		err = errors.New("no user")
	case slices.Contains(l.Recipients, ""):
		err = errors.New("a recipient is empty; expected a user")
	case l.Op == "":
		err = fmt.Errorf("no op; expected an operation such as %q", "list")
	case !known:
		err = strict.Unknown("operation", l.Op, workloads.OpNames()...)
	case math.IsNaN(float64(l.Time)):
		err = errors.New("no time; " + timeForm)
	case !wholeTo(l.Size, float64(workloads.MaxMessage)):
		err = fmt.Errorf("size must be a whole number from 0 to %d, found %v", int64(workloads.MaxMessage), l.Size)
	case !wholeTo(l.Messages, workloads.MaxMessages):
		err = fmt.Errorf("messages must be a whole number from 0 to %d, found %v", workloads.MaxMessages, l.Messages)
	}
	return l, op, err
}
