package cassandra

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestAuth runs on a Cassandra with a login, as a role that may use only what it has made
// itself, over TLS. Such a role sees neither settings nor thread pools nor built indexes.
func TestAuth(t *testing.T) {
	in := live.Secured(t)
	login := in.Login()
	t.Setenv(userVariable, login.User)
	t.Setenv(passwordVariable, "")
	t.Setenv(passwordFileVariable, login.PasswordFile)
	options := func() drivers.Options {
		return drivers.Options{
			Contact: in.Contact(), Named: []string{"contact", "tls_ca"}, Namespace: newNamespace(),
			Settings: map[string]string{"tls": "true", "tls_ca": login.Authority},
		}
	}
	st := drivertest.OpenLive(t, Engine(), options()).(*Store)

	t.Run("untold", func(t *testing.T) {
		if got := st.Capabilities().Durability; got != drivers.DurabilityUnknown {
			t.Errorf("durability is %s, of a cluster that does not show its commitlog_sync", got)
		}
		o := options()
		o.Durability = drivers.Power
		if power, err := Engine().Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "does not show this user") {
			t.Errorf("durability power: %v, %v; want it refused", power, err)
		}
		if err := st.Settle(t.Context()); !errors.Is(err, drivers.ErrUnreported) {
			t.Errorf("settle: %v, want ErrUntold", err)
		}
		if o := st.Observe(); o.DiskBytes != -1 || o.CompactionDebt != -1 {
			t.Errorf("observed %+v, want nothing told", o)
		}
		if left := st.Left(); left != "" {
			t.Errorf("left behind: %q", left)
		}
	})
	drivertest.RunShared(t, st, "indexes", "conditions", "counters", "batches")
	t.Run("namespaces", func(t *testing.T) {
		all, err := drivers.Namespaces(t.Context(), st)
		if err != nil || len(all) == 0 {
			t.Errorf("namespaces %+v, %v", all, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for what, query := range map[string]string{
			"passwords":    "SELECT * FROM system_auth.roles",
			"new roles":    "CREATE ROLE mallory WITH SUPERUSER = true",
			"other tables": "SELECT * FROM system_distributed.view_build_status",
		} {
			var refused gocql.RequestError
			if err := st.session.Query(query).Exec(); !errors.As(err, &refused) || refused.Code() != gocql.ErrCodeUnauthorized {
				t.Errorf("%s: %v, want it refused", what, err)
			}
		}
		for what, c := range map[string]struct {
			user, password string
			settings       map[string]string
			want           string
		}{
			"a wrong password":      {login.User, "wrong", options().Settings, "refused the login"},
			"Cassandra's own user":  {"cassandra", "cassandra", options().Settings, "refused the login"},
			"no login":              {"", "", options().Settings, "refused the login"},
			"another's certificate": {login.User, "secret", map[string]string{"tls": "true"}, "certificate"},
			"no TLS":                {login.User, "secret", nil, ""},
			"another server's name": {login.User, "secret", map[string]string{"tls": "true", "tls_ca": login.Authority, "tls_server_name": "db.example.com"}, "certificate"},
		} {
			t.Setenv(userVariable, c.user)
			t.Setenv(passwordVariable, c.password)
			t.Setenv(passwordFileVariable, "")
			o := options()
			o.Settings = c.settings
			other, err := Engine().Open(context.Background(), o)
			if err == nil {
				other.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want an error with %q", what, err, c.want)
			}
		}
	})
}
