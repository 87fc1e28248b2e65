package live

import (
	"runtime"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch"
)

// fake is a test that notes how it was ended.
type fake struct {
	testing.TB
	skipped, failed string
}

func (f *fake) Helper() {}

func (f *fake) Skip(args ...any) {
	f.skipped = args[0].(string)
	runtime.Goexit()
}

func (f *fake) Fatal(args ...any) {
	f.failed = args[0].(string)
	runtime.Goexit()
}

// ask runs a function of live as a test of its own would.
func ask(t *testing.T, of func(testing.TB) string) (contact string, how fake) {
	how.TB = t
	done := make(chan struct{})
	go func() {
		defer close(done)
		contact = of(&how)
	}()
	<-done
	return contact, how
}

func TestContact(t *testing.T) {
	for variable, engine := range map[string]string{"MAILBENCH_TEST_CASSANDRA": "cassandra", "MAILBENCH_TEST_HBASE": "hbase"} {
		of := func(t testing.TB) string { return Contact(t, engine) }
		t.Setenv(variable, "127.0.0.1:1")
		if contact, how := ask(t, of); contact != "127.0.0.1:1" || how.skipped+how.failed != "" {
			t.Errorf("%s: contact %q, %q, %q", variable, contact, how.skipped, how.failed)
		}
		t.Setenv(variable, "")
		t.Setenv("MAILBENCH_REQUIRE_ENGINES", "")
		if _, how := ask(t, of); !strings.Contains(how.skipped, variable) || !strings.Contains(how.skipped, "make test") || how.failed != "" {
			t.Errorf("%s is not set: skipped %q, failed %q; want it skipped, and why", variable, how.skipped, how.failed)
		}
		t.Setenv("MAILBENCH_REQUIRE_ENGINES", "1")
		if _, how := ask(t, of); !strings.Contains(how.failed, variable) || how.skipped != "" {
			t.Errorf("%s is not set and engines are required: skipped %q, failed %q; want it failed", variable, how.skipped, how.failed)
		}
	}
}

// TestCluster: where no engine may be started or none can be, a test that needs
// one of its own is left out, or fails, and says why.
func TestCluster(t *testing.T) {
	cluster := func(t testing.TB) string { return Start(t, launch.Config{Engine: "cassandra", Nodes: 1}).Dir() }
	three := func(t testing.TB) string { return Cassandra3(t).Dir() }
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("MAILBENCH_TEST_CASSANDRA3", "")
	for start, why := range map[string]string{"": "MAILBENCH_TEST_ENGINES=1 is not set", "1": "java"} {
		for _, of := range []func(testing.TB) string{cluster, three} {
			t.Setenv("MAILBENCH_TEST_ENGINES", start)
			t.Setenv("MAILBENCH_REQUIRE_ENGINES", "")
			if _, how := ask(t, of); !strings.Contains(how.skipped, why) || strings.Contains(how.skipped, "\n") || how.failed != "" {
				t.Errorf("skipped %q, failed %q; want it skipped in one line with %q", how.skipped, how.failed, why)
			}
			t.Setenv("MAILBENCH_REQUIRE_ENGINES", "1")
			if _, how := ask(t, of); !strings.Contains(how.failed, why) || how.skipped != "" {
				t.Errorf("skipped %q, failed %q; want it failed with %q", how.skipped, how.failed, why)
			}
		}
	}
}
