//go:build !linux && !darwin

package launch

import (
	"errors"
	"os/exec"
	"runtime"
)

var errSystem = errors.New("engines are started on Linux and macOS only; on " + runtime.GOOS +
	" use the compose files in docker/")

func startProcess(*exec.Cmd, string, func(Process) error) (Process, error) {
	return Process{}, errSystem
}

func startOf(int) (start string, running bool) { return "", false }
