//go:build linux

package launch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var updateJars = flag.Bool("update-jars", false, "have mvn fetch the engines' jars and write config/*.sha256 anew")

// TestJarLists: each engine has a list of all its jars, with the version that the pom
// names among them.
func TestJarLists(t *testing.T) {
	line := regexp.MustCompile(`^[0-9a-f]{64}  [^/ ]+\.jar$`)
	for _, f := range engines {
		if *updateJars {
			_, pom, err := jarsOf(&f)
			must(t, err)
			dir := t.TempDir()
			must(t, download(t.Context(), dir, pom))
			list, err := listJars(dir)
			must(t, err)
			must(t, os.WriteFile(filepath.Join("config", f.Name+".sha256"), list, 0o644))
			f.sums = string(list)
		}
		lines := strings.Split(strings.TrimSpace(f.sums), "\n")
		if len(lines) < 50 {
			t.Errorf("%s: a list of %d jars", f.Name, len(lines))
		}
		for _, l := range lines {
			if !line.MatchString(l) {
				t.Errorf("%s: the line %q", f.Name, l)
			}
		}
		if !regexp.MustCompile(`(cassandra-all|hbase-server)-` + regexp.QuoteMeta(f.version) + `(-hadoop3)?\.jar`).MatchString(f.sums) {
			t.Errorf("%s: the list has no jar of version %s; make check CHECK=jars writes it anew", f.Name, f.version)
		}
	}
}

// listJars writes the list of the jars in a folder.
func listJars(dir string) ([]byte, error) {
	names, err := fs.Glob(os.DirFS(dir), "*.jar")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		jar, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(jar), name)
	}
	return b.Bytes(), nil
}

// TestCheckJars: no jar runs that is not in the list, or another than the list says.
func TestCheckJars(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
	write("a.jar", "a")
	write("b.jar", "b")
	write("notes.txt", "no jar")
	list, err := listJars(dir)
	must(t, err)
	must(t, checkJars(dir, string(list)))
	for what, change := range map[string]func(){
		"a.jar has the SHA-256": func() { write("a.jar", "A") },
		"evil.jar is not in":    func() { write("evil.jar", "e") },
		"b.jar is missing: ":    func() { must(t, os.Remove(filepath.Join(dir, "b.jar"))) },
	} {
		change()
		if err := checkJars(dir, string(list)); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
		write("a.jar", "a")
		write("b.jar", "b")
		os.Remove(filepath.Join(dir, "evil.jar"))
	}
	must(t, checkJars(dir, string(list)))
	if err := checkJars(filepath.Join(dir, "none"), string(list)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestForgedJar: a jar that mvn serves and the list does not know is not run, and one that
// somebody changed later is fetched again.
func TestForgedJar(t *testing.T) {
	fakeJava(t, sleep)
	config := Config{Engine: "cassandra", Dir: filepath.Join(t.TempDir(), "c"), Port: AnyPort}
	in := mustUp(t, config)
	must(t, in.Down(t.Context(), true))
	dir, _, err := jarsOf(in.engine)
	must(t, err)
	jar := filepath.Join(dir, "engine.jar")
	must(t, os.WriteFile(jar, []byte("forged\n"), 0o644))
	in = mustUp(t, config)
	must(t, in.Down(t.Context(), true))
	if text, err := os.ReadFile(jar); err != nil || string(text) != "jar\n" {
		t.Errorf("the jar that ran holds %q, %v", text, err)
	}

	must(t, os.RemoveAll(dir))
	mvn, err := exec.LookPath("mvn")
	must(t, err)
	text, err := os.ReadFile(mvn)
	must(t, err)
	must(t, os.WriteFile(mvn, []byte(strings.Replace(string(text), "echo jar", "echo forged", 1)), 0o755))
	if _, err := Up(t.Context(), config); !errors.Is(err, errDamaged) {
		t.Errorf("up with a forged jar: %v, want it refused", err)
	}
}

// TestMaven: mvn checks what it fetches, and takes no options from folders above.
func TestMaven(t *testing.T) {
	fakeJava(t, sleep)
	mvn, err := exec.LookPath("mvn")
	must(t, err)
	must(t, os.WriteFile(mvn, []byte("#!/bin/sh\nls -A .mvn >&2 && echo \"[ERROR] empty $# $*\" && exit 1\n"), 0o755))
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".mvn"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".mvn", "jvm.config"), []byte("-javaagent:evil.jar"), 0o644))
	err = download(t.Context(), filepath.Join(dir, "jars"), "<project/>")
	if err == nil || !strings.Contains(err.Error(), "[ERROR] empty") || !strings.Contains(err.Error(), " -C ") || strings.Contains(err.Error(), "jvm.config") {
		t.Errorf("mvn was called like this: %v; want -C, and an empty .mvn", err)
	}
}

// TestEnvironment: a node gets what Java needs and no secrets.
func TestEnvironment(t *testing.T) {
	t.Setenv("MAILBENCH_CASSANDRA_PASSWORD", "s3cret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dx=y")
	fakeJava(t, "env; "+sleep)
	in := mustUp(t, Config{Engine: "cassandra", Dir: filepath.Join(t.TempDir(), "c"), Port: AnyPort})
	defer in.Down(t.Context(), true)
	log, err := os.ReadFile(in.logPath(&in.state.Nodes[0]))
	must(t, err)
	if text := string(log); strings.Contains(text, "s3cret") || !strings.Contains(text, "JAVA_TOOL_OPTIONS=-Dx=y\n") || !strings.Contains(text, "PATH=") {
		t.Errorf("the environment of a node:\n%s", text)
	}
}

// TestFilesOfTheCaller: a process that is started has no file that mailbench got from its caller,
// so a lock on one ends with the caller.
func TestFilesOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	inherited, err := syscall.Open(name, syscall.O_CREAT|syscall.O_RDWR, 0o600) // not closed on exec, as a shell's
	must(t, err)
	must(t, syscall.Flock(inherited, syscall.LOCK_EX|syscall.LOCK_NB))
	p, err := startProcess(exec.Command("sleep", "1000"), filepath.Join(dir, "log"), func(Process) error { return nil })
	must(t, err)
	defer func() { must(t, Node{Process: p}.signal(syscall.SIGKILL)) }()
	must(t, syscall.Close(inherited))
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("the process that was started holds the caller's lock: %v", err)
	}
	if !(Node{Process: p}).Running() {
		t.Error("the process has ended")
	}
}

// TestCrashBeforeNote: if mailbench dies between starting a process and noting it, no
// unknown engine is left.
func TestCrashBeforeNote(t *testing.T) {
	const variable = "MAILBENCH_TEST_CRASH"
	if dir := os.Getenv(variable); dir != "" { // the one that dies
		_, err := startProcess(exec.Command("touch", filepath.Join(dir, "ran")), filepath.Join(dir, "log"), func(p Process) error {
			fmt.Println(p.PID)
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
		t.Fatal("not killed", err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashBeforeNote$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	text, err := io.ReadAll(out)
	must(t, err)
	cmd.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, running := startOf(pid); !running {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d, which nobody has noted, still runs", pid)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "ran" }) {
		t.Errorf("the command ran: %v, %v", entries, err)
	}

	// A note that cannot be written ends the process, too.
	failed := errors.New("disk full")
	var noted Process
	_, err = startProcess(exec.Command("touch", filepath.Join(dir, "ran")), filepath.Join(dir, "log"), func(p Process) error {
		noted = p
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("error %v, want that of the note", err)
	}
	must(t, end(t.Context(), syscall.Signal(0), time.Minute, &Node{Name: "unnoted", Process: noted}))
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran, though it could not be noted")
	}
}
