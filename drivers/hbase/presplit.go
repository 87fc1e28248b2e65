package hbase

import "github.com/mailbench/mailbench/schemas"

// splits returns the row keys at which the regions of a new table begin, without the first
// region. A salted table has a region for each bucket, or with pre_split as many as that says.
func (r *root) splits(regions int) [][]byte {
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
