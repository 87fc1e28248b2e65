//go:build !linux && !darwin

package run

import "github.com/mailbench/mailbench/reports"

// machine leaves out what is not asked for on this operating system.
func machine(*reports.Environment, string) {}

// machineID is not asked for on this operating system.
func machineID() string { return "" }
