package screen

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/reports/document"
)

// TestColorsOfATerminal: a terminal gets the styles of a document as they are, through the screen that makes
// characters of strangers harmless.
func TestColorsOfATerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer host.Close()
	n, err := unix.IoctlGetInt(int(host.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(host.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if err := Document(New(tty), &document.Document{Title: "a \x1b[31mtitle\u202e\u2028"}, false); err != nil {
		t.Fatal(err)
	}
	shown := make([]byte, 1000)
	k, err := host.Read(shown)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(shown[:k]); !strings.HasPrefix(got, "\x1b[1ma ") || strings.ContainsAny(got, "\u202e\u2028") || strings.Contains(got, "\x1b[31m") {
		t.Errorf("the terminal got %q", got)
	}
}
