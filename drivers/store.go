// Package drivers is the interface between mail logic and engines: a Store
// compiles the access patterns of a schema to an engine's own prepared calls,
// a Session runs them for one worker. Engines live in sub-packages and never
// import a model.
//
// A driver runs a pattern as an expert of its engine would, or returns
// ErrUnsupported. Then the fallback that the schema declares runs instead, and
// the result says "emulated". No driver emulates in silence.
package drivers

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// Prefix begins the name of everything that mailbench creates on a shared
// engine. A driver refuses to alter, truncate or drop what does not carry it.
const Prefix = "mailbench_"

// Engine is one entry of the list of engines.
type Engine struct {
	Name string // embedded, cassandra, hbase, oraclenosql, null
	Doc  string // one line for the list of engines
	// Remote: the engine is a cluster reached over the network, which others may use
	// too. Open takes Contact and Namespace, and its stores are Admins.
	Remote   bool
	Settings []Setting // the driver settings that Open understands
	// Environment lists the variables that Open reads: user, password and other
	// secrets, which no flag, file or result ever holds. Each ends with what would be
	// a setting's name, as MAILBENCH_CASSANDRA_PASSWORD does.
	Environment []Setting
	Open        func(ctx context.Context, o Options) (Store, error)
	// Render writes the tables of a schema in the engine's own language, with
	// comments, as Apply creates them in an empty engine. It connects to no engine. It
	// reads the options Namespace and Settings. nil: the engine has no tables.
	Render func(s *schemas.Schema, o Options) (string, error)
	// Compile returns a compiler of the schema's patterns. Its statements list the
	// requests to the engine. It connects to no engine. It reads the options Namespace
	// and Settings. nil: the engine gets no requests.
	Compile func(s *schemas.Schema, o Options) (Compiler, error)
	// Forecast returns how much space rows of a schema take in the engine's files. It
	// opens no engine. nil: the engine has no files.
	Forecast func(s *schemas.Schema) (*forecast.Engine, error)
	// CheckHints says which hints of a table (hints: {ENGINE: …}) the engine does not
	// know, or which value it does not take. nil: the engine has no hints.
	CheckHints func(t *schemas.Table) error
	// Lacking says what mailbench does where a server that speaks the engine's protocol lacks
	// something. Name is what is lacking.
	Lacking []Setting
	// Namespace is the engine's own word for what Options.Keyspace names: keyspace or
	// namespace; "" if it has none.
	Namespace string
	// Server says what starts a server of the engine, where "mailbench engine up" does not.
	Server string
	// Logs says what prints the log of that server.
	Logs string
	// TraceDoc says what the columns of traced calls mean (Tracer): lines for a table's head.
	TraceDoc string
}

// Options say how a store is opened.
type Options struct {
	// Dir is the folder of an embedded engine's files. It is created, marked
	// as mailbench's and locked; a folder that holds anything else is refused.
	Dir string
	// Contact are addresses of a cluster's nodes, each a host or host:port.
	// Without any, Open uses the engine's usual port on loopback.
	Contact []string
	// Named are the settings, Contact among them, that the user set on the command line. Others may be
	// from a file that came from somebody else, which may not say where a password goes: MayGo.
	Named []string
	// Namespace keeps one data set apart from all others on a shared engine.
	// Every name made there is Prefix, Namespace and the schema's name. It has
	// at most 16 lower-case letters and digits; "" is no namespace.
	Namespace string
	// ReadOnly opens an existing data set and never writes. Apply creates nothing: it
	// returns an error if rows cannot be read as the schema says. Prepare returns
	// ErrReadOnly for patterns that write, as Drop does. A Dir must exist.
	ReadOnly bool
	// Keyspace is the full name of the place with the tables of every schema on a shared
	// engine. mailbench need not have written them. It needs ReadOnly. "" means
	// the names that Namespace and the schema give. On Cassandra it is a keyspace.
	// On HBase it is a namespace of HBase, or with Prefix the names of tables up to
	// their first dot: mailbench_NAMESPACE_SCHEMA.
	Keyspace   string
	Durability Durability
	CacheBytes int64             // block cache; 0 is the driver's default
	Settings   map[string]string // driver settings; an unknown one is an error
	// Users are addresses of some of the users whose mail will be stored, an even sample. An
	// engine may divide new tables by them.
	Users []string
}

// Store is one open engine, shared by all workers.
type Store interface {
	// Capabilities says what the engine can do and what it promises.
	Capabilities() Capabilities
	// Apply creates the schema's tables that are absent. It returns an error if the
	// schema differs from existing tables of that name. A store that is open for
	// reading only creates nothing.
	Apply(ctx context.Context, s *schemas.Schema) error
	// Stored returns what Inspect returns of a schema once it is applied: in
	// canonical form, without the indexes that the engine does not keep, and with
	// the settings that its tables must have as hints. Hints that the engine does
	// not understand are an error.
	Stored(s *schemas.Schema) (*schemas.Schema, error)
	// Inspect returns the tables of the schema of that name as the engine has
	// them, in canonical form ([schemas.Canonical]). If schemas.Diff finds a difference
	// from Stored, somebody has changed the tables since Apply.
	Inspect(ctx context.Context, name string) (*schemas.Schema, error)
	// Compare compares existing tables with a schema's, also tables that mailbench did not
	// create. It only reads.
	Compare(ctx context.Context, s *schemas.Schema) (*Comparison, error)
	// Prepare compiles one pattern of a schema, or returns ErrUnsupported
	// (wrapped, with the reason). The pattern's schema must be one that was applied
	// to this store.
	// A Statement may be used by all sessions of the store.
	Prepare(ctx context.Context, p *schemas.Pattern) (Statement, error)
	// Session opens a session for one goroutine.
	Session() (Session, error)
	// Close waits for the calls under way and releases the engine.
	Close() error
}

// Statement is a prepared pattern.
type Statement interface {
	// Pattern returns the pattern that runs: the fallback, if one runs.
	Pattern() *schemas.Pattern
	// Emulates returns the declared pattern that the statement emulates, by a
	// fallback or without the pattern's index. It returns nil if the engine runs
	// the declared pattern. See Emulation.
	Emulates() *schemas.Pattern
	// Emulate sets what Emulates returns. PrepareAll calls it, before any session
	// has the statement.
	Emulate(declared *schemas.Pattern)
}

// Session runs statements for one worker and owns its buffers. It runs one
// call at a time and must not be called from within a yield. Arguments are in
// the order of schemas.Pattern.Args. The store keeps none of them after the call.
type Session interface {
	// Read yields the rows of a get, slice or scan, each with the pattern's
	// Columns in order. A row and all it refers to are valid only
	// until yield returns. The pattern's limit is always honored. An error
	// from yield ends the read and is returned as it is. No row is no error.
	Read(ctx context.Context, st Statement, args []Value, yield func(row []Value) error) error
	// Write runs a put, put-if, add, append, remove or delete. The result's
	// row is valid until the session's next call. A delete of many rows deletes at least those that
	// were there when it began; a row that is written meanwhile stays or goes, as a whole with its index entries.
	Write(ctx context.Context, st Statement, args []Value) (Result, error)
	// Batch runs a batch. Each call names a member of the pattern's Parts by position.
	// The calls take effect in the order of parts. An engine that cannot promise this of two parts that
	// write one row refuses them. ErrNotApplied: the condition of a part does not hold.
	Batch(ctx context.Context, st Statement, parts []Call) error
	// Tolerate says whether reads go on where stored bytes are no value of their column's type. They then yield such
	// a value as Broken. If a key cannot be decoded, each of its columns is Broken with the bytes of the whole key.
	Tolerate(on bool)
	// Take returns what calls have cost since the last Take, and forgets it.
	Take() Cost
	// Repeating says whether the calls from here on repeat earlier ones of the same operation. These calls are
	// Retries. They add nothing else but the rows that they write: others' changes made the earlier calls fail, so
	// how many there are depends on the machine.
	Repeating(on bool)
	// Blob counts one request of the model to a store of blobs, with the bytes that it read or wrote.
	Blob(read, written int64)
	// Watch has a function called after each Read, Write and Batch that the engine ran, with the time that it took by
	// the clock, its yield included, and its Calls. Without a clock no time is measured; nil ends the watch.
	Watch(clock func() time.Duration, watch func(st Statement, took time.Duration, calls int64))
	// Close releases the session's buffers.
	Close() error
}

// Call is one member of a batch call: Parts[Part] of the pattern with Args.
type Call struct {
	Part int
	Args []Value
}

// Result is the result of a write.
type Result struct {
	// Applied is false only for a put-if or delete whose condition did not hold.
	Applied bool
	// Row holds the new values of an add with "returns: new", in the order of
	// Columns. For a put-if that was not applied, it holds the present values of the
	// If columns if the engine returns them, else it is nil.
	Row []Value
}

// Settler is a store that can wait until the engine has nothing left to flush or
// compact.
type Settler interface {
	Settle(ctx context.Context) error
}

// Cooler is a store that can forget its caches: it reopens its files and makes
// the operating system to drop them from the page cache. Sessions must be
// closed; statements stay valid. The error wraps errors.ErrUnsupported if the operating
// system has no such call: the files were reopened all the same.
type Cooler interface {
	Cool(ctx context.Context) error
}

// Sleeper is a store that can give back its memory and its files while other stores work. Sessions
// must be closed; statements stay valid. Between Sleep and Wake it can only be closed.
type Sleeper interface {
	Sleep() error
	Wake() error
}

// Observer is a store that returns figures of its inner state.
type Observer interface {
	Observe() Observation
}

// Observation is an engine's state at one moment. A negative number is unknown.
type Observation struct {
	DiskBytes      int64 // length of the files on disk
	DiskExcess     int64 // by so much DiskBytes can be too large: an engine reports whole MiB of each table
	LogBytes       int64 // part of DiskBytes: the write-ahead log, whose rows are in memory too; 0: not known
	CacheBytes     int64 // capacity of the block cache
	CompactionDebt int64 // bytes that compaction still has to move
	WrittenBytes   int64 // bytes written to disk since the store was opened
	// ReadBytes are bytes read from disk since the store was opened, past all
	// caches. An embedded engine counts all that its process reads; see DiskReads.
	ReadBytes  int64
	Tombstones int64 // delete markers in live files
	// TombstonesRead is the most delete markers that one read of the applied schemas' tables has met
	// on a node; 0: none, or not known. Their histograms forget slowly, so it may be of an earlier phase.
	TombstonesRead int64
	// Missing are nodes that cannot be reached, each host:port; their share is in none of the figures.
	Missing  []string
	Settings map[string]string // effective settings
}

// Bulk is a session that can trade durability for speed while it loads a data set.
// The store's Settle then makes these writes durable.
type Bulk interface {
	Bulk(on bool)
}

// Splitter is a store that can divide a scan. Several sessions read the parts at the
// same time. A sample of a table is some of the parts. Every store but null is one.
type Splitter interface {
	// Split divides a scan into at most n ranges, and at least one: two keys in hexadecimal each. Their order is that
	// of the engine's keys. They are fewer than n where the engine does not know where to divide. A row that is
	// written after Split is in one of them, too.
	Split(ctx context.Context, scan Statement, n int) (ranges []string, err error)
	// Within returns a statement for each of the ranges, which takes the scan's arguments and yields its rows in that
	// range. Another process can read the rest of a scan.
	Within(ctx context.Context, scan Statement, ranges []string) ([]Statement, error)
}

// Identified is a store that distinguishes a schema's tables from those of another cluster that have the same names.
type Identified interface {
	// Identity returns what only these tables, or only this cluster, have. It stays the same whichever node
	// answers.
	Identity(ctx context.Context, s *schemas.Schema) (string, error)
}

// Skipper is a tolerant session that leaves out what is stored in the tables of a schema
// and is no row of mailbench's: HBase rows without its marker cell.
type Skipper interface {
	// Skipped returns how many rows reads have left out since the last call, and the keys
	// of the first, as they are stored.
	Skipped() (rows int64, keys [][]byte)
}

// SkippedNamed is how many keys a Skipper returns at most.
const SkippedNamed = 5

// Capabilities say what an engine can do, with its limits. A limit of 0 is none.
type Capabilities struct {
	Engine     string // Engine.Name
	Version    string // the version that the engine reports
	Durability Durability
	// Atomic is the widest batch that is all or nothing.
	Atomic schemas.Atomicity
	// Torn: a slice that runs during an atomic batch may see some rows of it and not others. A
	// row is always whole.
	Torn bool
	// ReturnsNew: an add can return the new value.
	ReturnsNew bool
	// PlainIndexes: local indexes over plain columns. Prepare says pattern by pattern
	// whether the engine has an index over key columns only.
	PlainIndexes bool
	// EqualIndexes: local indexes over plain columns that find equal values, but keep
	// no order. PlainIndexes find equal values too.
	EqualIndexes bool
	// MaxBatchBytes, MaxCellBytes and MaxRowBytes are limits of the engine. Beyond
	// them a write returns ErrTooLarge.
	MaxBatchBytes, MaxCellBytes, MaxRowBytes int64
	// MaxSpreadBytes is the limit of a batch whose rows lie in several partitions,
	// if that is less than MaxBatchBytes.
	MaxSpreadBytes int64
	// MaxKeyBytes is the limit of a row's key, and MaxBatchParts that of the parts of an atomic
	// batch. Beyond them a call returns ErrTooLarge. 0: no limit is known.
	MaxKeyBytes, MaxBatchParts int
	// InProcess: engine and client share a process and its CPU.
	InProcess bool
	// Discards: the engine keeps nothing (null). Reads yield rows that no client wrote.
	Discards bool
}

// Durability is what an acknowledged write survives.
type Durability uint8

// Durability classes. Reports never rank stores of different classes together.
const (
	DurabilityDefault Durability = iota // the engine's own default
	Memory                              // nothing
	Process                             // a crash of the process: the write reached the operating system
	Power                               // loss of power: the write reached the disk
	Quorum                              // the loss of a minority of replicas
	DurabilityUnknown                   // the engine does not report it
)

var durabilityNames = [...]string{"default", "memory", "process", "power", "quorum", "unknown"}

// String returns the class's name.
func (d Durability) String() string { return durabilityNames[d] }

// Errors that callers distinguish. Drivers wrap them with the call that failed.
var (
	// ErrUnsupported: the engine cannot run the pattern. Prepare, a Compiler and
	// Prepared.Get return it, never a call.
	ErrUnsupported = errors.New("not supported by this engine")
	// ErrUnknown: a write was sent and its outcome is not known (timed out,
	// connection lost). Any other error of a write means: not applied.
	ErrUnknown = errors.New("outcome unknown")
	// ErrUnreachable: no node of the cluster answered, or not enough of them, or not in time. Open and reads return it.
	// An error of a write may be it as well: only ErrUnknown says whether the write may have been applied.
	ErrUnreachable = errors.New("unreachable")
	// ErrNotApplied: a row that a batch deletes "if: present" is not there. Nothing of the batch was applied.
	ErrNotApplied = errors.New("the condition of a batch does not hold, so nothing was applied")
	// ErrTooLarge: a limit of the engine would be exceeded; nothing was applied.
	ErrTooLarge = errors.New("too large for this engine")
	// ErrUnreported: this user may not read whether the engine still flushes or compacts.
	// Only Settle returns it.
	ErrUnreported = errors.New("the engine does not report it")
	// ErrLocked: another process has the store open.
	ErrLocked = private.ErrLocked
	// ErrForeign: mailbench did not make the folder, table or namespace, and leaves it alone.
	ErrForeign = errors.New("not made by mailbench")
	// ErrReadOnly: the store was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrCorrupt: files of the store are damaged or gone.
	ErrCorrupt = errors.New("the store is corrupt")
	// ErrOption: Options say what an engine does not have.
	ErrOption = errors.New("no option of this engine")
	// ErrClosed: the store or session is closed.
	ErrClosed = errors.New("closed")
)

// Unreachable returns an error with the text of err that is ErrUnreachable.
func Unreachable(err error) error { return marked{err, ErrUnreachable} }

// WrongOption returns an error with the text of err that is ErrOption; nil if err is nil.
func WrongOption(err error) error {
	if err == nil {
		return nil
	}
	return marked{err, ErrOption}
}

// marked is an error that is also another one, which its text does not name.
type marked struct {
	error
	as error
}

func (m marked) Is(target error) bool { return target == m.as }

func (m marked) Unwrap() error { return m.error }

// IsOutage reports whether the engine or the user ended a read. Any other error of a read of data
// that were not checked before is about the data, and a finding.
func IsOutage(err error) bool {
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) ||
		errors.Is(err, ErrUnreachable) || errors.Is(err, ErrClosed) || IsUnread(err)
}

// IsUnread reports whether a system call failed on a file that is there: too few descriptors, a disk
// that does not answer. Such an error says nothing about what is in the file.
func IsUnread(err error) bool {
	return errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt)
}
