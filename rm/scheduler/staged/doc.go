// Package staged knows on which nodes the input of an application's waiting containers is in memory: a level nearer than node-local. It is soft
// state, and pure.
package staged
