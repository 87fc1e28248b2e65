package workloads

import (
	"errors"
	"fmt"
	"time"
)

// ErrPopulation says that a workload's population is too large.
var ErrPopulation = errors.New("population is too large")

// Bounds of a population, so that it fits in memory and in 32-bit numbers: a run
// keeps some hundred bytes a folder, and up to 32 a message.
const (
	MaxUsers          = 10_000_000
	MaxFolders        = 1000
	MaxFolderMessages = 100_000_000
	maxAllFolders     = 20_000_000
	maxAllMessages    = 1_000_000_000
)

// CheckPopulation refuses a population with more folders or messages in all than it may have.
func CheckPopulation(folders, messages float64) error {
	switch {
	case folders > maxAllFolders:
		return fmt.Errorf("%w: %.0f folders or more in all (users × folders), at most %d", ErrPopulation,
			folders, maxAllFolders)
	case messages > maxAllMessages:
		return fmt.Errorf("%w: %.0f messages or more in all (users × folders × messages), at most %d",
			ErrPopulation, messages, maxAllMessages)
	}
	return nil
}

// PhaseMessages is where the message numbers of a phase begin: Number+1 times this. The
// load's are below, from 0. A phase has at most so many operations.
const PhaseMessages = 1 << 40

// LoadSpan is the time in which the mail of a load arrived.
const LoadSpan = 365 * 24 * time.Hour

// MaxRecipients bounds how many mailboxes one delivery can go to.
const MaxRecipients = 1000
