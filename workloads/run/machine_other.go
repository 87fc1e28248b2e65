//go:build !linux && !darwin

package run

import "github.com/mailbench/mailbench/reports"

// machine does nothing: mailbench reads these figures only on Linux.
func machine(*reports.Environment, string) {}

// machineID is not asked for on this operating system.
func machineID() string { return "" }
