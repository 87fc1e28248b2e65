package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mailbench/mailbench/schemas"
)

// Guess is a purpose that a column has by its name and type, since its table does not
// say what it is for.
type Guess struct {
	Table   *schemas.Table
	Column  *schemas.Column
	Purpose schemas.Purpose
}

// String says what was guessed, and how a schema file confirms or denies it.
func (g Guess) String() string {
	return fmt.Sprintf("table %s: guess: %s %s is a %s, by its name and type (%s: %s says so, %s: [] denies it)",
		g.Table.Name, g.Column.Type, g.Column.Name, g.Purpose, g.Purpose, g.Column.Name, g.Purpose)
}

// guesses returns what the rules had to guess at, in the order of the tables.
func guesses(s *schemas.Schema) []Guess {
	var all []Guess
	for _, t := range s.Tables {
		for _, c := range t.Key()[len(t.Key())-len(ownKey(t)):] {
			for _, p := range schemas.Purposes {
				_, says := t.Purposes[p]
				needless := p == schemas.Chunk && len(t.Rows) > 0 // they say what is in pieces
				if !says && !needless && serves(t, c, p) {
					all = append(all, Guess{t, c, p})
				}
			}
		}
	}
	return all
}

// ownKey returns the key columns that a table does not inherit.
func ownKey(t *schemas.Table) []*schemas.Column {
	if t.Parent == nil {
		return t.Key()
	}
	return t.Clustering[t.Inherited:]
}

// serves reports whether a key column has a purpose. The table that has the column of
// its own says so; else its name and type do.
func serves(t *schemas.Table, c *schemas.Column, p schemas.Purpose) bool {
	for ; t != nil; t = t.Parent {
		if cs, says := t.Purposes[p]; says {
			return slices.Contains(cs, c)
		}
		if slices.Contains(ownKey(t), c) {
			break
		}
	}
	switch p {
	case schemas.Bucket:
		return t != nil && looksBucket(t, c)
	case schemas.Salt:
		return t != nil && looksSalt(t, c)
	}
	return looksChunk(c)
}

var (
	timeWords = []string{
		"minute", "hour", "day", "date", "week", "month", "quarter", "year", "decade", "ymd",
		"yyyymmddhh", "yyyymmdd", "yyyymm", "yyyy", "yymmdd", "yymm", "yyyyww",
	}
	bucketWords = []string{"bucket", "period", "window", "epoch", "interval", "timeslot"}
	chunkWords  = []string{"chunk", "block", "piece", "part", "segment", "fragment", "slice"}
	saltWords   = []string{"salt", "shard", "hash", "spread"}
)

// looksBucket guesses whether a partition column ends a partition: a time, what is named
// after one, or a number that is called a bucket.
func looksBucket(t *schemas.Table, c *schemas.Column) bool {
	if c.Role != schemas.Partition {
		return false
	}
	if c.Type.Kind == schemas.Timestamp {
		return true
	}
	return counts(c) && (namesTime(c) || named(c, bucketWords) && !looksSalt(t, c))
}

// looksSalt guesses whether a partition column spreads rows: it is called so, or it is a
// bucket beside a time, or before what it would divide, as in salted HBase row keys.
func looksSalt(t *schemas.Table, c *schemas.Column) bool {
	if c.Role != schemas.Partition || !counts(c) && c.Type.Kind != schemas.Blob {
		return false
	}
	if named(c, saltWords) {
		return true
	}
	first := len(t.Partition) > 1 && t.Partition[0] == c
	beside := slices.ContainsFunc(t.Partition, func(o *schemas.Column) bool { return o != c && namesTime(o) })
	return named(c, []string{"bucket"}) && (first || beside)
}

// looksChunk guesses whether a key column numbers pieces.
func looksChunk(c *schemas.Column) bool {
	return (c.Type.Kind == schemas.Int || c.Type.Kind == schemas.Bigint) && named(c, chunkWords)
}

// counts reports whether values of a column can be numbers or the names of times.
func counts(c *schemas.Column) bool {
	switch c.Type.Kind {
	case schemas.Int, schemas.Bigint, schemas.Text, schemas.Timestamp:
		return true
	}
	return false
}

// namesTime reports whether the name of a column says that it holds a time. A day of a
// week comes again, and is none.
func namesTime(c *schemas.Column) bool { return named(c, timeWords) && !named(c, []string{"of"}) }

// named reports whether a name has one of the words: sentDate, day_2 and subblock have
// date, day and block.
func named(c *schemas.Column, words []string) bool {
	return slices.ContainsFunc(wordsOf(c.Name), func(word string) bool {
		word = strings.TrimRight(word, "0123456789")
		return slices.Contains(words, word) || slices.Contains(words, strings.TrimPrefix(word, "sub"))
	})
}

// wordsOf divides a name at _, -, . and capital letters that follow small ones.
func wordsOf(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte('_')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

// bucketed reports whether a partition ends: a column of its key is a bucket, or the
// number of a piece, or its rows have a most.
func bucketed(t *schemas.Table) bool {
	endless := func(r *schemas.Rows) bool { return gathers(r) && r.Most == 0 }
	if slices.ContainsFunc(t.Rows, gathers) && !slices.ContainsFunc(t.Rows, endless) {
		return true
	}
	return slices.ContainsFunc(t.Partition, func(c *schemas.Column) bool {
		return serves(t, c, schemas.Bucket) || serves(t, c, schemas.Chunk)
	})
}
