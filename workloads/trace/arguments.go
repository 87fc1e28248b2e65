package trace

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// longestText is how many bytes of a text or blob are shown.
const longestText = 40

// describe writes the arguments of a call.
func describe(p *schemas.Pattern, args []drivers.Value) string {
	var words []string
	for i, a := range p.Args() {
		if i < len(args) {
			words = append(words, a.Name+"="+word(args[i]))
		}
	}
	return strings.Join(words, " ")
}

func word(v drivers.Value) string {
	switch v.Kind() {
	case schemas.Null:
		return "null"
	case schemas.Text:
		if raw := v.Raw(); len(raw) > longestText {
			return fmt.Sprintf("%q… (%d bytes)", raw[:longestText], len(raw))
		}
		return strconv.Quote(v.Str())
	case schemas.Blob:
		return fmt.Sprintf("%d bytes", len(v.Raw()))
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return hex.EncodeToString(u[:])
	case schemas.Timestamp:
		return v.Time().Format(time.RFC3339)
	case schemas.Set, schemas.List, schemas.Map:
		return fmt.Sprintf("%d elements", len(v.Elems()))
	}
	return strconv.FormatInt(v.Int64(), 10)
}
