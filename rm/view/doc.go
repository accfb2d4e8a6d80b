// Package view renders what a ResourceManager shows of applications, nodes, queues and the cluster. It joins the committed ledger
// with the leader's soft state. rm/service and rm/rest show the same views. A follower's views lack the soft state.
package view
