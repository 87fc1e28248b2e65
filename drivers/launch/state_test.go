//go:build linux

package launch

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzState: whatever the state file says, it is refused, or it is an instance with the
// nodes that its engine has. Their names are folders that are written and removed.
func FuzzState(f *testing.F) {
	const good = `{"engine":"cassandra","version":"5.0.9","port":9042,"heap_bytes":536870912,"count":1,` +
		`"nodes":[{"name":"node1","address":"127.0.0.1:9042","listens":["127.0.0.1:9042"],"process":{"pid":1,"start":"x"}}]}`
	f.Add([]byte(good), false)
	f.Add([]byte(`{"engine":"hbase","version":"2.6.4","port":2181,"heap_bytes":536870912,"count":2,"nodes":[]}`), true)
	f.Add([]byte(`{"engine":"hbase","version":"2.6.4","port":2181,"heap_bytes":536870912,"count":0,"nodes":[{"name":"hbase"}]}`), true)
	f.Add([]byte(`{"engine":"cassandra","port":9042,"heap_bytes":536870912,"count":1,"nodes":[{"name":"../victim"}]}`), false)
	f.Add([]byte(`{"engine":"cassandra","port":-1,"count":-1,"nodes":null}`), false)
	f.Add([]byte(`{"engine":"cassandra","port":9042,"count":1000000000}`), false)
	f.Fuzz(func(t *testing.T, text []byte, isHBase bool) {
		e := cassandra
		if isHBase {
			e = hbase
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, stateName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := Open(e.Name, dir)
		if err != nil {
			return
		}
		nodes := in.Nodes()
		if len(nodes) == 0 || len(in.Contact()) == 0 || in.String() == "" {
			t.Errorf("%d nodes, %d contacts of %s", len(nodes), len(in.Contact()), in)
		}
		for i, want := range e.layOut(in.state.Port, in.state.Config.Nodes) {
			if i >= len(nodes) || nodes[i].Name != want.Name || nodes[i].Address != want.Address {
				t.Errorf("node %d of %+v is not %+v", i, nodes, want)
			}
		}
	})
}
