package oraclenosql

import (
	"fmt"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
)

// settingList are the driver settings, with their defaults.
var settingList = []drivers.Setting{
	{Name: "consistency", Default: "absolute", Doc: "consistency of reads: absolute (the master) or eventual (any replica)"},
	{
		Name: "sync", Default: "no_sync",
		Doc: "how far a write is on the disks of the master and of the replicas when it is acknowledged: no_sync " +
			"(in the process, as the proxy's own default), write_no_sync (the operating system) or sync (the disk)",
	},
	{Name: "ack", Default: "simple_majority", Doc: "replicas that acknowledge a write: simple_majority, all or none"},
	{
		Name: "limits", Default: "onprem",
		Doc: "limits of rows, keys and atomic batches: onprem (those of a server) or cloud (those of Oracle's cloud " +
			"service, which the driver then enforces)",
	},
	{
		Name: "replicas", Default: "0",
		Doc: "how many copies the store keeps (its replication factor); the proxy does not report it: 0 is unknown",
	},
	{Name: "zones", Doc: "the zones that have them, for results: the proxy does not report them either"},
	{Name: "timeout", Default: "10s", Doc: "timeout of a request"},
	{Name: "retries", Default: "5", Doc: "number of retries of a request that the server rejected, or that is idempotent"},
	{Name: "page_kb", Default: "1024", Doc: "KB that one request of a long read returns at most; 0 is the server's 2048"},
	{Name: "tls", Default: "false", Doc: "true encrypts connections and verifies the server's certificate"},
	{Name: "tls_ca", Doc: "file with the certificates of authorities (PEM), besides the system's", Guarded: true},
	{Name: "tls_server_name", Doc: "name in the server's certificate, if it is not the contact's", Guarded: true},
}

// settings are the parsed driver settings.
type settings struct {
	consistency types.Consistency
	durability  types.Durability
	words       map[string]string // all settings, as text
	timeout     time.Duration
	limits      limits
	retries     int
	replicas    int
	pageKB      int
	drivers.TLS
}

var (
	consistencies = map[string]types.Consistency{"absolute": types.Absolute, "eventual": types.Eventual}
	syncs         = map[string]types.SyncPolicy{
		"sync": types.SyncPolicySync, "no_sync": types.SyncPolicyNoSync, "write_no_sync": types.SyncPolicyWriteNoSync,
	}
	acks = map[string]types.ReplicaAckPolicy{
		"all": types.ReplicaAckPolicyAll, "none": types.ReplicaAckPolicyNone,
		"simple_majority": types.ReplicaAckPolicySimpleMajority,
	}
)

func readSettings(given map[string]string) (*settings, error) {
	v := drivers.ReadSettings(settingList, given)
	sync := drivers.Word(v, "sync", syncs)
	s := &settings{
		words: v.Texts(), TLS: v.TLS(),
		consistency: drivers.Word(v, "consistency", consistencies), limits: drivers.Word(v, "limits", limitsOf),
		durability: types.Durability{
			MasterSync: sync, ReplicaSync: sync, ReplicaAck: drivers.Word(v, "ack", acks),
		},
		timeout: v.Duration("timeout", time.Millisecond), retries: v.Number("retries", 0),
		pageKB: v.Number("page_kb", 0), replicas: v.Number("replicas", 0),
	}
	return s, v.Err()
}

// durabilities are the words of the setting sync for classes of durability.
var durabilities = map[drivers.Durability]string{
	drivers.Memory: "no_sync", drivers.Process: "write_no_sync", drivers.Power: "sync",
}

// wants sets what a write survives, if the user names a class. The setting sync must
// not say otherwise.
func (s *settings) wants(d drivers.Durability, given map[string]string) error {
	if d == drivers.DurabilityDefault {
		return nil
	}
	word, ok := durabilities[d]
	switch {
	case d == drivers.Quorum && s.class() == drivers.Quorum:
		return nil
	case !ok:
		return fmt.Errorf("cannot verify --durability %s: the proxy does not report the number of replicas: use "+
			"memory, process or power, or set replicas (3 or more; the setting ack must not be none)", d)
	case given["sync"] != "" && s.words["sync"] != word:
		return fmt.Errorf("--durability %s contradicts the setting sync, which is %s; remove one of them", d, s.words["sync"])
	}
	s.words["sync"] = word
	s.durability.MasterSync, s.durability.ReplicaSync = syncs[word], syncs[word]
	return nil
}

// class returns what an acknowledged write survives: on one node, unless the user says that
// there are replicas. Only the user knows how many.
func (s *settings) class() drivers.Durability {
	if s.replicas >= 3 && s.durability.ReplicaAck != types.ReplicaAckPolicyNone {
		return drivers.Quorum
	}
	for d, word := range durabilities {
		if word == s.words["sync"] {
			return d
		}
	}
	return drivers.DurabilityUnknown
}
