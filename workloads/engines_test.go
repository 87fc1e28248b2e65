package workloads

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

const withEngines = `
version: 1
name: w
engines:
  cassandra: {contact: [10.0.0.1, "10.0.0.2:9042", "::1", "[::1]:9042"], consistency: QUORUM, replication: 3, timeout: 5s}
  hbase: {contact: zk}
population: {users: 1, messages: 1}
phases:
  - load: {}
  - measure: {rate: 1/s, duration: 1s, mix: {list: 1}}
`

var engineWords = map[string]EngineWords{
	"cassandra": {
		Settings:    []string{"contact", "consistency", "replication", "timeout"},
		Environment: []string{"MAILBENCH_CASSANDRA_USER", "MAILBENCH_CASSANDRA_PASSWORD"},
		Check: func(setting, value string) error {
			if setting == "timeout" && value == "soon" {
				return errors.New("setting timeout: no time")
			}
			return nil
		},
	},
	"hbase":    {Settings: []string{"contact"}},
	"embedded": {},
}

func TestEngines(t *testing.T) {
	w, err := Known{Engines: engineWords}.Parse("w.yaml", []byte(withEngines), []string{
		"engines.cassandra.consistency=ONE", "engines.hbase.contact=[a, 'b:2181']",
	})
	if err != nil {
		t.Fatal(err)
	}
	c := w.Engines["cassandra"]
	if want := []string{"10.0.0.1", "10.0.0.2:9042", "::1", "[::1]:9042"}; !slices.Equal(c.Contact, want) {
		t.Errorf("contact %q, want %q", c.Contact, want)
	}
	if want := map[string]string{"consistency": "ONE", "replication": "3", "timeout": "5s"}; !maps.Equal(c.Settings, want) {
		t.Errorf("settings %q, want %q", c.Settings, want)
	}
	if got := w.Engines["hbase"].Contact; !slices.Equal(got, []string{"a", "b:2181"}) {
		t.Errorf("contact of hbase %q", got)
	}
	if h := w.Engines["hbase"]; !slices.Equal(c.Named, []string{"consistency"}) || !slices.Equal(h.Named, []string{"contact"}) {
		t.Errorf("settings named by the user: cassandra %q, hbase %q; want those of --set only", c.Named, h.Named)
	}
	again, err := Parse("run.json", w.Source) // as run --from does with somebody's results
	if err != nil || len(again.Engines["hbase"].Named)+len(again.Engines["cassandra"].Named) > 0 {
		t.Errorf("settings of a saved workload count as named by the user, %v", err)
	}
	if !strings.Contains(string(w.Source), "consistency: ONE") {
		t.Error("the source does not say what ran")
	}
}

// TestCheckContact: addresses with and without a port, of all kinds of host.
func TestCheckContact(t *testing.T) {
	for _, good := range []string{
		"db", "db:9042", "10.0.0.1", "10.0.0.1:9042", "::1", "[::1]", "[::1]:9042", "fe80::1%eth0", "[fe80::1%eth0]", "[fe80::1%eth0]:9042",
	} {
		if err := CheckContact(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ":9042", "[::1", "::1]", "[", "[]", "[]:1", "[[::1]]", "[db", "db]", "[::1]9042", "[fe80::1%eth0", "fe80::1%", "db:0", "db:65536",
		"db:x", "a b", "a,b", "http://db", "db/x", "me@db", "1:2:3",
	} {
		if CheckContact(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestCheckEngines(t *testing.T) {
	for _, c := range []struct{ name, from, to, set, want string }{
		{"engine", "hbase:", "hbse:", "", `w.yaml:6:3: unknown engine "hbse"; did you mean "hbase"?`},
		{"engine unlike any", "hbase:", "xyz:", "", `w.yaml:6:3: unknown engine "xyz"; expected one of cassandra, embedded, hbase`},
		{"setting", "timeout:", "timout:", "", `w.yaml:5:111: unknown setting "timout" of engine cassandra; did you mean "timeout"?`},
		{"setting unlike any", "timeout:", "xyz:", "", `w.yaml:5:111: unknown setting "xyz" of engine cassandra; expected one of contact, consistency, replication, timeout`},
		{"contact, nearly", "contact: zk", "contacts: zk", "", `w.yaml:6:11: unknown setting "contacts" of engine hbase; did you mean "contact"?`},
		{"nobody to contact", "hbase:", "embedded:", "", `w.yaml:6:14: unknown setting "contact" of engine embedded; it has none`},
		{"no settings", "hbase: {contact: zk}", "embedded: {x: 1}", "", `w.yaml:6:14: unknown setting "x" of engine embedded; it has none`},
		{
			"password", "timeout: 5s", "password: hunter2", "",
			`w.yaml:5:111: password of engine cassandra must not be in a workload or a flag; set the environment variable MAILBENCH_CASSANDRA_PASSWORD`,
		},
		{
			"password, nearly", "timeout: 5s", "auth_passwd: hunter2", "",
			`w.yaml:5:111: auth_passwd of engine cassandra must not be in a workload or a flag; set the environment variable MAILBENCH_CASSANDRA_PASSWORD`,
		},
		{
			"setting by override", "", "", "engines.cassandra.consistncy=ONE",
			`--set "engines.cassandra.consistncy=ONE":1:19: unknown setting "consistncy" of engine cassandra; did you mean "consistency"?`,
		},
		{"value", "timeout: 5s", "timeout: soon", "", `w.yaml:5:120: engine cassandra: setting timeout: no time`},
		{
			"value by override", "", "", "engines.cassandra.timeout=soon",
			`--set "engines.cassandra.timeout=soon":1:27: engine cassandra: setting timeout: no time`,
		},
		{"engine by override", "", "", "engines.hbas.contact=a", `--set "engines.hbas.contact=a":1:9: unknown engine "hbas"; did you mean "hbase"?`},
		{
			"password by override, which is not shown", "", "", "engines.cassandra.password=hunter2",
			`--set "engines.cassandra.password=…":1:19: password of engine cassandra must not be in a workload or a flag; set the environment variable MAILBENCH_CASSANDRA_PASSWORD`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var set []string
			if c.set != "" {
				set = []string{c.set}
			}
			text := []byte(strings.Replace(withEngines, c.from, c.to, 1))
			if _, err := Parse("w.yaml", text, set...); err != nil {
				t.Errorf("without names that are known: %v", err)
			}
			if _, err := (Known{Engines: engineWords}).Parse("w.yaml", text, set); err == nil || err.Error() != c.want {
				t.Errorf("error\n%v, want\n%s", err, c.want)
			}
		})
	}
}
