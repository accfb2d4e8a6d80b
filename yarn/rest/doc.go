// Package rest speaks the dialects of YARN's REST APIs, which the ResourceManager and the NodeManager share.
//
// An answer is a Document: a Go struct whose fields carry the names that YARN uses, in YARN's order.
//
//	type Info struct {
//		ID    int64     `yarn:"id"`
//		Label string    `yarn:"label,omitempty"` // left out when empty
//		Tags  []string  `yarn:"tag"`             // left out when empty
//		Sub   *Resource `yarn:"used"`            // left out when nil
//	}
//
// The same struct comes out as XML and in either of YARN's two styles of JSON, which are those of Jersey 1:
//
//   - Natural: numbers and booleans are typed, lists are arrays.
//   - Mapped: every value is a string, a list of one element is that element, an object without members is null.
//
// and is filled from a request's body, JSON or XML, by Decode, with the tolerance of JAXB: unknown members are skipped, and a
// number that can't be read counts as 0.
//
// An API routes requests to handlers as Jersey does, with OPTIONS, HEAD, negotiation of the format, and YARN's error bodies.
package rest
