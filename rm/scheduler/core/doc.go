// Package core is the running state of a scheduler, and the decisions that are the same for all of YARN's schedulers: which
// request is next, where it fits, and when a reservation is filled.
//
// A Core holds queues, users, applications with what they ask for, nodes, and containers, all in dense arrays by their handles. Its owner,
// package scheduler, enters events and takes decisions from Schedule. A Policy has the differences between YARN's schedulers; see its
// methods. It reads the Core's state, and changes it through the Core's methods.
//
// Every order (queues of a parent, users of a leaf, applications of a user, requests of an application) is one of package order. Every
// change of what an application holds or asks for ends in settle, which puts the application, its user and the queues above it into their
// places. A request that can't be served is parked until something changes that it waits for; see Blocked. A class of requests that no node
// has room for is closed until some node gets room.
//
// A decision allocates nothing. The fields that it touches come first in each struct, and structs fill whole lines of the processor's
// cache.
//
// It is large because it is one search, who is next and where it fits, with the state that both change. Ideas with a state of their own
// are packages beside it: order, demand, class, nodeset, nodeindex.
package core
