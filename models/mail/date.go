package mail

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Bounds of a message's date. Every text form of a date can hold them, so every model stores them.
var (
	MinDate = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	MaxDate = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// Bounded returns the date nearest to t that a message can have.
func Bounded(t time.Time) time.Time {
	switch {
	case t.Before(MinDate):
		return MinDate
	case t.After(MaxDate):
		return MaxDate
	}
	return t
}

// dateForm is a date of RFC 5322 and its obsolete forms, without comments. Blanks are single ones.
var dateForm = regexp.MustCompile(`^(?:[A-Za-z]+ ?,? ?)?(\d{1,2}) ?([A-Za-z]{3}) ?(\d{2,9}) (\d{1,2}) ?: ?(\d{1,2})` +
	`(?: ?: ?(\d{1,2})(?:\.\d+)?)?(?: ?([+-]\d{4})| ([A-Za-z]|[A-Za-z]{2}[A-Za-z0-9+/_-]+|UT|ut)|)$`)

const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// zones are the named zones of RFC 5322, in hours. All other names are UTC, and guessed.
var zones = map[string]int{
	"ut": 0, "gmt": 0, "utc": 0, "z": 0,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}

// parseDate reads the value of a Date field. guessed: it has no zone, or one that is not known,
// and is read as UTC. ok is false if it is no date, or is outside of the bounds.
func parseDate(value string) (t time.Time, guessed, ok bool) {
	f := dateForm.FindStringSubmatch(strings.Join(strings.Fields(withoutComments(value)), " "))
	if f == nil {
		return t, false, false
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	day, month, year := number(f[1]), strings.Index(months, strings.ToLower(f[2])), number(f[3])
	switch {
	case len(f[3]) == 2 && year < 50:
		year += 2000
	case len(f[3]) <= 3:
		year += 1900
	}
	hour, minute, second := number(f[4]), number(f[5]), number(f[6])
	zone, offset := f[7], 0
	valid := true
	if zone != "" {
		minutes := number(zone[1:3])*60 + number(zone[3:])
		if offset = minutes * 60; zone[0] == '-' {
			offset = -offset
		}
		valid = number(zone[3:]) < 60
	} else {
		var hours int
		zone = strings.ToLower(f[8])
		hours, ok = zones[zone]
		// A single letter is a military zone. These were defined wrongly, so RFC 5322 reads them as UTC, too.
		offset, guessed = hours*3600, !ok
	}
	if month < 0 || month%3 != 0 || hour > 23 || minute > 59 || second > 60 || !valid {
		return t, false, false
	}
	in := time.UTC
	if offset != 0 {
		in = time.FixedZone("", offset)
	}
	t = time.Date(year, time.Month(month/3+1), day, hour, minute, 0, 0, in)
	if t.Day() != day || day == 0 {
		return t, false, false
	}
	t = t.Add(time.Duration(second) * time.Second)
	return t, guessed, Bounded(t).Equal(t)
}
