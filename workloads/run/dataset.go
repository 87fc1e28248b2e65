package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// dataset says what a store was loaded with. It is written before the load
// begins (on a shared engine: before anything is made there) and again when it
// is complete.
type dataset struct {
	Model    string    `json:"model"`
	Engine   string    `json:"engine"`
	Workload string    `json:"workload"` // its name, for messages
	Mail     string    `json:"mail"`     // digest of what mail and population come from
	Schema   string    `json:"schema"`   // digest of the schema's source
	Seed     uint64    `json:"seed"`
	Began    time.Time `json:"began"`
	Complete bool      `json:"complete"`
	// Namespace is where the data is on a shared engine; "" of an embedded one,
	// whose data is beside this file.
	Namespace string  `json:"namespace,omitempty"`
	Promise   promise `json:"promise"`
}

// readDataset returns nil if the folder holds none.
func readDataset(dir string) (*dataset, error) {
	b, err := os.ReadFile(filepath.Join(dir, datasetFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d := new(dataset)
	if err == nil {
		err = json.Unmarshal(b, d)
	}
	if err != nil {
		return nil, fmt.Errorf("read data set in %s: %w", dir, err)
	}
	return d, nil
}

// write replaces the file whole.
func (d *dataset) write(dir string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	name := filepath.Join(dir, datasetFile)
	if err := os.WriteFile(name+".new", append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	return nil
}

// fits says why a data set cannot be used in place of the one wanted.
func (d *dataset) fits(want *dataset, dir string) error {
	var differ []string
	if d.Mail != want.Mail {
		differ = append(differ, fmt.Sprintf("the workload's mail or population (it was loaded by %q)", d.Workload))
	}
	if d.Schema != want.Schema {
		differ = append(differ, "the schema of "+d.Model)
	}
	if d.Seed != want.Seed {
		differ = append(differ, fmt.Sprintf("the seed (it was %d, now %d)", d.Seed, want.Seed))
	}
	switch {
	case len(differ) > 0:
		return fmt.Errorf("the data set in %s cannot be used again: %s differ; %s or name another", dir, strings.Join(differ, " and "), d.removal())
	case !d.Complete:
		return fmt.Errorf("the data set in %s was not loaded to the end; %s, or audit it with --audit=only", dir, d.removal())
	}
	return nil
}

// removal says how to get rid of the data set.
func (d *dataset) removal() string {
	if d.Namespace == "" {
		return "remove that folder"
	}
	return fmt.Sprintf("remove that folder (after %q)", d.clean())
}

// clean is the command that drops the data set's namespace.
func (d *dataset) clean() string { return "mailbench engine clean " + d.Engine + " " + d.Namespace }

// openDataset looks at what an earlier run left.
func (c *cell) openDataset() error {
	want := &dataset{
		Model: c.model.Name, Engine: c.engine.Name, Workload: c.config.Workload.Name, Seed: c.config.Workload.Seed,
		Mail: mailDigest(c.config.Workload, c.source), Schema: digest(c.schema.Source), Began: time.Now().UTC(),
	}
	have, err := readDataset(c.path)
	if err != nil {
		return err
	}
	if have == nil && c.config.Audit == AuditOnly {
		return fmt.Errorf("there is no data set in %s to audit", c.path)
	}
	if c.dataset = want; have == nil {
		if c.engine.Remote {
			want.Namespace = newNamespace()
		}
		return nil
	}
	if c.config.Audit != AuditOnly {
		if err := have.fits(want, c.path); err != nil {
			return err
		}
	}
	c.dataset, c.reused, c.kept = have, true, true
	return nil
}

// load makes the data set, or takes the one that is there.
func (c *cell) load(ctx context.Context, at int) error {
	c.makeDirectory()
	if c.reused {
		return c.reload(ctx)
	}
	if err := c.dataset.write(c.path); err != nil {
		return err
	}
	c.kept = c.config.DataDir != ""
	if err := c.createAccounts(ctx); err != nil {
		return err
	}
	if err := c.findPromise(ctx); err != nil {
		return err
	}
	// An audit must know it, also if this process is killed meanwhile.
	if err := c.dataset.write(c.path); err != nil {
		return err
	}
	p := newPhase(c, at)
	var err error
	if p.load, err = c.census.LoadOrder(ctx); err != nil {
		return err
	}
	before := c.observe()
	err = p.run(ctx)
	c.cells = append(c.cells, p.result(before, c.observe()))
	if err != nil || ctx.Err() != nil {
		return err
	}
	c.dataset.Complete = true
	return c.dataset.write(c.path)
}

// makeDirectory makes an empty directory for the population.
func (c *cell) makeDirectory() {
	c.dir = &directory{accounts: make([]account, c.census.Users())}
	for i := range c.config.Workload.Phases {
		mix := &c.config.Workload.Phases[i].Mix
		c.dir.keepDeleted = c.dir.keepDeleted || mix.Has(workloads.Restore)
		c.dir.keepAttached = c.dir.keepAttached || mix.Has(workloads.Attachment)
	}
}

// reload fills the directory from the ledger of the runs before.
func (c *cell) reload(ctx context.Context) error {
	if err := c.loginAccounts(ctx); err != nil {
		return err
	}
	h, err := readHistory(c.ledgerName())
	if err != nil {
		return err
	}
	for i := range h.entries {
		if e := &h.entries[i]; e.state == live && !e.labelled {
			c.dir.accounts[e.place.account].folders[e.place.folder].targets.add(e.handle)
		}
	}
	if c.dir.keepAttached {
		return c.learnAttachments(ctx)
	}
	return nil
}

// learnAttachments opens some of the newest messages of each folder, to know
// of a few that have attachments: a ledger does not tell.
func (c *cell) learnAttachments(ctx context.Context) error {
	return c.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		var o models.Opened
		for _, f := range c.dir.accounts[u].folders {
			for rank := range min(attachedMost, f.len()) {
				h, _ := f.read(rank)
				f.release(h)
				if err := mb.Open(ctx, f.ref, h, &o); err != nil {
					return fmt.Errorf("open a message of the data set: %w", err)
				}
				if len(o.Attachments) > 0 {
					f.attach(h, o.Attachments[0].Name)
				}
			}
		}
		return nil
	})
}

// findPromise asks for the raw message and the attachment of no message: a
// model that keeps them does not find it, one that does not says so.
func (c *cell) findPromise(ctx context.Context) error {
	s, err := c.store.Session()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer s.Close()
	mb, f := c.bound.Mailbox(s), c.dir.accounts[0].folders[0].ref
	_, rawErr := mb.Raw(ctx, f, models.Handle{}, discard{})
	_, attErr := mb.Attachment(ctx, f, models.Handle{}, "", discard{})
	c.dataset.Promise = promise{Raw: !errors.Is(rawErr, models.ErrNotOffered), Attachments: !errors.Is(attErr, models.ErrNotOffered)}
	return nil
}

// offersOfPromise says which reads the model offers of what it promises.
func (c *cell) offersOfPromise() {
	c.offers[workloads.Raw], c.offers[workloads.Attachment] = c.dataset.Promise.Raw, c.dataset.Promise.Attachments
}

// discard is a writer that is asked to write nothing.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// digest is the SHA-256 of b in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// mailDigest is of what a data set is made from: a workload's mail and
// population, and the mail file.
func mailDigest(w *workloads.Workload, s messages.Source) string {
	m, p := &w.Mail, &w.Population
	return digest(fmt.Appendf(nil, "%v %v %v %v %v %v | %v %v %v %v | %s",
		m.Body, m.HTML, m.Attachments.Share, m.Attachments.Count, m.Attachments.Size, m.Recipients,
		p.Users, p.Folders, p.Messages, p.Shared, s.Info().SHA256))
}
