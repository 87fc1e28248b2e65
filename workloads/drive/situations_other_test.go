//go:build !linux

package drive

import (
	"errors"
	"testing"
)

func pin(int) error { return errors.New("Linux only") }

func limit(*testing.T, int, float64) error { return errors.New("Linux only") }
