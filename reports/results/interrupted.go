package results

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// Interrupted is what an operation on several messages leaves if its process is killed in the middle. It
// was broken off once after each of its writes; each is a place. None to Lost are how many places leave the
// messages like that, and add up to all. Unreferenced to Drift are how many have faults that audits find.
type Interrupted struct {
	Op       string `json:"op"` // move or delete
	Messages int    `json:"messages"`
	Writes   int    `json:"writes"` // of the whole operation; each part of a batch that is not atomic is one
	Places   int    `json:"places"`
	None     int    `json:"none"`  // all messages are as before
	Some     int    `json:"some"`  // some are done, others as before
	All      int    `json:"all"`   // all are done, to those who look
	Twice    int    `json:"twice"` // one is shown twice or more, and none is lost
	Lost     int    `json:"lost"`  // one is shown nowhere, and was to be moved
	// More of these than the whole operation leaves.
	Unreferenced int `json:"unreferenced"`  // messages, bodies or names that nothing refers to
	Dangling     int `json:"dangling"`      // index entries without their message, or messages without theirs
	Broken       int `json:"broken_bodies"` // chunks missing or left over
	Drift        int `json:"counter_drift"` // counters that are off
}

// Text says in a sentence what the operation leaves.
func (i *Interrupted) Text() string {
	if i.Places == 0 {
		return "it cannot break off half-way"
	}
	done := map[string]string{"move": "moved", "delete": "deleted"}[i.Op]
	parts := []string{"of " + words.Plural(i.Places, "place") + " where it can break off"}
	say := func(n int, always bool, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprint(n, " ", many))
		case always:
			parts = append(parts, "none "+one)
		}
	}
	say(i.None, false, "leaves it undone", "leave it undone")
	say(i.Some, false, "leaves some messages "+done, "leave some messages "+done)
	say(i.All, false, "leaves all messages "+done, "leave all messages "+done)
	say(i.Twice, i.Op == "move", "shows a message twice", "show a message twice")
	say(i.Lost, i.Op == "move", "loses one", "lose one")
	text := strings.Join(parts, ", ")
	if f := i.FaultsText(); f != "" {
		text += "; audits find " + f
	}
	return text
}

// FaultsText says what audits found, and in how many places; "" if that is nothing.
func (i *Interrupted) FaultsText() string {
	var parts []string
	for _, f := range []struct {
		n    int
		what string
	}{
		{i.Unreferenced, "rows that nothing refers to"},
		{i.Dangling, "dangling index entries"},
		{i.Broken, "broken bodies"},
		{i.Drift, "counters adrift"},
	} {
		if f.n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", f.what, f.n))
		}
	}
	return strings.Join(parts, ", ")
}
