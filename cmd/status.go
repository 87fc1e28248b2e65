package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
)

// Exit statuses of every command.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done: engine unreachable, I/O
	exitUsage       = 2 // wrong usage or input
	exitBroken      = 3 // done, but not good: a run invalid, overloaded or empty, a schema with errors, a regression
	exitData        = 4 // data wrong or lost
	exitInterrupted = 130
)

// statusError is an error with its exit status.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

// usage marks an error as one of wrong usage or input.
func usage(err error) error { return statusError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// missing gives an error the exit status of wrong input, if a file is missing, is a folder, or
// should be a folder.
func missing(err error) error {
	if errors.Is(err, drivers.ErrCorrupt) {
		return err // a store lacks files of its own
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, plainfile.ErrNotPlain) {
		return usage(err)
	}
	return err
}

// exitStatus is the exit status for a command's error.
func exitStatus(err error) int {
	var status statusError
	var faults strict.Errors
	var format *mail.FormatError
	var option *drivers.OptionError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, drivers.ErrCorrupt):
		return exitData
	case errors.As(err, &faults), errors.As(err, &format), errors.As(err, &option),
		errors.Is(err, workloads.ErrPopulation):
		return exitUsage
	default:
		return exitFailed
	}
}

// unknown is the error for a word that is not known. It says which known word was probably meant.
func unknown(what, word string, known []string) error { return strict.Unknown(what, word, known...) }

// parseWord returns the value whose text is word.
func parseWord[T fmt.Stringer](what, word string, values ...T) (T, error) {
	known := make([]string, len(values))
	for i, v := range values {
		if known[i] = v.String(); known[i] == word {
			return v, nil
		}
	}
	var none T
	return none, usage(unknown("value of --"+what, word, known))
}

// told is an error that has been printed.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// tell prints an error, unless it has been printed.
func tell(w io.Writer, err error) error {
	var before told
	if err == nil || errors.As(err, &before) {
		return err
	}
	if !readerGone(err) {
		fmt.Fprintf(w, "mailbench: %v\n", err)
	}
	return told{err}
}
