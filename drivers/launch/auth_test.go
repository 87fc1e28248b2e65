package launch

import (
	"os"
	"strings"
	"testing"

	"github.com/gocql/gocql"
)

// TestForeignRoles: a cluster with a role that mailbench did not make is refused. A Cassandra
// without a login has its own superuser.
func TestForeignRoles(t *testing.T) {
	contact := os.Getenv("MAILBENCH_TEST_CASSANDRA") // package live starts engines with this package
	if contact == "" {
		t.Skip("MAILBENCH_TEST_CASSANDRA is not set; make test starts an engine and sets it")
	}
	s, err := connect(contact, nil, gocql.One)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := onlyOurs(t.Context(), s); err == nil || !strings.Contains(err.Error(), "roles that mailbench did not create: cassandra") {
		t.Errorf("a cluster with Cassandra's own superuser: %v, want it refused", err)
	}
}
