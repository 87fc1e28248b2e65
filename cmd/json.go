package cmd

import (
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
)

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bindJSON gives a command that prints something the flag --json.
func bindJSON(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// bindRunJSON gives a command that measures or merges the flag --json.
func bindRunJSON(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print run.json in place of the table")
}

// formatOf is the format that the flags --format and --json name together.
func formatOf(flags *pflag.FlagSet, format string, asJSON bool) (string, error) {
	switch {
	case !asJSON:
		return format, nil
	case flags.Changed("format") && format != "json":
		return "", usagef("--json and --format %s contradict each other: leave one out", format)
	}
	return "json", nil
}

// These types are the JSON of lists. Fields are added, never removed.
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
		Remote      bool            `json:"remote"` // the engine is reached over the network
		Settings    []listedSetting `json:"settings"`
		Environment []listedSetting `json:"environment"`
		Lacking     []listedSetting `json:"lacking,omitempty"` // what a server may lack, and what happens then
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
	listedInstance struct {
		Engine       string       `json:"engine"`
		Dir          string       `json:"dir"`
		Contact      []string     `json:"contact"` // for --contact
		WasUp        bool         `json:"was_up"`
		User         string       `json:"user,omitempty"`          // empty if the engine has no login
		PasswordFile string       `json:"password_file,omitempty"` // file with the password of User
		Nodes        []listedNode `json:"nodes"`
	}
	listedLeft struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
		Since string `json:"since"` // RFC 3339, UTC
	}
)

// listInstance says what engine up has started, or found running.
func listInstance(in *launch.Instance, engine string) listedInstance {
	one := listedInstance{
		Engine: engine, Dir: in.Dir(), Contact: in.Contact(),
		WasUp: len(in.Started) == 0, Nodes: []listedNode{},
	}
	if l := in.Login(); l != nil {
		one.User, one.PasswordFile = l.User, l.PasswordFile
	}
	for _, n := range in.Nodes() {
		one.Nodes = append(one.Nodes, listNode(n))
	}
	return one
}

func listNode(n launch.Node) listedNode {
	one := listedNode{Name: n.Name, Address: n.Address, Running: n.Running()}
	if one.Running {
		one.PID, one.Memory = n.Process.PID, n.RSS()
		one.Started = n.Process.Started.UTC().Format(time.RFC3339)
	}
	return one
}

func listEngine(e *drivers.Engine) listedEngine {
	one := listedEngine{
		Name: e.Name, Doc: e.Doc, Remote: e.Remote, Settings: []listedSetting{},
		Environment: []listedSetting{},
	}
	for _, s := range settingsOf(e) {
		one.Settings = append(one.Settings, listedSetting{s[0], s[1], s[2]})
	}
	for _, v := range e.Environment {
		one.Environment = append(one.Environment, listedSetting{Name: v.Name, Doc: v.Doc})
	}
	for _, v := range e.Lacking {
		one.Lacking = append(one.Lacking, listedSetting{Name: v.Name, Doc: v.Doc})
	}
	return one
}
