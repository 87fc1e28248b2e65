package results

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// numbered sets each number below v to one of its own, from *next on, and each text to one of
// its own. It leaves out what derived names.
func numbered(v reflect.Value, next *int, derived []string) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if slices.Contains(derived, name) {
			continue
		}
		*next++
		switch f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(*next))
		case reflect.Float64:
			f.SetFloat(float64(*next))
		case reflect.String:
			f.SetString(string(rune('a' + *next%26)))
		case reflect.Struct:
			numbered(f, next, derived)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			if f.Elem().Kind() == reflect.Struct {
				numbered(f.Elem(), next, derived)
			}
		}
	}
}

// unchanged lists the numbers below sum that are as in was, though add added b.
func unchanged(path string, sum, was reflect.Value, derived []string) (names []string) {
	for i := range sum.NumField() {
		f, o, name := sum.Field(i), was.Field(i), sum.Type().Field(i).Name
		if slices.Contains(derived, name) {
			continue
		}
		if f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct {
			f, o = f.Elem(), o.Elem()
		}
		switch f.Kind() {
		case reflect.Struct:
			names = append(names, unchanged(path+name+".", f, o, derived)...)
		case reflect.Int, reflect.Int64, reflect.Float64:
			if f.Equal(o) {
				names = append(names, path+name)
			}
		}
	}
	return names
}

// Each number of a result is added up, or stands here as one that follows from the others: a
// field that somebody adds fails until it is one of both.
func TestEveryNumberIsAdded(t *testing.T) {
	for _, c := range []struct {
		sum, was, b any
		add         func(sum, b any)
		derived     []string // made from all parts by package summary or merge
	}{
		{
			&Op{}, &Op{}, &Op{}, func(sum, b any) { sum.(*Op).Add(b.(*Op)) },
			[]string{"Response", "Service", "Lag", "ServiceFree", "ServiceQueued", "Undelayed", "Least", "Due"},
		},
		{&OpInterval{}, &OpInterval{}, &OpInterval{}, func(sum, b any) { sum.(*OpInterval).Add(b.(*OpInterval)) }, nil},
		{&Interval{}, &Interval{}, &Interval{}, func(sum, b any) { sum.(*Interval).Add(b.(*Interval)) }, []string{"At", "Seconds"}},
		{&Offered{}, &Offered{}, &Offered{}, func(sum, b any) { sum.(*Offered).Add(b.(*Offered)) }, nil},
		{&ClientInfo{}, &ClientInfo{}, &ClientInfo{}, func(sum, b any) { sum.(*ClientInfo).Add(b.(*ClientInfo)) }, []string{"Limits"}},
		{
			&Evidence{}, &Evidence{}, &Evidence{}, func(sum, b any) { sum.(*Evidence).Add(b.(*Evidence)) },
			[]string{"Held", "Occupancy", "Lateness", "Delays", "Trend"},
		},
		{&EngineInfo{}, &EngineInfo{}, &EngineInfo{}, func(sum, b any) { sum.(*EngineInfo).Add(b.(*EngineInfo)) }, nil},
		{
			&Audit{}, &Audit{}, &Audit{}, func(sum, b any) { sum.(*Audit).Add(b.(*Audit), false) },
			[]string{"Trial", "Shard"},
		},
	} {
		// b's numbers are larger than those of sum, so that a maximum changes too.
		next := 0
		numbered(reflect.ValueOf(c.sum).Elem(), &next, c.derived)
		next = 0
		numbered(reflect.ValueOf(c.was).Elem(), &next, c.derived)
		next = 1000
		numbered(reflect.ValueOf(c.b).Elem(), &next, c.derived)
		c.add(c.sum, c.b)
		if names := unchanged("", reflect.ValueOf(c.sum).Elem(), reflect.ValueOf(c.was).Elem(), c.derived); len(names) > 0 {
			t.Errorf("%T.Add leaves %v", c.sum, names)
		}
	}
}

// What one shard's audit cannot know, the audit of all shards cannot.
func TestFaultsAreAdded(t *testing.T) {
	a := Audit{Delivered: 5}
	for _, fault := range []string{"", "no ledger", "no ledger", "no folder"} {
		a.Add(&Audit{Fault: fault}, true)
	}
	if a.Fault != "no ledger; no folder" || !a.Wrong() {
		t.Errorf("fault %q, wrong %v", a.Fault, a.Wrong())
	}
}

// A sum of costs has the mean and the deviation of all operations together.
func TestCostsAreAddedByOperations(t *testing.T) {
	of := func(values ...float64) Op {
		mean, squares := 0.0, 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		o := Op{Count: int64(len(values)), Store: StoreCost{Calls: mean}, Patterns: []PatternCalls{{Name: "page", Calls: mean}}}
		if len(values) > 1 {
			o.Store.CallsDeviation = math.Sqrt(squares / float64(len(values)-1))
		}
		return o
	}
	sum, b, want := of(1, 2, 4), of(8, 16), of(1, 2, 4, 8, 16)
	sum.Add(&b)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !near(sum.Store.Calls, want.Store.Calls) || !near(sum.Store.CallsDeviation, want.Store.CallsDeviation) ||
		!near(sum.Patterns[0].Calls, want.Store.Calls) {
		t.Errorf("%+v, %v; want %+v", sum.Store, sum.Patterns, want.Store)
	}
	none := Op{}
	if none.Add(&want); !near(none.Store.CallsDeviation, want.Store.CallsDeviation) {
		t.Errorf("nothing and %v make %v", want.Store, none.Store)
	}
}

// Adding to an interval changes no interval that it was copied from.
func TestAddKeepsCopies(t *testing.T) {
	a := Interval{OK: 1, Ops: map[string]OpInterval{"list": {OK: 1}}}
	sum := a
	sum.Follow(&Interval{At: 1, Seconds: 2, OK: 2, Ops: map[string]OpInterval{"list": {OK: 2}, "open": {OK: 3}}})
	if a.Ops["list"].OK != 1 || len(a.Ops) != 1 || sum.Ops["list"].OK != 3 || sum.Ops["open"].OK != 3 || sum.Seconds != 3 {
		t.Errorf("%+v and %+v", a, sum)
	}
}

// TestAddExamined: rows examined of a sum are known if those of its parts are. Traced operations
// weigh as much as there are of them.
func TestAddExamined(t *testing.T) {
	op := func(count int64, examined float64, traced int64) Op {
		o := Op{Count: count, Store: StoreCost{Traced: traced}}
		if examined >= 0 {
			o.Store.RowsExamined = &examined
		}
		return o
	}
	for _, x := range []struct {
		a, b   Op
		want   float64 // -1: nobody knows
		traced int64
	}{
		{op(30, 10, 0), op(10, 50, 0), 20, 0},
		{op(30, 10, 0), op(10, -1, 0), -1, 0},
		{op(30, 10, 0), op(0, -1, 0), 10, 0},
		{op(0, -1, 0), op(10, 50, 0), 50, 0},
		{op(3000, 10, 5), op(10, 50, 5), 30, 10},
	} {
		a, b := x.a, x.b
		if a.Add(&b); (a.Store.RowsExamined == nil) != (x.want < 0) || a.Store.Traced != x.traced ||
			x.want >= 0 && *a.Store.RowsExamined != x.want {
			t.Errorf("%+v and %+v have the cost %+v, want %v of %d traced", x.a.Store, x.b.Store, a.Store, x.want, x.traced)
		}
	}
}
