package pebble

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/mailbench/mailbench/drivers"
)

// settingList are the settings that Open understands.
var settingList = []drivers.Setting{
	{Name: "compression", Default: "snappy", Doc: "of tables and blob files: " + strings.Join(compressions, ", ")},
}

var compressions = []string{"none", "snappy", "zstd"}

// readSettings returns how files are compressed.
func readSettings(settings map[string]string) (*block.CompressionProfile, error) {
	compression := block.SnappyCompression
	for name, value := range settings {
		if name != "compression" {
			return nil, fmt.Errorf("unknown setting %q; this engine has one, compression", name)
		}
		switch value {
		case "none":
			compression = block.NoCompression
		case "snappy":
		case "zstd":
			compression = block.ZstdCompression
		default:
			return nil, fmt.Errorf("setting compression: %q; expected one of %s", value, strings.Join(compressions, ", "))
		}
	}
	return compression, nil
}
