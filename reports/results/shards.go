package results

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
