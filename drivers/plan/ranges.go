package plan

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// Range is a range of encoded keys: from Lower on, and before Upper, if that is not empty. It keeps its memory from
// call to call.
type Range struct {
	Lower, Upper    []byte
	Empty           bool // no key can be in it
	prefix, scratch []byte
}

// Set sets the range to the keys that begin with the fixed columns, within the call's from, to and after, and within
// the part of a scan that the plan is. reverse says that a page continues before the row of after. If after has more
// columns than the key, the caller must compare the others.
func (r *Range) Set(p *Plan, k keys.Columns, fixed, args []drivers.Value, reverse bool) (err error) {
	n := len(fixed)
	if r.prefix, err = k.Append(r.prefix[:0], 0, fixed); err != nil {
		return err
	}
	r.Empty = false
	r.Lower = append(r.Lower[:0], r.prefix...)
	r.Upper = k.After(append(r.Upper[:0], r.prefix...), n)
	// The first or the last end of the range is at the keys that begin with the prefix and the values of the next
	// columns, or past these keys.
	var ends [3]struct {
		values      []drivers.Value
		first, past bool
	}
	if free := len(k) - n; free > 0 {
		from, to, after, desc := &ends[0], &ends[1], &ends[2], k[n].Desc
		if c, at := p.pattern.From, p.Layout.From; c != nil {
			from.values, from.first, from.past = args[at:at+1], !desc, desc != c.Open
		}
		if c, at := p.pattern.To, p.Layout.To; c != nil {
			to.values, to.first, to.past = args[at:at+1], desc, desc == c.Open
		}
		if of, at := len(p.pattern.After), p.Layout.After; of > 0 {
			after.values, after.first, after.past = args[at:at+min(of, free)], !reverse, !reverse && of <= free
		}
	}
	for _, e := range ends {
		if len(e.values) == 0 || e.values[0].IsNull() {
			continue
		}
		if r.scratch, err = k.Append(append(r.scratch[:0], r.prefix...), n, e.values); err != nil {
			return err
		}
		key := r.scratch
		if e.past {
			key = k.After(key, n+len(e.values))
		}
		switch {
		case e.past && len(key) == 0: // no key is past them
			r.Empty = r.Empty || e.first
		case e.first && bytes.Compare(key, r.Lower) > 0:
			r.Lower = append(r.Lower[:0], key...)
		case !e.first && (len(r.Upper) == 0 || bytes.Compare(key, r.Upper) < 0):
			r.Upper = append(r.Upper[:0], key...)
			r.Empty = r.Empty || len(key) == 0
		}
	}
	if bytes.Compare(p.from, r.Lower) > 0 {
		r.Lower = append(r.Lower[:0], p.from...)
	}
	if p.to != nil && (len(r.Upper) == 0 || bytes.Compare(p.to, r.Upper) < 0) {
		r.Upper = append(r.Upper[:0], p.to...)
	}
	r.Empty = r.Empty || len(r.Upper) > 0 && bytes.Compare(r.Lower, r.Upper) >= 0
	return err
}

// Part returns the keys at which a part of a scan begins and ends. A nil key is the table's beginning or its end.
func (p *Plan) Part() (from, to []byte) { return p.from, p.to }

// Ranges implements drivers.Splitter by ranges of encoded keys, or of tokens. A store embeds it.
type Ranges[S Statement] struct {
	Calls *Gate // the store's
	// Divide returns the keys at which n parts of a scan begin, except the first.
	Divide func(ctx context.Context, scan S, n int) ([][]byte, error)
	// Part returns a copy of a scan, which Ranges limits to the keys from one on and before another (Plan.Part).
	Part func(ctx context.Context, scan S, from, to []byte) (S, error)
}

// Split implements drivers.Splitter. It writes the two keys of a range in hexadecimal, and nothing for the table's
// beginning or end.
func (r *Ranges[S]) Split(ctx context.Context, scan drivers.Statement, n int) ([]string, error) {
	return Call(r.Calls, "split pattern "+scan.Pattern().Name, func() (ranges []string, err error) {
		st, err := r.own(scan)
		if err != nil {
			return nil, err
		}
		at, err := r.Divide(ctx, st, n)
		from := ""
		for _, key := range append(at, nil) {
			to := hex.EncodeToString(key)
			ranges = append(ranges, from+":"+to)
			from = to
		}
		return ranges, err
	})
}

// Within implements drivers.Splitter.
func (r *Ranges[S]) Within(ctx context.Context, scan drivers.Statement, ranges []string) ([]drivers.Statement, error) {
	return Call(r.Calls, "split pattern "+scan.Pattern().Name, func() (parts []drivers.Statement, err error) {
		st, err := r.own(scan)
		if err != nil {
			return nil, err
		}
		for _, text := range ranges {
			var ends [2][]byte // nil is the table's beginning or end
			low, high, ok := strings.Cut(text, ":")
			for i, end := range []string{low, high} {
				key, err := hex.DecodeString(end)
				if ok = ok && err == nil; len(key) > 0 {
					ends[i] = key
				}
			}
			if !ok {
				return nil, fmt.Errorf("%q is no range of keys in hexadecimal, such as 0a:1f", text)
			}
			part, err := r.Part(ctx, st, ends[0], ends[1])
			if err != nil {
				return nil, err
			}
			part.base().from, part.base().to = ends[0], ends[1]
			parts = append(parts, part)
		}
		return parts, nil
	})
}

// own returns a scan of the store.
func (r *Ranges[S]) own(scan drivers.Statement) (st S, err error) {
	st, ok := scan.(S)
	switch {
	case !ok || st.base().gate != r.Calls:
		err = errForeign
	case st.Pattern().Kind != schemas.Scan:
		err = errors.New("it is no scan")
	}
	return st, err
}
