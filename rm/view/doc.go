// Package view puts together what a ResourceManager shows of applications, nodes and the cluster: the committed ledger,
// joined with what the leader alone knows. The RPC services and the REST API render the same views.
package view
