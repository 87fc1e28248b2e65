package mail

import "github.com/mailbench/mailbench/schemas/words"

// Kind is a kind of thing that is skipped, repaired or guessed while mail is read.
type Kind uint8

// Kinds. Those of a message are counted once in each message.
const (
	BadDate      Kind = iota // of a message
	UnknownZone              // of a message
	BadHeader                // of a message
	BadText                  // of a message
	BadAddresses             // of a message
	Repeated                 // of a message
	BadMIME                  // of a message
	BadParts                 // of a message
	BadEncoding              // of a message
	BadBase64                // of a message
	Unseparated              // of an mbox
	FromText                 // of an mbox
	FromLength               // of an mbox
	DotFile                  // of a maildir
	NoFile                   // of a maildir
	NoFolder                 // of a maildir
	NewOnly                  // of a maildir
	DeepLink                 // of a maildir
	kinds
)

// noted says what is counted: a noun, its verb for one and for several, and the rest.
var noted = [kinds][4]string{
	BadDate:      {"message", "has", "have", "a Date that cannot be read or is outside of years 1 to 9999"},
	UnknownZone:  {"message", "has", "have", "a Date in an unknown time zone, read as UTC"},
	BadHeader:    {"message", "has", "have", "header lines that are too long or no fields; these lines were skipped"},
	BadText:      {"message", "has", "have", "header text with bytes or words that cannot be decoded"},
	BadAddresses: {"message", "has", "have", "address lists with errors, divided at commas"},
	Repeated:     {"message", "has", "have", "a header field or parameter twice with different values; the first was used"},
	BadMIME:      {"message", "has", "have", "MIME fields with errors, read as far as possible"},
	BadParts:     {"message", "has", "have", "parts that are not delimited as MIME requires"},
	BadEncoding:  {"message", "has", "have", "parts that cannot be decoded, left encoded"},
	BadBase64:    {"message", "has", "have", "bytes in base64 that do not belong there, ignored"},
	Unseparated:  {"message", "is", "are", "separated without an empty line"},
	FromText:     {"line", "begins", "begin", "with \"From \" after an empty line and without a date, read as text"},
	FromLength:   {"message", "has", "have", "From lines within the Content-Length, read as text"},
	DotFile:      {"file", "whose name begins with a dot was", "whose names begin with a dot were", "skipped"},
	NoFile:       {"entry", "that is not a plain file was", "that are not plain files were", "skipped"},
	NoFolder:     {"folder", "was", "were", "not read: too deep for the maildir of a user"},
	NewOnly:      {"folder", "with new and without cur was", "with new and without cur were", "not read"},
	DeepLink:     {"folder", "was", "were", "not read: a link within a folder of a maildir"},
}

// Notes counts each kind.
type Notes [kinds]int64

// Count adds what the parser noted of a message.
func (n *Notes) Count(m *Message) {
	for k := range n {
		n[k] += int64(m.Noted >> k & 1)
	}
}

// Add adds other notes.
func (n *Notes) Add(other Notes) {
	for k, count := range other {
		n[k] += count
	}
}

// Lines returns a sentence for each kind that was counted.
func (n *Notes) Lines() (lines []string) {
	for k, count := range n {
		if t := noted[k]; count > 0 {
			verb := t[1]
			if count > 1 {
				verb = t[2]
			}
			lines = append(lines, words.Plural(count, t[0])+" "+verb+" "+t[3])
		}
	}
	return lines
}
