package hbase

import (
	"bytes"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// splits returns the row keys at which the regions of a new table begin, without the first
// region. A salted table has a region for each bucket, or with pre_split as many as that says. Where
// row keys begin with addresses, the regions have equal shares of the users.
func (r *root) splits(regions int, users []string) [][]byte {
	if r.salt == 0 && r.addressed && len(users) > 0 {
		return sampledKeys(users, regions)
	}
	if r.salt == 0 {
		return splitKeys(r.schema.Partition[0].Type.Kind, regions)
	}
	if regions == 1 {
		regions = r.salt
	}
	var keys [][]byte
	for i := 1; i < min(regions, r.salt); i++ {
		keys = append(keys, []byte{byte(r.salt * i / min(regions, r.salt))})
	}
	return keys
}

// letters are those with which texts in keys are assumed to begin, such as mail addresses and
// hexadecimal ids.
const letters = "0123456789abcdefghijklmnopqrstuvwxyz"

// splitKeys returns the keys that divide the keys of one kind evenly. It returns none for numbers
// and times, whose range is unknown: see the hint salt.
func splitKeys(kind schemas.Kind, regions int) (keys [][]byte) {
	for i := 1; i < regions; i++ {
		switch kind {
		case schemas.Text:
			at := len(letters) * len(letters) * i / regions
			keys = append(keys, []byte{letters[at/len(letters)], letters[at%len(letters)]})
		case schemas.Blob, schemas.UUID:
			at := 1 << 16 * i / regions
			keys = append(keys, []byte{byte(at >> 8), byte(at)})
		}
	}
	return keys
}

// sampledKeys returns the keys that divide a sample into equal shares.
func sampledKeys(sample []string, regions int) (keys [][]byte) {
	sorted := slices.Sorted(slices.Values(sample))
	for i := 1; i < regions; i++ {
		key := []byte(sorted[i*len(sorted)/regions])
		if sorted[0] != string(key) && (len(keys) == 0 || !bytes.Equal(keys[len(keys)-1], key)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// addressed reports whether the rows of a table, or of one nested in it, have the address of a user
// as their first key column, which the schema's population says.
func addressed(s *schemas.Schema, root *schemas.Table) bool {
	first := root.Partition[0]
	if first.Type.Kind != schemas.Text {
		return false
	}
	address := func(t schemas.Term) bool { return t.Quantity == "address" }
	return slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool {
		return t.Root() == root && slices.ContainsFunc(t.Rows, func(r *schemas.Rows) bool {
			return slices.ContainsFunc(r.Sizes, func(c schemas.ColumnSize) bool {
				return c.Column.Name == first.Name && slices.ContainsFunc(c.Bytes, address)
			})
		})
	})
}
