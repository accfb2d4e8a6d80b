// Package chaos holds tests in which ResourceManagers die, freeze and lose touch under load, as processes of their own, and
// what was promised to clients, ApplicationMasters and nodes is checked afterwards from the history of their calls.
package chaos
