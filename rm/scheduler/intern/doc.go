// Package intern turns values that many objects share into small dense numbers: Names for hosts and racks, Amounts for
// what containers hold and what nodes have.
//
// So a container takes sixteen bytes, and a set of names is an array by number. Numbers of values that are no longer
// used are used again: clients choose names, and would otherwise fill the memory.
package intern
