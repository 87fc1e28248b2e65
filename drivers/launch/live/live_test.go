package live

import (
	"runtime"
	"strings"
	"testing"
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

func TestShared(t *testing.T) {
	for variable, of := range map[string]func(testing.TB) string{"MAILBENCH_TEST_CASSANDRA": Cassandra, "MAILBENCH_TEST_HBASE": HBase} {
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

// TestClusterNeedsJava: where an engine cannot be started, its test is left out
// in the same way.
func TestClusterNeedsJava(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	cluster := func(t testing.TB) string { return Cluster(t, "cassandra", 1).Dir() }
	t.Setenv("MAILBENCH_REQUIRE_ENGINES", "")
	if _, how := ask(t, cluster); how.skipped == "" || how.failed != "" {
		t.Errorf("skipped %q, failed %q; want it skipped", how.skipped, how.failed)
	}
	t.Setenv("MAILBENCH_REQUIRE_ENGINES", "1")
	if _, how := ask(t, cluster); how.failed == "" || how.skipped != "" {
		t.Errorf("skipped %q, failed %q; want it failed", how.skipped, how.failed)
	}
}
