// Package receipt says where an application's time went: along the chain of steps of which each had to wait for the one before, from its submission to its end. It
// knows what the ResourceManager and the nodes record of any application, and nothing of what happens within a container.
//
// The chain is found from its end. The step that ended last is the one that the application's end waited for. Before its ask it waited for what ended last
// then, and so on, to the registration of the ApplicationMaster. Steps follow each other without a gap, so that they sum to the application's time.
package receipt
