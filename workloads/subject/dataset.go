package subject

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// Files of a target's folder.
const (
	datasetFile = "dataset.json" // what was loaded, and where on a shared engine
	ledgerFile  = "ledger"       // what was acknowledged
)

// Dataset says what a store was loaded with. It is written before the load
// begins (on a shared engine: before anything is made there) and again when it
// is complete.
type Dataset struct {
	Model    string `json:"model"`
	Engine   string `json:"engine"`
	Workload string `json:"workload"` // its name, for messages
	Mail     string `json:"mail"`     // digest of what its messages are made from: mail, population, and the mail file
	Schema   string `json:"schema"`   // digest of the schema's tables
	Seed     uint64 `json:"seed"`
	// Parameters are those of the model that the data set was made with.
	Parameters map[string]int `json:"parameters,omitempty"`
	plan.Segment
	Began    time.Time `json:"began"`
	Complete bool      `json:"complete"`
	Messages int64     `json:"messages"` // that the load delivers; the ledger shows how far it has come
	// Steps are of earlier builds: the load, and each growth or rest of a load, which had numbers and times of its own.
	Steps []struct{} `json:"steps,omitempty"`
	// Records is how many records the ledger had when this was written: it cannot have fewer.
	Records int64 `json:"records,omitempty"`
	// Durability of the last run on the data set. With memory, a killed run may have lost data.
	Durability string `json:"durability,omitempty"`
	// Closed: the last run that worked on the data set closed it. Interrupted: one before
	// did not, and may have left operations half done.
	Closed      bool `json:"closed"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Namespace is where the data is on a shared engine. It is "" for an embedded engine,
	// whose data is next to this file.
	Namespace string         `json:"namespace,omitempty"`
	Promise   models.Promise `json:"promise"`

	contact []string // where this run reaches the engine
}

// StoreDir is where the embedded engine's files are, in the folder of a data set.
func StoreDir(dir string) string { return filepath.Join(dir, "store") }

// BlobsDir is where a model keeps bodies outside of the engine, in the folder of a data set.
func BlobsDir(dir string) string { return filepath.Join(dir, "blobs") }

// ReadDataset reads the data set's file; nil if the folder has no data set. It refuses a folder that is not private.
// The error is drivers.ErrCorrupt if the file is damaged or gone.
func ReadDataset(dir string) (*Dataset, error) {
	err := private.Check(dir)
	var b []byte
	if err == nil {
		b, err = private.ReadFile(filepath.Join(dir, datasetFile))
	}
	d := new(Dataset)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info, err := os.Stat(filepath.Join(dir, ledgerFile))
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0) {
			return nil, ledger.Unfit(fmt.Sprintf("the file of the data set in %s is gone; put it back, or remove that folder "+
				"(\"mailbench engine clean ENGINE\" lists what is on an engine)", dir))
		}
		return nil, nil // also if a run was killed before it loaded anything
	case err == nil && (json.Unmarshal(b, d) != nil || d.Model == ""):
		err = fmt.Errorf("%w: %s is damaged", drivers.ErrCorrupt, datasetFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read data set in %s: %w", dir, err)
	}
	return d, nil
}

// Datasets names the models that have a data set on an engine in the data folder of a run.
func Datasets(dir, engine string) (models []string) {
	found, _ := fs.Glob(os.DirFS(dir), "*-"+engine+"/"+datasetFile)
	for _, file := range found {
		models = append(models, strings.TrimSuffix(path.Dir(file), "-"+engine))
	}
	return models
}

// write replaces the data set's file.
func (d *Dataset) write(dir string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = private.WriteFile(filepath.Join(dir, datasetFile), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	return nil
}

// fits returns an error that says why the data set can neither be used as the one wanted,
// nor be completed.
func (d *Dataset) fits(want *Dataset, dir string) error {
	var differ []string
	note := func(differs bool, format string, args ...any) {
		if differs {
			differ = append(differ, fmt.Sprintf(format, args...))
		}
	}
	note(d.Mail != want.Mail, "the workload's mail or population (it was loaded by %q)", d.Workload)
	note(d.Schema != want.Schema, "the schema of %s", d.Model)
	note(d.Seed != want.Seed, "the seed (it was %d, now %d)", d.Seed, want.Seed)
	note(!maps.Equal(d.Parameters, want.Parameters), "the parameters of %s", d.Model)
	note(len(d.Steps) > 1, "the build of mailbench (an earlier one delivered it in %d steps)", len(d.Steps))
	note(d.Segment != want.Segment, "the segment (it was %s, now %s)", d.segment(), want.segment())
	switch {
	case len(differ) > 0:
		return fmt.Errorf("the data set in %s cannot be used again: %s differ; %s or name another",
			dir, strings.Join(differ, " and "), d.removal())
	case d.Complete:
		return nil
	case !d.Closed && d.Durability == drivers.Memory.String():
		return fmt.Errorf("the data set in %s cannot be completed: the last run was killed, and with durability memory the engine "+
			"may have lost acknowledged writes; %s, or verify it with --verify=only", dir, d.removal())
	}
	return nil
}

// segment names the segment whose users the data set has.
func (d *Dataset) segment() string {
	if !d.Divides() {
		return "the whole run"
	}
	return fmt.Sprintf("%d of %d", d.Index, d.Of)
}

// removal says how to get rid of the data set.
func (d *Dataset) removal() string {
	if d.Namespace == "" {
		return "remove that folder"
	}
	return fmt.Sprintf("remove that folder (after %q)", d.clean())
}

// clean is the command that drops the data set's namespace.
func (d *Dataset) clean() string { return Clean(d.Engine, d.Namespace, d.contact) }

// Clean is the command that drops a namespace of the engine at an address.
func Clean(engine, namespace string, contact []string) string {
	command := "mailbench engine clean " + engine + " " + namespace
	if len(contact) > 0 {
		command += " --contact " + strings.Join(contact, ",")
	}
	return command
}

// openDataset looks at what an earlier run left in the folder, and compares it with what the workload wants.
func (t *Target) openDataset() error {
	w := t.Workload
	m, p := &w.Mail, &w.Population
	want := &Dataset{
		Model: t.Model.Name, Engine: t.Engine.Name, Workload: w.Name, Seed: w.Seed, Parameters: t.Schema.Values(),
		Segment: t.Census.Segment,
		Mail: Digest(fmt.Appendf(nil, "%v %v %v %v %v %v | %v %v %v %v | %s",
			m.Body, m.HTML, m.Attachments.Share, m.Attachments.Count, m.Attachments.Size, m.Recipients,
			p.Users, p.Folders, p.Messages, p.Shared, t.Mail.Info().SHA256)),
		Schema: schemaDigest(t.Schema), Began: time.Now().UTC(), contact: configured(drivers.Options{}, t.Engine, w).Contact,
	}
	have, err := ReadDataset(t.Dir)
	if err != nil {
		return err
	}
	if have == nil && t.AuditOnly {
		return fmt.Errorf("no dataset in %s to verify", t.Dir)
	}
	if have != nil && (have.Model != want.Model || have.Engine != want.Engine) {
		return fmt.Errorf("%w: the data set in %s is of %s on %s, and the folder is for %s on %s; put back the folder that was there",
			drivers.ErrCorrupt, t.Dir, have.Model, have.Engine, want.Model, want.Engine)
	}
	if t.Dataset = want; have == nil {
		if t.Engine.Remote {
			want.Namespace = cmp.Or(t.Namespace, strings.ToLower(rand.Text()[:16]))
		}
		return nil
	}
	have.contact = want.contact
	if !t.AuditOnly {
		if err := have.fits(want, t.Dir); err != nil {
			return err
		}
	}
	have.Interrupted = have.Interrupted || !have.Closed
	t.Dataset, t.reused, t.kept = have, true, true
	return nil
}

// Broken notes that an operation ended with an unknown effect: an audit of the data
// set judges it like one whose run was killed.
func (t *Target) Broken() { t.Dataset.Interrupted = true }

// Loaded notes that the data set is complete.
func (t *Target) Loaded() error {
	t.Dataset.Complete = true
	return t.note()
}

// note writes the data set's file, which says how many records the ledger has. They are synced
// before.
func (t *Target) note() error {
	if t.Acknowledged != nil {
		if err := t.Acknowledged.Sync(); err != nil {
			return err
		}
		t.Dataset.Records = int64(t.Acknowledged.Records())
	}
	return t.Dataset.write(t.Dir)
}

// Exact reports whether counters of the data set in a folder must be exact: no operation on it was
// interrupted or is of unknown outcome. It is the rule of audits.
func (d *Dataset) Exact(dir string) (bool, error) {
	h, err := d.history(dir)
	if errors.Is(err, drivers.ErrCorrupt) {
		return false, nil // unknown; audits report it
	} else if err != nil {
		return false, err
	}
	return d.Closed && !d.Interrupted && h.Unknown == 0 && !h.Torn, nil
}

// history reads the data set's ledger. The error is drivers.ErrCorrupt if the ledger is gone, damaged
// or misses records.
func (d *Dataset) history(dir string) (*ledger.History, error) {
	h, err := ledger.ReadHistory(filepath.Join(dir, ledgerFile))
	if err == nil {
		err = d.lacking(h)
	}
	return h, err
}

// lacking returns an error if the ledger has fewer records than the data set's file says, or none of
// the messages that loads have delivered. A few may be missing: see package drive.
func (d *Dataset) lacking(h *ledger.History) error {
	if int64(h.Records) < d.Records {
		return ledger.Unfit(fmt.Sprintf("the ledger has %d records, and had at least %d", h.Records, d.Records))
	}
	if d.Complete && d.Messages > 0 && len(h.Loaded()) == 0 {
		return ledger.Unfit(fmt.Sprintf("the ledger has none of the %d messages that were loaded", d.Messages))
	}
	return nil
}

// Digest is the SHA-256 of b in hex.
func Digest(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// schemaDigest is the digest of what a schema stores: its tables in canonical form,
// without documentation and patterns.
func schemaDigest(s *schemas.Schema) string { return Digest(schemas.Format(schemas.Canonical(s))) }

// Namespace is a namespace that a run has made on a shared engine and not dropped: kept for a data folder, left by a
// killed run, or in use by a run. The engine does not know which is which.
type Namespace struct {
	drivers.Namespace
	Owner string `json:"owner,omitempty"` // folder of the run; "": not known here
	State string `json:"state"`
}

// Namespaces lists the namespaces of runs on a shared engine. It looks for their owners only in temporary folders: it
// does not know where users keep theirs (--data).
func Namespaces(ctx context.Context, e drivers.Engine, w *workloads.Workload) (all []Namespace, err error) {
	s, err := Reach(ctx, e, w, drivers.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	there, err := drivers.Namespaces(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("list the namespaces of %s: %w", e.Name, err)
	}
	for _, n := range there {
		n.Since = n.Since.UTC()
		all = append(all, Namespace{Namespace: n, State: "kept by --data, or of another machine"})
	}
	files, _ := filepath.Glob(filepath.Join(os.TempDir(), scratch.TemporaryPattern, "*", datasetFile))
	for _, f := range files {
		d, err := ReadDataset(filepath.Dir(f))
		if err != nil || d == nil {
			continue // it cannot be read
		}
		i := slices.IndexFunc(all, func(n Namespace) bool { return n.Name == d.Namespace })
		if i < 0 {
			continue
		}
		one := &all[i]
		one.Owner, one.State = filepath.Dir(filepath.Dir(f)), "run goes on"
		if scratch.Abandoned(one.Owner) {
			one.State = "run was killed"
		}
		if d.Began.After(one.Since) {
			one.Since = d.Began.UTC()
		}
	}
	return all, nil
}

// DropNamespace removes one namespace from a shared engine, with all its data. It returns
// what the engine still keeps of it, or "".
func DropNamespace(ctx context.Context, e drivers.Engine, w *workloads.Workload, name string) (left string, err error) {
	s, err := Reach(ctx, e, w, drivers.Options{Namespace: name})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if left, err = drivers.Drop(ctx, s); err != nil {
		return "", fmt.Errorf("drop namespace %s of %s: %w", name, e.Name, err)
	}
	return left, nil
}
