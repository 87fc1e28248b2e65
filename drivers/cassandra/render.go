package cassandra

import (
	"maps"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	r := ddl.Replication{Datacenter: set.localDC, Factor: max(1, set.replication)}
	if all := set.replicas; all != nil {
		if r.Datacenter == "" {
			r.Datacenter = slices.Sorted(maps.Keys(all))[0]
		}
		r.Factor, r.Others = max(1, all[r.Datacenter]), maps.Clone(all)
		delete(r.Others, r.Datacenter)
	}
	if r.Datacenter == "" {
		r.Datacenter = ddl.AnyDatacenter
	}
	return ddl.Render(s, o.Namespace, r)
}

// Keyspace returns the name of a schema's keyspace in a namespace, which may be "".
func Keyspace(namespace, schema string) (string, error) { return ddl.Keyspace(namespace, schema) }
