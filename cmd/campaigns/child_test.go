//go:build campaigns && unix

package campaigns

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/workloads/results"
)

// child is a mailbench that runs next to the test, as a user would run it: the
// test binary in another process.
type child struct {
	t      *testing.T
	dir    string // of its results, out, and what it prints
	cmd    *exec.Cmd
	status chan int
}

// startRun starts mailbench run with results in a folder of the test's own.
func startRun(t *testing.T, args ...string) *child {
	t.Helper()
	return startProgram(t, "mailbench", args...)
}

// startProgram does so with another program of the test binary (TestMain).
func startProgram(t *testing.T, program string, args ...string) *child {
	t.Helper()
	p := &child{t: t, dir: t.TempDir(), status: make(chan int, 1)}
	p.cmd = exec.Command(program, append([]string{"run", "--full", "--fail-on=failed", "-o", p.path("out")}, args...)...)
	for name, to := range map[string]*io.Writer{"stdout": &p.cmd.Stdout, "stderr": &p.cmd.Stderr} {
		f, err := os.Create(p.path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*to = f
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var exit *exec.ExitError
		switch err := p.cmd.Wait(); {
		case err == nil:
			p.status <- 0
		case errors.As(err, &exit):
			p.status <- exit.ExitCode()
		default:
			p.status <- -1
		}
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-ended
	})
	return p
}

func (p *child) path(name string) string { return filepath.Join(p.dir, name) }

// printed is its output so far on stdout or stderr.
func (p *child) printed(name string) string {
	b, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// await waits until something holds of the run; it must not end before.
func (p *child) await(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		select {
		case status := <-p.status:
			p.t.Fatalf("mailbench ended with status %d before %s:\n%s\n%s", status, what, p.printed("stdout"), p.printed("stderr"))
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain for %s:\n%s", what, p.printed("stderr"))
		}
	}
}

// done reports whether a phase has ended.
func (p *child) done(phase string) bool {
	return strings.Contains(p.printed("stderr"), ": "+phase+" done")
}

// finish waits for its end and returns its exit status.
func (p *child) finish() int {
	p.t.Helper()
	select {
	case status := <-p.status:
		return status
	case <-time.After(5 * time.Minute):
		p.t.Fatalf("it does not end:\n%s", p.printed("stderr"))
		return -1
	}
}

// end waits for its end and returns what it found. The status must be the one
// that is wanted.
func (p *child) end(want int) *results.Run {
	p.t.Helper()
	if status := p.finish(); status != want {
		p.t.Fatalf("exit status %d, want %d:\n%s\n%s", status, want, p.printed("stdout"), p.printed("stderr"))
	}
	return p.found()
}

// endAll waits until all have ended well. One that did not end well is why others wait for it.
func endAll(t *testing.T, all []*child) {
	t.Helper()
	under := slices.Clone(all)
	for end := time.Now().Add(3 * time.Minute); len(under) > 0; time.Sleep(20 * time.Millisecond) {
		under = slices.DeleteFunc(under, func(p *child) bool {
			select {
			case status := <-p.status:
				if status != exitOK {
					t.Fatalf("run %d: exit status %d:\n%s\n%s", slices.Index(all, p)+1, status, p.printed("stdout"), p.printed("stderr"))
				}
				return true
			default:
				return false
			}
		})
		if time.Now().After(end) {
			for _, p := range under {
				t.Errorf("run %d does not end:\n%s", slices.Index(all, p)+1, p.printed("stderr"))
			}
			t.FailNow()
		}
	}
}

// found has its saved results.
func (p *child) found() *results.Run {
	p.t.Helper()
	if err := fitsSchema(filepath.Join(p.path("out"), results.RunFile)); err != nil {
		p.t.Fatal(err)
	}
	r, err := results.Open(p.path("out"))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// measured is when the first measured phase began, of which the interval log
// has the time of day.
func (p *child) measured() time.Time {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.path("out"), results.LatencyFile))
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	h, err := hdr.NewHistogramLogReader(f).NextIntervalHistogram()
	if err != nil || h == nil {
		p.t.Fatalf("the interval log has no interval: %v", err)
	}
	return time.UnixMilli(h.StartTimeMs())
}
