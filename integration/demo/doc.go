// Command demo shows Heddle at work: three ResourceManagers and two NodeManagers, each a process of its own, count the words of
// the Go standard library's source; in the middle of the job the leading ResourceManager is killed.
//
// It ends by itself and leaves nothing behind, unless it's told to keep the cluster running. `make demo` runs it.
package main
