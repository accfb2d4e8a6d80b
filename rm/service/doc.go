// Package service answers YARN's protocols on behalf of a ResourceManager: ApplicationClientProtocol,
// ApplicationMasterProtocol, ResourceTracker, ResourceManagerAdministrationProtocol and HAServiceProtocol. It translates
// between messages and the calls of package leader, makes tokens and checks them; it keeps no state of its own.
//
// It is large because it translates the calls of five protocols, each of which has its own messages.
package service
