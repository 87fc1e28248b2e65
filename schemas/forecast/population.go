package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// Population is who has how much mail at the start, and what messages are like.
type Population struct {
	// Users are the numbers of messages in each folder of each user. A folder that all
	// users share belongs to the first user.
	Users [][]int32
	// Address and Folder are the mean bytes of a user's address and of a folder's name.
	Address, Folder float64
	Sample          []Message // some of the messages; at least one
	Growth          Growth
	// Span is the time in seconds in which the mail was stored.
	Span float64
}

// Growth is how a population changes.
type Growth struct {
	// Yearly is how many messages a folder receives in a year for each that it has
	// at the start.
	Yearly float64
	// Recipients is the mean number of mailboxes that a delivery goes to.
	Recipients float64
	// Operations are how many operations of a name (move, delete, purge) there are
	// for each message received.
	Operations map[string]float64
}

// Message is a message's quantities, by the names of [schemas.Quantities].
type Message struct {
	Quantities  map[string]float64
	Attachments []Attachment
}

// Attachment is the decoded bytes of an attachment and those of its name.
type Attachment struct{ Bytes, Name float64 }

// entity is one user, folder, message or attachment with the numbers that sizes
// are made of.
type entity func(quantity string) float64

// evaluate returns a sum's value.
func evaluate(s schemas.Sum, of entity) float64 {
	total := 0.0
	for _, t := range s {
		if t.Quantity == "" {
			total += t.Times
		} else {
			total += t.Times * of(t.Quantity)
		}
	}
	return total
}

// owner is one user, one folder or the whole population at the start. Its messages
// grow in number, its folders do not.
type owner struct{ folders, messages float64 }

// owners are the users or the folders of a population, those with the fewest
// messages first.
func (p *Population) owners(each string) []owner {
	var all []owner
	for _, folders := range p.Users {
		u := owner{folders: float64(len(folders))}
		for _, n := range folders {
			if each == "folder" {
				all = append(all, owner{1, float64(n)})
			}
			u.messages += float64(n)
		}
		if each == "user" {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.messages, b.messages), cmp.Compare(a.folders, b.folders))
	})
	return all
}

// totals counts what a population has.
func (p *Population) totals() (t owner) {
	for _, folders := range p.Users {
		t.folders += float64(len(folders))
		for _, n := range folders {
			t.messages += float64(n)
		}
	}
	return t
}

// Receives sets how many messages a user receives a day, on average. It returns false
// if there are no messages at the start, since folders receive mail in proportion to them.
func (p *Population) Receives(daily float64) bool {
	messages := p.totals().messages
	if messages == 0 {
		return false
	}
	p.Growth.Yearly = daily * 365 * float64(len(p.Users)) / messages
	return true
}

func (p *Population) check() error {
	switch {
	case len(p.Users) == 0:
		return fmt.Errorf("the population has no users")
	case len(p.Sample) == 0:
		return fmt.Errorf("the population has no sample of its messages")
	}
	return nil
}

// ofUser, ofMessage and ofAttachment return the quantities of one entity. A
// message has those of its folder and user, too, which are means.
func (p *Population) ofUser(quantity string) float64 {
	switch quantity {
	case "address":
		return p.Address
	case "folders":
		return p.totals().folders / float64(len(p.Users))
	}
	return p.Folder
}

func (p *Population) ofMessage(m *Message) entity {
	return func(quantity string) float64 {
		if n, ok := m.Quantities[quantity]; ok {
			return n
		}
		return p.ofUser(quantity)
	}
}

func (p *Population) ofAttachment(m *Message, a *Attachment) entity {
	message := p.ofMessage(m)
	return func(quantity string) float64 {
		switch quantity {
		case "attachment":
			return a.Bytes
		case "attachment-name":
			return a.Name
		}
		return message(quantity)
	}
}
