package hbase

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// untold begins what stands in place of a setting that the servers do not tell.
const untold = "not told"

// infoTimeout bounds what a region server's info port is asked, once, so that a port behind a firewall
// holds nothing up for long. A Java that has just begun takes seconds for its first page.
const infoTimeout = 5 * time.Second

// maxInfo bounds an answer of an info port. All of HBase's configuration is about 150 KB.
const maxInfo = 8 << 20

// serverSettings returns the log and the garbage collector of a region server. HBase's calls do not
// tell them, the pages of the server's info port do. Where there is none, the values say why.
func serverSettings(ctx context.Context, host string, port uint32) (wal, gc string) {
	if port == 0 || port > 65535 { // -1
		why := untold + ": the info port is off"
		return why, why
	}
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	at := "http://" + net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
	var conf struct {
		Properties []struct{ Key, Value string }
	}
	wal = readInfo(ctx, at+"/conf?format=json", &conf)
	values := make(map[string]string)
	for _, p := range conf.Properties {
		values[p.Key] = p.Value
	}
	if provider := values["hbase.wal.provider"]; wal == "" && provider != "" {
		wal = provider
		if values["hbase.wal.hsync"] == "true" {
			wal += ", hsync"
		}
	} else if wal == "" {
		wal = untold + ": its configuration has no hbase.wal.provider"
	}
	var beans struct {
		Beans []struct {
			Name string // of the bean and then, in upper case, the attribute of the collector, such as G1 Young Generation
		}
	}
	if gc = readInfo(ctx, at+"/jmx?qry=java.lang:type=GarbageCollector,name=*", &beans); gc != "" {
		return wal, gc
	}
	var names []string
	for _, b := range beans.Beans {
		names = append(names, collectorOf(b.Name))
	}
	slices.Sort(names)
	return wal, cmp.Or(strings.Join(slices.Compact(names), ", "), untold+": its JMX has no collector")
}

// collectors are Java's garbage collectors, as -XX:+Use…GC names them, by how the names of their beans
// begin. A collector has a bean for each kind of its work.
var collectors = map[string]string{
	"G1 ": "G1", "PS ": "Parallel", "Copy": "Serial", "MarkSweepCompact": "Serial", "ZGC": "Z", "Shenandoah": "Shenandoah",
	"ParNew": "ConcMarkSweep", "ConcurrentMarkSweep": "ConcMarkSweep",
}

func collectorOf(bean string) string {
	for prefix, name := range collectors {
		if strings.HasPrefix(bean, prefix) {
			return name
		}
	}
	return bean
}

// plainClient asks info ports: directly, and nowhere else than where the master says they are.
var plainClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// readInfo reads a page of an info port, or says why it cannot.
func readInfo(ctx context.Context, url string, into any) (why string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return untold + ": " + err.Error()
	}
	answer, err := plainClient.Do(r)
	if err != nil {
		return untold + ": its info port does not answer"
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Sprintf("%s: its info port answers %d", untold, answer.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxInfo)).Decode(into); err != nil {
		return untold + ": its info port answers no JSON"
	}
	return ""
}
