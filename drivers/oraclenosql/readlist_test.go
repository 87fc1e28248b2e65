package oraclenosql

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
)

// TestLists: the rows of a list come in its order, with the duplicates, whatever the order of the
// answers; the partition of a shard key is requested once, and again if nothing is found there.
func TestLists(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, nil)
	se, err := st.session()
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := st.Prepare(t.Context(), s.Pattern("sizes"))
	if err != nil {
		t.Fatal(err)
	}
	// The server has the rows of the folder in one partition, which it reads in the order of
	// its keys, two rows an answer.
	partition, next := 7, 0
	p.answers(func(op string, payload object) any {
		text, _ := payload[nosqldb.PREPARED_QUERY].([]byte)
		switch {
		case op != "Query":
			return nil
		case strings.Contains(string(text), "SELECT partition("):
			return object{nosqldb.QUERY_RESULTS: []any{object{partitionName: partition}}}
		}
		with := byName(payload[nosqldb.BIND_VARIABLES].([]any))
		var there []any
		for _, n := range []int{1, 2, 3} {
			if with["$partition"] == partition && slices.Contains(with["$n"].([]any), any(n)) {
				there = append(there, object{"m": 0, "n": n, "size": int64(n)}, object{"m": 1, "n": n, "size": int64(10 * n)})
			}
		}
		if next = next + 2; next < len(there) {
			return object{nosqldb.QUERY_RESULTS: there[next-2 : next], nosqldb.CONTINUATION_KEY: []byte("on")}
		}
		at := next - 2
		next = 0
		return object{nosqldb.QUERY_RESULTS: there[min(at, len(there)):]}
	})
	for _, c := range []struct {
		name string
		list []int32
		at   int // the partition of the shard key
		want string
		sent int
	}{
		{"partition not known", []int32{3, 1, 9, 3}, 7, "30 3 10 1 30 3", 3},
		{"partition known", []int32{2, 3}, 7, "20 2 30 3", 2},
		{"nothing there", []int32{8, 9}, 7, "", 2},
		{"the table is another one", []int32{1, 2}, 5, "10 1 20 2", 4},
		{"one key", []int32{9}, 5, "", 1},
		{"no key", nil, 5, "", 0},
	} {
		partition = c.at
		var list []drivers.Value
		for _, n := range c.list {
			list = append(list, drivers.Int(n))
		}
		var got []string
		p.take()
		err := se.Read(t.Context(), stmt, []drivers.Value{drivers.Text("ann"), drivers.ListOf(list)},
			func(row []drivers.Value) error {
				got = append(got, strconv.FormatInt(row[0].Int64(), 10))
				return nil
			})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: rows %s, expected %s", c.name, got, c.want)
		}
		if sent := p.take(); len(sent) != c.sent {
			t.Errorf("%s: %d requests, expected %d: %q", c.name, len(sent), c.sent, sent)
		}
	}
}

// TestLongList: a long list is several queries.
func TestLongList(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, nil)
	se, err := st.session()
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := st.Prepare(t.Context(), s.Pattern("sizes"))
	if err != nil {
		t.Fatal(err)
	}
	var sent []int
	p.answers(func(op string, payload object) any {
		if list, ok := byName(payload[nosqldb.BIND_VARIABLES].([]any))["$n"].([]any); ok && op == "Query" {
			sent = append(sent, len(list))
		}
		return nil
	})
	list := make([]drivers.Value, 2*mostListed+50)
	for i := range list {
		list[i] = drivers.Int(int32(i))
	}
	if err := read(t, se, stmt, []drivers.Value{drivers.Text("ann"), drivers.ListOf(list)}); err != nil {
		t.Fatal(err)
	}
	if want := []int{mostListed, mostListed, 50}; !slices.Equal(sent, want) {
		t.Errorf("queries of %v keys, expected %v", sent, want)
	}
}

// TestPartitionsRemembered: a store remembers so many partitions, and no more.
func TestPartitionsRemembered(t *testing.T) {
	var p partitions
	for i := range mostPartitions - 1 {
		p.set(strconv.Itoa(i), i)
	}
	if n, known := p.Load("3"); n != 3 || !known {
		t.Errorf("partition %v, %v", n, known)
	}
	p.set("one more", 1)
	p.set("and one more", 1)
	there := 0
	p.Range(func(any, any) bool { there++; return true })
	if there != 2 {
		t.Errorf("%d partitions are remembered, expected 2", there)
	}
}

// TestParts: the parts of a scan are ranges of its first key column, also those that were written down.
func TestParts(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, nil)
	se, err := st.session()
	if err != nil {
		t.Fatal(err)
	}
	scan, err := st.Prepare(t.Context(), s.Pattern("scan"))
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]string{ // the first, the last, and those around the middle
		" ORDER BY user LIMIT 1": "a", " ORDER BY user DESC LIMIT 1": "z",
		" WHERE user < $low ORDER BY user DESC LIMIT 1": "l", " WHERE user >= $low ORDER BY user LIMIT 1": "m",
	}
	prepared := 0
	p.answers(func(op string, payload object) any {
		if op == "Prepare" {
			prepared++
		}
		text, _ := payload[nosqldb.PREPARED_QUERY].([]byte)
		_, which, _ := strings.Cut(string(text), "mailbench_run_asked:users")
		if user := users[which]; op == "Query" && user != "" {
			return object{nosqldb.QUERY_RESULTS: []any{object{"user": user}}}
		}
		return nil
	})
	ranges, err := st.Split(t.Context(), scan, 3) // there are no keys to divide the halves
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{":6d", "6d:"}; !slices.Equal(ranges, want) {
		t.Fatalf("ranges %q, expected %q", ranges, want)
	}
	parts, err := st.Within(t.Context(), scan, ranges)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(users) + len(parts); prepared != want {
		t.Errorf("%d queries are prepared, expected %d: each once", prepared, want)
	}
	for i, part := range parts {
		p.take()
		if err := read(t, se, part, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{`WHERE user < $high {BIND_VARIABLES:{$high:"m"}`, `WHERE user >= $low {BIND_VARIABLES:{$low:"m"}`}[i]
		if sent := p.take(); len(sent) != 1 || !strings.Contains(sent[0], want) {
			t.Errorf("part %d is %q, expected %s", i, sent, want)
		}
	}
}
