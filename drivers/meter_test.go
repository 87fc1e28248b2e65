package drivers_test

import (
	"reflect"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// Every number of a cost is added.
func TestEveryCostIsAdded(t *testing.T) {
	var sum, more drivers.Cost
	numbered := func(c *drivers.Cost, first int64) reflect.Value {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			v.Field(i).SetInt(first + int64(i))
		}
		return v
	}
	of := numbered(&sum, 1)
	numbered(&more, 1000)
	sum.Add(&more)
	for i := range of.NumField() {
		if got, want := of.Field(i).Int(), int64(1+i+1000+i); got != want {
			t.Errorf("%s is %d, want %d", of.Type().Field(i).Name, got, want)
		}
	}
}
