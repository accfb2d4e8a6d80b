// Package demand holds what applications ask for: rows of requests go in, and demands come out, the most urgent first. A demand is
// all rows of one priority and allocation request id. Its owner, the core of the scheduler, has one Table for all applications, and one Set for
// each of them; it decides what a demand gets, and notes here why it gets nothing.
//
// An application may have tens of thousands of demands, of which each event concerns a few. So they stand in an order (package order), which
// sums up what they have to offer, as it is for queues and users. Finding, entering and passing over demands takes the time of a search in a
// tree.
//
// Demands that can't be served wait in lists until something changes: Awaited are those that prefer a host or rack, Parked those that wait
// for room or for their queues' limits, and Timed those that wait for a time.
package demand
