package results

// Audit is what two checks found: the check against the ledger of acknowledged operations,
// and the model's own audit. Wrong says which counts must be 0.
type Audit struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Point  string `json:"point,omitempty"` // point of a sweep
	Trial  int    `json:"trial,omitempty"` // from 1
	Shard  int    `json:"shard,omitempty"` // from 1; 0: the run has no shards
	// Fault is why the audit cannot tell whether all that was acknowledged is there: the data set's
	// folder or its ledger is gone, or the ledger or the store is damaged.
	Fault string `json:"fault,omitempty"`
	// Error is why the audit was interrupted: what it did not reach is not verified.
	Error       string `json:"error,omitempty"`
	Delivered   int64  `json:"delivered" add:"sum"` // acknowledged deliveries in the ledger
	Deleted     int64  `json:"deleted" add:"sum"`   // acknowledged deletions
	Verified    int64  `json:"verified" add:"sum"`  // deliveries found byte for byte as they were delivered
	Lost        int64  `json:"lost" add:"sum"`
	Corrupt     int64  `json:"corrupt" add:"sum"`
	Resurrected int64  `json:"resurrected" add:"sum"`        // acknowledged deletions whose message is still there
	Unknown     int64  `json:"unknown" add:"sum"`            // unknown when written: present or absent, both are right
	BadUIDs     int64  `json:"bad_uids,omitempty" add:"sum"` // UIDs given twice in a folder, or not ascending
	Unread      int64  `json:"unread,omitempty" add:"sum"`   // not checked, because the engine answered with an error
	// Interrupted says that operations were broken off on an engine where an
	// operation of several writes is not all or nothing. Such operations may leave
	// dangling references and broken bodies; nothing acknowledged is wrong then.
	Interrupted bool `json:"interrupted,omitempty" add:"or"`
	// Exact says that no operation on the data set was broken off or is of unknown outcome, on any
	// engine: counters that are written apart from what they count must be exact then.
	Exact        bool     `json:"exact,omitempty" add:"and"`
	Accounts     int64    `json:"accounts" add:"store"`
	Folders      int64    `json:"folders" add:"store"`
	Messages     int64    `json:"messages" add:"store"`
	Purgeable    int64    `json:"purgeable" add:"store"`
	Unreferenced int64    `json:"unreferenced" add:"store"`
	Dangling     int64    `json:"dangling" add:"store"`
	Duplicated   int64    `json:"duplicated" add:"store"`
	BrokenBodies int64    `json:"broken_bodies" add:"store"`
	BrokenOff    int64    `json:"broken_off,omitempty" add:"store"` // interrupted writes of blobs: orphaned files
	CounterDrift int64    `json:"counter_drift" add:"store"`        // sum of what all counters are off by
	Notes        []string `json:"notes,omitempty"`
}

// Wrong reports whether anything acknowledged is not as it was promised, or nobody can tell.
func (a *Audit) Wrong() bool {
	return a.Fault != "" || a.Lost+a.Corrupt+a.Resurrected+a.BadUIDs > 0 || a.Damaged()
}

// Damaged is the rule for what the model's own audit finds: whether anything of it is damage.
// Leftovers and duplicates of interrupted operations are none.
func (a *Audit) Damaged() bool {
	return !a.Interrupted && a.Dangling+a.BrokenBodies > 0 || a.Exact && a.CounterDrift > 0
}

// Incomplete reports whether the audit has not verified all that it was to verify.
func (a *Audit) Incomplete() bool { return a.Error != "" || a.Unread > 0 }
