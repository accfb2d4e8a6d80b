// Package minicluster runs a cluster inside a test: real ResourceManagers on loopback, and nodes whose containers are
// functions of the test.
//
// Everything between them goes over the wire with the tokens that belong there: an ApplicationMaster under test is launched
// by the ResourceManager on a Node, finds its credentials in its launch context, registers, and starts containers on Nodes
// as it would elsewhere. Only that containers are goroutines rather than processes is different.
package minicluster
