package cmd

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/reports/screen"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mailbench": func() { Main() }, "changed": changedMain})
}

// TestScripts runs the scripts of testdata/script, each in a folder of its own
// with a mailbench that is this test binary. Besides testscript's own commands
// they have those below.
func TestScripts(t *testing.T) {
	cache, err := launch.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.RunT(scriptTest{t}, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Where a real engine finds its jars, and mvn its settings.
			root, err := filepath.Abs("..")
			if err != nil {
				return err
			}
			env.Setenv("ROOT", root)
			env.Setenv("REAL_CACHE", cache)
			env.Setenv("REAL_HOME", os.Getenv("HOME"))
			env.Setenv("JAVA_TOOL_OPTIONS", os.Getenv("JAVA_TOOL_OPTIONS")) // as .ci/test wants engines
			env.Setenv("NOW", time.Now().UTC().Format(time.RFC3339))
			env.Setenv("MODELS", strconv.Itoa(len(bundled().models)))
			env.Setenv("EVIL", "=<img src=x>\x1b[31m\a\u202eevil") // a name for hostile files
			env.Defer(func() { endEngines(t, env.WorkDir) })
			return os.Setenv("GOTRACEBACK", "none") // a process that is to be killed says nothing
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "refused": refused, "signal": signaled, "await": await,
			"smalldisk": smallDisk, "unread": unread,
			"private": onlyOurs, "bytes": writeBytes, "pack": pack, "results": checkResults, "same": same,
			"steps": stepsOf,
		},
	})
}

// scriptTest is a test that says only of the part of a script that failed what it did, also with -v. A
// log of the whole script is longer than what CI shows of it.
type scriptTest struct{ *testing.T }

// Run implements testscript.T.
func (s scriptTest) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(scriptTest{t}) })
}

// Verbose implements testscript.T.
func (scriptTest) Verbose() bool { return false }

// endEngines ends what a script that failed has left running.
func endEngines(t *testing.T, dir string) {
	states, err := filepath.Glob(filepath.Join(dir, "*", "mailbench-engine.json"))
	if err != nil {
		t.Error(err)
	}
	for _, state := range states {
		for _, engine := range launch.Engines() {
			in, err := launch.Open(engine.Name, filepath.Dir(state))
			if err != nil {
				continue // of the other engine, or meant to be damaged
			}
			if err := in.Down(context.Background(), true); err != nil {
				t.Error(err)
			}
		}
	}
}

// condition knows [smalldisk]: a small file system can be mounted; and [engines]: tests may
// start real engines here. Where none of those may be left out, such a script fails.
func condition(name string) (bool, error) {
	if name == "smalldisk" {
		return exec.Command("unshare", "-Urm", "mount", "-t", "tmpfs", "-o", "size=4k", "none", os.TempDir()).Run() == nil, nil
	}
	if name != "engines" {
		return false, fmt.Errorf("unknown condition %s", name)
	}
	for _, engine := range launch.Engines() {
		if err := live.MayStart(context.Background(), engine.Name); err != nil && live.Required() {
			return false, err
		} else if err != nil {
			return false, nil
		}
	}
	return true, nil
}

// status N ARG... runs mailbench, which must end with exit status N and leave
// nothing half-written. The commands stdout and stderr look at its output.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: status N ARG...")
	}
	err := ts.Exec("mailbench", args[1:]...)
	checkStatus(ts, args[0], err)
	checkClean(ts)
	for _, stream := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(stream); screen.Printable(text) != text {
			ts.Fatalf("%s has characters that a terminal acts on: %q", stream, text)
		}
	}
}

// private DIR checks that only their user can read or write a folder and what is in it.
func onlyOurs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: private DIR")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

// refused N ARG... is status, of a command that writes nothing and says why in
// one line.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	status(ts, neg, args)
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("printed %q beside the error", out)
	}
	if line := ts.ReadFile("stderr"); !strings.HasPrefix(line, "mailbench: ") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		ts.Fatalf("the error is not one line: %q", line)
	}
}

func checkStatus(ts *testscript.TestScript, want string, err error) {
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("mailbench: %v", err)
	}
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit status %d, want %s", got, want)
	}
}

// checkClean looks for files that a run has only while it runs.
func checkClean(ts *testscript.TestScript) {
	left, err := os.ReadDir(ts.Getenv("TMPDIR"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	for _, f := range left {
		ts.Fatalf("left in TMPDIR: %s", f.Name())
	}
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".partial") || strings.HasSuffix(path, ".new") {
			return fmt.Errorf("left half-written: %s", path)
		}
		return err
	}))
}

// signal INT|TERM|HUP|HUP2|KILL N FILE BYTES ARG... runs mailbench, sends it the signal once
// FILE has grown to BYTES (HUP2: two of them), and checks the exit status: -1 if it was killed.
func signaled(ts *testscript.TestScript, neg bool, args []string) {
	signals, ok := map[string][]os.Signal{
		"INT": {os.Interrupt}, "TERM": {syscall.SIGTERM}, "HUP": {syscall.SIGHUP}, "HUP2": {syscall.SIGHUP, syscall.SIGHUP}, "KILL": {os.Kill},
	}[args[0]]
	if neg || !ok || len(args) < 5 {
		ts.Fatalf("usage: signal INT|TERM|HUP|HUP2|KILL N FILE BYTES ARG...")
	}
	var stderr bytes.Buffer
	cmd := exec.Command("mailbench", args[4:]...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), &stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"), "GOFLAGS="+ts.Getenv("GOFLAGS"))
	// A signal that is ignored here would be ignored there.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	await(ts, false, args[2:4])
	for _, sig := range signals {
		if err := cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
			ts.Check(err)
		}
		time.Sleep(50 * time.Millisecond) // the kernel makes one of two that are not taken yet
	}
	// A signal ends a run within moments; what is under way may take some seconds, on a busy machine more.
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	checkStatus(ts, args[1], cmd.Wait())
	late.Stop()
	ts.Logf("%s", stderr.String())
}

// smalldisk N SIZE ARG... runs mailbench with a file system of SIZE mounted on the folder
// disk, and checks the exit status. Its files are then copied to the folder kept.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: smalldisk N SIZE ARG...")
	}
	const script = `mount -t tmpfs -o size="$0" mailbench disk || exit 99
mailbench "$@"
status=$?
cp -r disk kept
exit $status`
	ts.Check(os.RemoveAll(ts.MkAbs("kept")))
	ts.Check(os.MkdirAll(ts.MkAbs("disk"), 0o755))
	checkStatus(ts, args[0], ts.Exec("unshare", append([]string{"-Urm", "sh", "-c", script}, args[1:]...)...))
}

// unread STREAM N ARG... runs mailbench with a pipe as stdout or stderr that no process reads
// from, and checks the exit status. The file printed has the text of the other stream.
func unread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: unread stdout|stderr N ARG...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	defer w.Close()
	ts.Check(r.Close())
	var printed bytes.Buffer
	cmd := exec.Command("mailbench", args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	if cmd.Stdout, cmd.Stderr = io.Writer(w), io.Writer(&printed); args[0] == "stderr" {
		cmd.Stdout, cmd.Stderr = cmd.Stderr, cmd.Stdout
	}
	err = cmd.Run()
	ts.Logf("%s", printed.String())
	checkStatus(ts, args[1], err)
	checkClean(ts)
	ts.Check(os.WriteFile(ts.MkAbs("printed"), printed.Bytes(), 0o644))
}

// await FILE BYTES waits until a file has grown to a size. FILE may be a pattern, of
// which the first match counts.
func await(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(files) == 0 {
			continue
		}
		if f, err := os.Stat(files[0]); err == nil && f.Size() >= size {
			return
		}
	}
	ts.Fatalf("%s has not grown to %d bytes", args[0], size)
}

// bytes FILE TEXT... writes a file of texts with Go's escapes; N*TEXT is TEXT N
// times.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	for _, arg := range args[1:] {
		times, text, ok := strings.Cut(arg, "*")
		n, err := strconv.Atoi(times)
		if !ok || err != nil {
			n, text = 1, arg
		}
		s, err := strconv.Unquote(`"` + text + `"`)
		ts.Check(err)
		b.WriteString(strings.Repeat(s, n))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

// pack FILE PACKED [BYTES] writes FILE with gzip, of which only the first
// BYTES are kept.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(errors.Join(err, w.Close()))
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		b.Truncate(n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o644))
}
