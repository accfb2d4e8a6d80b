package submission

import (
	"strings"

	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// Amount is an amount of resources in a request.
type Amount struct {
	Memory       int64        `yarn:"memory"`
	VCores       int64        `yarn:"vCores"`
	Informations informations `yarn:"resourceInformations"`
}

type informations struct {
	Information []information `yarn:"resourceInformation"`
}

type information struct {
	Name  string `yarn:"name"`
	Units string `yarn:"units"`
	Value int64  `yarn:"value"`
}

// Of converts the amount to a resource of a cluster with these types. Types that it doesn't list are 0.
func (g *Amount) Of(types records.ResourceTypes) (records.Resource, error) {
	r := records.NewResource(g.Memory, g.VCores)
	for _, info := range g.Informations.Information {
		i, known := types.Index(info.Name)
		if !known {
			return r, yarnrest.BadRequest("Unknown resource '%s'. The resources are %s", info.Name, strings.Join(names(types), ", "))
		}
		if i > records.VCores {
			r[i] = info.Value
		}
	}
	return r, nil
}

func names(types records.ResourceTypes) []string {
	names := make([]string, types.Len())
	for i := range names {
		names[i] = types.At(i).Name
	}
	return names
}
