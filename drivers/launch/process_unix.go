//go:build linux || darwin

package launch

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/drivers/private"
)

// errSystem is the error on systems on which launch cannot start engines.
var errSystem error

// waitForWord is a shell script that becomes the command once it has read a word. It ends
// if the writer of the word ends first. The umask keeps the command's files from others.
const waitForWord = `umask 077 && read -r word && exec "$0" "$@" </dev/null`

// startProcess starts a command in a session of its own, so that no signal to the terminal
// of mailbench reaches it. It appends the command's output to a log. The command begins only
// after note has returned without error. So if mailbench dies before note has recorded the
// process, the command never runs.
func startProcess(command *exec.Cmd, log string, note func(Process) error) (Process, error) {
	out, err := private.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return Process{}, err
	}
	defer out.Close()
	heard, say, err := os.Pipe()
	if err != nil {
		return Process{}, err
	}
	defer say.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", waitForWord, command.Path}, command.Args[1:]...)...)
	cmd.Dir, cmd.Env = command.Dir, command.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = heard, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// An engine must not have the files that mailbench got from its caller: it would hold the caller's lock
	// ("flock FILE mailbench engine up") until it ends. Files that Go opens are never inherited.
	open, _ := os.ReadDir("/dev/fd") // none: the system does not report it
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	started := time.Now()
	err = cmd.Start()
	heard.Close()
	if err != nil {
		return Process{}, err
	}
	// The kernel keeps the entry of a process that has ended until Wait returns.
	start, _ := startOf(cmd.Process.Pid)
	go cmd.Wait()
	p := Process{PID: cmd.Process.Pid, Start: start, Started: started}
	if err := note(p); err != nil {
		return Process{}, err
	}
	_, err = say.WriteString("go\n")
	return p, err
}
