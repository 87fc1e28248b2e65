package main_test

import (
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// TestCompose holds what a compose file promises to whoever starts it: pinned
// versions (those that "mailbench engine up" starts), ports that only this
// machine reaches, and a health check to wait for, which then leaves the engine alone.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image       string
			Ports       []string
			Healthcheck struct {
				Test          []string
				Interval      time.Duration
				StartInterval time.Duration `yaml:"start_interval"`
				StartPeriod   time.Duration `yaml:"start_period"`
			}
			Build struct{ Dockerfile string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, "docker/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"cassandra", "hbase", "oraclenosql"} {
		s, ok := file.Services[engine]
		if !ok {
			t.Errorf("no service %s", engine)
			continue
		}
		if len(s.Ports) == 0 || len(s.Healthcheck.Test) < 2 {
			t.Errorf("%s: ports %q and health check %q; expected both", engine, s.Ports, s.Healthcheck.Test)
		}
		if h := s.Healthcheck; h.StartInterval > 5*time.Second || h.StartPeriod < 5*time.Minute || h.Interval < 10*time.Minute {
			t.Errorf("%s: its health check runs every %v for %v, then every %v; expected 5s, 5m, 10m", engine, h.StartInterval,
				h.StartPeriod, h.Interval)
		}
		if strings.Contains(strings.Join(s.Healthcheck.Test, " "), "cqlsh") {
			t.Errorf("%s: the health check starts Python", engine)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines; begin it with 127.0.0.1:", engine, port)
			}
		}
		if engine == "oraclenosql" { // mailbench starts none; its digest cannot be looked up here
			if _, tag, ok := strings.Cut(s.Image, ":"); !ok || strings.HasPrefix(tag, "latest") {
				t.Errorf("%s: image %s is not pinned to a release", engine, s.Image)
			}
			continue
		}
		version, _, _ := strings.Cut(launched(t, engine), "-")
		if image, _, _ := strings.Cut(s.Image, "@"); !strings.HasSuffix(image, ":"+version) {
			t.Errorf("%s: image %s; mailbench engine up starts version %s", engine, s.Image, version)
		}
		if s.Build.Dockerfile == "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %s is not pinned by digest", engine, s.Image)
		}
		if s.Build.Dockerfile != "" {
			checkDockerfile(t, s.Build.Dockerfile)
		}
	}
}

// TestComposeHBase: the ports of the container's HBase can be reached through the
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

// TestComposeCassandra: the health check of Cassandra fails where no server listens and where something
// else does, and passes where CQL is spoken.
func TestComposeCassandra(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	var file struct {
		Services map[string]struct{ Healthcheck struct{ Test []string } }
	}
	if err := yaml.Unmarshal(readFile(t, "docker/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	check := file.Services["cassandra"].Healthcheck.Test
	healthy := func(address string) bool {
		host, port, _ := net.SplitHostPort(address)
		script := strings.ReplaceAll(check[len(check)-1], "127.0.0.1/9042", host+"/"+port)
		return exec.Command(check[1], "-c", strings.ReplaceAll(script, "$$", "$")).Run() == nil
	}
	answers := func(frame string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.ReadFull(conn, make([]byte, 9))
				_, _ = io.WriteString(conn, frame)
				conn.Close()
			}
		}()
		return l.Addr().String()
	}
	if other := answers("HTTP/1.1 400 Bad Request"); healthy(other) {
		t.Error("healthy with a server that speaks no CQL")
	}
	if booting := answers("\x84\x00\x00\x00\x00\x00\x00\x00\x00"); healthy(booting) {
		t.Error("healthy with a node that answers with an error")
	}
	if healthy("127.0.0.1:1") {
		t.Error("healthy where nobody listens")
	}
	real := os.Getenv("MAILBENCH_TEST_CASSANDRA")
	if real == "" {
		real = answers("\x84\x00\x00\x00\x06\x00\x00\x00\x00")
	}
	if !healthy(real) {
		t.Errorf("not healthy where CQL is spoken, at %s", real)
	}
}

// TestImagesAreAsked: .ci/images requests each digest from a registry, fails if one is missing, and
// reports if no registry is set. It prints the digest of an image that has none.
func TestImagesAreAsked(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	lacks, digest := "", "sha256:"+strings.Repeat("ab", 32)
	var asked atomic.Int32
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/sha256:") {
			asked.Add(1)
		}
		if lacks != "" && strings.Contains(r.URL.Path, lacks) {
			w.WriteHeader(http.StatusNotFound)
		}
		if strings.HasPrefix(r.URL.Path, "/v2/oracle/nosql/manifests/") {
			w.Header().Set("Docker-Content-Digest", digest)
		}
	}))
	defer registry.Close()
	run := func(address string) (string, error) {
		cmd := exec.Command(".ci/images")
		cmd.Env = append(os.Environ(), "MAILBENCH_REGISTRY="+address, "MAILBENCH_REGISTRY_TOKEN=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const untold = "oracle/nosql:2025-12-ce has no digest"
	if out, err := run(""); err != nil || !strings.Contains(out, "images: not checked") || !strings.Contains(out, untold) {
		t.Errorf("without a registry: %v, %s", err, out)
	}
	if out, err := run(registry.URL); err != nil || asked.Load() != 4 || strings.Count(out, "is there") != 4 {
		t.Errorf("%d images were asked for, %v, %s", asked.Load(), err, out)
	}
	if out, _ := run(registry.URL); !strings.Contains(out, "write ghcr.io/oracle/nosql:2025-12-ce@"+digest+"\n") {
		t.Errorf("the digest of Oracle's image is not reported: %s", out)
	}
	lacks = "maven"
	if out, err := run(registry.URL); err == nil || !strings.Contains(out, "has no maven:") {
		t.Errorf("without one of them: %v, %s", err, out)
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
			if strings.HasPrefix(words[1], "--platform=") {
				words = words[1:]
			}
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

// TestPermissions: each job of a workflow says what its token may do, and only two may write.
func TestPermissions(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var writes []string
	for _, name := range files {
		var file struct {
			Jobs map[string]struct{ Permissions map[string]string }
		}
		if err := yaml.Unmarshal(readFile(t, name), &file); err != nil || len(file.Jobs) == 0 {
			t.Fatalf("%s: %d jobs, %v", name, len(file.Jobs), err)
		}
		for job, j := range file.Jobs {
			if len(j.Permissions) == 0 {
				t.Errorf("%s: job %s has all that the repository gives", name, job)
			}
			for what, may := range j.Permissions {
				if may != "read" {
					writes = append(writes, job+" "+what)
				}
			}
		}
	}
	slices.Sort(writes)
	if want := []string{"image packages", "publish contents"}; !slices.Equal(writes, want) {
		t.Errorf("jobs may write %q, want %q", writes, want)
	}
}
