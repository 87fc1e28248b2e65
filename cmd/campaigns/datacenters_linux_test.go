//go:build campaigns

package campaigns

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers/launch"
)

// withConsistency are faults as they strike three nodes in two datacenters: once at QUORUM, which
// operationsOf both, and once at LOCAL_QUORUM, which needs the two nodes of dc1.
func withConsistency(faults ...campaignFault) (all []campaignFault) {
	for _, f := range faults {
		for _, consistency := range []string{"QUORUM", "LOCAL_QUORUM"} {
			g := f
			g.name += ", " + consistency
			g.args = []string{"--set", "engines.cassandra.consistency=" + consistency}
			all = append(all, g)
		}
	}
	return all
}

// datacenterFaults strike on the site "datacenters".
var datacenterFaults = withConsistency(
	campaignFault{name: "node killed", count: map[string]int{"datacenters": 25}, takes: 40 * time.Second, blow: nodeKilled},
	campaignFault{name: "hang of 15 s", count: map[string]int{"datacenters": 5}, takes: 45 * time.Second, blow: hung},
	campaignFault{name: "node cut off for 15 s", count: map[string]int{"datacenters": 5}, takes: 45 * time.Second, blow: cutOff},
	campaignFault{name: "clock 5 s ahead", count: map[string]int{"datacenters": 3}, takes: 120 * time.Second, blow: clockAhead},
	campaignFault{
		name: "full disk", count: map[string]int{"datacenters": 2}, takes: 90 * time.Second, blow: fullDisk,
		rate: map[string]string{"cassandra": "100/s"},
	},
)

// cutVariable says that the campaign has a network namespace of its own, in which it may cut nodes
// off: make check CHECK=datacenters.
const cutVariable = "MAILBENCH_FAULT_NETNS"

// ownNetwork lets rules of routes come before the kernel's own ones.
func ownNetwork(t *testing.T) {
	t.Helper()
	if os.Getenv(cutVariable) == "" {
		t.Skip("make check CHECK=datacenters runs this, in a network namespace of its own")
	}
	system(t, "ip", "link", "set", "lo", "up")
	if exec.Command("ip", "rule", "add", "pref", "100", "lookup", "local").Run() == nil {
		system(t, "ip", "rule", "del", "pref", "0")
	}
}

// cutOff lets nothing pass between a node and all others for 15 s, the client among them. No side
// gets an error: packets are dropped.
func cutOff(t *testing.T, s *site, _ *child) bool {
	n := s.next()
	host, _, _ := strings.Cut(n.Address, ":")
	rules := [][]string{
		{"pref", "1", "from", host, "to", host, "lookup", "local"}, // it reaches itself
		{"pref", "2", "to", host, "blackhole"},
		{"pref", "3", "from", host, "blackhole"},
	}
	for _, r := range rules {
		system(t, "ip", append([]string{"rule", "add"}, r...)...)
	}
	time.Sleep(15 * time.Second)
	for _, r := range rules {
		system(t, "ip", "rule", "del", "pref", r[1])
	}
	s.up(t)
	return true
}

// clockAhead starts a node again with a clock that is 5 s ahead, lets it serve for 20 s, and starts
// it again with the right one.
func clockAhead(t *testing.T, s *site, _ *child) bool {
	agent := s.agent(t)
	n := s.next()
	restart := func(options string) {
		kill9(t, s.in, n.Name)
		t.Setenv("JAVA_TOOL_OPTIONS", options)
		s.up(t)
	}
	restart("-Dcassandra.clock=Ahead -javaagent:" + agent)
	if s.broken == "" {
		time.Sleep(20 * time.Second)
		restart("")
	}
	log, err := os.ReadFile(filepath.Join(s.in.Dir(), n.Name, "log"))
	return err == nil && strings.Contains(string(log), "-Dcassandra.clock=Ahead")
}

// agent compiles the clock that is ahead, once.
func (s *site) agent(t *testing.T) string {
	t.Helper()
	if s.clock != "" {
		return s.clock
	}
	jars, err := launch.Jars(context.Background(), "cassandra", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	dir := s.in.Dir()
	system(t, "javac", "-cp", jars+"/*", "-d", dir, "testdata/Ahead.java")
	manifest := filepath.Join(dir, "Ahead.txt")
	if err := os.WriteFile(manifest, []byte("Premain-Class: Agent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.clock = filepath.Join(dir, "ahead.jar")
	system(t, "jar", "cfm", s.clock, manifest, "-C", dir, "Ahead.class", "-C", dir, "Agent.class")
	return s.clock
}
