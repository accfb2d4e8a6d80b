// Package minicluster runs a cluster inside a test: real ResourceManagers on loopback, and nodes whose containers are
// functions of the test.
//
// Everything between them goes over the wire with the proper tokens. The ResourceManager launches an ApplicationMaster under test
// on a Node. It finds its credentials in its launch context, registers, and starts containers on Nodes
// as it would elsewhere. The only difference is that containers are goroutines instead of processes.
package minicluster
