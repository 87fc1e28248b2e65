package lint

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas"
)

// Guess is a purpose that a column has by its name and type, since its table does not
// say what it is for.
type Guess struct {
	Table   string `json:"table"`
	Column  string `json:"column"`
	Purpose string `json:"purpose"` // bucket, chunk or salt, by the column's name and type
	Line    int    `json:"line"`
	typ     string
	pos     schemas.Pos
}

// String says what was guessed, and how a schema file confirms or denies it.
func (g Guess) String() string {
	return fmt.Sprintf("table %s: guess: %s %s is a %s, by its name and type (%s: %s confirms it, %s: [] denies it)",
		g.Table, g.typ, g.Column, g.Purpose, g.Purpose, g.Column, g.Purpose)
}

// guesses returns what the rules had to guess at, in the order of the tables.
func guesses(s *schemas.Schema) []Guess {
	var all []Guess
	for _, t := range s.Tables {
		for _, c := range t.OwnKey() {
			for _, p := range schemas.Purposes {
				_, says := t.Purposes[p]
				needless := p == schemas.Chunk && len(t.Rows) > 0 // they say what is in pieces
				if !says && !needless && Serves(t, c, p) {
					all = append(all, Guess{t.Name, c.Name, string(p), c.Pos.Line, c.Type.String(), c.Pos})
				}
			}
		}
	}
	return all
}

// Serves reports whether a key column has a purpose. The table that has the column of
// its own says so; else its name and type do.
func Serves(t *schemas.Table, c *schemas.Column, p schemas.Purpose) bool {
	for ; t != nil; t = t.Parent {
		if cs, says := t.Purposes[p]; says {
			return slices.Contains(cs, c)
		}
		if slices.Contains(t.OwnKey(), c) {
			break
		}
	}
	switch p {
	case schemas.Bucket: // a time, what is named after one, or a number that is called a bucket
		return t != nil && c.Role == schemas.Partition && (c.Type.Kind == schemas.Timestamp || numbered(c) &&
			(namesTime(c) || (named(c.Name, guessed.Bucket) || numbersPartitions(c)) && !looksSalt(t, c)))
	case schemas.Salt:
		return t != nil && looksSalt(t, c)
	}
	// A part in the partition key is a bucket.
	whole := c.Type.Kind == schemas.Int || c.Type.Kind == schemas.Bigint
	return whole && !numbersPartitions(c) && named(c.Name, guessed.Chunk)
}

//go:embed names.yaml
var namesText []byte

// guessed are the words in names by which rules guess what a schema does not say. The file explains them.
var guessed = func() (words struct {
	Prefixes, Suffixes, Time, Bucket, Partition, Chunk, Salt          []string
	Written, Rising, Few, Series, Small, Large, Content, Media, Queue []string
},
) {
	if err := yaml.Unmarshal(namesText, &words); err != nil {
		panic(err)
	}
	return words
}()

// looksSalt guesses whether a partition column spreads rows: it is called so, or it is a
// bucket next to a time, or before what it would divide, as in salted HBase row keys.
func looksSalt(t *schemas.Table, c *schemas.Column) bool {
	if c.Role != schemas.Partition || !numbered(c) && c.Type.Kind != schemas.Blob {
		return false
	}
	if named(c.Name, guessed.Salt) {
		return true
	}
	first := len(t.Partition) > 1 && t.Partition[0] == c
	withTime := slices.ContainsFunc(t.Partition, func(o *schemas.Column) bool { return o != c && namesTime(o) })
	return named(c.Name, []string{"bucket"}) && (first || withTime)
}

// numbersPartitions reports whether a column of the partition key is called the number of a partition.
func numbersPartitions(c *schemas.Column) bool {
	whole := c.Type.Kind == schemas.Int || c.Type.Kind == schemas.Bigint
	return c.Role == schemas.Partition && whole && named(c.Name, guessed.Partition)
}

// numbered reports whether values of a column can be numbers or the names of times.
func numbered(c *schemas.Column) bool {
	return slices.Contains([]schemas.Kind{schemas.Int, schemas.Bigint, schemas.Text, schemas.Timestamp}, c.Type.Kind)
}

// namesTime reports whether the name of a column says that it holds a time. A day of a
// week comes again, and is none.
func namesTime(c *schemas.Column) bool {
	_, whole, found := strings.Cut(strings.Join(wordsOf(c.Name), " ")+" ", " of ")
	again := found && (whole == "" || slices.Contains(guessed.Time, strings.TrimSpace(whole)))
	return named(c.Name, guessed.Time) && !again
}

// named reports whether a name has one of the words: sentDate, days_2 and subblock have
// date, day and block.
func named(name string, words []string) bool {
	return slices.ContainsFunc(wordsOf(name), func(word string) bool {
		word = strings.TrimRight(word, "0123456789")
		if slices.Contains(words, word) || slices.ContainsFunc(guessed.Suffixes, func(suffix string) bool {
			return len(word) > len(suffix)+2 && slices.Contains(words, strings.TrimSuffix(word, suffix))
		}) {
			return true
		}
		return slices.ContainsFunc(guessed.Prefixes, func(prefix string) bool {
			rest, found := strings.CutPrefix(word, prefix)
			return found && len(rest) > 2 && slices.Contains(words, rest)
		})
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

// ends reports whether the partitions of a table stop growing: a column of the key is a bucket, or the
// number of a piece, the rows have a most, or all expire.
func (c *checker) ends(t *schemas.Table) bool {
	endless := func(r *schemas.Rows) bool { return gathers(r) && r.Most == 0 }
	if slices.ContainsFunc(t.Rows, gathers) && !slices.ContainsFunc(t.Rows, endless) {
		return true
	}
	return c.expires(t) || slices.ContainsFunc(t.Partition, func(c *schemas.Column) bool {
		return Serves(t, c, schemas.Bucket) || Serves(t, c, schemas.Chunk)
	})
}

// expires reports whether the rows of a table have an end of their own: by a setting, or since each
// statement that creates one gives it a time to live.
func (c *checker) expires(t *schemas.Table) bool {
	base := c.schema.Table(t.View())
	return c.lives(t) != 0 || base != nil && c.lives(base) != 0 // rows of a view go with those of its base
}

// lives returns after how many seconds the last of the rows that are written at a time expires: 0 is never,
// and -1 not known.
func (c *checker) lives(t *schemas.Table) (seconds float64) {
	for _, settings := range t.Hints {
		if ttl, err := strconv.ParseFloat(settings[schemas.ExpirySetting], 64); err == nil && ttl > 0 {
			return ttl
		}
	}
	for _, p := range c.of(t, schemas.Put, schemas.PutIf) {
		ttl, err := strconv.ParseFloat(carried(p, "ttl"), 64)
		switch {
		case p.Static || carried(p, "delete") != "": // it creates no row
		case carried(p, "ttl") == "" || err == nil && ttl == 0:
			return 0
		case err != nil || seconds < 0:
			seconds = -1
		default:
			seconds = max(seconds, ttl)
		}
	}
	return seconds
}

// growing returns the first clustering column, from the given one on, that gets a
// new value for each message or event; nil if there is none. If the table declares its
// rows, they say whether there is one. Types say which: a timeuuid, timestamp, bigint, or
// the uuid of a row with a time, else the first column. A bigint below such a column numbers the pieces of one
// message. A read that binds columns to values gets no rows by new ones.
func growing(t *schemas.Table, from int, bound ...*schemas.Column) *schemas.Column {
	if len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, gathers) {
		return nil
	}
	one := false // the clustering columns before c name one message
	for i, c := range t.Clustering {
		if Serves(t, c, schemas.Chunk) {
			continue
		}
		switch c.Type.Kind {
		case schemas.TimeUUID:
		case schemas.Timestamp:
			if c.Type.Foreign == "date" { // one a day
				continue
			}
		case schemas.UUID:
			if !dated(t) { // members of a group, say
				continue
			}
		case schemas.Bigint:
			if one {
				continue
			}
		default:
			continue
		}
		if i >= from && !slices.Contains(bound, c) {
			return c
		}
		one = true
	}
	if !one && len(t.Rows) > 0 && from == 0 && len(t.Clustering) > 0 {
		return t.Clustering[0]
	}
	return nil
}

// dated reports whether rows of a table are events as far as is known: it says what its rows are, or they
// have a time.
func dated(t *schemas.Table) bool {
	return len(t.Rows) > 0 || slices.ContainsFunc(slices.Concat(t.Clustering, t.Columns), func(c *schemas.Column) bool {
		kind := c.Type.Kind
		return kind == schemas.TimeUUID || kind == schemas.Timestamp && c.Type.Foreign != "date" ||
			kind == schemas.Bigint && (namesTime(c) || named(c.Name, guessed.Written))
	})
}

// gathers reports whether messages of a user or folder, or rows of all users, come
// together in one partition.
func gathers(r *schemas.Rows) bool {
	if g := r.Growth; g != nil {
		return !r.Static && g.Of > 0 && g.Every == "" && g.Per > 0
	}
	ofMany := r.Partition == "user" || r.Partition == "folder"
	return !r.Static && (r.Partition == "all" || ofMany && (r.Each == "message" || r.Each == "attachment"))
}

// holds returns what part of a message a column holds in one cell, of any size: a
// quantity of [schemas.Content], or "".
func holds(t *schemas.Table, c *schemas.Column) string {
	if quantity, inPieces := t.Holds(c); !inPieces {
		return quantity
	}
	return ""
}

// unique reports whether nearly each row has its own value of a column. The column's
// type says so, or the table's rows do: each user has a row with the user's address.
func unique(t *schemas.Table, c *schemas.Column) bool {
	switch c.Type.Kind {
	case schemas.UUID, schemas.TimeUUID, schemas.Timestamp, schemas.Blob:
		return c.Type.Foreign != "date" // a day has many rows
	}
	return slices.ContainsFunc(t.Rows, func(r *schemas.Rows) bool {
		return r.Each == "user" && r.Partition == "user" && slices.ContainsFunc(r.Sizes, func(size schemas.ColumnSize) bool {
			return size.Column == c && slices.ContainsFunc(size.Bytes, func(t schemas.Term) bool {
				return t.Quantity == "address"
			})
		})
	})
}

// rowColumns returns how many columns of the primary key are in the HBase row key.
// The rest is the qualifier of a cell in that row.
func (c *checker) rowColumns(t *schemas.Table) int {
	if c.Facts != nil {
		if e := c.Facts.Forecast(hbase); e != nil {
			return e.Unit(t)
		}
	}
	return len(t.Partition) + len(t.Clustering)
}
