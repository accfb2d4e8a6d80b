package table

import (
	"fmt"
	"reflect"
	"strings"

	yarnrest "heddle/yarn/rest"
)

// Of returns a table of a slice of structs, or of interfaces that hold structs of one type. Its columns are their members with a yarn tag: those of a struct within have its
// name and a dot in front, texts of a list share a cell, and a list of structs is JSON in its cell.
func Of(rows any) *Table {
	list := reflect.ValueOf(rows)
	kind := list.Type().Elem()
	if kind.Kind() == reflect.Interface && list.Len() > 0 {
		kind = list.Index(0).Elem().Type()
	}
	t := New(heads(nil, "", kind)...)
	for i := range list.Len() {
		t.Add(cells(nil, kind, list.Index(i))...)
	}
	return t
}

// members calls f for each member of a struct type that a document has.
func members(kind reflect.Type, f func(i int, name string)) {
	for i := range kind.NumField() {
		sf := kind.Field(i)
		tag, ok := sf.Tag.Lookup("yarn")
		name, _, _ := strings.Cut(tag, ",")
		if ok || sf.Anonymous {
			f(i, name)
		}
	}
}

func pointed(kind reflect.Type) reflect.Type {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind
}

func heads(all []string, before string, kind reflect.Type) []string {
	kind = pointed(kind)
	if kind.Kind() != reflect.Struct {
		return append(all, before)
	}
	members(kind, func(i int, name string) {
		within := before
		if within != "" && name != "" {
			within += "."
		}
		all = heads(all, within+name, kind.Field(i).Type)
	})
	return all
}

// cells adds the cells of a value of a type. What isn't there has empty ones.
func cells(all []string, kind reflect.Type, v reflect.Value) []string {
	kind = pointed(kind)
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	if kind.Kind() == reflect.Struct {
		members(kind, func(i int, _ string) {
			var field reflect.Value
			if v.IsValid() {
				field = v.Field(i)
			}
			all = cells(all, kind.Field(i).Type, field)
		})
		return all
	}
	return append(all, cell(v))
}

func cell(v reflect.Value) string {
	switch {
	case !v.IsValid():
		return ""
	case v.Kind() != reflect.Slice:
		return fmt.Sprint(v.Interface())
	}
	texts := make([]string, v.Len())
	for i := range texts {
		if x := v.Index(i); pointed(x.Type()).Kind() == reflect.Struct {
			texts[i] = string(yarnrest.Document{Style: yarnrest.Unwrapped, Value: x.Interface()}.JSON())
		} else {
			texts[i] = fmt.Sprint(x.Interface())
		}
	}
	return strings.Join(texts, " ")
}
