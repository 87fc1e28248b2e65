package pebble

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// childDir names the folder that this test binary, run as a child, writes
// into until it is killed; childClass the durability class.
const (
	childDir   = "MAILBENCH_TEST_CHILD_DIR"
	childClass = "MAILBENCH_TEST_CHILD_CLASS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeForever(dir, drivers.Durability(os.Getenv(childClass)[0]-'0')); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForever puts row after row, saying each number once it is acknowledged.
func writeForever(dir string, class drivers.Durability) error {
	e, err := openEnv(drivers.Options{Dir: dir, Durability: class})
	if err != nil {
		return err
	}
	put, err := e.set.Get("put_part")
	if err != nil {
		return err
	}
	note, err := e.set.Get("note")
	if err != nil {
		return err
	}
	body := make([]byte, 2<<10)
	for n := 0; ; n++ {
		if _, err := e.sess.Write(context.Background(), note, values([]any{int32(n % 5), fmt.Sprint("word", n)})); err != nil {
			return err
		}
		if _, err := e.sess.Write(context.Background(), put, values([]any{"u", "f", 1, n, int32(1), body})); err != nil {
			return err
		}
		// One write(2) a line: what the parent has read was acknowledged.
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// A kill -9 loses nothing that was acknowledged, in the class that promises
// no more than that, and in the one that syncs.
func TestKill(t *testing.T) {
	for _, class := range []drivers.Durability{drivers.Process, drivers.Power} {
		t.Run(class.String(), func(t *testing.T) {
			dir := t.TempDir()
			for _, after := range []int{1, 300} {
				acked := runAndKill(t, dir, class, after)
				e := newEnv(t, drivers.Options{Dir: dir, Durability: class})
				for n := range acked + 1 {
					if e.read("parts", "u", "f", 1, n) == "" {
						t.Fatalf("row %d of %d acknowledged is lost", n, acked+1)
					}
				}
				e.write("drop_folder", "u", "f")
				if got := e.read("worded", fmt.Sprint("word", acked)); got != fmt.Sprint(acked%5) {
					t.Errorf("the index finds %q by the last word, want row %d", got, acked%5)
				}
				if faults := faults(t, e.store); len(faults) > 0 {
					t.Errorf("after a kill, index entries and rows differ: %q", faults)
				}
				e.sess.Close()
				if err := e.store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// runAndKill runs a child until so many rows are acknowledged, kills it and
// returns the last acknowledged number that it printed.
func runAndKill(t *testing.T, dir string, class drivers.Durability, after int) (last int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childClass+"="+fmt.Sprint(int(class)))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last = -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Errorf("the child says %q", lines.Text())
		}
		if last == after {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if last < after {
		t.Fatalf("the child ended after row %d: %s", last, stderr.String())
	}
	return last
}
