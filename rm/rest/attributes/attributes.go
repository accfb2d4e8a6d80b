// Package attributes shows attributes of nodes in REST (Hadoop: NodeAttributesInfo).
package attributes

import "heddle/rm/ledger/nodeattributes"

// Info is a list of attributes; without any it is an empty object.
type Info struct {
	Attributes []Attribute `yarn:"nodeAttributeInfo"`
}

// Attribute is one of them.
type Attribute struct {
	Prefix string `yarn:"prefix"`
	Name   string `yarn:"name"`
	Type   string `yarn:"type"`
	Value  string `yarn:"value"`
}

// Of shows attributes.
func Of(all []nodeattributes.Attribute) (out Info) {
	for _, a := range all {
		out.Attributes = append(out.Attributes, Attribute{a.Prefix, a.Name, "STRING", a.Value})
	}
	return out
}
