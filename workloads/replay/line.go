// Package replay reads operations from a file, a trace, and repeats them at their original
// speed or a multiple of it.
//
// A trace is a text file with one JSON object a line, in order of time:
//
//	{"time": 0.35, "user": "anna", "op": "list", "folder": "INBOX"}
//	{"time": 0.41, "user": "bob", "op": "deliver", "size": 4711, "recipients": ["bob", "carol"]}
//	{"time": 1.20, "user": "anna", "op": "move", "folder": "INBOX", "to": "Archive", "messages": 3}
//
// Time is in seconds from any start, or a date and time (RFC 3339). Op is an operation of
// the workload language. The user who comes first in the trace is the first of the
// population, and so on. The folders of a user are numbered in the same way, but INBOX is
// always the first. Size is the whole message's, in bytes. If a line leaves out a field, the
// workload decides.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
)

// Line is one operation of a trace.
type Line struct {
	Time       Seconds  `json:"time"`
	User       string   `json:"user"`
	Op         string   `json:"op"`
	Folder     string   `json:"folder"`
	To         string   `json:"to"`         // move and label: the other folder
	Size       int64    `json:"size"`       // deliver: bytes of the whole message
	Recipients []string `json:"recipients"` // deliver: the users it goes to; empty: to User
	Messages   int      `json:"messages"`   // move, delete and flag: number of messages
}

// Seconds is a time in seconds.
type Seconds float64

// UnmarshalJSON reads a number of seconds, or a date and time (RFC 3339).
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return fmt.Errorf("%q is not a time; expected seconds such as 12.5, or 2026-01-31T12:00:00.5Z", text)
		}
		*s = Seconds(float64(t.UnixNano()) / 1e9)
		return nil
	}
	return json.Unmarshal(b, (*float64)(s))
}

var fields = []string{"time", "user", "op", "folder", "to", "size", "recipients", "messages"}

// maxLine bounds a line of a trace.
const maxLine = 1 << 20

// Read calls do for each line of a trace. The error says in which line something is wrong.
func Read(ctx context.Context, name string, r io.Reader, do func(*Line, workloads.Op) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	last := Seconds(0)
	n := 0
	for in.Scan() {
		if n++; n%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		l := Line{Time: -1}
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		op, known := workloads.ParseOp(l.Op)
		switch {
		case err != nil:
			err = explained(err)
		case l.User == "":
			err = errors.New("no user")
		case l.Op == "":
			err = fmt.Errorf("no op; expected an operation such as %q", "list")
		case !known:
			err = strict.Unknown("operation", l.Op, workloads.OpNames()...)
		case n > 1 && l.Time < last || l.Time < 0:
			err = fmt.Errorf("time %g follows %g; expected lines in order of time", float64(l.Time), float64(last))
		case l.Size < 0 || l.Size > int64(workloads.MaxMessage):
			err = fmt.Errorf("size is %d, expected 0 to %d", l.Size, int64(workloads.MaxMessage))
		case l.Messages < 0 || l.Messages > workloads.MaxMessages:
			err = fmt.Errorf("messages is %d, expected 0 to %d", l.Messages, workloads.MaxMessages)
		default:
			last = l.Time
			err = do(&l, op)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read trace %s after line %d: %w", name, n, err)
	}
	return nil
}

// explained turns an error of the JSON decoder into one that speaks of lines of a trace.
func explained(err error) error {
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return strict.Unknown("field", strings.Trim(field, `"`), fields...)
	}
	return fmt.Errorf("not a line of a trace: %w", err)
}
