package hbase

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// settingList are the settings that Open understands.
var settingList = []drivers.Setting{
	{Name: "batching", Default: "off", Doc: "the client's own batching of calls: off, or calls/wait as in 100/20ms"},
	{Name: "connect_timeout", Default: "15s", Doc: "how long opening may take"},
	{
		Name: "pre_split", Default: "1",
		Doc: "regions that a new table begins with, where its key is salted, a blob, uuid or text; addresses are divided as the users are",
	},
	{Name: "timeout", Default: "10s", Doc: "how long a call may take, with all that the client tries again"},
	{Name: "user", Default: "root", Doc: "the name that HBase knows the client by, where it asks for no Kerberos"},
	{Name: "zk_root", Default: "/hbase", Doc: "HBase's node in ZooKeeper"},
}

// settings are the effective ones.
type settings struct {
	contact        []string // host:port of ZooKeeper's nodes
	zkRoot         string
	user           string
	timeout        time.Duration
	connectTimeout time.Duration
	batch          int // calls in one request; 1 is no batching
	wait           time.Duration
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
func newSettings(o drivers.Options) (_ *settings, err error) {
	defer func() { err = drivers.WrongOption(err) }()
	s := &settings{contact: []string{"127.0.0.1:2181"}, durability: o.Durability, users: o.Users}
	if s.durability == drivers.DurabilityDefault {
		s.durability = drivers.Process
	}
	var ok bool
	if s.wal, ok = durabilities[s.durability]; !ok {
		return nil, fmt.Errorf("durability %s: HBase leaves replicas to HDFS; choose memory, process or power", s.durability)
	}
	if len(o.Contact) > 0 {
		s.contact = nil
	}
	for _, host := range o.Contact {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "2181")
		}
		s.contact = append(s.contact, host)
	}
	return s, s.set(drivers.ReadSettings(settingList, o.Settings))
}

func (s *settings) set(v *drivers.Settings) (err error) {
	s.zkRoot, s.user = v.Text("zk_root"), v.Text("user")
	s.timeout, s.connectTimeout = v.Duration("timeout", time.Millisecond), v.Duration("connect_timeout", time.Millisecond)
	s.preSplit, s.batch = v.Number("pre_split", 1), 1
	if !strings.HasPrefix(s.zkRoot, "/") {
		v.Wrong("zk_root", "%q does not begin with /", s.zkRoot)
	}
	if s.user == "" {
		v.Wrong("user", "it is empty; expected a name")
	}
	if s.preSplit > maxRegions {
		v.Wrong("pre_split", "%d is more than %d", s.preSplit, maxRegions)
	}
	if batching := v.Text("batching"); batching != "off" {
		calls, wait, _ := strings.Cut(batching, "/")
		s.batch, err = strconv.Atoi(calls)
		if err == nil {
			s.wait, err = time.ParseDuration(wait)
		}
		if err != nil || s.batch < 2 || s.wait <= 0 { // a wait of 0 gains nothing over off
			v.Wrong("batching", "%q; expected off, or calls/wait as in 100/20ms", batching)
		}
	}
	return v.Err()
}

// effective returns the settings in force, as results show them.
func (s *settings) effective() map[string]string {
	batching := "off"
	if s.batch > 1 {
		batching = fmt.Sprintf("%d/%s", s.batch, s.wait)
	}
	return map[string]string{
		"batching": batching, "connect_timeout": s.connectTimeout.String(), "timeout": s.timeout.String(),
		"user": s.user, "zk_root": s.zkRoot, "pre_split": strconv.Itoa(s.preSplit),
		"durability": s.durability.String(), "wal": strings.ToLower(s.wal.String()),
	}
}

// checkNamespace reports a namespace that cannot be part of a name.
func checkNamespace(name string) error {
	if len(name) > 16 || strings.ContainsFunc(name,
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return errors.New("a namespace is at most 16 lower-case letters and digits")
	}
	return nil
}
