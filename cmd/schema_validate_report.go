package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/schemas/words"
)

// validated is what schema validate prints.
type validated struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*validate.Report
	Broken   int64 `json:"broken"`
	Leftover int64 `json:"leftover"`
	// Adrift is how many rows have a wrong count that an operation left which was broken off or is
	// of unknown outcome. They are not broken.
	Adrift  int64       `json:"adrift,omitempty"`
	Audit   *modelAudit `json:"audit,omitempty"`
	Stopped string      `json:"stopped,omitempty"` // the error at which the check of the schema ended
	Skipped []string    `json:"skipped,omitempty"` // what mailbench adds to the document and the store does not have
	resume  string      // the file with which a check that has stopped goes on
}

// writeText prints the report, and behind it what the model's audit says.
func (v *validated) writeText(w io.Writer) error {
	room, _ := wanted(w)
	if err := v.Report.WriteText(w, room); err != nil {
		return err
	}
	if v.Stopped != "" {
		fmt.Fprintf(w, "\nThe check ended here, and references and counts were not compared: %s\n", v.Stopped)
		if v.resume != "" {
			fmt.Fprintf(w, "The same command goes on from here: %s has what was read.\n", v.resume)
		}
	}
	if len(v.Skipped) > 0 {
		fmt.Fprintf(w, "\nNot in the document of the schema, nor in the store, and so skipped: %s.\n",
			strings.Join(v.Skipped, ", "))
	}
	if a := v.Audit; a != nil {
		fmt.Fprintf(w, "\nAudit of the model: %d accounts, %d folders, %d messages, %d deleted; %d unreferenced;\n"+
			"%d dangling, %d duplicated, %d broken bodies, counters adrift by %d.\n",
			a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced, a.Dangling, a.Duplicated,
			a.BrokenBodies, a.CounterDrift)
		if a.BrokenOff > 0 {
			fmt.Fprintf(w, "%s of blobs broken off: files that nobody sees.\n", words.Plural(a.BrokenOff, "write"))
		}
		for _, note := range a.Notes {
			fmt.Fprintln(w, "  "+words.OneLine(note))
		}
		switch {
		case a.interrupted:
			fmt.Fprintf(w, "  The audit was INTERRUPTED: %s\n", words.OneLine(a.Error))
		case a.Error != "":
			fmt.Fprintf(w, "  The audit ended at data that it cannot read: %s\n", words.OneLine(a.Error))
		}
	}
	adrift := ""
	if v.Adrift > 0 {
		adrift = fmt.Sprintf("; %s adrift: operations on the data set were broken off, or are of unknown outcome",
			words.Plural(v.Adrift, "count"))
	}
	_, err := fmt.Fprintf(w, "\n%s on %s: %s broken, %d left over%s\n", v.Schema, v.Engine,
		words.Plural(v.Broken, "row"), v.Leftover, adrift)
	return err
}

// print prints the report. Its error says that data is broken.
func (f *validateFlags) print(cmd *cobra.Command, v *validated) error {
	out := cmd.OutOrStdout()
	var err error
	if f.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(v)
	} else {
		err = v.writeText(out)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	switch {
	case v.Broken > 0:
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken: %s", v.Schema,
			v.Engine, words.Plural(v.Broken, "row"))}
	case v.Audit != nil && v.Audit.broken(f.exact):
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken: the model's audit says so", v.Schema, v.Engine)}
	}
	return nil
}
