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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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
	Size       Whole    `json:"size"`       // deliver: bytes of the whole message
	Recipients []string `json:"recipients"` // deliver: the users it goes to; empty: to User
	Messages   Whole    `json:"messages"`   // move, delete and flag: number of messages
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

// Whole is a whole number. Some programs write it as 4711.0.
type Whole int64

// mostWhole is the largest number up to which a float64 holds all whole ones.
const mostWhole = 1 << 53

// UnmarshalJSON reads a whole number.
func (w *Whole) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || v != math.Trunc(v) {
		return fmt.Errorf("size and messages must be whole numbers, found %.60s", b)
	}
	*w = Whole(max(-mostWhole, min(v, mostWhole)))
	return nil
}

var fields = []string{"time", "user", "op", "folder", "to", "size", "recipients", "messages"}

// maxLine bounds a line of a trace.
const maxLine = 1 << 20

// Read calls do for each line of a trace. The error says in which line something is wrong.
func Read(ctx context.Context, name string, r io.Reader, do func(*Line, workloads.Op) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	first, last := true, Seconds(0)
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
		if err == nil && !first && l.Time < last {
			err = fmt.Errorf("time %.15g follows %.15g; expected lines in order of time", float64(l.Time), float64(last))
		}
		if err == nil {
			first, last = false, l.Time
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
	case l.Size < 0 || l.Size > Whole(workloads.MaxMessage):
		err = fmt.Errorf("size is %d, expected 0 to %d", l.Size, int64(workloads.MaxMessage))
	case l.Messages < 0 || l.Messages > workloads.MaxMessages:
		err = fmt.Errorf("messages is %d, expected 0 to %d", l.Messages, workloads.MaxMessages)
	}
	return l, op, err
}
