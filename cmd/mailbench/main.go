// Command mailbench benchmarks and validates mailbox data models: five
// documented models after one interface, driven by YAML workloads on real
// engines. "mailbench run" with no arguments compares all of them on the
// embedded engine.
package main

import "github.com/mailbench/mailbench/cmd"

func main() { cmd.Main() }
