//go:build !linux

package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

var errSystem = errors.New("engines are started on Linux only, where /proc tells their processes from others; on " + runtime.GOOS +
	" use the compose files in docker/")

func supported() error { return errSystem }

func startProcess(*exec.Cmd, string) (Process, error) { return Process{}, errSystem }

func (Process) alive() bool { return false }

func (Process) signal(os.Signal) error { return errSystem }

func (Process) rss() int64 { return 0 }

func availableMemory() (int64, error) { return 0, errSystem }

func lock(context.Context, string, func()) (func(), error) { return nil, errSystem }
