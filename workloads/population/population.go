// Package population says what a workload's users and messages are like, as numbers
// that a forecast is made from: the census of folders, and the quantities of a sample
// of messages.
package population

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// SampleSize is how many messages the sample of a forecast has, unless the load or the file of mail has fewer.
const SampleSize = 2000

// Of returns the population of a workload. Its sample is the first messages of the load, up to size, and no message
// of a file twice, since mail may be slow to read. Without a load the sample is one message.
// It grows as it did in the year of the load. The mix of the last measured phase with
// deliveries says how many messages are deleted and moved.
func Of(ctx context.Context, w *workloads.Workload, mail messages.Source, size int) (*forecast.Population, error) {
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	p := &forecast.Population{Span: workloads.LoadSpan.Seconds(), Growth: growth(w)}
	folders := 0
	for u := range c.Users() {
		var counts []int32
		p.Address += float64(len(plan.Address(u)))
		for f := range c.FolderCount(u) {
			if c.Shared && u > 0 {
				break // the shared folder counts once, for the first user
			}
			counts = append(counts, int32(c.FolderMessages(u, f)))
			p.Folder += float64(len(plan.FolderName(f)))
			folders++
		}
		p.Users = append(p.Users, counts)
	}
	p.Address /= float64(c.Users())
	p.Folder /= float64(folders)
	if of := mail.Info().Messages; of > 0 {
		size = int(min(int64(size), of))
	}
	for m, err := range first(ctx, c, mail, size) {
		var s forecast.Message
		if err == nil {
			s, err = Quantities(m)
		}
		if err != nil {
			return nil, fmt.Errorf("sample of the mail: %w", err)
		}
		p.Sample = append(p.Sample, s)
	}
	return p, nil
}

func growth(w *workloads.Workload) forecast.Growth {
	g := forecast.Growth{Yearly: 1, Recipients: w.Mail.Recipients.Mean(), Operations: make(map[string]float64)}
	if w.Population.Shared { // a delivery is one message, whoever receives it
		g.Recipients = 1
	}
	for i := range w.Phases {
		p := &w.Phases[i]
		if p.Kind != workloads.Measure || !p.Mix.Has(workloads.Deliver) {
			continue
		}
		received := p.Mix.Share(workloads.Deliver) * g.Recipients
		for name, op := range map[string]workloads.Op{
			"move": workloads.Move, "delete": workloads.Delete, "purge": workloads.Purge,
		} {
			g.Operations[name] = p.Mix.Share(op) / received
		}
	}
	return g
}

// first yields the first messages of a load, up to size, or an error. A load without messages has one here.
func first(ctx context.Context, c *plan.Census, source messages.Source, size int) iter.Seq2[*mail.Message, error] {
	return func(yield func(*mail.Message, error) bool) {
		load, err := c.LoadStream(ctx, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		r := source.Reader()
		var m mail.Message
		var o plan.Operation
		for n := range size {
			if _, ok := load.Next(0, &o); !ok && n > 0 {
				return
			}
			err := cmp.Or(ctx.Err(), r.Message(o.N, o.Date, &m))
			if !yield(&m, err) || err != nil {
				return
			}
		}
	}
}

// Quantities measures a message: numbers of things, and bytes of text.
func Quantities(m *mail.Message) (forecast.Message, error) {
	body, err := models.TextLen(m.Body.Content)
	if err != nil {
		return forecast.Message{}, err
	}
	to, toNames := lengths(m.To)
	cc, ccNames := lengths(m.Cc)
	q := map[string]float64{
		"sender": float64(len(m.From.Address)), "sender-name": float64(len(m.From.Name)),
		"to": float64(len(m.To)), "to-addresses": to, "to-names": toNames,
		"cc": float64(len(m.Cc)), "cc-addresses": cc, "cc-names": ccNames,
		"subject": float64(len(m.Subject)), "raw": float64(m.Raw.Size()), "body": float64(body),
		"attachments": float64(len(m.Attachments)), "attachment-names": 0, "attachment-types": 0, "attachment-bytes": 0,
		"attachment-text": 0,
	}
	s := forecast.Message{Quantities: q}
	for i := range m.Attachments {
		p := &m.Attachments[i]
		text, err := models.TextLen(p.Content)
		if err != nil {
			return forecast.Message{}, err
		}
		size, name := float64(p.Content.Size()), float64(len(p.Name))
		s.Attachments = append(s.Attachments, map[string]float64{"attachment": size, "attachment-name": name})
		q["attachment-names"] += name
		q["attachment-types"] += float64(len(p.Type))
		q["attachment-bytes"] += size
		q["attachment-text"] += float64(text)
	}
	return s, nil
}

// lengths are the bytes of all addresses, and of all names.
func lengths(people []mail.Address) (addresses, names float64) {
	for _, a := range people {
		addresses += float64(len(a.Address))
		names += float64(len(a.Name))
	}
	return addresses, names
}

// Compress measures what a compressor leaves of the first messages of a load: up to
// 500 messages or 32 MiB.
func Compress(
	ctx context.Context, w *workloads.Workload, source messages.Source, by *forecast.Compression,
) (*forecast.Compressed, error) {
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	raw, bodies, attachments := column{by: by}, column{by: by}, column{by: by}
	n := 0
	for m, err := range first(ctx, c, source, 500) {
		if err == nil {
			err = cmp.Or(raw.add(m.Raw), bodies.add(m.Body.Content))
		}
		for i := 0; i < len(m.Attachments) && err == nil; i++ {
			err = attachments.add(m.Attachments[i].Content)
		}
		if err != nil {
			return nil, fmt.Errorf("compress a sample of the mail: %w", err)
		}
		if n++; raw.in >= 32<<20 {
			break
		}
	}
	return &forecast.Compressed{
		Compressor: by.Name, Block: by.Block, Messages: n,
		Raw: raw.left(), Bodies: bodies.left(), Attachments: attachments.left(),
	}, nil
}

// column compresses contents one after another, as a column of a table has them. It holds one block of them.
type column struct {
	by      *forecast.Compression
	block   []byte
	in, out int // bytes of contents, and of full blocks when they are compressed
}

// add adds a content, and compresses the blocks that it fills.
func (c *column) add(content mail.Content) error {
	for off, size := int64(0), content.Size(); off < size; {
		at := len(c.block)
		n := min(size-off, int64(c.by.Block-at))
		c.block = append(c.block, make([]byte, n)...)
		if err := mail.ReadFull(content, c.block[at:], off); err != nil {
			return err
		}
		off, c.in = off+n, c.in+int(n)
		if len(c.block) == c.by.Block {
			c.out += c.by.Compressed(c.block)
			c.block = c.block[:0]
		}
	}
	return nil
}

// left is the share of the bytes that is left.
func (c *column) left() float64 {
	switch {
	case c.in == 0:
		return 1
	case len(c.block) == 0:
		return float64(c.out) / float64(c.in)
	}
	return float64(c.out+c.by.Compressed(c.block)) / float64(c.in)
}

// Mail is the mail of a workload. Lint gets sizes and hot partitions from it.
type Mail struct {
	from         *workloads.Workload
	people       *forecast.Population
	user, folder float64 // shares of operations that the hottest user and the hottest folder get
}

// MailOf draws the mail of a workload.
func MailOf(ctx context.Context, w *workloads.Workload) (*Mail, error) {
	people, err := Of(ctx, w, messages.NewGenerator(w), SampleSize)
	if err != nil {
		return nil, err
	}
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	user, folder := plan.Hottest(w, c)
	return &Mail{w, people, user, folder}, nil
}

// Numbers returns a schema with the values that the workload sets for its parameters, and sizes its tables for lint on
// every engine that there is a forecast for.
func (m *Mail) Numbers(s *schemas.Schema, engines []drivers.Engine) (*schemas.Schema, *lint.Numbers, error) {
	s, err := s.With(m.from.ValuesOf(s.Name))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range engines {
		if e.Name != s.Native || e.Forecast == nil { // other engines may be unable to hold the schema
			continue
		}
		if _, err := e.Forecast(s); err != nil {
			return nil, nil, fmt.Errorf("schema %s on %s: %w", s.Name, e.Name, err)
		}
	}
	n, err := lint.NumbersOf(s, m.people, drivers.FactsOf(engines, s))
	if err != nil {
		return nil, nil, err
	}
	n.Workload, n.Hottest.User, n.Hottest.Folder = m.from.Name, m.user, m.folder
	return s, n, nil
}
