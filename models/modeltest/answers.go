package modeltest

import (
	"io"
	"slices"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// place is what a call names, in the reference: an account, folders, and messages of in.
type place struct {
	a      *account
	in, to *folder
	es     []*entry
}

// run runs an operation on the reference. The handles that it gives are those that the model has given.
func (r *reference) run(name string, c *call) (err error) {
	at := place{a: r.account(c.a.Address), in: r.folder(c.in), to: r.folder(c.to)}
	if at.a == nil && name != "create user" {
		return models.ErrNotFound
	}
	switch name {
	case "restore": // of a message that is in no folder
	case "delete": // one that is named twice is deleted once, or not found
		at.es, err = at.in.find(distinct(c.hs)...)
	default:
		at.es, err = at.in.find(c.hs...)
	}
	if err != nil {
		return err
	}
	return answers[name](r, c, at)
}

// answers are the operations of the reference, on what their calls name.
var answers = map[string]func(r *reference, c *call, at place) error{
	"create user": func(r *reference, c *call, at place) error {
		if at.a != nil {
			return models.ErrExists
		}
		if len(c.names) > 0 || !has[models.Poster](r.like) {
			if err := models.CheckFolders(c.names); err != nil {
				return err
			}
		}
		a := &account{address: c.who}
		for _, name := range c.names {
			a.add(name, newBox())
		}
		r.accounts = append(r.accounts, a)
		return c.found(a.shown(), nil)
	},
	"create folder": func(_ *reference, c *call, at place) error {
		if at.a.folder(c.name) != nil {
			return models.ErrExists
		}
		at.a.add(c.name, newBox())
		return c.added(&models.Folder{Name: c.name}, nil)
	},
	"login": func(_ *reference, c *call, at place) error { return c.found(at.a.shown(), nil) },
	"folders": func(_ *reference, c *call, at place) error {
		for _, f := range at.a.folders {
			c.yield(item{name: f.name, stats: statsOf(f.entries)})
		}
		return nil
	},
	"deliver": func(r *reference, c *call, _ place) error {
		for i, f := range c.folders {
			if i == 0 || !r.KeepsBodies {
				r.last++
			}
			in := r.folder(f)
			e, err := r.put(in, &state{Message: c.m, at: models.Arrival(c.m, r.now), number: r.last}, c.made[i])
			if err != nil {
				return err
			}
			in.in.mail = append(in.in.mail, e)
		}
		r.delivered++
		return nil
	},
	"list": func(r *reference, c *call, at place) error {
		from := at.in.ever[c.after]
		return r.show(c, at.in.entries, func(e *entry) bool { return from == nil || r.compare(e, from) > 0 })
	},
	"all mail": func(r *reference, c *call, at place) error {
		return r.show(c, at.a.mail, func(*entry) bool { return true })
	},
	"by sender in a folder": func(r *reference, c *call, at place) error {
		return r.show(c, at.in.entries, func(e *entry) bool { return e.From.Address == c.who })
	},
	"by sender everywhere": func(r *reference, c *call, _ place) error {
		var all []*entry
		for b := range r.boxes {
			all = append(all, b.entries...)
		}
		return r.show(c, all, func(e *entry) bool { return e.From.Address == c.who })
	},
	"slice": func(r *reference, c *call, at place) error {
		return r.show(c, at.in.entries, func(e *entry) bool { return !e.at.Before(c.since) && !e.at.After(c.until) })
	},
	"nested": func(_ *reference, c *call, at place) error {
		for _, f := range at.a.folders {
			if len(f.entries) == 0 {
				c.yield(item{name: f.name}) // it is yielded once, without a message
			}
			for _, e := range f.entries {
				c.yield(item{name: f.name, entry: e.shown(), at: e.at})
			}
		}
		return nil
	},
	"open": func(_ *reference, c *call, at place) (err error) {
		e := at.es[0]
		c.arrived, *c.opened = e.at, models.Opened{Entry: e.shown(), Flags: e.flags, UserFlags: slices.Clone(e.named)}
		for _, p := range e.Attachments {
			c.opened.Attachments = append(c.opened.Attachments, models.AttachmentInfo{Name: p.Name, Size: p.Content.Size()})
		}
		c.opened.Body, err = mail.AppendContent(nil, e.Body.Content)
		return err
	},
	"raw":   func(_ *reference, c *call, at place) error { return c.copy(at.es[0].Raw, 0, at.es[0].Raw.Size()) },
	"range": func(_ *reference, c *call, at place) error { return c.copy(at.es[0].Raw, c.off, c.n) },
	"attachment": func(_ *reference, c *call, at place) error {
		for _, p := range at.es[0].Attachments {
			if p.Name == c.file {
				return c.copy(p.Content, 0, p.Content.Size())
			}
		}
		return models.ErrNotFound
	},
	"stats":  func(_ *reference, c *call, at place) error { return c.counted(statsOf(at.in.entries), nil) },
	"totals": func(_ *reference, c *call, at place) error { return c.counted(statsOf(at.a.mail), nil) },
	"flag": func(_ *reference, c *call, at place) error {
		if at.es[0].flags &^= c.flag; c.on {
			at.es[0].flags |= c.flag
		}
		return nil
	},
	"user flag": func(_ *reference, c *call, at place) error {
		at.es[0].named = set(at.es[0].named, c.keyword, c.on)
		return nil
	},
	"move": func(r *reference, c *call, at place) error {
		for i, e := range at.es {
			at.in.drop(e)
			if _, err := r.put(at.to, e.state, c.made[i]); err != nil {
				return err
			}
		}
		return nil
	},
	"delete": func(r *reference, _ *call, at place) error {
		for _, e := range at.es {
			r.remove(at.in, e)
		}
		return nil
	},
	"label": func(r *reference, c *call, at place) (err error) {
		st := at.es[0].state
		if !c.on {
			at.to.drop(at.to.entry(st))
			return nil
		}
		if !r.OneMessage {
			other := *st
			st = &other
		}
		_, err = r.put(at.to, st, c.made[0])
		return err
	},
	"restore": func(_ *reference, c *call, at place) error {
		a := at.a
		i := slices.IndexFunc(a.deleted, func(d deletion) bool {
			return slices.ContainsFunc(d.entries, func(e *entry) bool { return e.got == c.hs[0] })
		})
		if i < 0 {
			return models.ErrNotFound
		}
		d := a.deleted[i]
		for j, f := range d.folders {
			f.entries = append(f.entries, d.entries[j])
		}
		a.deleted, a.mail = slices.Delete(a.deleted, i, i+1), append(a.mail, d.came)
		return nil
	},
	"purge": func(_ *reference, c *call, at place) error {
		n := len(at.a.deleted)
		at.a.deleted = slices.DeleteFunc(at.a.deleted, func(d deletion) bool { return d.at.Before(c.until) })
		return c.removed(n-len(at.a.deleted), nil)
	},
	"expunge": func(r *reference, c *call, at place) error {
		u, n := r.like.(models.UIDs), len(at.in.entries)
		at.in.entries = slices.DeleteFunc(at.in.entries, func(e *entry) bool {
			uid := u.UID(e.got)
			return uid >= c.uids[0] && (c.uids[1] == 0 || uid <= c.uids[1])
		})
		return c.removed(n-len(at.in.entries), nil)
	},
	"recount": func(*reference, *call, place) error { return nil }, // no counter is wrong
	"subscribe": func(_ *reference, c *call, at place) error {
		at.a.subs = set(at.a.subs, c.name, c.on)
		return nil
	},
	"subscriptions": func(_ *reference, c *call, at place) error { return c.each(at.a.subs) },
	"seen": func(_ *reference, c *call, at place) error {
		at.es[0].seenBy = append(at.es[0].seenBy, c.who)
		return nil
	},
	"seen by": func(_ *reference, c *call, at place) error { return c.each(at.es[0].seenBy) },
	"join": func(r *reference, c *call, at place) error {
		r.account(c.joins.Address).add(c.to.Name, at.to.box)
		return c.added(&models.Folder{Name: c.to.Name}, nil)
	},
	"leave": func(_ *reference, c *call, at place) error {
		at.a.folders = slices.DeleteFunc(at.a.folders, func(f *folder) bool { return f.name == c.in.Name })
		return nil
	},
}

// shown is the account as a login returns it.
func (a *account) shown() *models.Account {
	got := &models.Account{Address: a.address}
	for _, f := range a.folders {
		got.Folders = append(got.Folders, &models.Folder{Name: f.name, Account: got})
	}
	return got
}

func (e *entry) shown() models.Entry {
	return models.Entry{
		Handle: e.got, From: []byte(e.From.Address), Subject: []byte(e.Subject), Date: mail.Bounded(e.Date),
		Size: e.Raw.Size(), Seen: e.flags&models.Seen != 0,
	}
}

// show yields the entries to keep, up to the limit of a call, the newest first.
func (r *reference) show(c *call, es []*entry, keep func(*entry) bool) error {
	n := 0
	for _, e := range r.sorted(es) {
		if keep(e) && n < c.limit {
			n++
			c.yield(item{entry: e.shown(), at: e.at})
		}
	}
	return nil
}

func (c *call) each(names []string) error {
	for _, name := range names {
		c.yield(item{name: name})
	}
	return nil
}

// copy streams a range of content.
func (c *call) copy(x mail.Content, off, n int64) error {
	off = min(off, x.Size())
	return c.streamed(io.Copy(c.w, io.NewSectionReader(x, off, min(n, x.Size()-off))))
}

func statsOf(es []*entry) models.Stats {
	s := models.Stats{Messages: int64(len(es))}
	for _, e := range es {
		s.Bytes += e.Raw.Size()
		if e.flags&models.Seen == 0 {
			s.Unread++
		}
	}
	return s
}

// set returns names with one more or less.
func set(names []string, name string, on bool) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	if on {
		names = append(names, name)
	}
	return names
}
