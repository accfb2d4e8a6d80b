// Command demo shows Heddle at work. Three ResourceManagers and two NodeManagers, each a separate process, count the words of
// the Go standard library's source. In the middle of the job it kills the leading ResourceManager.
//
// It ends by itself and leaves nothing behind, unless -keep keeps the cluster running. `make demo` runs it.
package main
