//go:build !linux && !darwin

package run

import "github.com/mailbench/mailbench/reports/results"

// machine does nothing: mailbench reads these figures only on Linux.
func machine(*results.Environment, string) {}

// machineID is not asked for on this operating system.
func machineID() string { return "" }
