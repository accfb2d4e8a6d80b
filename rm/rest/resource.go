package rest

import (
	"math"

	"heddle/yarn/records"
)

// resourceInfo is an amount of each resource.
type resourceInfo struct {
	Memory       int64        `yarn:"memory"`
	VCores       int64        `yarn:"vCores"`
	Informations informations `yarn:"resourceInformations"`
}

type informations struct {
	Information []information `yarn:"resourceInformation"`
}

type information struct {
	Attributes        struct{} `yarn:"attributes"`
	MaximumAllocation int64    `yarn:"maximumAllocation"`
	MinimumAllocation int64    `yarn:"minimumAllocation"`
	Name              string   `yarn:"name"`
	ResourceType      string   `yarn:"resourceType"`
	Units             string   `yarn:"units"`
	Value             int64    `yarn:"value"`
}

func (s *server) resource(r records.Resource) resourceInfo {
	out := resourceInfo{Memory: r.MemoryMB(), VCores: r.VCores()}
	for i := range s.Types.Len() {
		t := s.Types.At(i)
		out.Informations.Information = append(out.Informations.Information, information{
			MaximumAllocation: math.MaxInt64, Name: t.Name, ResourceType: "COUNTABLE", Units: t.Units, Value: r[i],
		})
	}
	return out
}

// amounts is a map in the form that YARN writes: as entries of key and value.
type amounts struct {
	Entry []amount `yarn:"entry,repeat"`
}

type amount struct {
	Key   string `yarn:"key"`
	Value string `yarn:"value"`
}

func (s *server) amounts(r records.Resource) (out amounts) {
	for i := range s.Types.Len() {
		out.Entry = append(out.Entry, amount{s.Types.At(i).Name, decimal(r[i])})
	}
	return out
}
