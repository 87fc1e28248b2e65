// Package mailbench holds the module's own go.mod and go.sum. A program outside this
// repository that uses mailbench needs the same versions (cmd/newmodel).
package mailbench

import _ "embed"

//go:embed go.mod
var GoMod []byte

//go:embed go.sum
var GoSum []byte
