package results

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// filled gives each field of v a value that is not zero: numbers and texts one of their own, from
// *next on, and lists and maps one element.
func filled(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next))
	case reflect.Float64:
		v.SetFloat(float64(*next))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
		if v.Type() == reflect.TypeFor[Support]() {
			v.SetString(string(NotOffered))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), next)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key, next)
		filled(value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// same lists the fields of a and b that are equal, those of structs in them one by one, without
// those that kept names.
func same(path string, a, b reflect.Value, kept []string) (names []string) {
	for i := range a.NumField() {
		x, y, name := a.Field(i), b.Field(i), a.Type().Field(i).Name
		switch {
		case slices.Contains(kept, path+name):
		case x.Kind() == reflect.Struct:
			names = append(names, same(path+name+".", x, y, kept)...)
		case x.Kind() == reflect.Pointer && x.Type().Elem().Kind() == reflect.Struct && !x.IsNil() && !y.IsNil():
			names = append(names, same(path+name+".", x.Elem(), y.Elem(), kept)...)
		case reflect.DeepEqual(x.Interface(), y.Interface()):
			names = append(names, path+name)
		}
	}
	return names
}

// Each field of a result is added up, or is listed here as one that does not follow from two sums: a
// field that somebody adds fails until it is one of both.
func TestEveryFieldIsAdded(t *testing.T) {
	everyFieldIsAdded(t, (*Op).Add, "Times", "Quantiles") // of histograms, by TimesOf
	everyFieldIsAdded(t, (*Interval).Add, "At", "Seconds")
	everyFieldIsAdded(t, Add[Offered])
	everyFieldIsAdded(t, Add[ClientInfo], "Limits")
	everyFieldIsAdded(t, Add[Evidence], "Held", "Windows", "Segments")
	everyFieldIsAdded(t, Add[EngineInfo], "Version", "Missing", "Settings")
	everyFieldIsAdded(t, func(a, b *Audit) { a.Add(b, false) }, "Model", "Engine", "Point", "Trial", "Segment")
}

// everyFieldIsAdded adds larger numbers to each number, so that a maximum changes too. Other
// fields are added to nothing, and nothing to them: what holds if it holds of both changes then.
func everyFieldIsAdded[T any](t *testing.T, add func(sum, b *T), kept ...string) {
	t.Helper()
	made := func(first int) (v T) {
		filled(reflect.ValueOf(&v).Elem(), &first)
		return v
	}
	unchanged := func(sum, was, b T) []string {
		add(&sum, &b)
		return same("", reflect.ValueOf(sum), reflect.ValueOf(was), kept)
	}
	var none, noneAgain T
	numbers := unchanged(made(0), made(0), made(1000))
	toNothing, nothingTo := unchanged(none, noneAgain, made(0)), unchanged(made(0), made(0), none)
	typ := reflect.TypeFor[T]()
	for _, name := range slices.Concat(numbers, toNothing) {
		f, ok := typ.FieldByName(name)
		number := !ok || f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64 || f.Type.Kind() == reflect.Float64
		if number && slices.Contains(numbers, name) || slices.Contains(toNothing, name) && slices.Contains(nothingTo, name) {
			t.Errorf("%v.Add leaves %s", typ, name)
		}
	}
}

// If one segment's audit cannot know a number, the audit of all segments cannot.
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
		o := Op{Count: int64(len(values)), Store: StoreCost{Requests: mean}, Patterns: []PatternRequests{{Name: "page", Requests: mean}}}
		if len(values) > 1 {
			o.Store.RequestsDeviation = math.Sqrt(squares / float64(len(values)-1))
		}
		return o
	}
	sum, b, want := of(1, 2, 4), of(8, 16), of(1, 2, 4, 8, 16)
	sum.Add(&b)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !near(sum.Store.Requests, want.Store.Requests) || !near(sum.Store.RequestsDeviation, want.Store.RequestsDeviation) ||
		!near(sum.Patterns[0].Requests, want.Store.Requests) {
		t.Errorf("%+v, %v; want %+v", sum.Store, sum.Patterns, want.Store)
	}
	none := Op{}
	if none.Add(&want); !near(none.Store.RequestsDeviation, want.Store.RequestsDeviation) {
		t.Errorf("nothing and %v make %v", want.Store, none.Store)
	}
}

// TestAddScanned: rows scanned of a sum are known if those of its parts are. Traced operations
// weigh as much as there are of them.
func TestAddScanned(t *testing.T) {
	op := func(count int64, examined float64, traced int64) Op {
		o := Op{Count: count, Store: StoreCost{Traced: traced}}
		if examined >= 0 {
			o.Store.RowsScanned = &examined
		}
		return o
	}
	for _, x := range []struct {
		a, b   Op
		want   float64 // -1: unknown
		traced int64
	}{
		{op(30, 10, 0), op(10, 50, 0), 20, 0},
		{op(30, 10, 0), op(10, -1, 0), -1, 0},
		{op(30, 10, 0), op(0, -1, 0), 10, 0},
		{op(0, -1, 0), op(10, 50, 0), 50, 0},
		{op(3000, 10, 5), op(10, 50, 5), 30, 10},
	} {
		a, b := x.a, x.b
		if a.Add(&b); (a.Store.RowsScanned == nil) != (x.want < 0) || a.Store.Traced != x.traced ||
			x.want >= 0 && *a.Store.RowsScanned != x.want {
			t.Errorf("%+v and %+v have the cost %+v, want %v of %d traced", x.a.Store, x.b.Store, a.Store, x.want, x.traced)
		}
	}
}

// Merged intervals keep their operations and their slowest ones.
func TestHalved(t *testing.T) {
	var all []Interval
	var ok, slowest int64
	for i := range 599 {
		in := Interval{At: float64(i), Seconds: 1, OK: int64(i % 7), Failed: 1, P50: 5, P99: int64(i), Max: int64(i * i % 1009)}
		ok, slowest, all = ok+in.OK, max(slowest, in.Max), append(all, in)
	}
	few := Halved(all)
	if len(few) != 300 {
		t.Fatalf("%d intervals", len(few))
	}
	for _, in := range few {
		ok -= in.OK
		if in.OK > 0 && in.P50 != 5 {
			t.Errorf("the p50 of %v is %d", in.At, in.P50)
		}
		slowest = max(slowest, in.Max)
	}
	end := few[len(few)-1]
	if ok != 0 || end.At+end.Seconds != 599 || all[0].Seconds != 1 {
		t.Errorf("%d operations are lost; the last interval ends at %v", ok, end.At+end.Seconds)
	}
}
