package cassandra

import (
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// limits are sizes in bytes, of values and keys as mailbench counts them, that
// are checked before anything is sent.
type limits struct {
	// mutation is what the cluster takes for one partition at once: the
	// smaller of its largest mutation and its largest request.
	mutation int64
	// batch is what it takes for a batch over several partitions.
	batch int64
}

const (
	// Cassandra 5.0's defaults, for a cluster that does not tell its own (4.0
	// does under other names, and not to every user).
	defaultMutation = 16 << 20
	defaultBatch    = 50 << 10
	// mutationMargin is kept of a mutation for what is not a value: names of
	// columns, clusterings, the request's own header.
	mutationMargin = 8 << 10
	// What Cassandra counts beside keys and values, or a little more: of a
	// partition its deletions and static row, of a row its own timestamps, of a
	// value and of each element of a collection timestamp, time to live and
	// deletion time.
	partitionOverhead = 48
	rowOverhead       = 32
	valueOverhead     = 24
)

func limitsOf(server map[string]string) limits {
	l := limits{mutation: defaultMutation, batch: defaultBatch}
	if n := sizeSetting(server["max_mutation_size"]); n > 0 {
		l.mutation = n
	}
	if n := sizeSetting(server["native_transport_max_frame_size"]); n > 0 {
		l.mutation = min(l.mutation, n)
	}
	l.mutation -= mutationMargin
	if n := sizeSetting(server["batch_size_fail_threshold"]); n > 0 {
		l.batch = min(n, l.mutation)
	}
	return l
}

// sizeSetting reads a size of cassandra.yaml, such as 50KiB; 0 if it is none.
func sizeSetting(v string) int64 {
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if digits, ok := strings.CutSuffix(v, u.suffix); ok {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				return n * u.bytes
			}
			return 0
		}
	}
	return 0
}

// sizeOf is at least what Cassandra will count of a write, without its partition.
func (st *statement) sizeOf(args []drivers.Value) int64 {
	n := int64(rowOverhead)
	for i := range args {
		n += int64(args[i].Size())
		if i >= st.keys {
			n += valueOverhead * int64(1+len(args[i].Elems()))
		}
	}
	return n
}
