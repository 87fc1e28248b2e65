package engines

import (
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestGuarded: each setting of an engine with a password is guarded, or is listed here as one that does not
// decide who gets the password.
func TestGuarded(t *testing.T) {
	harmless := strings.Fields("consistency serial_consistency replication local_dc rack compression timeout connect_timeout " +
		"connections page_size retries write_coalesce tls tls_cert tls_key sync ack limits replicas zones")
	found := 0
	for _, e := range All() {
		if !slices.ContainsFunc(e.Environment, func(s drivers.Setting) bool { return strings.HasSuffix(s.Name, "_PASSWORD") }) {
			continue
		}
		for _, s := range e.Settings {
			if s.Guarded == slices.Contains(harmless, s.Name) {
				t.Errorf("setting %s of %s: guarded %t", s.Name, e.Name, s.Guarded)
			}
			o := drivers.Options{Settings: map[string]string{s.Name: "x"}}
			if err := o.MayGo(e.Name, e.Settings, "USER"); s.Guarded != (err != nil) {
				t.Errorf("a workload sets %s of %s: %v", s.Name, e.Name, err)
			}
			if o.Named = []string{s.Name}; o.MayGo(e.Name, e.Settings, "USER") != nil {
				t.Errorf("the user may not set %s of %s", s.Name, e.Name)
			}
			found++
		}
	}
	if found == 0 {
		t.Error("no engine has a password")
	}
}
