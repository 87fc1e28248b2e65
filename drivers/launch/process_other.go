//go:build !linux && !darwin

package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// addAddress is the command that gives the loopback device another address.
const addAddress = "see your system's manual for %s"

var errSystem = errors.New("engines are started on Linux and macOS only; on " + runtime.GOOS +
	" use the compose files in docker/")

func supported() error { return errSystem }

func startProcess(*exec.Cmd, string, func(Process) error) (Process, error) {
	return Process{}, errSystem
}

func (Process) alive() bool { return false }

func (Process) signal(os.Signal) error { return errSystem }

func (Process) rss() int64 { return 0 }

func availableMemory() (int64, error) { return 0, errSystem }

func lock(context.Context, string, func()) (func(), error) { return nil, errSystem }
