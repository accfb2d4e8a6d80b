// Package records holds YARN's records as Go values: ids, resources and the names of states, with their text forms
// (what the REST API, logs and command lines show) and their protobuf forms (what yarn/pb carries on the wire).
//
// Values here are small and comparable, so that they can be map keys; nothing here does I/O.
package records
