package rest

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// plan describes a struct type.
type plan struct {
	fields []field
	byName map[string]*field
}

// field is a member of a document.
type field struct {
	name      string
	index     []int
	omitEmpty bool // a zero value is left out
	repeat    bool // natural JSON repeats the key for each element, as YARN does for some maps
	xsi       bool // the type's name: a member "type" in JSON, an attribute in XML
}

var plans sync.Map // of reflect.Type to *plan

// planOf returns the plan of a struct type. It panics if a tag is wrong.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{}
	p.add(t, nil)
	p.byName = make(map[string]*field, len(p.fields))
	for i := range p.fields {
		p.byName[p.fields[i].name] = &p.fields[i]
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*plan)
}

// add adds the fields of a struct, those of embedded structs included.
func (p *plan) add(t reflect.Type, outer []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(append([]int{}, outer...), i)
		tag, ok := sf.Tag.Lookup("yarn")
		if sf.Anonymous && !ok {
			p.add(sf.Type, index)
			continue
		}
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		f := field{name: name, index: index}
		for _, o := range strings.Split(options, ",") {
			switch o {
			case "":
			case "omitempty":
				f.omitEmpty = true
			case "repeat":
				f.repeat = true
			case "xsi":
				f.xsi = true
			default:
				panic(fmt.Sprintf("rest: %v.%s has an unknown option %q", t, sf.Name, o))
			}
		}
		p.fields = append(p.fields, f)
	}
}
