package cmd

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
)

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bindJSON gives a command that prints a list the flag --json.
func bindJSON(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// What the lists are as JSON. Fields are added, never removed.
type (
	listedWorkload struct {
		Name string `json:"name"`
		Doc  string `json:"doc"`
	}
	listedModel struct {
		Name   string `json:"name"`
		Native string `json:"native,omitempty"` // the engine that its document was written for
		Tables int    `json:"tables"`
		Doc    string `json:"doc"`
	}
	listedSchema struct {
		Name     string `json:"name"`
		Native   string `json:"native,omitempty"`
		Tables   int    `json:"tables"`
		Patterns int    `json:"patterns"`
		Doc      string `json:"doc"`
	}
	listedEngine struct {
		Name        string          `json:"name"`
		Doc         string          `json:"doc"`
		Remote      bool            `json:"remote"` // it is reached over the network
		Settings    []listedSetting `json:"settings"`
		Environment []listedSetting `json:"environment"`
	}
	listedSetting struct {
		Name    string `json:"name"`
		Default string `json:"default,omitempty"`
		Doc     string `json:"doc"`
	}
	listedNode struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		Running bool   `json:"running"`
		PID     int    `json:"pid,omitempty"`
		Started string `json:"started,omitempty"` // RFC 3339, UTC
		Memory  int64  `json:"memory_bytes,omitempty"`
	}
	listedLeft struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
		Since string `json:"since"` // RFC 3339, UTC
	}
)

func listEngine(e *drivers.Engine) listedEngine {
	one := listedEngine{Name: e.Name, Doc: e.Doc, Remote: e.Remote, Settings: []listedSetting{}, Environment: []listedSetting{}}
	for _, s := range settingsOf(e) {
		one.Settings = append(one.Settings, listedSetting{s[0], s[1], s[2]})
	}
	for _, v := range e.Environment {
		one.Environment = append(one.Environment, listedSetting{Name: v.Name, Doc: v.Doc})
	}
	return one
}
