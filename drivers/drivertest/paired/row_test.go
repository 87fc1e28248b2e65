package paired

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// Rows is the number of rows. All of them take 10 MB, so the server reads from memory
// and the clients decide the time.
const Rows = 10_000

// Row is one row of 1 KiB, as both sides of a comparison write it and expect to
// read it. A client has one and turns it from row to row.
type Row struct {
	Mailbox       []byte // partition key, text: 100 rows to a mailbox
	ID            [16]byte
	From, Subject string
	Date          time.Time
	Size          int64
	Seen          bool
	Body          []byte
}

// bodySize makes a row, with its key, 1 KiB.
const bodySize = 1024 - len("user00@example.org") - 16 - len(from) - len(subject) - 8 - 8 - 1

const (
	from    = "somebody.with.a.name@mail.example.org"
	subject = "Re: the figures for the third quarter, as discussed on Monday"
)

// firstDate is a whole millisecond: not all engines keep finer times.
var firstDate = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// NewRow returns a row. Turn must set its key before it is used.
func NewRow() *Row {
	body := make([]byte, bodySize)
	for i, x := 0, uint32(1); i < len(body); i++ {
		x = x*1664525 + 1013904223
		body[i] = 'a' + byte(x>>28) // 4 random bits in each byte: compresses 2:1, as mail does
	}
	return &Row{Mailbox: []byte("user00@example.org"), From: from, Subject: subject, Size: 1024, Body: body}
}

// Turn makes r the row of operation n. Operations with successive numbers touch each
// row once, in a scattered order, before the first row comes again.
func (r *Row) Turn(n uint64) {
	i := n % Rows * 7919 % Rows
	r.Mailbox[4], r.Mailbox[5] = byte('0'+i/1000%10), byte('0'+i/100%10)
	// A timeuuid (RFC 9562 version 1) with i in its lowest and varying bits.
	r.ID = [16]byte{6: 0x10, 8: 0x80, 10: 1}
	binary.BigEndian.PutUint32(r.ID[0:], uint32(i))
	r.Date = firstDate.Add(time.Duration(i) * time.Second)
	r.Seen = i%2 == 1
	binary.BigEndian.PutUint64(r.Body, i)
}

// Check returns an error unless these are the values of the row's columns outside its key.
func (r *Row) Check(from, subject []byte, date time.Time, size int64, seen bool, body []byte) error {
	if string(from) == r.From && string(subject) == r.Subject && date.Equal(r.Date) && size == r.Size &&
		seen == r.Seen && bytes.Equal(body, r.Body) {
		return nil
	}
	return fmt.Errorf("row %s %x: read from %q, subject %q, date %v, size %d, seen %v, %d bytes of body beginning %x; "+
		"expected %q, %q, %v, %d, %v, %d bytes beginning %x",
		r.Mailbox, r.ID, from, subject, date, size, seen, len(body), body[:min(8, len(body))],
		r.From, r.Subject, r.Date, r.Size, r.Seen, len(r.Body), r.Body[:8])
}
