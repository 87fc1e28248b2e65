package hbase

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// settingList are the settings that Open understands.
var settingList = []drivers.Setting{
	{
		Name: "connect_timeout", Default: "15s", Doc: "how long opening may take",
		Check: drivers.DurationFrom(time.Millisecond),
	},
	{
		Name: "pre_split", Default: "1",
		Doc: "regions that a new table begins with, where its key is salted, a blob, uuid or text; addresses are divided as the users are",
		Check: func(value string) error {
			if n, _ := strconv.Atoi(value); n > maxRegions {
				return fmt.Errorf("%d is more than %d", n, maxRegions)
			}
			return drivers.NumberFrom(1)(value)
		},
	},
	{
		Name: "timeout", Default: "10s", Doc: "how long a call may take, with all that the client tries again",
		Check: drivers.DurationFrom(time.Millisecond),
	},
	{
		Name: "user", Default: "root", Doc: "the name of the client for HBase, where it requires no Kerberos",
		Check: func(value string) error {
			if value == "" {
				return errors.New("it is empty; expected a name")
			}
			return nil
		},
	},
	{
		Name: "zk_root", Default: "/hbase", Doc: "HBase's node in ZooKeeper",
		Check: func(value string) error {
			if !strings.HasPrefix(value, "/") {
				return fmt.Errorf("%q does not begin with /", value)
			}
			return nil
		},
	},
}

// settings are the effective ones.
type settings struct {
	contact        []string // host:port of ZooKeeper's nodes
	zkRoot         string
	user           string
	timeout        time.Duration
	connectTimeout time.Duration
	preSplit       int // regions that a new table begins with
	users          []string
	durability     drivers.Durability
	wal            pb.MutationProto_Durability
}

// durabilities says where the region server's log must have a write before it is
// acknowledged: nowhere, in the operating systems of the log's nodes (hflush), or on their
// disks (hsync).
var durabilities = map[drivers.Durability]pb.MutationProto_Durability{
	drivers.Memory:  pb.MutationProto_SKIP_WAL,
	drivers.Process: pb.MutationProto_SYNC_WAL,
	drivers.Power:   pb.MutationProto_FSYNC_WAL,
}

// maxRegions bounds pre_split.
const maxRegions = 1000

// newSettings reads and checks options.
func newSettings(o drivers.Options) (*settings, error) {
	v := drivers.ReadSettings(settingList, o.Settings)
	s := &settings{
		durability: cmp.Or(o.Durability, drivers.Process), users: o.Users,
		zkRoot: v.Text("zk_root"), user: v.Text("user"), preSplit: v.Number("pre_split"),
		timeout: v.Duration("timeout"), connectTimeout: v.Duration("connect_timeout"),
	}
	var ok bool
	if s.wal, ok = durabilities[s.durability]; !ok {
		return nil, drivers.WrongOption(fmt.Errorf("durability %s: HBase leaves replicas to HDFS; choose memory, process or power",
			s.durability))
	}
	for _, host := range o.Contact {
		s.contact = append(s.contact, drivers.HostPort(host, "2181"))
	}
	if s.contact == nil {
		s.contact = []string{"127.0.0.1:2181"}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	if len(o.Namespace) > 16 || strings.Trim(o.Namespace, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return nil, errors.New("a namespace is at most 16 lower-case letters and digits")
	}
	return s, nil
}

// effective returns the settings in force, as results show them.
func (s *settings) effective() map[string]string {
	return map[string]string{
		"connect_timeout": s.connectTimeout.String(), "timeout": s.timeout.String(), "user": s.user, "zk_root": s.zkRoot,
		"pre_split": strconv.Itoa(s.preSplit), "durability": s.durability.String(), "wal": strings.ToLower(s.wal.String()),
	}
}

// engineName is the engine's name in the list of engines and in hints.
const engineName = "hbase"

// familySettings are a family's settings as HBase's table descriptors hold them.
type familySettings = map[string]string

// defaults are the settings of every new family; hints override them. They are HBase's own
// except NEW_VERSION_BEHAVIOR. Without that setting a delete also hides what is written after
// it in the same millisecond (docs/internals/decisions/0005-hbase-timestamps.md).
var defaults = familySettings{
	"NEW_VERSION_BEHAVIOR": "true",
	"VERSIONS":             "1",
	"MIN_VERSIONS":         "0",
	"TTL":                  "2147483647",
	"KEEP_DELETED_CELLS":   "FALSE",
	"COMPRESSION":          "NONE",
	"BLOOMFILTER":          "ROW",
	"BLOCKSIZE":            "65536",
	"DATA_BLOCK_ENCODING":  "NONE",
	"IN_MEMORY":            "false",
	"BLOCKCACHE":           "true",
	"REPLICATION_SCOPE":    "0",
}

var compressions = []string{"none", "gz", "snappy", "lz4", "lzo", "zstd", "bzip2", "brotli", "lzma"}

// positive is the check of hints that are numbers.
var positive = drivers.NumberFrom(1)

// familyHints are the hints that set a setting of a family, with the check of their values.
var familyHints = map[string]struct {
	setting string
	check   func(value string) error
}{
	"versions":            {"VERSIONS", positive},
	"block_size":          {"BLOCKSIZE", positive},
	"compression":         {"COMPRESSION", drivers.OneOf(compressions...)},
	"bloom":               {"BLOOMFILTER", drivers.OneOf("none", "row", "rowcol", "rowprefix_fixed_length")},
	"bloom_prefix":        {bloomPrefix, positive},
	"mob":                 {"IS_MOB", drivers.Truth},
	"mob_threshold":       {"MOB_THRESHOLD", positive},
	"data_block_encoding": {"DATA_BLOCK_ENCODING", drivers.OneOf("none", "prefix", "diff", "fast_diff", "row_index_v1")},
	"in_memory":           {"IN_MEMORY", drivers.Truth},
	"block_cache":         {"BLOCKCACHE", drivers.Truth},
	schemas.ExpirySetting: {"TTL", positive},
	// Only for tables of another program: mailbench's own need it (docs/internals/decisions/0005-hbase-timestamps.md).
	"new_version_behavior": {"NEW_VERSION_BEHAVIOR", drivers.Truth},
}

// maxSalt bounds the hint salt: a bucket's number is one byte.
const maxSalt = 256

// bloomPrefix is how many bytes of a row key the Bloom filter rowprefix_fixed_length takes
// (BloomFilterUtil.PREFIX_LENGTH_KEY).
const bloomPrefix = "RowPrefixBloomFilter.prefix_length"

// parseHints returns a table with the hints of a schema's table for this engine, and nothing else. An unknown hint is
// an error, or a misspelt one would silently do nothing.
func parseHints(t *schemas.Table) (*table, error) {
	tb := &table{schema: t, descriptor: maps.Clone(defaults)}
	for name, value := range t.Hints[engineName] {
		switch name {
		case "family":
			if value == "" || strings.ContainsAny(value, ":/.") {
				return nil, fmt.Errorf("hint family: %q cannot name a family", value)
			}
			tb.family = value
		case "unsigned":
			for _, word := range strings.Fields(value) {
				c := t.Column(word)
				if c == nil || !slices.Contains(t.OwnKey(), c) || c.Type.Kind != schemas.Bigint {
					return nil, fmt.Errorf("hint unsigned: %s is no bigint key column of this table's own", word)
				}
				tb.unsigned = append(tb.unsigned, c)
			}
		case "marker":
			if tb.noMarker = value == "none"; !tb.noMarker {
				return nil, fmt.Errorf("hint marker: %q; expected none", value)
			}
		case "order":
			if tb.flipped = value == "reversed"; !tb.flipped {
				return nil, fmt.Errorf("hint order: %q; expected reversed", value)
			}
		case "salt":
			n, err := strconv.Atoi(value)
			if err != nil || n < 2 || n > maxSalt {
				return nil, fmt.Errorf("hint salt: %q; expected a number from 2 to %d", value, maxSalt)
			}
			if t.Parent != nil {
				return nil, errors.New("hint salt: this table is nested: its root table has the hint for all")
			}
			tb.salt = n
		default:
			f, ok := familyHints[name]
			if !ok {
				return nil, fmt.Errorf("unknown hint %q; known are family, unsigned, order, marker, salt, %s", name,
					strings.Join(slices.Sorted(maps.Keys(familyHints)), ", "))
			}
			if err := f.check(value); err != nil {
				return nil, fmt.Errorf("hint %s: %w", name, err)
			}
			if value != "true" && value != "false" {
				value = strings.ToUpper(value)
			}
			tb.descriptor[f.setting] = value
		}
	}
	return tb, nil
}
