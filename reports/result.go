package reports

// Format is the version of run.json; a reader refuses others.
const Format = "mailbench.run/1"

// Run is one run: run.json.
type Run struct {
	Format      string            `json:"format"`
	Workload    string            `json:"workload"`
	Seed        uint64            `json:"seed"`
	Started     string            `json:"started"` // RFC 3339, UTC
	Seconds     float64           `json:"seconds"` // wall time of the whole run
	Interrupted bool              `json:"interrupted,omitempty"`
	Environment Environment       `json:"environment"`
	Settings    map[string]string `json:"settings"` // everything that shapes a figure: flags, workload and client settings
	Digests     map[string]string `json:"digests"`  // SHA-256 of the workload, each schema, the mail file
	Mail        *MailInfo         `json:"mail,omitempty"`
	Cells       []Cell            `json:"cells"`
	Floor       []Floor           `json:"floor,omitempty"`
	Audits      []Audit           `json:"audits,omitempty"`
	Left        []string          `json:"left,omitempty"` // what could not be removed from shared engines, and how to remove it
}

// Environment is where a run was made.
type Environment struct {
	Version  string `json:"version"` // mailbench's
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty,omitempty"`
	Go       string `json:"go"`
	GOGC     string `json:"gogc"`
	MaxProcs int    `json:"gomaxprocs"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Kernel   string `json:"kernel,omitempty"`
	CPU      string `json:"cpu,omitempty"`
	CPUs     int    `json:"cpus"`
	Memory   int64  `json:"memory_bytes,omitempty"`
	Disk     string `json:"disk,omitempty"` // file system type of the data folder
}

// MailInfo is what was read from a mail file.
type MailInfo struct {
	File      string `json:"file"`
	Messages  int64  `json:"messages"`
	Bytes     int64  `json:"bytes"`
	Malformed int64  `json:"malformed"` // delivered all the same
}

// Verdict says whether a cell's figures can be used.
type Verdict string

// Verdicts. Invalid: the generator, not the engine, was measured; the doubts
// say how that showed. Failed: the phase could not be carried out.
const (
	OK      Verdict = "ok"
	Invalid Verdict = "invalid"
	Failed  Verdict = "failed"
)

// Cell is one phase of one model on one engine.
type Cell struct {
	Model      string        `json:"model"`
	Engine     string        `json:"engine"`
	Phase      string        `json:"phase"`
	Trial      int           `json:"trial,omitempty"`
	Arrivals   string        `json:"arrivals"` // constant, poisson, closed, or none (load, settle)
	Rate       float64       `json:"rate,omitempty"`
	Clients    int           `json:"clients,omitempty"`
	Durability string        `json:"durability"`
	Verdict    Verdict       `json:"verdict"`
	Reason     string        `json:"reason,omitempty"` // why it is invalid or failed
	Doubts     []string      `json:"doubts"`
	Seconds    float64       `json:"seconds"`
	Ops        map[string]Op `json:"ops"`
	Timeline   []Interval    `json:"timeline,omitempty"`
	Gap        *Gap          `json:"longest_gap,omitempty"` // without an operation that was ok
	Engines    *EngineInfo   `json:"engine_info,omitempty"`
	Client     *ClientInfo   `json:"client,omitempty"`
}

// Interval is what became of all operations that ended, or were dropped, within
// a part of a phase. P99 and Max are nanoseconds of those that were ok, as the
// phase reports them; where a long phase's intervals were put together, P99 is
// that of the worst.
type Interval struct {
	At      float64 `json:"at"`      // seconds since the phase began
	Seconds float64 `json:"seconds"` // its length
	OK      int64   `json:"ok"`
	Failed  int64   `json:"failed"`
	Unknown int64   `json:"unknown"`
	Dropped int64   `json:"dropped"`
	P99     int64   `json:"p99"`
	Max     int64   `json:"max"`
}

// Gap is a time in which no operation was ok.
type Gap struct {
	At      float64 `json:"at"` // seconds since the phase began
	Seconds float64 `json:"seconds"`
}

// Support says how a model and engine offer an operation.
type Support string

// Kinds of support.
const (
	Native      Support = "native"
	EmulatedOp  Support = "emulated"
	NotOffered  Support = "n/a"
	NotObserved Support = ""
)

// Op is one operation of one cell. Count is of outcomes ok; only they are in
// the latency figures.
type Op struct {
	Count    int64     `json:"count"`
	NotFound int64     `json:"not_found"`
	Failed   int64     `json:"failed"`  // known not to be applied
	Unknown  int64     `json:"unknown"` // timed out: may be applied
	Dropped  int64     `json:"dropped"` // due, but never started
	TooLarge int64     `json:"too_large,omitempty"`
	Clamped  int64     `json:"clamped,omitempty"` // latencies beyond the histogram's range, counted at its end
	Support  Support   `json:"support"`
	Fallback string    `json:"fallback,omitempty"` // names of the patterns whose fallback ran
	Missing  string    `json:"missing,omitempty"`  // listing fields that the model's row lacks
	Rate     float64   `json:"rate"`               // ok operations a second
	Response Latency   `json:"response"`           // end − due
	Service  Latency   `json:"service"`            // end − start
	Lag      Latency   `json:"lag"`                // start − due
	Store    StoreCost `json:"store"`
	// Errors are the first few texts of errors with how often each came, most
	// frequent first; those that differ only in addresses and numbers are taken
	// together. The last may be OtherErrors.
	Errors []ErrorCount `json:"errors,omitempty"`
}

// ErrorCount is an error's text and how many operations ended with it.
type ErrorCount struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// OtherErrors stands for all texts beyond the first few.
const OtherErrors = "other errors"

// Latency is a distribution in nanoseconds.
type Latency struct {
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// StoreCost is what one operation asked of the store, on average.
type StoreCost struct {
	Calls        float64 `json:"calls"`
	RowsRead     float64 `json:"rows_read"`
	RowsWritten  float64 `json:"rows_written"`
	BytesRead    float64 `json:"bytes_read"`
	BytesWritten float64 `json:"bytes_written"`
}

// EngineInfo is the engine's state at the end of a phase; negative: unknown.
type EngineInfo struct {
	Version        string            `json:"version,omitempty"`
	DiskBytes      int64             `json:"disk_bytes"`
	CacheBytes     int64             `json:"cache_bytes"`
	CompactionDebt int64             `json:"compaction_debt_bytes"`
	WrittenBytes   int64             `json:"written_bytes"`
	Tombstones     int64             `json:"tombstones"`
	Settings       map[string]string `json:"settings,omitempty"`
}

// ClientInfo is what the load generator itself used during a phase.
type ClientInfo struct {
	Workers    int     `json:"workers"`
	CPUSeconds float64 `json:"cpu_seconds"`
	CPUShare   float64 `json:"cpu_share"` // of all processors of the machine
	GCPauses   int64   `json:"gc_pause_ns"`
	PeakRSS    int64   `json:"peak_rss_bytes"`
}

// Floor is the harness's own cost an operation over an engine that does
// nothing: what a figure beside it contains of the tool.
type Floor struct {
	Model  string  `json:"model"` // "" for the bare harness
	Op     string  `json:"op,omitempty"`
	NS     float64 `json:"ns"` // CPU nanoseconds an operation
	Allocs float64 `json:"allocs"`
	Error  string  `json:"error,omitempty"` // why it could not be measured
}

// Audit is what the ledger of acknowledged operations and the model's own audit
// found. See Wrong for what must be 0.
type Audit struct {
	Model       string `json:"model"`
	Engine      string `json:"engine"`
	Delivered   int64  `json:"delivered"` // acknowledged deliveries in the ledger
	Deleted     int64  `json:"deleted"`   // acknowledged deletions
	Verified    int64  `json:"verified"`  // found, and byte for byte as delivered
	Lost        int64  `json:"lost"`
	Corrupt     int64  `json:"corrupt"`
	Resurrected int64  `json:"resurrected"`        // deleted, acknowledged, and still there
	Unknown     int64  `json:"unknown"`            // outcome unknown when written: either is right
	BadUIDs     int64  `json:"bad_uids,omitempty"` // given twice in a folder, or not ascending
	Unread      int64  `json:"unread,omitempty"`   // the engine answered with an error: neither verified nor wrong
	// Interrupted: operations were broken off on an engine where an operation
	// of several writes is not all or nothing. What they may have left (dangling,
	// broken bodies) are figures then, and no fault of what was acknowledged.
	Interrupted  bool     `json:"interrupted,omitempty"`
	Accounts     int64    `json:"accounts"`
	Folders      int64    `json:"folders"`
	Messages     int64    `json:"messages"`
	Purgeable    int64    `json:"purgeable"`
	Unreferenced int64    `json:"unreferenced"`
	Dangling     int64    `json:"dangling"`
	Duplicated   int64    `json:"duplicated"`
	BrokenBodies int64    `json:"broken_bodies"`
	CounterDrift int64    `json:"counter_drift"` // by how much in all
	Notes        []string `json:"notes,omitempty"`
}

// Wrong reports whether what was acknowledged is not as it was promised.
func (a *Audit) Wrong() bool {
	return a.Lost+a.Corrupt+a.Resurrected+a.BadUIDs > 0 || !a.Interrupted && a.Dangling+a.BrokenBodies > 0
}
