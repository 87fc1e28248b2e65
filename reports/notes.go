package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/workloads/results"
)

// AuditSummary says what the audit found, the worst first.
func AuditSummary(a *results.Audit) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if a.Fault != "" {
		parts = append(parts, "UNKNOWN LOSSES: "+a.Fault)
		if a.Delivered == 0 {
			return parts[0]
		}
	}
	add(a.Lost, "LOST")
	add(a.Corrupt, "CORRUPT")
	add(a.Resurrected, "deleted but still there")
	add(a.BadUIDs, "UIDs given twice or out of order")
	switch {
	case a.Error != "":
		parts = append(parts, fmt.Sprintf("INTERRUPTED after %d of %d deliveries: %s", a.Verified, a.Delivered, a.Error))
	case len(parts) == 0 && a.Unread == 0:
		parts = append(parts, "nothing lost")
		fallthrough
	default:
		parts = append(parts, fmt.Sprintf("%d of %d deliveries verified", a.Verified, a.Delivered))
	}
	parts = append(parts, fmt.Sprintf("%d deleted", a.Deleted))
	add(a.Unknown, "of unknown outcome")
	add(a.Unread, "could not be read")
	add(a.Dangling, "broken references")
	add(a.Duplicated, "duplicated")
	add(a.BrokenBodies, "broken bodies")
	if a.CounterDrift > 0 {
		drift := "COUNTER DRIFT of %d in all"
		if !a.Exact {
			drift = "counter drift of %d in all"
		}
		parts = append(parts, fmt.Sprintf(drift, a.CounterDrift))
	}
	if a.Dangling+a.BrokenBodies+a.CounterDrift > 0 && (a.Interrupted || !a.Exact) { // so they are not wrong
		parts = append(parts, "as operations were interrupted, or have an unknown outcome")
	}
	add(a.Unreferenced, "orphaned")
	add(a.InterruptedBlobs, "interrupted blob writes")
	add(a.Purgeable, "purgeable")
	return strings.Join(parts, ", ")
}

// enginesIn names the engines of the measured phases with their versions, what an acknowledged write survives, and
// their settings: the most important ones, or all but those of servers.
func enginesIn(r *results.Run, all bool) []string {
	measured := r.Select(func(c *results.Cell) bool { return c.Engines != nil && c.Measured() })
	engines := results.Distinct(measured, func(c *results.Cell) string {
		parts := []string{strings.TrimSpace(c.Engine + " " + strings.TrimPrefix(c.Engines.Version, c.Engine+" "))}
		if c.Durability != "" {
			parts = append(parts, "durability "+c.Durability)
		}
		important := []string{"replication", "consistency"}
		for _, k := range slices.Concat(important, slices.Sorted(maps.Keys(c.Engines.Settings))) {
			setting := k + " " + c.Engines.Settings[k]
			shown := slices.Contains(important, k) || all && !strings.HasPrefix(k, "server_") && k != "durability"
			if shown && c.Engines.Settings[k] != "" && !slices.Contains(parts, setting) {
				parts = append(parts, setting)
			}
		}
		return strings.Join(parts, ", ")
	})
	recorded := results.Distinct(measured, func(c *results.Cell) string { return c.Engine })
	for _, name := range results.Distinct(r.Cells, func(c results.Cell) string { return c.Engine }) {
		if !slices.Contains(recorded, name) {
			engines = append(engines, name)
		}
	}
	return engines
}
