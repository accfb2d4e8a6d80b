// Package chaos holds tests in which ResourceManagers, as separate processes, die, freeze and lose connections under load. Afterwards the
// history of calls shows whether the promises to clients, ApplicationMasters and nodes were kept.
package chaos
