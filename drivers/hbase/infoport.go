package hbase

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// untold begins what stands in place of a setting that the servers do not tell.
const untold = "not told"

// infoTimeout bounds what a region server's info port is asked, so that a port behind a firewall
// holds nothing up for long.
const infoTimeout = 2 * time.Second

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
			InputArguments []string
		}
	}
	gc = readInfo(ctx, at+"/jmx?qry=java.lang:type=Runtime", &beans)
	for _, b := range beans.Beans {
		for _, word := range b.InputArguments {
			of, is := strings.CutPrefix(word, "-XX:+Use")
			if of, isGC := strings.CutSuffix(of, "GC"); is && isGC {
				gc = of
			}
		}
	}
	if gc == "" {
		gc = "Java's default"
	}
	return wal, gc
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
