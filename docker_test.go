package mailbench_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestCompose holds what a compose file promises to whoever starts it: pinned
// versions (those that "mailbench engine up" starts), ports that only this
// machine reaches, and a health check to wait for.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image       string
			Ports       []string
			Healthcheck struct{ Test []string }
			Build       struct{ Dockerfile string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, "docker/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"cassandra", "hbase"} {
		s, ok := file.Services[engine]
		if !ok {
			t.Errorf("no service %s", engine)
			continue
		}
		version, _, _ := strings.Cut(launched(t, engine), "-")
		if image, _, _ := strings.Cut(s.Image, "@"); !strings.HasSuffix(image, ":"+version) {
			t.Errorf("%s: image %s; mailbench engine up starts version %s", engine, s.Image, version)
		}
		if s.Build.Dockerfile == "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %s is not pinned by digest", engine, s.Image)
		}
		if len(s.Ports) == 0 || len(s.Healthcheck.Test) < 2 {
			t.Errorf("%s: ports %q and health check %q; expected both", engine, s.Ports, s.Healthcheck.Test)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines; begin it with 127.0.0.1:", engine, port)
			}
		}
		if s.Build.Dockerfile != "" {
			checkDockerfile(t, s.Build.Dockerfile)
		}
	}
}

// TestComposeHBase: what the container's HBase listens on can be reached through the
// ports that compose publishes, and tables cannot make it run code.
func TestComposeHBase(t *testing.T) {
	var site struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(readFile(t, "docker/hbase/hbase-site.xml"), &site); err != nil {
		t.Fatal(err)
	}
	conf := make(map[string]string)
	for _, p := range site.Properties {
		conf[p.Name] = p.Value
	}
	for name, want := range map[string]string{
		"hbase.zookeeper.property.clientPortAddress": "0.0.0.0", // by default it is loopback, inside the container
		"hbase.master.ipc.address":                   "0.0.0.0",
		"hbase.regionserver.ipc.address":             "0.0.0.0",
		"hbase.coprocessor.user.enabled":             "false",
		"hbase.coprocessor.region.classes":           "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint",
	} {
		if conf[name] != want {
			t.Errorf("%s is %q, want %q", name, conf[name], want)
		}
	}
}

// pinned is an image with version and digest.
var pinned = regexp.MustCompile(`^[a-z-]+:[0-9][^@]*@sha256:[0-9a-f]{64}$`)

// checkDockerfile tests that base images are pinned and copied files are there.
func checkDockerfile(t *testing.T, name string) {
	t.Helper()
	for line := range strings.Lines(string(readFile(t, name))) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "FROM" && words[1] != "scratch":
			if !pinned.MatchString(words[1]) {
				t.Errorf("%s: base image %s is not pinned by version and digest", name, words[1])
			}
		case len(words) > 2 && words[0] == "COPY" && !strings.HasPrefix(words[1], "--from"):
			for _, source := range words[1 : len(words)-1] {
				if _, err := os.Stat(source); err != nil {
					t.Errorf("%s copies what is not there: %v", name, err)
				}
			}
		}
	}
}

// launched is the version of an engine that "mailbench engine up" starts.
func launched(t *testing.T, engine string) string {
	t.Helper()
	pom := readFile(t, filepath.Join("drivers", "launch", "config", engine+".pom.xml"))
	found := regexp.MustCompile(`<artifactId>(?:cassandra-all|hbase-server)</artifactId>\s*<version>([^<]+)</version>`).FindSubmatch(pom)
	if found == nil {
		t.Fatalf("the pom of %s names no version of it", engine)
	}
	return string(found[1])
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
