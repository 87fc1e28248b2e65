package reports

import "fmt"

// ShardRun is one of the shards that a merged run was put together from.
type ShardRun struct {
	Index       int         `json:"index"`
	Command     []string    `json:"command"`
	Started     string      `json:"started"`
	Ended       string      `json:"ended,omitempty"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Machine     Machine     `json:"machine"`
	Environment Environment `json:"environment"`
}

// ShardVerdict is the verdict on one shard's own figures. If it is invalid or failed, the merged
// cell is too.
type ShardVerdict struct {
	Shard   int     `json:"shard"`
	Started string  `json:"started"` // when its phase began
	Verdict Verdict `json:"verdict"`
	Reason  *Reason `json:"reason,omitempty"`
}

// Generators is how many load generators the run had.
func (r *Run) Generators() int { return max(1, r.Shard.Of, len(r.Shards)) }

// ShardLine says which part of a run the results are, or how many load generators they
// were put together from. It is "" for a run of one load generator.
func ShardLine(r *Run) string {
	machines := map[Machine]bool{}
	for _, s := range r.Shards {
		machines[s.Machine] = true
	}
	switch n := len(r.Shards); {
	case n > 0 && len(machines) == 1:
		return fmt.Sprintf("%d shards on one machine, merged", n)
	case n > 0:
		return fmt.Sprintf("%d shards on %d machines, merged; that of shard 1 is named", n, len(machines))
	case r.Shard.Of > 1:
		return fmt.Sprintf("shard %d of %d, a part of the run: mailbench merge puts all together", r.Shard.Index, r.Shard.Of)
	}
	return ""
}
