package mail

import (
	stdmail "net/mail"
	"strings"
)

var addresses = stdmail.AddressParser{WordDecoder: &encodedWords}

// people adds a list of addresses to people. If the standard library cannot parse it, each
// address of it is read by itself.
func (p *Parser) people(name, value string, people []Address) []Address {
	room := maxAddresses - len(people)
	list, err := addresses.ParseList(value)
	if err == nil {
		for _, a := range list[:min(len(list), room)] {
			people = append(people, Address{Name: clean(a.Name), Address: clean(a.Address)})
		}
	} else if v := strings.TrimSpace(withoutComments(value)); v != "" && !emptyGroup(v) {
		p.fault(BadAddresses, "%s %.60q: %s", name, value, err)
		ones := divided(v)
		for _, one := range ones[:min(len(ones), room)] {
			if a := p.person(name, one); a != (Address{}) {
				people = append(people, a)
			}
		}
		list = make([]*stdmail.Address, len(ones))
	}
	if len(list) > room {
		p.fault(BadAddresses, "%s has more than %d addresses", name, maxAddresses)
	}
	return people
}

// emptyGroup reports whether v is like undisclosed-recipients:;
func emptyGroup(v string) bool {
	before, ok := strings.CutSuffix(v, ";")
	before = strings.TrimRight(before, " \t")
	return ok && strings.IndexByte(before, ':') == len(before)-1
}

// divided divides a list at its commas and semicolons, but not between quotation marks or < and >.
// A quotation mark or < without its other half is like any character.
func divided(list string) (ones []string) {
	add := func(one string) {
		if one = strings.TrimSpace(one); one != "" {
			ones = append(ones, one)
		}
	}
	began, quotes, angles, group := 0, true, true, true
	for i := 0; i < len(list); i++ {
		end := -1
		switch c := list[i]; {
		case c == ',' || c == ';':
			add(list[began:i])
			began, group = i+1, true
		case c == ':' && group:
			began = i + 1 // the name of a group
		case c == '@':
			group = false
		case c == '"' && quotes:
			end = closing(list[i+1:])
			quotes = end >= 0
		case c == '<' && angles:
			end = strings.IndexByte(list[i+1:], '>')
			angles, group = end >= 0, false
		}
		if end >= 0 {
			i += end + 1
		}
	}
	add(list[began:])
	return ones
}

// closing is where a quoted string ends, or -1.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// person reads one address. What is between < and > is the address, and the rest its name.
func (p *Parser) person(name, one string) Address {
	if a, err := addresses.Parse(one); err == nil {
		return Address{Name: clean(a.Name), Address: clean(a.Address)}
	}
	a := Address{Address: one}
	if i := strings.LastIndexByte(one, '<'); i >= 0 {
		in, _, _ := strings.Cut(one[i+1:], ">")
		a = Address{Name: strings.Trim(strings.TrimSpace(one[:i]), `"`), Address: strings.TrimSpace(in)}
	}
	return Address{Name: p.decode(name, a.Name), Address: clean(a.Address)}
}
