//go:build campaigns

package campaigns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// row is the sum of the rounds of one fault on one engine.
type row struct {
	engine, fault                  string
	struck, rounds                 int
	delivered, deleted, verified   int64
	lost, wrong, falseAlarms       int64
	unknown, doubled, unreferenced int64
	dangling, broken               int64
	drift, recounted, left         int64
	gap, slowest                   float64
	unaudited, givenUp             int
	failed, unsure                 int64 // operations
}

// table is two Markdown tables of all rounds: what was acknowledged, and what remained.
func (c *campaign) table() string {
	var kept, left [][]string
	for _, w := range c.rows() {
		kept = append(kept, []string{
			w.engine, w.fault, strconv.Itoa(w.struck), strconv.Itoa(w.rounds), words.Thousands(w.delivered), words.Thousands(w.deleted), words.Thousands(w.verified),
			words.Thousands(w.lost), words.Thousands(w.wrong), words.Thousands(w.doubled), words.Thousands(w.falseAlarms), words.Thousands(w.unknown), strconv.Itoa(w.unaudited), strconv.Itoa(w.givenUp),
		})
		recounted := "–"
		if w.recounted > 0 {
			recounted = words.Thousands(w.recounted) + " → " + words.Thousands(w.left)
		}
		left = append(left, []string{
			w.engine, w.fault, words.Thousands(w.unreferenced), words.Thousands(w.dangling), words.Thousands(w.broken), words.Thousands(w.drift), recounted,
			words.Thousands(w.failed), words.Thousands(w.unsure), inSeconds(w.gap), inSeconds(w.slowest),
		})
	}
	return markdown(kept, "engine", "fault", "struck", "runs", "delivered", "deleted", "verified", "lost", "otherwise wrong", "doubled",
		"false alarms", "of unknown outcome", "runs not audited", "clusters given up") + "\n" +
		markdown(left, "engine", "fault", "unreferenced", "broken references", "broken", "counter drift of", "of those recounted",
			"operations failed", "of unknown outcome", "longest gap", "slowest that was ok")
}

func markdown(rows [][]string, columns ...string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(columns)
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

func (c *campaign) rows() []*row {
	var rows []*row
	for i := range c.rounds {
		r := &c.rounds[i]
		at := slices.IndexFunc(rows, func(w *row) bool { return w.engine == r.Engine && w.fault == r.Fault })
		if at < 0 {
			at = len(rows)
			rows = append(rows, &row{engine: r.Engine, fault: r.Fault})
		}
		rows[at].add(r)
	}
	return rows
}

func (w *row) add(r *round) {
	a := r.last()
	w.rounds++
	w.struck += r.Struck
	w.delivered += a.Delivered
	w.deleted += a.Deleted
	w.verified += a.Verified
	w.lost += a.Lost
	w.wrong += a.Corrupt + a.Resurrected + a.BadUIDs
	if r.falseAlarm() {
		w.falseAlarms++
	}
	if r.Unaudited != "" {
		w.unaudited++
	}
	if r.Broken != "" {
		w.givenUp++
	}
	w.unknown += a.Unknown
	w.doubled += a.Duplicated
	w.unreferenced += a.Unreferenced
	w.dangling += a.Dangling
	w.broken += a.BrokenBodies
	w.drift += r.Audit.CounterDrift
	if r.Recounted {
		w.recounted += r.Audit.CounterDrift
		w.left += r.Again.CounterDrift
	}
	w.failed, w.unsure = w.failed+r.Failed, w.unsure+r.Unknown
	w.gap, w.slowest = max(w.gap, r.Gap), max(w.slowest, r.Slowest)
}

func inSeconds(s float64) string {
	if s == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f s", s)
}
