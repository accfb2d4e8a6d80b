// Command demo shows Heddle at work. Three ResourceManagers and two NodeManagers, each a separate process, count the words of
// the Go standard library's source. In the middle of the job it kills the leading ResourceManager. In a second act a long job fills the
// cluster, and a short one gets its share of it: containers of the long job are suspended meanwhile, and continue later.
//
// It ends by itself and leaves nothing behind, unless -keep keeps the cluster running. `make demo` runs it.
package main
