// Package amount is how YARN's REST API shows amounts of resources.
package amount

import (
	"math"
	"reflect"
	"strconv"

	"heddle/yarn/records"
)

// Resource is an amount of each resource (Hadoop: ResourceInfo).
type Resource struct {
	Memory       int64        `yarn:"memory"`
	VCores       int64        `yarn:"vCores"`
	Informations Informations `yarn:"resourceInformations"`
}

// Informations are the amounts one by one.
type Informations struct {
	Information []Information `yarn:"resourceInformation"`
}

// Information is the amount of one resource.
type Information struct {
	Attributes        struct{} `yarn:"attributes"`
	MaximumAllocation int64    `yarn:"maximumAllocation"`
	MinimumAllocation int64    `yarn:"minimumAllocation"`
	Name              string   `yarn:"name"`
	ResourceType      string   `yarn:"resourceType"`
	Units             string   `yarn:"units"`
	Value             int64    `yarn:"value"`
}

// Of shows an amount of a cluster's types.
func Of(types records.ResourceTypes, r records.Resource) Resource {
	out := Resource{Memory: r.MemoryMB(), VCores: r.VCores()}
	for i := range types.Len() {
		t := types.At(i)
		out.Informations.Information = append(out.Informations.Information, Information{
			MaximumAllocation: math.MaxInt64, Name: t.Name, ResourceType: "COUNTABLE", Units: t.Units, Value: r[i],
		})
	}
	return out
}

// Map is a map in the form that YARN writes: as entries of key and value.
type Map struct {
	Entry []Entry `yarn:"entry,repeat"`
}

// Entry is one of a Map's.
type Entry struct {
	Key   string `yarn:"key"`
	Value string `yarn:"value"`
}

// MapOf shows an amount of a cluster's types by their names.
func MapOf(types records.ResourceTypes, r records.Resource) (out Map) {
	for i := range types.Len() {
		out.Entry = append(out.Entry, Entry{types.At(i).Name, strconv.FormatInt(r[i], 10)})
	}
	return out
}

// MembersOf shows an amount as an object with a member for each type, as YARN's timeline server writes it in JSON.
func MembersOf(types records.ResourceTypes, r records.Resource) any {
	fields := make([]reflect.StructField, types.Len())
	for i := range fields {
		fields[i] = reflect.StructField{
			Name: "F" + strconv.Itoa(i), Type: reflect.TypeFor[int64](),
			Tag: reflect.StructTag(`yarn:` + strconv.Quote(types.At(i).Name)),
		}
	}
	v := reflect.New(reflect.StructOf(fields)).Elem()
	for i := range fields {
		v.Field(i).SetInt(r[i])
	}
	return v.Interface()
}
