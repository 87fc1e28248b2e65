package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
)

// Split implements drivers.Splitter. Its parts are token ranges of equal length of
// the ring of Murmur3Partitioner, whose tokens are the whole numbers above -2^63.
func (s *Store) Split(ctx context.Context, scan drivers.Statement, n int) ([]drivers.Statement, error) {
	return s.parts(ctx, scan, tokenRanges(n))
}

// Range implements drivers.Ranger: the token before the first one, and the last one.
func (s *Store) Range(part drivers.Statement) string {
	r := part.(*statement).tokens
	return fmt.Sprintf("%d:%d", r.after, r.to)
}

// Within implements drivers.Ranger.
func (s *Store) Within(ctx context.Context, scan drivers.Statement, ranges []string) ([]drivers.Statement, error) {
	all := make([]tokenRange, len(ranges))
	for i, text := range ranges {
		after, to, _ := strings.Cut(text, ":")
		var errs [2]error
		all[i].after, errs[0] = strconv.ParseInt(after, 10, 64)
		all[i].to, errs[1] = strconv.ParseInt(to, 10, 64)
		if err := cmp.Or(errs[0], errs[1]); err != nil {
			return nil, fmt.Errorf("%q is no range of tokens: %w", text, err)
		}
	}
	return s.parts(ctx, scan, all)
}

// parts returns a scan of each range of tokens.
func (s *Store) parts(ctx context.Context, scan drivers.Statement, ranges []tokenRange) ([]drivers.Statement, error) {
	return plan.Parts(s.Gate, scan, func(st *statement) ([]*statement, error) {
		part := *st
		part.queries[0] = part.selection(func(b *cql) {
			token := "token(" + ddl.Quoted(part.table.Partition) + ")"
			b.cond(token+" > ?", bindAfterToken)
			b.cond(token+" <= ?", bindToToken)
		})
		parts := make([]*statement, len(ranges))
		for i, r := range ranges {
			one := part
			one.tokens = r
			parts[i] = &one
		}
		return parts, s.prepare(ctx, &part)
	})
}

// tokenRanges divides the ring into n ranges.
func tokenRanges(n int) []tokenRange {
	ranges := make([]tokenRange, n)
	after := int64(math.MinInt64)
	for i := range ranges {
		to := int64(math.MaxInt64)
		if i < n-1 {
			tokens, _ := bits.Div64(uint64(i+1), 0, uint64(n)) // 2^64 (i+1) / n
			to = int64(tokens - 1<<63)
		}
		ranges[i] = tokenRange{after, to}
		after = to
	}
	return ranges
}
