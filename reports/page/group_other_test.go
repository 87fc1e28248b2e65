//go:build !unix

package page

import "os/exec"

func inGroup(*exec.Cmd) {}
