package live

import (
	"testing"
	"time"

	"github.com/gocql/gocql"
)

// CQL returns how to reach the Cassandra that tests share with statements of their own. Creating
// and dropping tables takes longer during other tests than gocql waits.
func CQL(t testing.TB) *gocql.ClusterConfig {
	t.Helper()
	c := gocql.NewCluster(Contact(t, "cassandra"))
	c.Timeout, c.ConnectTimeout = 2*time.Minute, time.Minute
	return c
}
