package results

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models"
)

// Key names a cell in run.json and in the tags of the interval log.
type Key struct {
	Model   string `json:"model"`
	Engine  string `json:"engine"`
	Phase   string `json:"phase"`
	Point   string `json:"point,omitempty"` // value of a sweep; "": no sweep
	Trial   int    `json:"trial"`           // from 1
	Segment int    `json:"segment"`         // from 1
}

// Where is the phase, and the point of a sweep if there is one. Cells of different points are
// not trials of the same thing.
func (k Key) Where() string {
	if k.Point == "" {
		return k.Phase
	}
	return k.Phase + " at " + k.Point
}

// String returns MODEL/ENGINE/PHASE/TRIAL/SEGMENT. At a point of a sweep PHASE is
// PHASE@POINT, with a dash for a slash.
func (k Key) String() string {
	phase := k.Phase
	if k.Point != "" {
		phase += "@" + strings.ReplaceAll(k.Point, "/", "-")
	}
	return k.Model + "/" + k.Engine + "/" + phase + "/" + strconv.Itoa(k.Trial) + "/" + strconv.Itoa(k.Segment)
}

// Tag names one kind of time of one operation of the cell in the interval log.
func (k Key) Tag(op string, kind string) string { return k.String() + "/" + op + "/" + kind }

// Kinds of cells. The workload language has the same names for kinds of phases.
const (
	KindLoad      = "load"
	KindSettle    = "settle"
	KindCold      = "drop-caches"
	KindWarmup    = "warmup"
	KindMeasure   = "measure"
	KindInterrupt = "interrupt"
	KindStep      = "step" // a step of the run itself (open, audit, close); only in cells that failed
)

// Cell is one phase of one model on one engine in one trial.
type Cell struct {
	Key
	Kind       string        `json:"kind"`
	Started    string        `json:"started"` // RFC 3339 with nanoseconds, UTC
	Ended      string        `json:"ended"`
	Seconds    float64       `json:"seconds"`
	Arrivals   string        `json:"arrivals"` // constant, poisson, closed, or none (load, settle, cold)
	Rate       float64       `json:"rate,omitempty"`
	Clients    int           `json:"clients,omitempty"`
	Durability string        `json:"durability"`
	Verdict    Verdict       `json:"verdict"`
	Reason     *Reason       `json:"reason,omitempty"` // why the verdict is not ok
	Doubts     []Doubt       `json:"doubts"`
	Error      string        `json:"error,omitempty"` // why the phase could not be executed to its end
	Stack      string        `json:"stack,omitempty"` // stack of Error, if it is a panic
	Offered    *Offered      `json:"offered,omitempty"`
	Ops        map[string]Op `json:"ops"`
	Streams    []Stream      `json:"streams,omitempty"`    // empty unless the phase runs several at once
	AllOps     *Times        `json:"all_ops,omitempty"`    // all operations of the phase together
	Objectives []Attained    `json:"objectives,omitempty"` // measured phases only
	Timeline   []Interval    `json:"timeline,omitempty"`
	Gap        *Gap          `json:"longest_gap,omitempty"` // longest time without an operation that was ok
	Before     *EngineInfo   `json:"engine_before,omitempty"`
	Engines    *EngineInfo   `json:"engine_info,omitempty"` // the engine's state at the end of the phase
	Client     *ClientInfo   `json:"client,omitempty"`
	Evidence   *Evidence     `json:"evidence,omitempty"`
	// Interrupted is the state after interrupted operations. Only a phase interrupt has it.
	Interrupted []Interrupted `json:"interrupted,omitempty"`
}

// Offered is the scheduled and the executed load. The rates leave
// out operations that the model does not support (Skipped) and operations that found
// nothing to work on (NoTarget).
type Offered struct {
	Due      int64 `json:"due" add:"sum"`       // operations that were scheduled, or that clients began
	Skipped  int64 `json:"skipped" add:"sum"`   // scheduled, but not supported by the model
	NoTarget int64 `json:"no_target" add:"sum"` // scheduled, but there was no existing message to work on
	Dropped  int64 `json:"dropped" add:"sum"`   // scheduled, but never started
	// Span is the length of the schedule in seconds, up to where the phase was
	// stopped. LastStart is when the last operation was started, in seconds since
	// the phase began.
	Span      float64 `json:"span_seconds" add:"max"`
	LastStart float64 `json:"last_start_seconds" add:"max"`
	Rate      float64 `json:"rate" add:"sum"`     // operations a second that were scheduled
	Achieved  float64 `json:"achieved" add:"sum"` // operations a second that were executed, whatever their outcome
}

// Evidence is what a phase showed about the generator and the store. Verdicts rest
// on it. Times are nanoseconds.
type Evidence struct {
	InProcess   bool   `json:"in_process" add:"or"`         // engine and generator share a process
	SameMachine bool   `json:"beside" add:"or"`             // they share a machine, in processes of their own
	Discards    bool   `json:"discards" add:"or"`           // the engine keeps nothing
	Settled     bool   `json:"settled" add:"and"`           // the store came to rest before the phase
	Warm        bool   `json:"warm" add:"and"`              // service times became steady before the phase
	NotCold     string `json:"not_cold,omitempty" add:"or"` // why the caches could not be dropped, or ""
	// NotOffered says why the model cannot store the workload's dataset. It is
	// empty if the model can.
	NotOffered string `json:"not_offered,omitempty" add:"or"`
	// Missed is how many of a load's Messages could not be delivered.
	Missed   int64 `json:"missed,omitempty" add:"sum"`
	Messages int64 `json:"messages,omitempty" add:"sum"`
	// Copies is how many messages a load put into folders, and MailBytes is their size as mail. A
	// message with several recipients counts for each.
	Copies    int64 `json:"copies,omitempty" add:"sum"`
	MailBytes int64 `json:"mail_bytes,omitempty" add:"sum"`
	// Unit is what a load wrote if it was no mail: row.
	Unit string `json:"unit,omitempty" add:"or"`
	// Load says that a load went on with one that was interrupted. It is empty otherwise.
	Load string `json:"load,omitempty" add:"or"`
	// Held is how many existing messages there were in a measured phase of a sweep of the population.
	Held *Held `json:"held,omitempty"`

	// Queued counts operations of Started that began more than Lateness after they were scheduled, because
	// all workers were busy.
	Lateness int64 `json:"lateness_ns" add:"max"`
	Started  int64 `json:"started" add:"sum"`
	Queued   int64 `json:"queued" add:"sum"`
	// Crowded counts the operations of Queued that were late because the client has too few
	// workers: there were as many as it may have, and the calls of those workers took no longer
	// than usual. Cap is how many workers it may have; ClientInfo says how many there were.
	Crowded int64 `json:"crowded,omitempty" add:"sum"`
	Cap     int   `json:"workers_cap,omitempty" add:"sum"`
	// LargeWaits counts operations whose start waited for memory, because other operations on
	// large messages had it.
	LargeWaits int64 `json:"large_waits,omitempty" add:"sum"`
	// Own is the time that workers spent between two operations when the next was
	// due already: they made it, wrote the ledger, or recorded times. Service is the
	// time that store and model took for the same operations.
	Own     int64 `json:"own_ns" add:"sum"`
	Service int64 `json:"service_ns" add:"sum"`

	// Hiccups are times in which the process could not run. Delays are what the client's own delays changed, besides
	// the response times.
	Hiccups *Hiccups `json:"hiccups,omitempty" add:"each"`
	Delays  *Delays  `json:"delays,omitempty" add:"each"`

	// Windows are the service times of the phase's windows: a window's is the weighted mean
	// of the medians of its operations.
	Windows []float64 `json:"windows_ns,omitempty"`

	// Segments are the verdicts on each segment of a merged run.
	Segments []SegmentVerdict `json:"segments,omitempty"`
}

// Held is how many existing messages there were before and after a phase, and how many the workload
// has (Said).
type Held struct {
	Said   int64 `json:"said"`
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Hiccups are times in which the load generator's process could not run. A thread
// sleeps 1 ms at a time; it has a hiccup when it wakes more than 1 ms late.
type Hiccups struct {
	Count   int64 `json:"count" add:"sum"`
	Total   int64 `json:"total_ns" add:"max"`
	Longest int64 `json:"longest_ns" add:"max"`
}

// Delays compare a cell with what it would be if the load generator had lost no time itself: with its timers on
// time, without hiccups, and without the time that it takes to make operations.
type Delays struct {
	Dropped int64 `json:"dropped" add:"sum"` // operations that would not have been dropped
}

// EngineInfo is the engine's state at one time. A number is negative if the engine does
// not report it.
type EngineInfo struct {
	Version        string `json:"version,omitempty"`
	DiskBytes      int64  `json:"disk_bytes" add:"size"`
	DiskExcess     int64  `json:"disk_excess_bytes,omitempty" add:"size"` // by so much DiskBytes can be too large
	LogBytes       int64  `json:"log_bytes,omitempty" add:"size"`         // write-ahead log, part of DiskBytes; 0: not known
	CacheBytes     int64  `json:"cache_bytes" add:"size"`
	CompactionDebt int64  `json:"compaction_debt_bytes" add:"size"`
	WrittenBytes   int64  `json:"written_bytes" add:"size"`
	ReadBytes      int64  `json:"read_bytes" add:"size"` // bytes from disk of this machine, since the store was opened
	// CPU is the processor time of the engine's processes on this machine since they began, in
	// nanoseconds; 0: not known.
	CPU            int64             `json:"cpu_ns,omitempty" add:"max"`
	Tombstones     int64             `json:"tombstones" add:"size"`
	TombstonesRead int64             `json:"tombstones_read_most,omitempty" add:"max"` // that one read met; 0: not known
	Missing        []string          `json:"missing_nodes,omitempty"`                  // nodes that could not be reached
	Settings       map[string]string `json:"settings,omitempty"`
}

// Disk is how many bytes the data has on disk, without the log. Known reports whether they are within a tenth of that.
func (i *EngineInfo) Disk() (bytes int64, known bool) {
	bytes = max(0, i.DiskBytes-i.LogBytes)
	return bytes, i.DiskBytes >= 0 && 10*i.DiskExcess <= bytes
}

// ClientInfo is what the load generator used during a phase.
type ClientInfo struct {
	Workers    int     `json:"workers" add:"sum"`    // the most that there were at one time
	Processors int     `json:"processors" add:"sum"` // processors that the process may use
	Capacity   float64 `json:"capacity" add:"sum"`   // the least of Processors, GOMAXPROCS and the CPU quota
	CPUSeconds float64 `json:"cpu_seconds" add:"sum"`
	CPUShare   float64 `json:"cpu_share" add:"max"` // of Capacity
	// share of all processors that other processes and the hypervisor took; negative: not known
	OthersShare float64 `json:"others_share" add:"max"`
}

// SetTime sets when the phase began and ended.
func (c *Cell) SetTime(began, ended time.Time) {
	c.Started, c.Ended = began.UTC().Format(time.RFC3339Nano), ended.UTC().Format(time.RFC3339Nano)
	c.Seconds = ended.Sub(began).Seconds()
}

// Measured reports whether the cell is a measured phase.
func (c *Cell) Measured() bool { return c.Kind == KindMeasure }

// All yields the cells of the run.
func (r *Run) All(yield func(*Cell) bool) {
	for i := range r.Cells {
		if !yield(&r.Cells[i]) {
			return
		}
	}
}

// Select are the cells of the run that keep accepts.
func (r *Run) Select(keep func(*Cell) bool) (all []*Cell) {
	for c := range r.All {
		if keep(c) {
			all = append(all, c)
		}
	}
	return all
}

// Grouped puts values of the same key together. Groups are in the order of their first values.
func Grouped[S ~[]V, V any, K comparable](all S, key func(V) K) (groups []S) {
	at := map[K]int{}
	for _, v := range all {
		k := key(v)
		if _, ok := at[k]; !ok {
			at[k], groups = len(groups), append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], v)
	}
	return groups
}

// Distinct are what of makes of the values, each once, in the order in which they are first.
func Distinct[S ~[]V, V any, K comparable](all S, of func(V) K) (keys []K) {
	for _, same := range Grouped(all, of) {
		keys = append(keys, of(same[0]))
	}
	return keys
}

// Op is an operation of the cell, or for "" all operations together. Then it has times only if the cell has AllOps.
func (c *Cell) Op(name string) Op {
	if name != "" {
		return c.Ops[name]
	}
	all, support := Op{}, NotOffered
	for _, o := range c.Ops {
		if all.Add(&o); o.Offered() {
			support = Native
		}
	}
	if all.Support = support; c.AllOps != nil {
		all.Times = *c.AllOps
	}
	return all
}

// OpsOf lists the operations of the cells, the most frequent first.
func OpsOf(cells []*Cell) []string {
	asked := map[string]int64{}
	for _, c := range cells {
		for name, o := range c.Ops {
			asked[name] = max(asked[name], o.Count+o.Others())
		}
	}
	return slices.SortedFunc(maps.Keys(asked), func(a, b string) int {
		return cmp.Or(cmp.Compare(asked[b], asked[a]), cmp.Compare(a, b))
	})
}

// Audit is what two checks found: the check against the ledger of acknowledged operations,
// and the model's own audit. Wrong says which counts must be 0.
type Audit struct {
	Model   string `json:"model"`
	Engine  string `json:"engine"`
	Point   string `json:"point,omitempty"`   // point of a sweep
	Trial   int    `json:"trial,omitempty"`   // from 1
	Segment int    `json:"segment,omitempty"` // from 1; 0: the run has no segments
	// Fault is why the audit could not verify that all that was acknowledged is there: the data set's
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
	// Interrupted says that operations were interrupted on an engine where an
	// operation of several writes is not all or nothing. Such operations may leave
	// broken references and broken bodies; nothing acknowledged is wrong then.
	Interrupted bool `json:"interrupted,omitempty" add:"or"`
	// Exact says that no operation on the data set was interrupted or is of unknown outcome, on any
	// engine: counters that are written apart from what they count must be exact then.
	Exact bool `json:"exact,omitempty" add:"and"`
	// Purgeable is Deleted of models.Audit: a count of the ledger has that name.
	Purgeable    int64 `json:"purgeable" add:"store"`
	models.Audit `add:"store"`
}

// Wrong reports whether anything acknowledged is wrong, or could not be verified.
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

// SegmentRun is one of the segments that a merged run was put together from.
type SegmentRun struct {
	Index       int         `json:"index"`
	Command     []string    `json:"command"`
	Started     string      `json:"started"`
	Ended       string      `json:"ended,omitempty"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Machine     Machine     `json:"machine"`
	Environment Environment `json:"environment"`
}

// SegmentVerdict is the verdict on one segment's own figures. If it is invalid or failed, the merged
// cell is too.
type SegmentVerdict struct {
	Segment int     `json:"segment"`
	Started string  `json:"started"` // when its phase began
	Verdict Verdict `json:"verdict"`
	Reason  *Reason `json:"reason,omitempty"`
}
