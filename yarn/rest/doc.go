// Package rest has what YARN's REST APIs on the ResourceManager and the NodeManager share.
//
// An answer is a Document: a Go struct whose fields carry YARN's names, in YARN's order.
//
//	type Info struct {
//		ID    int64     `yarn:"id"`
//		Label string    `yarn:"label,omitempty"` // left out when empty
//		Tags  []string  `yarn:"tag"`             // left out when empty
//		Sub   *Resource `yarn:"used"`            // left out when nil
//	}
//
// The same struct is written as XML and in either of YARN's two styles of JSON, which are those of Jersey 1:
//
//   - Natural: numbers and booleans are typed, lists are arrays.
//   - Mapped: every value is a string, a list of one element is that element, an object without members is null.
//
// Decode fills it from a request's body, JSON or XML, as tolerantly as JAXB: it skips unknown members, and reads a malformed
// number as 0.
//
// An API routes requests to handlers as Jersey does, with OPTIONS, HEAD, negotiation of the format, and YARN's error bodies.
package rest
