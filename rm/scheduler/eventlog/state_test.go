package eventlog_test

import (
	"fmt"
	"reflect"

	"heddle/rm/scheduler/drive"
)

// stateDiff compares the states of two drivers with all that is in them, but for functions. It names the first field that differs; "" if none
// does.
func stateDiff(a, b *drive.Driver) string {
	return (&comparison{seen: map[[2]uintptr]bool{}}).values("driver", reflect.ValueOf(a), reflect.ValueOf(b))
}

// comparison goes through two values, and knows which pairs of pointers it has met.
type comparison struct{ seen map[[2]uintptr]bool }

func (c *comparison) values(at string, a, b reflect.Value) string {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return fmt.Sprintf("%s: %v, %v", at, a, b)
	}
	if !a.IsValid() {
		return ""
	}
	switch a.Kind() {
	case reflect.Func:
		return ""
	case reflect.Pointer:
		if pair := [2]uintptr{a.Pointer(), b.Pointer()}; pair[0] != 0 && pair[1] != 0 && !c.seen[pair] {
			c.seen[pair] = true
			return c.values(at, a.Elem(), b.Elem())
		}
		if a.IsNil() != b.IsNil() {
			return fmt.Sprintf("%s: nil: %t, %t", at, a.IsNil(), b.IsNil())
		}
		return ""
	case reflect.Interface:
		return c.values(at, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if diff := c.values(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); diff != "" {
				return diff
			}
		}
		return ""
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d and %d elements: %v, %v", at, a.Len(), b.Len(), a, b)
		}
		for i := range a.Len() {
			if diff := c.values(at+"[]", a.Index(i), b.Index(i)); diff != "" {
				return fmt.Sprintf("element %d of %s", i, diff)
			}
		}
		return ""
	case reflect.Map:
		return c.maps(at, a, b)
	}
	if !a.Equal(b) {
		return fmt.Sprintf("%s: %v, %v", at, a, b)
	}
	return ""
}

// maps compares maps. Pointers as keys have no counterparts: of maps with such keys it compares the sizes.
func (c *comparison) maps(at string, a, b reflect.Value) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf("%s: %d and %d keys: %v, %v", at, a.Len(), b.Len(), a, b)
	}
	if a.Type().Key().Kind() == reflect.Pointer {
		return ""
	}
	for i := a.MapRange(); i.Next(); {
		if diff := c.values(fmt.Sprintf("%s[%v]", at, i.Key()), i.Value(), b.MapIndex(i.Key())); diff != "" {
			return diff
		}
	}
	return ""
}
