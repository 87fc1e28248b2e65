package cassandra

import (
	"strconv"
	"strings"
)

// limits are the size limits of writes in bytes. The driver counts keys and values
// and checks the limits before it sends anything.
type limits struct {
	// mutation is the largest write to one partition: the smaller of the cluster's
	// largest mutation and its largest request.
	mutation int64
	// batch is the largest batch over several partitions.
	batch int64
}

const (
	// These are the defaults of Cassandra 5.0, for a cluster that does not show its
	// limits. Cassandra 4.0 has other names for them, and does not show them to
	// every user.
	defaultMutation = 16 << 20
	defaultBatch    = 50 << 10
	// mutationMargin is the room left in a mutation for column names, clustering
	// values and the request's header.
	mutationMargin = 8 << 10
	// Cassandra counts more than keys and values. A partition has deletions and a
	// static row. A row has timestamps. A value, and each element of a collection,
	// has a timestamp, a time to live and a deletion time. These numbers are at
	// least what Cassandra counts.
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

// sizeSetting reads a size as in cassandra.yaml, such as 50KiB. It returns 0 if v
// is not a size.
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
