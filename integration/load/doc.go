// Package load drives a ResourceManager, ours or a stock one, with simulated NodeManagers and ApplicationMasters over the
// real wire, and measures how many containers it grants and how fast. `heddle-lab bench rm` is its command line.
//
// Nodes register from addresses of the loopback network, each over a connection of its own, and send heartbeats; they
// start nothing. ApplicationMasters are unmanaged: submitted by a client, with the token from the application's report.
package load
